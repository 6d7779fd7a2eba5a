"""What groups committed and was acknowledged is in the log of every member of the ISR, as its disk shows."""

from typing import Any

import pytest

from checkers.evidence.coordinators import OFFSETS_TOPIC
from checkers.evidence.offsets_log import RecordPlace, Where, Written
from checkers.history.operations import History, OperationType
from checkers.judge import judge
from checkers.logs.partitions import check_partitions
from checkers.verdict.verdict import Validity
from tests.checkers.admin_histories import TOPIC_ID, AdminStory
from tests.checkers.logs.partitions.commit_histories import (
    REGISTER,
    Stretch,
    add_commit,
    history_of,
    led,
    look,
    read,
    record,
)

FOUND = {"committed-without-member": 1}


def committed(**setup: Any) -> AdminStory:
    """A commit is acknowledged at 100.5 ms; its record stands at offset 4."""
    recording = led(**setup)
    add_commit(recording)
    read(recording, (0, 0, 9, -1, [record(4)]))
    return recording


def counts(recording: AdminStory) -> dict[str, int]:
    return check_partitions(history_of(recording)).counts


@pytest.mark.parametrize(
    ("at_ms", "node", "end", "found"),
    [
        (101, "n2", 4, True),
        (9000, "n3", 0, True),
        (101, "n1", 4, True),  # the leader too
        (101, "n2", 5, False),
        (100.55, "n2", 4, False),  # the look may have been before the answer
        (99, "n2", 4, False),
    ],
)
def test_a_member_without_a_commit(at_ms: float, node: str, end: int, *, found: bool) -> None:
    recording = committed()
    look(recording, at_ms, **{node: end})
    result = check_partitions(history_of(recording))
    assert result.counts == (FOUND if found else {})
    assert result.validity is (Validity.INVALID if found else Validity.VALID)
    figures = ("acknowledged_commits", "commits_with_records", "commit_records_read")
    assert [result.figures[name] for name in figures] == [1, 1, 1]


def test_the_finding_convinces() -> None:
    recording = committed()
    look(recording, 300, n1=9, n2=9, n3=4)
    history = history_of(recording)
    (anomaly,) = check_partitions(history).anomalies
    commit = f"The commit of offset 77 of t/2 by group g, in {OFFSETS_TOPIC}/0, at offset 4, was acknowledged"
    assert anomaly.summary.startswith(commit)
    assert "the log of n3, which was in sync, ended at 4." in anomaly.summary
    assert "Broker 1 led from" in anomaly.explanation[0]
    assert [history.operations[i].f for i in anomaly.witness] == ["write", "observe"]


@pytest.mark.parametrize(
    ("f", "key", "value", "found"),
    [
        ("commit-offset", "g", {"topic": "t", "partition": 2, "offset": 77, "to": 1}, True),
        ("commit-offset", "g", {"topic": "t", "partition": 2, "offset": 78, "to": 1}, False),
        ("commit", "g", {"topic": "t", "offsets": [[0, 1], [2, 77]]}, True),
        ("commit", "other", {"topic": "t", "offsets": [[2, 77]]}, False),
        ("write", "config/t/flush.ms", 77, False),
        ("write", "offset/g/t", 77, False),
        ("write", "offset/g/t/x", 77, False),
        ("write", None, 77, False),
    ],
)
def test_by_kinds_of_commits(f: str, key: Any, value: Any, *, found: bool) -> None:
    recording = led()
    add_commit(recording, f=f, key=key, value=value)
    read(recording, (0, 0, 9, -1, [record(4)]))
    look(recording, 300, n2=4)
    assert counts(recording) == (FOUND if found else {})


@pytest.mark.parametrize("how", [OperationType.FAIL, OperationType.INFO, None])
def test_what_was_not_acknowledged_proves_nothing(how: OperationType | None) -> None:
    recording = led()
    add_commit(recording, how=how)
    read(recording, (0, 0, 9, -1, [record(4)]))
    look(recording, 300, n2=0)
    assert counts(recording) == {}


def test_an_answer_to_nothing_proves_nothing() -> None:
    recording = led()
    recording.add(100, 4, OperationType.OK, "write", key=REGISTER, value=77)
    read(recording, (0, 0, 9, -1, [record(4)]))
    look(recording, 300, n2=0)
    assert counts(recording) == {}


@pytest.mark.parametrize("config", ["config", "node_config"])
def test_brokers_that_do_not_wait_for_followers(config: str) -> None:
    acks = {"offsets.commit.required.acks": "1"}
    recording = committed(**{config: acks if config == "config" else {"n1": acks}})
    look(recording, 300, n2=0)
    assert counts(recording) == {}


def test_a_run_in_which_nothing_was_read_of_it() -> None:
    recording = led()
    add_commit(recording)
    look(recording, 300, n2=0)
    result = check_partitions(history_of(recording))
    assert result.counts == {}
    assert "acknowledged_commits" not in result.figures


def test_a_topic_that_no_metadata_log_has() -> None:
    recording = AdminStory()
    recording.created()
    add_commit(recording)
    read(recording, (0, 0, 9, -1, [record(4)]))
    look(recording, 300, n2=0)
    result = check_partitions(history_of(recording))
    assert (result.counts, result.figures["commits_with_records"]) == ({}, 0)


def test_a_partition_of_which_nothing_was_read() -> None:
    recording = led()
    for number in range(1, 6):
        state = {"replicas": [1, 2], "isr": [1, 2], "leader": 1, "leaderEpoch": 0}
        data = {"partitionId": number, "topicId": TOPIC_ID, **state}
        recording.record(3 + number, "PARTITION_RECORD", data)
    add_commit(recording)  # of the group g, whose partition is number 1
    read(recording, (0, 0, 9, -1, [record(4)]))
    look(recording, 300, n2=0)
    assert counts(recording) == {}


class TestSeveralRecords:
    """The first of those that commit the same counts."""

    @pytest.mark.parametrize(("end", "found"), [(5, False), (4, True)])
    def test_a_client_that_asked_again(self, end: int, *, found: bool) -> None:
        recording = led()
        add_commit(recording)
        read(recording, (0, 0, 9, -1, [record(8), record(4)]))
        look(recording, 300, n2=end)
        assert counts(recording) == (FOUND if found else {})

    def test_an_offset_that_two_commit(self) -> None:
        recording = committed()
        add_commit(recording, 200, process=5)
        read(recording, (0, 9, 12, 0, [record(11)]), at_ms=250)
        look(recording, 201, n2=5)
        assert counts(recording) == {}
        look(recording, 300, n2=4)
        assert counts(recording) == FOUND

    @pytest.mark.parametrize("first", [0, 2])
    def test_a_record_that_was_truncated_hides_one_that_was_not(self, first: int) -> None:
        recording = led()
        recording.changed(50, leader=2)
        add_commit(recording)
        read(
            recording,
            (0, 0, 4, -1, [record(3)] if first else []),
            (1, first, 9, 0 if first else -1, [record(5)]),
        )
        look(recording, 300, n3=5)
        assert counts(recording) == ({} if first else FOUND)


class TestReach:
    """A record counts where the log was read from its beginning up to it."""

    @pytest.mark.parametrize(
        ("stretches", "found"),
        [
            ([(0, 0, 2, -1, []), (0, 2, 9, 0, [record(4)])], True),
            ([(0, 2, 9, None, [record(4)]), (0, 0, 2, -1, [])], True),
            ([(0, 0, 3, -1, []), (0, 2, 9, None, [record(4)])], True),
            ([(0, 0, 9, -1, []), (0, 2, 5, None, [record(4)])], True),
            ([(0, 0, 2, -1, []), (0, 3, 9, None, [record(4)])], False),
            ([(0, 0, 2, -1, []), (0, 2, 3, 0, None), (0, 3, 9, None, [record(4)])], False),
            ([(0, 3, 9, None, [record(4)])], False),
            ([(0, 0, 2, -1, []), (0, 2, 9, 0, None)], False),
        ],
    )
    def test_within_one_epoch(self, stretches: list[Stretch], *, found: bool) -> None:
        recording = led()
        add_commit(recording)
        read(recording, *stretches)
        look(recording, 300, n2=4)
        assert counts(recording) == (FOUND if found else {})

    @pytest.mark.parametrize(
        ("stretches", "found"),
        [
            ([(0, 0, 2, -1, []), (1, 2, 9, 0, [record(4)])], True),
            ([(0, 0, 3, -1, []), (1, 2, 9, 0, [record(4)])], True),  # what is behind 2 was truncated
            ([(0, 0, 2, -1, []), (1, 2, 9, None, [record(4)])], False),
            ([(0, 0, 1, -1, []), (1, 2, 9, 0, [record(4)])], False),
            ([(1, 2, 9, 0, [record(4)])], False),
            ([(0, 0, 2, -1, []), (1, 3, 9, 1, [record(4)])], False),
        ],
    )
    def test_from_epoch_to_epoch(self, stretches: list[Stretch], *, found: bool) -> None:
        recording = led()
        recording.changed(50, leader=2)
        add_commit(recording)
        read(recording, *stretches)
        look(recording, 300, n3=4)
        assert counts(recording) == (FOUND if found else {})

    def test_a_record_outside_of_what_was_read(self) -> None:
        written = Written()
        written.add(0, (0, 4), -1, [(4, "g", "t", 2, 77)], 0)
        written.merge()
        assert written.rows == {Where("g", "t", 2, 77): RecordPlace(4, 0)}
        assert not written.reaches(RecordPlace(4, 0))
        assert written.reaches(RecordPlace(3, 0))


class TestLeaderships:
    """Only what one leader appended and acknowledged is a measure."""

    @pytest.mark.parametrize("at_ms", [150, 99])
    def test_another_leader_since(self, at_ms: float) -> None:
        recording = committed()
        recording.changed(at_ms, leader=2)
        look(recording, 300, n1=0, n3=0)
        assert counts(recording) == {}

    @pytest.mark.parametrize("epoch", [0, 2])
    def test_a_record_of_another_leadership(self, epoch: int) -> None:
        recording = led()
        recording.changed(50, leader=2)
        add_commit(recording)
        read(recording, (epoch, 0, 9, -1, [record(4)]))
        look(recording, 300, n3=0)
        assert counts(recording) == {}

    def test_the_same_leader_in_a_new_epoch(self) -> None:
        recording = committed()
        recording.changed(150, leader=1, isr=[1, 2])
        look(recording, 300, n2=4)
        assert counts(recording) == FOUND

    def test_one_that_had_left_the_isr(self) -> None:
        recording = committed()
        recording.changed(150, isr=[1, 2])
        look(recording, 300, n3=0)
        assert counts(recording) == {}

    def test_an_unclean_election(self) -> None:
        recording = led()
        recording.changed(10, isr=[2], leader=2, leaderRecoveryState=1)
        add_commit(recording)
        read(recording, (1, 0, 9, -1, [record(4)]))
        look(recording, 300, n2=0)
        assert counts(recording) == {}

    @pytest.mark.parametrize("kind", ["wipe-disk", "power-loss", "dead-disk"])
    def test_a_disk_that_was_struck(self, kind: str) -> None:
        recording = committed()
        recording.fault(200, 250, kind, "n2")
        look(recording, 300, n2=0)
        assert counts(recording) == {}


def test_where_commits_are_lacking_nothing_is_found() -> None:
    recording = committed()
    look(recording, 300, n2=4)
    history = history_of(recording)
    broken = History(
        run=history.run,
        began_at=history.began_at,
        operations=history.operations,
        damage=("observer-commits was cut",),
        lacking=frozenset({"observer-commits"}),
    )
    (whole,) = (one for one in judge(history).results if one.checker == "partitions")
    (lacking,) = (one for one in judge(broken).results if one.checker == "partitions")
    assert whole.validity is Validity.INVALID
    assert (lacking.validity, lacking.counts) == (Validity.UNKNOWN, {})
    assert "commits in the offsets topic (observer-commits)" in (lacking.unknown_because or "")
