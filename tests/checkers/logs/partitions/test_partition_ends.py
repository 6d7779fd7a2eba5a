"""Replicas have what they had when their brokers start again, and no mark is beyond a member of the ISR."""

from typing import Any

import pytest

from checkers.logs.partitions import check_partitions
from checkers.verdict.verdict import CheckerResult
from tests.checkers.admin_histories import TOPIC, AdminStory
from tests.checkers.logs.partitions.test_acknowledged_states import ENDED_MS, judged, sent

LOST = {"replica-end-regression": 1}
BEYOND = {"high-watermark-beyond-member": 1}
LINE = {"line": 9, "at": "", "topic": TOPIC, "partition": 0}


def loaded(recording: AdminStory, at_ms: float, end: int, *, node: str = "n2", topic: str = TOPIC) -> None:
    recording.observe(at_ms, "loaded", LINE | {"topic": topic, "end": end}, node=node)


class TestLoaded:
    """Offset 3 is acknowledged at 200 ms; broker 2, in sync, starts again and loads its log at 5000 ms."""

    def story(self) -> AdminStory:
        recording = AdminStory()
        recording.created()
        sent(recording, 100, 200)
        return recording

    @pytest.mark.parametrize(("end", "found"), [(4, False), (3, True), (0, True)])
    def test_a_log_ends_behind_what_was_acknowledged(self, end: int, *, found: bool) -> None:
        recording = self.story()
        loaded(recording, 5000, end)
        result = judged(recording)
        assert result.counts == (LOST if found else {})
        assert result.figures["logs_loaded"] == 1

    def test_what_shows_it(self) -> None:
        recording = self.story()
        loaded(recording, 5000, 3)
        (anomaly,) = judged(recording).anomalies
        assert anomaly.summary == (
            "n2 loaded its log of log-0/0, which ended at 3, but 7 had been acknowledged at 3 "
            "while it was in sync."
        )
        assert len(anomaly.witness) == 3

    @pytest.mark.parametrize(
        "fields",
        [
            {"isr": [1, 3]},
            {"isr": [1], "leader": 1, "leaderRecoveryState": 1},
            {"replicas": [1, 3], "isr": [1, 3]},
        ],
    )
    def test_who_was_not_in_sync_may_lack_it(self, fields: dict[str, object]) -> None:
        recording = self.story()
        recording.changed(50, **fields)
        loaded(recording, 5000, 0)
        assert judged(recording).counts == {}

    def test_who_had_no_copy_for_a_while_begins_anew(self) -> None:
        recording = self.story()
        recording.changed(1000, replicas=[1, 3], isr=[1, 3])
        recording.changed(1500, replicas=[1, 2, 3])
        loaded(recording, 5000, 0)
        assert "replica-end-regression" not in judged(recording).counts

    @pytest.mark.parametrize(
        ("kind", "node", "found"),
        [
            ("kill", "n2", True),
            ("power-loss", "n2", False),
            ("wipe-disk", "n2", False),
            ("power-loss", "n1", True),
        ],
    )
    def test_a_disk_that_was_struck_may_have_lost_it(self, kind: str, node: str, *, found: bool) -> None:
        recording = self.story()
        recording.fault(300, 4000, kind, node)
        loaded(recording, 5000, 3)
        assert ("replica-end-regression" in judged(recording).counts) is found

    def test_what_may_have_been_acknowledged_later_is_not_known(self) -> None:
        recording = self.story()
        loaded(recording, 2100, 3)
        loaded(recording, 5000, 3, topic="another")
        assert judged(recording).counts == {}

    def test_without_a_metadata_log_nobody_knows_who_was_in_sync(self) -> None:
        recording = self.story()
        loaded(recording, 5000, 3)
        assert check_partitions(recording.history(metadata_log=False)).counts == {}


class TestShrunk:
    def judged(
        self, *out: tuple[int, int], fault: tuple[str, str] | None = None, version: str = "4.3.1"
    ) -> CheckerResult:
        recording = AdminStory(kafka_version=version)
        recording.created()
        if fault is not None:
            recording.fault(300, 4000, *fault)
        value = {"isr": [1, 2, 3], "high_watermark": 50, "end": 60, "out": [list(each) for each in out]}
        recording.observe(6000, "isr-shrunk", LINE | value)
        return check_partitions(recording.history(began_ns=ENDED_MS * 1_000_000))

    @pytest.mark.parametrize(
        ("replica", "end", "found"),
        [(2, 49, True), (2, 0, True), (2, 50, False), (2, -1, False), (4, 10, False)],
    )
    def test_a_mark_beyond_a_member(self, replica: int, end: int, *, found: bool) -> None:
        result = self.judged((replica, end))
        assert result.counts == (BEYOND if found else {})
        assert result.figures["isrs_shrunk"] == 1

    def test_what_shows_it(self) -> None:
        (anomaly,) = self.judged((3, 50), (2, 40)).anomalies
        text = "n1 led log-0/0 with the high watermark 50 while 2, which was in sync, had fetched up to 40."
        assert anomaly.summary == text

    @pytest.mark.parametrize(
        ("fault", "found"),
        [(("power-loss", "n2"), False), (("kill", "n2"), True), (("wipe-disk", "n3"), True)],
    )
    def test_a_disk_that_was_struck_sets_its_replica_back(
        self, fault: tuple[str, str], *, found: bool
    ) -> None:
        assert bool(self.judged((2, 40), fault=fault).counts) is found

    def test_of_before_the_lock_nothing_is_reported(self) -> None:
        assert self.judged((2, 40), version="3.7.1").counts == {}

    @pytest.mark.parametrize(
        ("node", "at_ms", "found"),
        [("n1", 100, True), ("n1", 5000, False), ("n2", 100, False)],
        ids=["long before the line", "at about its time", "another node"],
    )
    def test_the_version_of_the_leader_at_that_time_decides(
        self, node: str, at_ms: int, *, found: bool
    ) -> None:
        recording = AdminStory(kafka_version="3.7.1", later_versions=["3.9.0"])
        recording.created()
        recording.fault(at_ms, at_ms + 10, "upgrade", node, version="3.9.0")
        value = {"isr": [1, 2, 3], "high_watermark": 50, "end": 60, "out": [[3, 40]]}
        recording.observe(6000, "isr-shrunk", LINE | value)
        result = check_partitions(recording.history(began_ns=ENDED_MS * 1_000_000))
        assert result.counts == (BEYOND if found else {})


class TestAckedBeyond:
    """Offset 3 is acknowledged at 200 ms; its leader logs its high watermark at 5000 ms."""

    def judged(
        self, mark: int, *, at_ms: float = 5000, node: str = "n1", topic: str = TOPIC, **change: object
    ) -> CheckerResult:
        recording = AdminStory()
        recording.created()
        sent(recording, 100, 200)
        if change:
            recording.changed(1000, **change)
        value = {"isr": [1, 2, 3], "high_watermark": mark, "end": 9, "out": [], "topic": topic}
        recording.observe(at_ms, "isr-shrunk", LINE | value, node=node)
        return judged(recording)

    @pytest.mark.parametrize(("mark", "found"), [(4, False), (3, True), (0, True)])
    def test_a_mark_that_did_not_pass_what_was_acknowledged(self, mark: int, *, found: bool) -> None:
        result = self.judged(mark)
        assert result.counts == ({"acked-beyond-high-watermark": 1} if found else {})
        for anomaly in result.anomalies:
            assert anomaly.summary.endswith(f"but later the high watermark of its leader n1 was {mark}.")

    @pytest.mark.parametrize(
        "options",
        [
            {"at_ms": 2100},
            {"node": "n2"},
            {"leader": 2},
            {"leader": 1},  # a leadership of its own, in which the mark begins anew
            {"topic": "another"},
        ],
    )
    def test_another_leadership_or_time_proves_nothing(self, options: dict[str, Any]) -> None:
        assert "acked-beyond-high-watermark" not in self.judged(0, **options).counts

    @pytest.mark.parametrize(
        ("exited_ms", "found"), [(1000, False), (50, True)], ids=["after the record", "before it"]
    )
    @pytest.mark.parametrize("fault", [True, False], ids=["killed", "ended by itself"])
    def test_a_process_that_began_later_has_the_mark_of_its_checkpoint(
        self, exited_ms: float, *, found: bool, fault: bool
    ) -> None:
        recording = AdminStory()
        recording.created()
        sent(recording, 100, 200)
        if fault:
            recording.fault(exited_ms, exited_ms + 40, "kill", "n1")
        for at_ms, status, started_at in (
            (0, "running", "1"),
            (exited_ms, "exited", "1"),
            (exited_ms + 40, "running", "2"),
        ):
            seen = {"status": status, "exit_code": None, "oom": False, "started_at": started_at}
            recording.observe(at_ms, "node", seen, node="n1")
        value = {"isr": [1, 2, 3], "high_watermark": 3, "end": 9, "out": []}
        recording.observe(5000, "isr-shrunk", LINE | value)
        assert ("acked-beyond-high-watermark" in judged(recording).counts) is found


class TestTruncated:
    """A follower, n2, cuts off its log at 5000 ms."""

    def judged(
        self, end: int = 49, *, topic: str = TOPIC, more: AdminStory | None = None, **setup: Any
    ) -> CheckerResult:
        recording = AdminStory(**setup) if more is None else more
        if more is None:
            recording.created()
        value = {"topic": topic, "end": end, "high_watermark": 50}
        recording.observe(5000, "truncated", LINE | value, node="n2")
        return check_partitions(recording.history(began_ns=ENDED_MS * 1_000_000))

    @pytest.mark.parametrize(("end", "found"), [(49, True), (0, True), (50, False)])
    def test_what_was_committed_is_not_cut_off(self, end: int, *, found: bool) -> None:
        assert self.judged(end).counts == ({"truncated-below-high-watermark": 1} if found else {})

    def test_what_shows_it(self) -> None:
        (anomaly,) = self.judged().anomalies
        assert anomaly.summary == "n2 truncated its log of log-0/0 to 49, below its high watermark 50."
        assert anomaly.explanation[0] == "Line 9 of n2's log, at , has both offsets."
        assert anomaly.illegal

    @pytest.mark.parametrize(
        ("fields", "found"),
        [
            ({"leader": 3}, True),
            ({"leader": 3, "isr": [3], "leaderRecoveryState": 1}, False),
        ],
    )
    def test_after_an_unclean_election_it_is(self, fields: dict[str, object], *, found: bool) -> None:
        recording = AdminStory()
        recording.created()
        recording.changed(1000, **fields)
        assert bool(self.judged(more=recording).counts) is found

    def test_one_that_comes_later_explains_nothing(self) -> None:
        recording = AdminStory()
        recording.created()
        recording.changed(9000, leader=3, isr=[3], leaderRecoveryState=1)
        assert self.judged(more=recording).counts == {"truncated-below-high-watermark": 1}

    @pytest.mark.parametrize(
        ("kind", "at_ms", "found"),
        [
            ("kill", 1000, True),
            ("power-loss", 1000, False),
            ("wipe-disk", 1000, False),
            ("torn-write", 1000, False),
            ("power-loss", 9000, True),
        ],
    )
    def test_where_a_disk_was_struck_it_may_be(self, kind: str, at_ms: float, *, found: bool) -> None:
        recording = AdminStory()
        recording.created()
        recording.fault(at_ms, at_ms + 500, kind, "n3")
        assert bool(self.judged(more=recording).counts) is found

    def test_of_a_topic_that_was_deleted_nothing_is_reported(self) -> None:
        recording = AdminStory()
        recording.created()
        recording.both(200, 210, "delete-topic", None, key=TOPIC)
        assert "truncated-below-high-watermark" not in self.judged(more=recording).counts

    def test_nor_of_one_that_nobody_reports(self) -> None:
        assert self.judged(topic="another").counts == {}
