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
    told = led(**setup)
    add_commit(told)
    read(told, (0, 0, 9, -1, [record(4)]))
    return told


def counts(told: AdminStory) -> dict[str, int]:
    return check_partitions(history_of(told)).counts


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
    told = committed()
    look(told, at_ms, **{node: end})
    result = check_partitions(history_of(told))
    assert result.counts == (FOUND if found else {})
    assert result.validity is (Validity.INVALID if found else Validity.VALID)
    figures = ("acknowledged_commits", "commits_with_records", "commit_records_read")
    assert [result.figures[name] for name in figures] == [1, 1, 1]


def test_the_finding_convinces() -> None:
    told = committed()
    look(told, 300, n1=9, n2=9, n3=4)
    history = history_of(told)
    (anomaly,) = check_partitions(history).anomalies
    told_of = (
        f"The commit of offset 77 of t/2 by group g, in {OFFSETS_TOPIC}/0, at offset 4, was acknowledged"
    )
    assert anomaly.summary.startswith(told_of)
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
    told = led()
    add_commit(told, f=f, key=key, value=value)
    read(told, (0, 0, 9, -1, [record(4)]))
    look(told, 300, n2=4)
    assert counts(told) == (FOUND if found else {})


@pytest.mark.parametrize("how", [OperationType.FAIL, OperationType.INFO, None])
def test_what_was_not_acknowledged_says_nothing(how: OperationType | None) -> None:
    told = led()
    add_commit(told, how=how)
    read(told, (0, 0, 9, -1, [record(4)]))
    look(told, 300, n2=0)
    assert counts(told) == {}


def test_an_answer_to_nothing_says_nothing() -> None:
    told = led()
    told.add(100, 4, OperationType.OK, "write", key=REGISTER, value=77)
    read(told, (0, 0, 9, -1, [record(4)]))
    look(told, 300, n2=0)
    assert counts(told) == {}


@pytest.mark.parametrize("config", ["config", "node_config"])
def test_brokers_that_do_not_wait_for_followers(config: str) -> None:
    acks = {"offsets.commit.required.acks": "1"}
    told = committed(**{config: acks if config == "config" else {"n1": acks}})
    look(told, 300, n2=0)
    assert counts(told) == {}


def test_a_run_in_which_nothing_was_read_of_it() -> None:
    told = led()
    add_commit(told)
    look(told, 300, n2=0)
    result = check_partitions(history_of(told))
    assert result.counts == {}
    assert "acknowledged_commits" not in result.figures


def test_a_topic_of_which_no_metadata_log_tells() -> None:
    told = AdminStory()
    told.created()
    add_commit(told)
    read(told, (0, 0, 9, -1, [record(4)]))
    look(told, 300, n2=0)
    result = check_partitions(history_of(told))
    assert (result.counts, result.figures["commits_with_records"]) == ({}, 0)


def test_a_partition_of_which_nothing_was_read() -> None:
    told = led()
    for number in range(1, 6):
        state = {"replicas": [1, 2], "isr": [1, 2], "leader": 1, "leaderEpoch": 0}
        data = {"partitionId": number, "topicId": TOPIC_ID, **state}
        told.record(3 + number, "PARTITION_RECORD", data)
    add_commit(told)  # of the group g, whose partition is number 1
    read(told, (0, 0, 9, -1, [record(4)]))
    look(told, 300, n2=0)
    assert counts(told) == {}


class TestSeveralRecords:
    """The first of those that commit the same counts."""

    @pytest.mark.parametrize(("end", "found"), [(5, False), (4, True)])
    def test_a_client_that_asked_again(self, end: int, *, found: bool) -> None:
        told = led()
        add_commit(told)
        read(told, (0, 0, 9, -1, [record(8), record(4)]))
        look(told, 300, n2=end)
        assert counts(told) == (FOUND if found else {})

    def test_an_offset_that_two_commit(self) -> None:
        told = committed()
        add_commit(told, 200, process=5)
        read(told, (0, 9, 12, 0, [record(11)]), at_ms=250)
        look(told, 201, n2=5)
        assert counts(told) == {}
        look(told, 300, n2=4)
        assert counts(told) == FOUND

    @pytest.mark.parametrize("first", [0, 2])
    def test_a_record_that_was_truncated_hides_one_that_was_not(self, first: int) -> None:
        told = led()
        told.changed(50, leader=2)
        add_commit(told)
        read(
            told, (0, 0, 4, -1, [record(3)] if first else []), (1, first, 9, 0 if first else -1, [record(5)])
        )
        look(told, 300, n3=5)
        assert counts(told) == ({} if first else FOUND)


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
        told = led()
        add_commit(told)
        read(told, *stretches)
        look(told, 300, n2=4)
        assert counts(told) == (FOUND if found else {})

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
        told = led()
        told.changed(50, leader=2)
        add_commit(told)
        read(told, *stretches)
        look(told, 300, n3=4)
        assert counts(told) == (FOUND if found else {})

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
        told = committed()
        told.changed(at_ms, leader=2)
        look(told, 300, n1=0, n3=0)
        assert counts(told) == {}

    @pytest.mark.parametrize("epoch", [0, 2])
    def test_a_record_of_another_leadership(self, epoch: int) -> None:
        told = led()
        told.changed(50, leader=2)
        add_commit(told)
        read(told, (epoch, 0, 9, -1, [record(4)]))
        look(told, 300, n3=0)
        assert counts(told) == {}

    def test_the_same_leader_in_a_new_epoch(self) -> None:
        told = committed()
        told.changed(150, leader=1, isr=[1, 2])
        look(told, 300, n2=4)
        assert counts(told) == FOUND

    def test_one_that_had_left_the_isr(self) -> None:
        told = committed()
        told.changed(150, isr=[1, 2])
        look(told, 300, n3=0)
        assert counts(told) == {}

    def test_an_unclean_election(self) -> None:
        told = led()
        told.changed(10, isr=[2], leader=2, leaderRecoveryState=1)
        add_commit(told)
        read(told, (1, 0, 9, -1, [record(4)]))
        look(told, 300, n2=0)
        assert counts(told) == {}

    @pytest.mark.parametrize("kind", ["wipe-disk", "power-loss", "dead-disk"])
    def test_a_disk_that_was_struck(self, kind: str) -> None:
        told = committed()
        told.fault(200, 250, kind, "n2")
        look(told, 300, n2=0)
        assert counts(told) == {}


def test_where_commits_are_lacking_nothing_is_found() -> None:
    told = committed()
    look(told, 300, n2=4)
    history = history_of(told)
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
