"""What compaction has left of the offsets topic: the last commit of each group and partition."""

from typing import Any

import pytest

from checkers.history.operations import History, OperationType
from checkers.judge import judge
from checkers.logs.partitions import check_partitions
from checkers.verdict.verdict import Validity
from tests.checkers.admin_histories import AdminStory
from tests.checkers.log_histories import MS
from tests.checkers.logs.partitions.commit_histories import Stretch, history_of, led, read, record

FOUND = {"commit-compacted-away": 1}
EARLY = {"commit-compacted-early": 1}
Left = list[list[int]]


def left(recording: AdminStory, stretches: Left, *, node: str = "n1", **fields: Any) -> None:
    """What a replica has left at the end; its log ends at offset 9."""
    whole = {"began_ns": 1, "partition": 0, "log_start": 0, "end": 9, "epoch": 0, "active": 8, "error": None}
    value = whole | {"left": stretches} | fields
    recording.add(
        890, "observer-replicas", OperationType.OK, "observe", key="commits-left", value=value, node=node
    )


def written(
    *records: list[Any], deleted: list[list[Any]] | None = None, transactional: list[list[Any]] | None = None
) -> AdminStory:
    """All that was ever written to the log, offsets 0 to 8."""
    recording = led()
    read(recording, (0, 0, 9, -1, list(records)), deleted=deleted or [], transactional=transactional or [])
    return recording


def counts(recording: AdminStory) -> dict[str, int]:
    return check_partitions(history_of(recording)).counts


@pytest.mark.parametrize(
    ("stretches", "found"),
    [
        ([[0, 9]], 0),
        ([[5, 6]], 0),
        ([[2, 3], [5, 6], [8, 9]], 0),
        ([], 1),
        ([[0, 5]], 1),  # what it replaces does not stand for it
        ([[0, 5], [6, 9]], 1),
        ([[6, 9]], 1),
    ],
)
def test_the_last_commit_of_a_key(stretches: Left, found: int) -> None:
    recording = written(record(2), record(5, committed=78))
    left(recording, stretches)
    result = check_partitions(history_of(recording))
    assert result.counts == (FOUND if found else {})
    assert result.validity is (Validity.INVALID if found else Validity.VALID)
    assert result.figures["kept_commits_looked_for"] == 1


def test_the_finding_convinces() -> None:
    recording = written(record(5))
    left(recording, [], node="n2")
    history = history_of(recording)
    (anomaly,) = check_partitions(history).anomalies
    assert anomaly.summary == (
        "__consumer_offsets/0: n2 has no record at offset 5, where group g committed offset 77 of "
        "t/2, and no later record replaces it."
    )
    assert anomaly.explanation[:2] == (
        "It was appended in leader epoch 0.",
        "n2 ends at 9, in epoch 0.",
    )
    assert [history.operations[op].key for op in anomaly.witness] == ["commits", "commits-left"]


def test_keys_that_differ_in_one_part_replace_nothing() -> None:
    others = [[6, "h", "t", 2, 7], [7, "g", "u", 2, 7], [8, "g", "t", 3, 7]]
    recording = written(record(5), *others)
    left(recording, [[6, 9]])
    assert counts(recording) == FOUND


@pytest.mark.parametrize(("offset", "found"), [(6, False), (4, True)])
def test_a_deletion_replaces_what_stands_before_it(offset: int, *, found: bool) -> None:
    recording = written(record(5), deleted=[[0, offset, "g", "t", 2]])
    left(recording, [])
    assert counts(recording) == (FOUND if found else {})


def data(offset: int, *records: list[Any], producer: int = 9, epoch: int = 0) -> list[Any]:
    """A batch of a transaction."""
    return [epoch, offset, producer, "data", list(records)]


def ended(offset: int, how: str = "commit", producer: int = 9, epoch: int = 0) -> list[Any]:
    """The marker that ends a transaction."""
    return [epoch, offset, producer, how, []]


class TestTransactions:
    """What was aborted, or is not over, replaces nothing; what was committed is kept and replaces."""

    @pytest.mark.parametrize(
        ("transactional", "found"),
        [
            ([data(5, record(5)), ended(6)], False),
            ([data(5, record(5)), ended(6, "abort")], True),
            ([data(5, record(5)), ended(4)], True),  # not over
            ([data(5, record(5)), ended(6, producer=8)], True),
            ([data(5, record(5)), ended(6, epoch=1)], True),  # that marker was truncated
            ([data(5, record(5)), ended(6, "abort"), ended(8)], True),
            ([data(4), data(5, record(5)), ended(6)], False),
            ([data(3, producer=8), data(5, record(5)), ended(6)], True),  # beyond one that is open
            ([data(3, producer=8), data(5, record(5)), ended(6), ended(7, producer=8)], False),
            ([data(3, producer=8, epoch=1), data(5, record(5)), ended(6)], False),
        ],
    )
    def test_whether_it_replaces_one_outside(self, transactional: list[list[Any]], *, found: bool) -> None:
        recording = written(record(2), transactional=transactional)
        left(recording, [[5, 6]])
        assert counts(recording) == (FOUND if found else {})

    @pytest.mark.parametrize(("how", "found"), [("commit", True), ("abort", False)])
    def test_whether_it_must_be_left(self, how: str, *, found: bool) -> None:
        recording = written(transactional=[data(5, record(5)), ended(6, how)])
        left(recording, [])
        assert counts(recording) == (FOUND if found else {})

    def test_what_is_open_at_the_end_stays_with_all_behind_it(self) -> None:
        recording = written(record(6), record(8), transactional=[data(5, record(5))])
        left(recording, [[8, 9]])
        assert counts(recording) == {"commit-compacted-away": 2}

    def test_one_that_could_not_be_read(self) -> None:
        recording = written(record(2), transactional=[[0, 5, 9, "data", None], ended(6)])
        left(recording, [])
        assert counts(recording) == {}


class TestReach:
    """Nothing is concluded where something may have been written that nobody read."""

    @pytest.mark.parametrize(
        "stretches",
        [
            [(0, 0, 8, -1, [record(2)])],
            [(0, 0, 4, -1, [record(2)]), (0, 5, 9, None, [])],
            [(1, 0, 9, -1, [record(2)])],
        ],
    )
    def test_a_log_with_a_gap(self, stretches: list[Stretch]) -> None:
        recording = led()
        read(recording, *stretches, deleted=[], transactional=[])
        left(recording, [])
        result = check_partitions(history_of(recording))
        assert (result.counts, result.figures["kept_commits_looked_for"]) == ({}, 0)

    def test_a_gap_before_the_commit(self) -> None:
        recording = led()
        read(recording, (0, 1, 9, None, [record(2)]), deleted=[], transactional=[])
        left(recording, [])
        assert counts(recording) == FOUND

    def test_what_was_truncated_is_not_asked_for(self) -> None:
        recording = led()
        stretches: list[Stretch] = [(0, 0, 6, -1, [record(2), record(5)]), (1, 5, 9, 0, [])]
        read(recording, *stretches, deleted=[], transactional=[])
        left(recording, [[2, 3]], epoch=1)
        assert counts(recording) == {}

    def test_what_was_truncated_replaces_nothing(self) -> None:
        recording = led()
        stretches: list[Stretch] = [(0, 0, 6, -1, [record(2), record(5)]), (1, 5, 9, 0, [])]
        read(recording, *stretches, deleted=[[0, 5, "g", "t", 2]], transactional=[])
        left(recording, [[5, 6]], epoch=1)
        assert counts(recording) == FOUND

    @pytest.mark.parametrize("field", ["deleted", "transactional"])
    def test_an_older_run_does_not_record_all(self, field: str) -> None:
        recording = led()
        others: dict[str, Any] = {field: []}
        read(recording, (0, 0, 9, -1, [record(2)]), **others)
        left(recording, [])
        assert counts(recording) == {}

    def test_a_run_in_which_nothing_was_read(self) -> None:
        recording = led()
        left(recording, [])
        result = check_partitions(history_of(recording))
        assert (result.counts, "kept_commits_looked_for" in result.figures) == ({}, False)

    def test_a_partition_of_which_nothing_was_read(self) -> None:
        recording = written(record(2))
        left(recording, [], partition=1)
        assert counts(recording) == {}


class TestReplicas:
    """Whose log is judged."""

    @pytest.mark.parametrize(
        "fields",
        [
            {"error": "segments are being replaced"},
            {"end": 0, "active": 0},
            {"active": 10},  # what stood at the end may be gone
            {"log_start": 6},
        ],
    )
    def test_a_log_that_records_nothing_of_it(self, fields: dict[str, Any]) -> None:
        recording = written(record(5))
        left(recording, [], **fields)
        assert counts(recording) == {}

    def test_each_that_ends_where_the_farthest_does(self) -> None:
        recording = written(record(5))
        for node in ("n1", "n2", "n3"):
            left(recording, [[5, 6]] if node == "n2" else [], node=node)
        assert counts(recording) == {"commit-compacted-away": 2}

    @pytest.mark.parametrize("lagging", [{"end": 7, "active": 0}, {"epoch": -1}])
    def test_one_that_lags_may_have_fetched_what_was_cleaned(self, lagging: dict[str, Any]) -> None:
        recording = written(record(2), record(7))
        left(recording, [[7, 8]])
        left(recording, [], node="n2", **lagging)
        assert counts(recording) == {}

    @pytest.mark.parametrize(("kind", "found"), [("wipe-disk", False), ("dead-disk", False), ("kill", True)])
    def test_one_whose_disk_was_struck(self, kind: str, *, found: bool) -> None:
        recording = written(record(5))
        recording.fault(200, 250, kind, "n1")
        left(recording, [])
        assert counts(recording) == (FOUND if found else {})


class TestActiveSegments:
    """What stands in the segment that the leader writes to, offset 8 on, replaces nothing in its log."""

    @pytest.mark.parametrize(
        ("records", "stretches", "found"),
        [
            ([record(5), record(8)], [[8, 9]], EARLY),
            ([record(5), record(8)], [[5, 6], [8, 9]], {}),
            ([record(5), record(7)], [[7, 8]], {}),  # that may have been cleaned
            ([record(2), record(5), record(8)], [[8, 9]], EARLY),  # 2 was replaced before
            ([record(2), record(5), record(8)], [[5, 6], [8, 9]], {}),
            ([record(2), record(7), record(8)], [[2, 3], [8, 9]], EARLY),
            ([record(5)], [], FOUND),
        ],
    )
    def test_the_last_record_before_it(
        self, records: list[list[Any]], stretches: Left, found: dict[str, int]
    ) -> None:
        recording = written(*records)
        left(recording, stretches)
        assert counts(recording) == found

    def test_what_is_looked_for(self) -> None:
        recording = written(record(2), record(5), record(8))
        left(recording, [[5, 6], [8, 9]])
        left(recording, [[8, 9]], node="n2")
        figures = check_partitions(history_of(recording)).figures
        assert (figures["kept_commits_looked_for"], figures["commits_not_yet_replaced"]) == (2, 1)

    def test_a_deletion_in_it_replaces_nothing_either(self) -> None:
        recording = written(record(5), deleted=[[0, 8, "g", "t", 2]])
        left(recording, [])
        assert counts(recording) == EARLY

    def test_nor_does_a_transaction(self) -> None:
        recording = written(record(2), transactional=[data(5, record(5)), ended(6)])
        left(recording, [[5, 6]], active=5)
        assert counts(recording) == EARLY

    def test_one_that_follows_may_have_fetched_what_was_cleaned(self) -> None:
        recording = written(record(5), record(8))
        left(recording, [[8, 9]], node="n2")
        assert counts(recording) == {}

    @pytest.mark.parametrize(
        ("leaders", "found"),
        [
            ((), True),
            ((2,), False),
            ((-1,), False),
            ((2, 1), False),  # others may have cleaned what was appended before it led again
        ],
    )
    def test_the_epoch_is_that_of_the_leadership(self, leaders: tuple[int, ...], *, found: bool) -> None:
        recording = written(record(5), record(8))
        for number, leader in enumerate(leaders):
            recording.changed(160 + 10 * number, leader=leader)
        left(recording, [[8, 9]], began_ns=880 * MS)
        assert counts(recording) == (EARLY if found else {})

    def test_a_later_leader_judges_what_it_appended(self) -> None:
        recording = led()
        recording.changed(150, leader=2)
        stretches: list[Stretch] = [(0, 0, 7, -1, [record(2), record(5)]), (1, 7, 9, 0, [record(8)])]
        read(recording, *stretches, at_ms=160, deleted=[], transactional=[])
        left(recording, [[8, 9]], node="n2", epoch=1, began_ns=880 * MS)
        assert counts(recording) == EARLY

    def test_while_the_leader_changes_nobody_is_judged(self) -> None:
        recording = written(record(5), record(8))
        recording.changed(880, leader=2)
        left(recording, [[8, 9]], began_ns=1)
        assert counts(recording) == {}

    def test_the_finding_convinces(self) -> None:
        recording = written(record(5), record(8))
        left(recording, [[8, 9]])
        (anomaly,) = check_partitions(history_of(recording)).anomalies
        assert anomaly.summary == (
            "__consumer_offsets/0: n1 has no record at offset 5, where group g committed offset 77 of t/2, "
            "and what replaces it was not cleaned yet."
        )
        assert anomaly.explanation[2] == "n1 led, and its active segment begins at 8."

    def test_without_the_end_of_the_metadata_log_nobody_knows_the_leader(self) -> None:
        recording = written(record(5), record(8))
        left(recording, [[8, 9]])
        more = {"began_ns": 870 * MS, "answer": "leader", "leader_id": 1, "leader_epoch": 1, "wall_ms": 0}
        ends = {"high_watermark": 99, "voters": [[1, None, 99, -1, -1]], "observers": []}
        recording.observe(871, "quorum", more | ends)
        assert counts(recording) == {}


def cleaned(recording: AdminStory, end: int, *, nodes: str = "123", began_ms: int = 895) -> None:
    """What all nodes logged of cleanings: n2 cleaned the partition up to an offset."""
    for number in nodes:
        logs = [["__consumer_offsets", 0, end, 4]] if number == "2" else []
        recording.observe(896, "cleaned", {"began_ns": began_ms * MS, "logs": logs}, node=f"n{number}")


class TestCleanings:
    """What was not cleaned yet replaces nothing, whoever has it."""

    @pytest.mark.parametrize(
        ("end", "stretches", "found"),
        [
            (7, [[7, 8]], EARLY),
            (8, [[7, 8]], {}),  # 7 may have replaced it
            (7, [[5, 6], [7, 8]], {}),
            (4, [[2, 3], [7, 8]], EARLY),
        ],
    )
    def test_the_last_record_before_their_end(self, end: int, stretches: Left, found: dict[str, int]) -> None:
        recording = written(record(2), record(5), record(7))
        left(recording, stretches, node="n3")
        cleaned(recording, end)
        assert counts(recording) == found

    def test_on_the_leader_both_bounds_count(self) -> None:
        recording = written(record(2), record(5), record(8))
        left(recording, [[5, 6], [8, 9]])
        cleaned(recording, 4)
        assert counts(recording) == EARLY
        recording = written(record(2), record(5), record(8))
        left(recording, [[2, 3], [8, 9]])
        cleaned(recording, 9)
        assert counts(recording) == EARLY

    @pytest.mark.parametrize(
        "fields", [{"nodes": "12"}, {"nodes": "13"}, {"began_ms": 889}], ids=["lacking", "none", "before"]
    )
    def test_where_nobody_knows_them_nothing_is_found(self, fields: dict[str, Any]) -> None:
        recording = written(record(2), record(5), record(7))
        left(recording, [[7, 8]], node="n3")
        cleaned(recording, 7, **fields)
        assert counts(recording) == {}

    def test_the_finding_convinces(self) -> None:
        recording = written(record(5), record(7))
        left(recording, [[7, 8]], node="n3")
        cleaned(recording, 6)
        (anomaly,) = check_partitions(history_of(recording)).anomalies
        assert anomaly.explanation[2] == (
            "By their logs, no broker had compacted it beyond 6; n2 had up to there (line 4)."
        )


class TestLicences:
    """What had replaced a commit may be lost legally."""

    def judged(self, *, epoch: int) -> list[tuple[bool, str | None]]:
        recording = led(config={"unclean.leader.election.enable": "true"})
        recording.changed(150, isr=[2], leader=2, leaderRecoveryState=1)
        stretches: list[Stretch] = [(0, 0, 5, -1, [record(4)]), (1, 5, 9, 0, [])]
        if epoch:
            stretches = [(0, 0, 2, -1, []), (1, 2, 9, 0, [record(4)])]
        read(recording, *stretches, deleted=[], transactional=[])
        left(recording, [], epoch=1)
        found = check_partitions(history_of(recording)).anomalies
        return [(one.illegal, one.licence) for one in found if one.id == "commit-compacted-away"]

    def test_by_an_unclean_election(self) -> None:
        assert self.judged(epoch=0) == [(False, "broker 2 was elected uncleanly for __consumer_offsets")]

    def test_not_by_one_that_was_before_it(self) -> None:
        assert self.judged(epoch=1) == [(True, None)]

    def test_by_disks_of_all_that_were_in_sync(self) -> None:
        recording = written(record(5))
        recording.changed(100, isr=[2, 3], leader=2)
        recording.fault(200, 250, "power-loss", "n2", "n3")
        left(recording, [], node="n1")
        result = check_partitions(history_of(recording))
        (anomaly,) = result.anomalies
        assert (result.validity, anomaly.illegal) == (Validity.VALID, False)
        assert "damage to disks" in (anomaly.licence or "")


def test_where_the_disks_are_lacking_nothing_is_found() -> None:
    recording = written(record(5))
    left(recording, [])
    history = history_of(recording)
    for lacking in ("observer-commits", "replicas"):
        broken = History(history.run, history.began_at, history.operations, lacking=frozenset({lacking}))
        (result,) = (one for one in judge(broken).results if one.checker == "partitions")
        assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
