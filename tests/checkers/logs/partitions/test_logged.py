"""Commits of groups that were acknowledged are in the log of the offsets topic, as it was read."""

from typing import Any

import pytest

from checkers.history.operations import History, OperationType
from checkers.judge import judge
from checkers.logs.partitions import check_partitions
from checkers.verdict.verdict import Validity
from tests.checkers.admin_histories import AdminStory
from tests.checkers.logs.partitions.commit_histories import Stretch, add_commit, history_of, led, read, record

FOUND = {"commit-in-no-log": 1}
INVOKE, OK, INFO = OperationType.INVOKE, OperationType.OK, OperationType.INFO


def later(recording: AdminStory, at_ms: float = 200, committed: int = 99, **fields: Any) -> None:
    """The commit that was asked for later, the witness."""
    add_commit(recording, at_ms, key="offset/g/t/3", value=committed, process=5, **fields)


def behind(offset: int, committed: int = 99) -> list[Any]:
    """Where the witness stands."""
    return [offset, "g", "t", 3, committed]


def two(*stretches: Stretch, **others: list[list[Any]]) -> AdminStory:
    """Two commits, one after the other; what was read of them."""
    recording = led()
    add_commit(recording)
    later(recording)
    read(recording, *stretches, at_ms=300, **others)
    return recording


def counts(recording: AdminStory) -> dict[str, int]:
    return check_partitions(history_of(recording)).counts


@pytest.mark.parametrize(
    ("records", "found"),
    [
        ([behind(6)], True),
        ([behind(6), record(8)], True),  # behind the witness only
        ([record(4), behind(6)], False),
        ([record(4), record(5), behind(6)], False),
        ([record(4, committed=76), behind(6)], True),
    ],
)
def test_a_commit_and_one_that_was_asked_for_later(records: list[list[Any]], *, found: bool) -> None:
    result = check_partitions(history_of(two((0, 0, 9, -1, records))))
    assert result.counts == (FOUND if found else {})
    assert result.validity is (Validity.INVALID if found else Validity.VALID)
    assert result.figures["commits_looked_for"] == 1


def test_the_finding_convinces() -> None:
    history = history_of(two((0, 0, 9, -1, [behind(6)])))
    (anomaly,) = check_partitions(history).anomalies
    assert anomaly.summary == (
        "The commit of offset 77 of t/2 by group g was acknowledged at 0.101 s, but "
        "__consumer_offsets/0 has no record of it."
    )
    assert anomaly.explanation == (
        "At 0.200 s group g asked to commit offset 99.",
        "The record of that commit is at offset 6, appended in leader epoch 0.",
        "All records before it were read, from offset 0 on.",
    )
    assert [(history.operations[op].type, history.operations[op].value) for op in anomaly.witness] == [
        (OK, 77),
        (OK, 99),
    ]


@pytest.mark.parametrize(
    "stretches",
    [
        [(0, 0, 4, -1, []), (0, 5, 9, None, [behind(6)])],
        [(0, 3, 9, None, [behind(6)])],
        [(0, 0, 4, -1, []), (0, 4, 5, 0, None), (0, 5, 9, None, [behind(6)])],
        [(0, 0, 9, -1, [])],
    ],
)
def test_where_not_all_was_read_up_to_the_witness_nothing_is_concluded(stretches: list[Stretch]) -> None:
    assert counts(two(*stretches)) == {}


@pytest.mark.parametrize("how", [None, INFO, OperationType.FAIL])
def test_what_was_not_acknowledged_need_not_be_there(how: OperationType | None) -> None:
    recording = led()
    add_commit(recording, how=how)
    later(recording)
    read(recording, (0, 0, 9, -1, [behind(6)]), at_ms=300)
    assert counts(recording) == {}


@pytest.mark.parametrize("how", [None, INFO])
def test_a_witness_need_not_be_acknowledged(how: OperationType | None) -> None:
    recording = led()
    add_commit(recording)
    later(recording, how=how)
    read(recording, (0, 0, 9, -1, [behind(6)]), at_ms=300)
    assert counts(recording) == FOUND


def test_the_last_commit_has_no_witness() -> None:
    recording = led()
    add_commit(recording)
    later(recording, 90)
    read(recording, (0, 0, 9, -1, [behind(2)]), at_ms=300)
    assert counts(recording) == {}


@pytest.mark.parametrize("at_ms", [20, 400])
def test_what_was_asked_for_twice_is_no_witness(at_ms: float) -> None:
    recording = led()
    add_commit(recording)
    later(recording)
    later(recording, at_ms, how=INFO)
    read(recording, (0, 0, 9, -1, [behind(2)]), at_ms=300)
    assert counts(recording) == {}


def test_of_several_records_of_a_witness_any_will_do() -> None:
    recording = led()
    recording.changed(150, leader=2)
    add_commit(recording)
    later(recording)
    # The deposed leader appended it first, and knows nothing of the commit; the next one has both.
    stretches: list[Stretch] = [(0, 0, 4, -1, [behind(3)]), (1, 3, 9, 0, [record(3), behind(6)])]
    read(recording, *stretches, at_ms=300)
    assert counts(recording) == {}


class TestEpochs:
    """A witness is of no older leader epoch than the commit may be."""

    def led_by_another(self, *stretches: Stretch, changed_ms: float = 50) -> AdminStory:
        recording = led()
        recording.changed(changed_ms, leader=2)
        add_commit(recording)
        later(recording)
        read(recording, *stretches, at_ms=300)
        return recording

    def test_one_that_a_deposed_leader_appended_is_none(self) -> None:
        assert counts(self.led_by_another((0, 0, 9, -1, [behind(6)]))) == {}

    def test_one_of_the_epoch_of_the_commit(self) -> None:
        recording = self.led_by_another((0, 0, 4, -1, []), (1, 4, 9, 0, [behind(6)]))
        assert counts(recording) == FOUND

    def test_one_of_a_later_epoch_does_not_have_what_was_truncated(self) -> None:
        recording = self.led_by_another((0, 0, 5, -1, [record(4)]), (1, 4, 9, 0, [behind(6)]), changed_ms=150)
        assert counts(recording) == FOUND

    def test_one_of_a_later_epoch_has_what_was_kept(self) -> None:
        recording = self.led_by_another((0, 0, 5, -1, [record(4)]), (1, 5, 9, 0, [behind(6)]), changed_ms=150)
        assert counts(recording) == {}

    def test_where_another_epoch_may_have_begun_when_it_was_acknowledged(self) -> None:
        recording = self.led_by_another((0, 0, 9, -1, [behind(6)]), changed_ms=100.5)
        assert counts(recording) == {}

    def test_before_the_topic_was_made(self) -> None:
        recording = led()
        add_commit(recording, 0.2)
        later(recording, 0.8)
        read(recording, (0, 0, 9, -1, [behind(6)]), at_ms=300)
        assert counts(recording) == {}


class TestLicences:
    """What may have been lost legally is reported and is no fault of Kafka's."""

    def judged(self, recording: AdminStory) -> tuple[Validity, str | None]:
        result = check_partitions(history_of(recording))
        (anomaly,) = result.anomalies
        assert anomaly.id == "commit-in-no-log"
        assert anomaly.illegal is (anomaly.licence is None)
        return result.validity, anomaly.licence

    def test_an_unclean_election_between_the_commit_and_the_witness(self) -> None:
        recording = led(config={"unclean.leader.election.enable": "true"})
        recording.changed(150, isr=[2], leader=2, leaderRecoveryState=1)
        add_commit(recording)
        later(recording)
        read(recording, (0, 0, 4, -1, []), (1, 4, 9, 0, [behind(6)]), at_ms=300)
        validity, licence = self.judged(recording)
        assert validity is Validity.VALID
        assert "broker 2 was elected uncleanly" in (licence or "")

    def test_disks_of_all_that_were_in_sync(self) -> None:
        recording = two((0, 0, 9, -1, [behind(6)]))
        recording.fault(120, 150, "power-loss", "n1", "n2", "n3")
        validity, licence = self.judged(recording)
        assert validity is Validity.VALID
        assert "damage to disks" in (licence or "")

    def test_a_strike_after_the_witness_was_acknowledged(self) -> None:
        recording = two((0, 0, 9, -1, [behind(6)]))
        recording.fault(500, 550, "power-loss", "n1", "n2", "n3")
        assert self.judged(recording) == (Validity.INVALID, None)


def transaction(
    recording: AdminStory, at_ms: float, committed: int, *, how: OperationType | None = OK
) -> None:
    """A transaction of group g that commits an offset of t/3."""
    mops = [["send", "out", 0, committed], ["offsets", "g", "t", [[3, committed]]], ["poll", "t", []]]
    value = {"client": "kafka-python", "end": "commit", "mops": mops}
    recording.add(at_ms, 5, INVOKE, "txn", key="id", value=value)
    if how is not None:
        recording.add(at_ms + 0.5, 5, how, "txn", key="id", value=value | {"ended": "commit"})


class TestTransactions:
    """Commits of transactions, where records within transactions were reported."""

    def story_of(self, *batches: list[Any], how: OperationType | None = OK, known: bool = True) -> AdminStory:
        recording = led()
        transaction(recording, 100, 77, how=how)
        add_commit(recording, 200, key="offset/g/t/4", value=99)
        others: dict[str, Any] = {"deleted": [], "transactional": list(batches)} if known else {}
        read(recording, (0, 0, 9, -1, [[7, "g", "t", 4, 99]]), at_ms=300, **others)
        return recording

    def batch(self, offset: int, epoch: int = 0, committed: int = 77) -> list[Any]:
        return [epoch, offset, 9, "data", [[offset, "g", "t", 3, committed]]]

    def test_one_that_is_there(self) -> None:
        result = check_partitions(history_of(self.story_of(self.batch(4), [0, 5, 9, "commit", []])))
        assert (result.counts, result.figures["commits_looked_for"]) == ({}, 1)

    @pytest.mark.parametrize("batches", [[], [(8, 0, 77)], [(4, 0, 76)], [(4, 1, 77)]])
    def test_one_that_is_not(self, batches: list[tuple[int, int, int]]) -> None:
        recording = self.story_of(*(self.batch(*each) for each in batches), [0, 5, 9, "commit", []])
        assert counts(recording) == FOUND

    @pytest.mark.parametrize("how", [None, INFO])
    def test_one_whose_end_was_not_acknowledged(self, how: OperationType | None) -> None:
        assert counts(self.story_of(how=how)) == {}

    def test_an_older_run_records_none(self) -> None:
        assert counts(self.story_of(known=False)) == {}

    def test_one_that_could_not_be_read(self) -> None:
        assert counts(self.story_of([0, 4, 9, "data", None])) == {}

    def test_as_a_witness(self) -> None:
        recording = led()
        add_commit(recording)
        transaction(recording, 200, 78)
        read(recording, (0, 0, 9, -1, []), at_ms=300, deleted=[], transactional=[self.batch(6, committed=78)])
        assert counts(recording) == FOUND


def test_brokers_that_do_not_wait_for_followers() -> None:
    recording = led(config={"offsets.commit.required.acks": "1"})
    add_commit(recording)
    later(recording)
    read(recording, (0, 0, 9, -1, [behind(6)]), at_ms=300)
    result = check_partitions(history_of(recording))
    assert (result.counts, "commits_looked_for" in result.figures) == ({}, False)


def test_partitions_of_which_nothing_was_read_or_logged() -> None:
    recording = AdminStory()
    recording.created()
    add_commit(recording)
    read(recording, (0, 0, 9, -1, [record(4)]))
    assert check_partitions(history_of(recording)).figures["commits_looked_for"] == 0
    recording = led()
    add_commit(recording)
    later(recording)
    recording.add(
        300,
        "observer-commits",
        OK,
        "observe",
        key="commits",
        value={"began_ns": 1, "stretches": [[1, 0, 0, 9, -1, [behind(6)]]]},
    )
    assert check_partitions(history_of(recording)).figures["commits_looked_for"] == 0


def test_what_was_acknowledged_after_the_metadata_log_was_read_is_not_judged() -> None:
    recording = two((0, 0, 9, -1, [behind(6)]))
    assert check_partitions(recording.history(began_ns=90 * 10**6)).counts == {}


def test_where_commits_of_clients_are_lacking_nothing_is_found() -> None:
    history = history_of(two((0, 0, 9, -1, [behind(6)])))
    for lacking in ("observer-commits", "worker-3"):
        broken = History(history.run, history.began_at, history.operations, lacking=frozenset({lacking}))
        (result,) = (one for one in judge(broken).results if one.checker == "partitions")
        assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
