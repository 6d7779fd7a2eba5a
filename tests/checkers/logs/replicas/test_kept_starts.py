"""Deletions of records that were acknowledged, and where logs begin on brokers' disks at the end."""

from collections import Counter
from typing import Any

import pytest

from checkers.history.operations import History
from checkers.logs.replicas.anomalies import NEEDS
from checkers.logs.replicas.deleted_records import Licensing
from checkers.logs.replicas.judging import check_replicas
from checkers.logs.replicas.kept_starts import find_not_kept
from checkers.verdict.verdict import Anomaly
from checkers.verdict.withholding import MissingParts, withheld
from tests.checkers.admin_histories import SETUP, TOPIC, TOPIC_ID, AdminStory
from tests.checkers.log_histories import MS
from tests.checkers.logs.replicas.replica_histories import Batch, replica, unread

END_MS = 100_000
"""When disks are read: 90 s after the deletion, and a broker may take 75 s."""


def deleted(below: int = 5, *, how: str = "ok", at_ms: float = 10_000, **setup: Any) -> AdminStory:
    """A deletion that is answered 10 ms after it was asked for."""
    story = AdminStory(**setup)
    story.created()
    story.both(at_ms, at_ms + 10, "delete-records", [[0, below]], key=TOPIC, how=how)
    return story


def on_disk(
    story: AdminStory, start: int | None, *, node: str = "n2", at_ms: float = END_MS, **fields: Any
) -> AdminStory:
    """What lies on a node's disk: a log that begins there."""
    value = replica([Batch(0, 9)], began_ns=round(at_ms * MS), log_start=start, topic_id=TOPIC_ID) | fields
    story.observe(at_ms + 1, "replica", value, node=node)
    return story


def observe_process(story: AdminStory, node: str, at_ms: float, status: str, code: int = 0) -> None:
    """What is seen of a node's process."""
    value = {"status": status, "exit_code": code, "oom": False, "started_at": str(at_ms)}
    story.observe(at_ms, "node", value, node=node)


def stopped(story: AdminStory, kind: str = "stop", *, at_ms: float = 12_000, code: int = 143) -> AdminStory:
    """A process of n2 that is ended, and another one 5 s later."""
    story.fault(at_ms, at_ms + 5_000, kind, "n2")
    observe_process(story, "n2", at_ms + 1_000, "exited", code)
    observe_process(story, "n2", at_ms + 5_100, "running")
    return story


def judged(story: AdminStory, **metadata_log: Any) -> tuple[list[Anomaly], int]:
    """What is found, and how many deletions disks had to have."""
    figures: Counter[str] = Counter()
    found = list(find_not_kept(story.history(**metadata_log), figures))
    return found, figures["deletions_on_disk"]


def named(history: History, found: Anomaly) -> list[str]:
    return [f"{history.operations[at].f} {history.operations[at].key}" for at in found.witness]


class TestLongAgo:
    @pytest.mark.parametrize("start", [5, 6])
    def test_a_disk_that_has_it_is_as_it_should_be(self, start: int) -> None:
        assert judged(on_disk(deleted(), start)) == ([], 1)

    @pytest.mark.parametrize("node", ["n1", "n2"])
    def test_one_that_has_not_is_found_at_leaders_and_followers(self, node: str) -> None:
        story = on_disk(deleted(), 4, node=node)
        (one,), number = judged(story)
        assert (one.id, one.illegal, one.subject, number) == ("deletion-not-kept", True, "log-0/0@4", 1)
        assert "below 5 had been deleted" in one.summary
        assert "Its process ran on for 90.0 s; it may take 75 s." in one.explanation
        assert named(story.history(), one) == [
            "delete-records log-0",
            "delete-records log-0",
            "observe replica",
        ]

    def test_one_finding_for_the_largest_of_a_replica(self) -> None:
        story = deleted(3)
        story.both(11_000, 11_010, "delete-records", [[0, 7]], key=TOPIC)
        (one,), number = judged(on_disk(story, 2))
        assert "below 7" in one.summary
        assert number == 2

    def test_each_replica_is_found(self) -> None:
        assert len(judged(on_disk(on_disk(deleted(), 0), 0, node="n3"))[0]) == 2

    @pytest.mark.parametrize(("at_ms", "number"), [(85_000, 0), (85_020, 1)])
    def test_a_broker_has_a_minute_and_what_a_busy_host_takes(self, at_ms: float, number: int) -> None:
        assert judged(on_disk(deleted(), 5, at_ms=at_ms)) == ([], number)

    @pytest.mark.parametrize(
        ("config", "number"),
        [
            ({"log.flush.start.offset.checkpoint.interval.ms": "90000"}, 0),
            ({"log.initial.task.delay.ms": 90_000}, 0),
            ({"log.flush.start.offset.checkpoint.interval.ms": "1000"}, 1),
        ],
    )
    def test_or_what_it_is_configured_to_take(self, config: dict[str, Any], number: int) -> None:
        assert judged(on_disk(deleted(config=config), 5))[1] == number
        assert judged(on_disk(deleted(node_config={"n2": config}), 5))[1] == number
        assert judged(on_disk(deleted(node_config={"n1": config}), 5))[1] == 1

    @pytest.mark.parametrize(("pause_ms", "number"), [(10_000, 1), (20_000, 0)])
    def test_a_pause_does_not_count(self, pause_ms: int, number: int) -> None:
        story = deleted()
        story.fault(20_000, 20_000 + pause_ms, "pause", "n2")
        assert judged(on_disk(story, 5))[1] == number

    def test_a_network_that_is_cut_holds_no_disk_up(self) -> None:
        story = deleted()
        story.fault(20_000, 60_000, "partition", "n2", cut=[("n2", "n1")])
        assert judged(on_disk(story, 5))[1] == 1

    def test_a_process_that_began_later_may_have_had_an_older_start(self) -> None:
        assert judged(on_disk(stopped(deleted(), "kill", code=137), 0)) == ([], 0)

    def test_nor_one_that_was_seen_to_begin_anew(self) -> None:
        story = deleted()
        observe_process(story, "n2", 30_000, "running")
        assert judged(on_disk(story, 0)) == ([], 0)


class TestCleanStop:
    @pytest.mark.parametrize("code", [0, 143])
    def test_a_stop_writes_it(self, code: int) -> None:
        story = stopped(deleted(), code=code)
        (one,), number = judged(on_disk(story, 4, at_ms=30_000))
        assert "It was stopped at 12.0 s (f1), and exited cleanly." in one.explanation
        assert number == 1
        assert judged(on_disk(stopped(deleted()), 5, at_ms=30_000)) == ([], 1)

    def test_what_comes_later_is_no_matter(self) -> None:
        story = stopped(deleted())
        stopped(story, "kill", at_ms=20_000, code=137)
        assert len(judged(on_disk(story, 4, at_ms=30_000))[0]) == 1

    def test_a_broker_that_is_not_started_again_has_it_too(self) -> None:
        story = deleted()
        story.fault(12_000, None, "stop", "n2")
        observe_process(story, "n2", 13_000, "exited", 143)
        assert len(judged(on_disk(story, 4, at_ms=30_000))[0]) == 1

    def test_a_stop_of_another_node_proves_nothing(self) -> None:
        assert judged(on_disk(stopped(deleted()), 0, node="n3", at_ms=30_000)) == ([], 0)

    def test_one_that_had_to_be_killed_writes_nothing(self) -> None:
        assert judged(on_disk(stopped(deleted(), code=137), 0, at_ms=30_000)) == ([], 0)

    def test_a_kill_before_it_loses_the_start(self) -> None:
        story = stopped(deleted(), "kill", code=137)
        assert judged(on_disk(stopped(story, at_ms=20_000), 0, at_ms=30_000)) == ([], 0)

    @pytest.mark.parametrize("at_ms", [9_000, 10_005])
    def test_so_does_one_that_may_have_come_before_the_answer(self, at_ms: float) -> None:
        assert judged(on_disk(stopped(deleted(), at_ms=at_ms), 0, at_ms=30_000)) == ([], 0)

    def test_an_end_that_nobody_saw_is_not_known_to_be_clean(self) -> None:
        story = deleted()
        story.fault(12_000, 17_000, "stop", "n2")
        assert judged(on_disk(story, 0, at_ms=30_000)) == ([], 0)
        observe_process(story, "n2", 17_100, "running")
        assert judged(on_disk(story, 0, at_ms=30_000)) == ([], 0)

    @pytest.mark.parametrize("seen_ms", [11_000, 31_000])
    def test_the_end_must_be_that_of_the_stop(self, seen_ms: float) -> None:
        story = deleted()
        story.fault(12_000, None, "stop", "n2")
        observe_process(story, "n2", seen_ms, "exited", 143)
        assert judged(on_disk(story, 0, at_ms=30_000)) == ([], 0)


def loaded(
    story: AdminStory, start: int | None, *, node: str = "n2", at_ms: float = 20_000, topic: str = TOPIC
) -> AdminStory:
    """A log that a broker logs to have loaded as it started, at about that time."""
    value = {"line": 7, "at": "then", "topic": topic, "partition": 0, "end": 9}
    story.observe(at_ms, "loaded", value if start is None else value | {"start": start}, node=node)
    return story


class TestLoaded:
    """A broker that was stopped loads its log some seconds later."""

    @pytest.mark.parametrize(("start", "found"), [(4, 1), (5, 0)])
    def test_it_begins_where_it_began_at_the_stop(self, start: int, found: int) -> None:
        anomalies, number = judged(loaded(stopped(deleted()), start))
        assert (len(anomalies), number) == (found, 1)

    def test_what_is_elected_later_is_no_matter(self) -> None:
        story = loaded(stopped(deleted()), 4)
        story.changed(30_000, leader=2, isr=[2], leaderRecoveryState=1)
        (one,), _ = judged(on_disk(story, 0))
        assert one.explanation[-1] == "Line 7 of n2's log, at then: it loads the log, which begins at 4."
        assert named(story.history(), one)[-1] == "observe loaded"

    def test_nor_is_what_was_elected_before(self) -> None:
        story = AdminStory()
        story.created()
        story.changed(5_000, leader=1, isr=[1], leaderRecoveryState=1)
        story.changed(6_000, isr=[1, 2], leaderRecoveryState=0)
        story.both(10_000, 10_010, "delete-records", [[0, 5]], key=TOPIC)
        assert len(judged(loaded(stopped(story), 4))[0]) == 1

    def test_a_pause_before_the_stop_is_no_matter(self) -> None:
        story = deleted()
        for at_ms, status in (
            (9_000, "running"),
            (11_000, "paused"),
            (11_500, "running"),
            (13_000, "exited"),
        ):
            value = {"status": status, "exit_code": 143, "oom": False, "started_at": "at first"}
            story.observe(at_ms, "node", value, node="n2")
        story.fault(12_000, 17_000, "stop", "n2")
        assert len(judged(loaded(story, 4))[0]) == 1

    def test_nor_does_an_end_of_which_nobody_knows_whose_it_is(self) -> None:
        story = deleted()
        story.fault(12_000, 17_000, "stop", "n2")
        value = {"status": "exited", "exit_code": 143, "oom": False}
        story.observe(13_000, "node", value, node="n2")
        assert judged(loaded(story, 4)) == ([], 0)

    def test_an_end_of_another_process_proves_nothing(self) -> None:
        story = deleted()
        observe_process(story, "n2", 11_000, "running")
        assert judged(loaded(stopped(story), 4)) == ([], 0)

    @pytest.mark.parametrize(
        ("start", "fields"),
        [(None, {}), (0, {"at_ms": 11_900}), (0, {"topic": "log-9"}), (0, {"node": "n3"})],
    )
    def test_what_proves_nothing(self, start: int | None, fields: dict[str, Any]) -> None:
        assert judged(loaded(stopped(deleted()), start, **fields)) == ([], 0)

    def test_after_a_kill_it_may_begin_earlier(self) -> None:
        assert judged(loaded(stopped(deleted(), "kill", code=137), 0)) == ([], 0)


class TestNotJudged:
    @pytest.mark.parametrize("how", ["fail", "info"])
    def test_what_was_not_acknowledged(self, how: str) -> None:
        assert judged(on_disk(deleted(how=how), 0)) == ([], 0)

    def test_a_topic_that_was_deleted(self) -> None:
        story = deleted()
        story.both(50_000, 50_010, "delete-topic", None, key=TOPIC)
        assert judged(on_disk(story, 0)) == ([], 0)

    def test_one_that_is_compacted(self) -> None:
        topics = [{"name": TOPIC, "partitions": 1, "config": {"cleanup.policy": "compact,delete"}}]
        assert judged(on_disk(deleted(topics=topics), 0)) == ([], 0)

    def test_a_log_of_another_topic_of_that_name(self) -> None:
        topics = [SETUP["topics"][0] | {"topic_id": "another"}]
        assert judged(on_disk(deleted(topics=topics), 0)) == ([], 0)

    def test_one_that_was_not_read(self) -> None:
        story = deleted()
        story.observe(END_MS, "replica", unread(), node="n2")
        assert judged(story) == ([], 0)
        assert judged(on_disk(deleted(), None)) == ([], 0)

    def test_a_node_that_nobody_knows(self) -> None:
        assert judged(on_disk(deleted(), 0, node="n9")) == ([], 0)

    def test_without_the_metadata_log(self) -> None:
        assert judged(on_disk(deleted(), 0), metadata_log=False) == ([], 0)

    def test_a_replica_that_was_not_in_sync(self) -> None:
        story = AdminStory()
        story.created()
        story.changed(9_000, isr=[1, 3])
        story.both(10_000, 10_010, "delete-records", [[0, 5]], key=TOPIC)
        assert judged(on_disk(story, 0)) == ([], 0)

    def test_one_that_came_in_sync_only_just_before(self) -> None:
        story = AdminStory()
        story.created()
        story.changed(5_000, isr=[1, 3])
        story.changed(8_500, isr=[1, 2, 3])
        story.both(10_000, 10_010, "delete-records", [[0, 5]], key=TOPIC)
        assert judged(on_disk(story, 0)) == ([], 0)

    @pytest.mark.parametrize("leader", [-1, 3])
    def test_while_the_leader_changed(self, leader: int) -> None:
        story = deleted()
        story.changed(10_005, leader=leader)
        assert judged(on_disk(story, 0)) == ([], 0)

    def test_but_a_leader_that_was_elected_later_is_no_matter(self) -> None:
        story = deleted()
        story.changed(30_000, leader=3, isr=[3, 1])
        assert len(judged(on_disk(story, 0))[0]) == 1

    @pytest.mark.parametrize(
        "fields",
        [
            {"leader": 2, "isr": [2], "leaderRecoveryState": 1},
            {"replicas": [1, 3], "isr": [1, 3]},
            {"directories": ["a", "b", "c"]},
        ],
        ids=["elected uncleanly", "moved away", "moved to another directory"],
    )
    def test_a_replica_that_may_have_lost_it(self, fields: dict[str, Any]) -> None:
        story = deleted()
        story.changed(30_000, **fields)
        assert judged(on_disk(story, 0)) == ([], 0)

    @pytest.mark.parametrize("kind", ["power-loss", "wipe-disk", "dead-disk", "torn-write"])
    def test_where_a_fault_of_a_disk_may_make_logs_shorter(self, kind: str) -> None:
        story = deleted()
        story.fault(30_000, 31_000, kind, "n3")
        assert judged(on_disk(story, 0)) == ([], 0)

    def test_where_another_event_permits_that_logs_are_truncated(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert len(judged(on_disk(deleted(), 0))[0]) == 1
        monkeypatch.setattr(Licensing, "truncated", lambda _, deletion: f"permits {deletion.below}")
        assert judged(on_disk(deleted(), 0)) == ([], 0)

    def test_without_deletions_there_is_nothing(self) -> None:
        story = AdminStory()
        story.created()
        assert judged(on_disk(story, 0)) == ([], 0)


def test_the_checker_reports_it() -> None:
    result = check_replicas(on_disk(deleted(), 4).history())
    assert result.counts["deletion-not-kept"] == 1
    assert result.figures["deletions_on_disk"] == 1


@pytest.mark.parametrize(("journal", "kept"), [("nodes", 0), ("nemesis", 0), ("worker-1", 1)])
def test_what_may_be_a_hole_is_withheld(journal: str, kept: int) -> None:
    result = check_replicas(on_disk(deleted(), 4).history())
    shown = withheld(result, NEEDS, MissingParts(frozenset({journal}), "log"))
    assert shown.counts.get("deletion-not-kept", 0) == kept
