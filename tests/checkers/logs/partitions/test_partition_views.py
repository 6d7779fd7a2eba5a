"""Brokers may tell what is old; they may not tell what never was, and not contradict each other."""

from typing import Any

import pytest

from checkers.history.operations import History, OperationType
from checkers.judge import result_by
from checkers.logs.partitions import check_partitions
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import TOPIC, TOPIC_ID, AdminStory

ENDED_MS = 20_000


def story() -> AdminStory:
    """Broker 1 leads; from 10 ms on broker 3 is out of sync, from 20 ms on broker 2 leads."""
    recording = AdminStory()
    recording.created()
    recording.changed(10, isr=[1, 2])
    recording.changed(20, leader=2)
    return recording


def observe_partition(
    recording: AdminStory, at_ms: float, leader: int, epoch: int, isr: list[int], **other: Any
) -> None:
    """A broker reports the partition's state."""
    state = [0, leader, epoch, other.get("replicas", [1, 2, 3]), isr, other.get("elr")]
    value = {"began_ns": round((at_ms - 0.1) * 1e6), "topics": {other.get("topic", TOPIC): [state]}}
    recording.observe(at_ms, "partitions", value, node=f"n{other.get('node', 1)}")


def judged(recording: AdminStory, **changed: Any) -> CheckerResult:
    return check_partitions(recording.history(**{"began_ns": ENDED_MS * 1_000_000} | changed))


class TestAgainstTheLog:
    @pytest.mark.parametrize(
        ("at_ms", "leader", "epoch", "isr", "found"),
        [
            (15, 1, 0, [1, 2, 3], False),
            (15, 1, 0, [2, 1], False),
            (9000, 1, 0, [1, 2, 3], False),  # it is old
            (30, 2, 1, [1, 2], False),
            (30, -1, 1, [1, 2], False),  # the leader is not up
            (30, 2, 1, [1, 2, 3], True),
            (30, 2, 2, [1, 2], True),
            (30, 1, 1, [1, 2], True),
            (9.4, 1, 0, [1, 2], True),  # too early
            (9.6, 1, 0, [1, 2], False),
            (30_000, 2, 1, [3], False),  # later than the log was read
        ],
    )
    def test_what_it_never_had_can_not_be_reported(
        self, at_ms: float, leader: int, epoch: int, isr: list[int], *, found: bool
    ) -> None:
        recording = story()
        observe_partition(recording, at_ms, leader, epoch, isr)
        observe_partition(recording, at_ms, leader, epoch, isr, node=2)
        assert judged(recording).counts == ({"view-without-record": 1} if found else {})

    def test_nor_other_replicas(self) -> None:
        recording = story()
        observe_partition(recording, 15, 1, 0, [1, 2], replicas=[1, 2])
        result = judged(recording)
        assert result.counts == {"view-without-record": 1}
        (anomaly,) = result.anomalies
        assert (
            "n1 reported at 0.015 s that broker 1 leads log-0/0 in epoch 0 (replicas [1, 2]"
            in anomaly.summary
        )
        assert len(anomaly.explanation) == 2

    @pytest.mark.parametrize(
        ("at_ms", "epoch", "elr", "found"),
        [
            (15, 0, [], False),
            (35, 1, [3], False),
            (35, 0, [3], False),  # it was asked for later than the rest
            (35, 1, [2], True),
            (45, 2, [3], True),  # it is over
        ],
    )
    def test_nor_other_eligible_ones(self, at_ms: float, epoch: int, elr: list[int], *, found: bool) -> None:
        recording = story()
        recording.changed(30, eligibleLeaderReplicas=[3])
        recording.changed(40, leader=1, eligibleLeaderReplicas=[])
        observe_partition(recording, at_ms, 2 if epoch == 1 else 1, epoch, [1, 2], elr=elr)
        counts = judged(recording).counts
        assert counts.get("view-without-record", 0) == found

    def test_of_partitions_that_were_removed_it_proves_nothing(self) -> None:
        recording = story()
        recording.record(30, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID})
        observe_partition(recording, 15, 1, 0, [9])
        result = judged(recording)
        assert result.counts == {}
        assert (result.figures["answers_of_brokers"], result.figures["states_reported"]) == (1, 1)


class TestTwoLeaders:
    def two(self, topic: str = TOPIC) -> AdminStory:
        recording = AdminStory()
        observe_partition(recording, 15, 1, 4, [1, 2], topic=topic)
        observe_partition(recording, 16, 2, 4, [1, 2], node=2, topic=topic)
        observe_partition(recording, 17, 3, 5, [1, 2], node=2, topic=topic)
        observe_partition(recording, 18, -1, 4, [1, 2], node=3, topic=topic)
        return recording

    def test_in_one_epoch(self) -> None:
        result = check_partitions(self.two().history(metadata_log=False))
        assert (result.validity, result.counts) == (Validity.INVALID, {"two-partition-leaders": 1})
        assert result.anomalies[0].explanation == (
            "n1 reported that broker 1 leads.",
            "n2 reported that broker 2 leads.",
        )

    def test_of_a_topic_that_was_deleted_they_may_be_of_another_one_of_its_name(self) -> None:
        recording = self.two()
        recording.both(1, 2, "delete-topic", None, key=TOPIC)
        assert check_partitions(recording.history(metadata_log=False)).counts == {}
        recording = self.two()
        recording.created()
        recording.record(30, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID})
        assert judged(recording).counts == {}


class TestGoingBack:
    def back(self) -> AdminStory:
        recording = story()
        observe_partition(recording, 30, 2, 1, [1, 2])
        observe_partition(recording, 31, 1, 0, [1, 2])
        observe_partition(recording, 32, 1, 0, [1, 2])
        return recording

    def test_to_an_older_epoch(self) -> None:
        assert judged(self.back()).counts == {"view-went-back": 1}

    def test_another_broker_may_be_behind(self) -> None:
        recording = story()
        observe_partition(recording, 30, 2, 1, [1, 2])
        observe_partition(recording, 31, 1, 0, [1, 2], node=2)
        assert judged(recording).counts == {}

    @pytest.mark.parametrize(
        ("kind", "node", "found"), [("kill", "n1", False), ("pause", "n1", True), ("kill", "n2", True)]
    )
    def test_one_that_was_restarted_may_begin_anew(self, kind: str, node: str, *, found: bool) -> None:
        recording = self.back()
        recording.fault(30.2, 30.6, kind, node)
        assert judged(recording).counts == ({"view-went-back": 1} if found else {})

    @pytest.mark.parametrize(
        ("at_ms", "node", "found"), [(31, "n1", False), (31, "n2", True), (5000, "n1", True)]
    )
    def test_one_that_ended_by_itself_too(self, at_ms: float, node: str, *, found: bool) -> None:
        recording = self.back()
        recording.observe(at_ms, "node", {"status": "running"}, node=node)
        assert judged(recording).counts == ({"view-went-back": 1} if found else {})

    def test_of_a_topic_that_was_removed_it_is_another_one(self) -> None:
        recording = self.back()
        recording.record(40, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID})
        assert judged(recording).counts == {}

    def test_where_it_may_have_been_restarted_unseen_nothing_is_decided(self) -> None:
        whole = self.back().history(began_ns=ENDED_MS * 1_000_000)
        history = History("run", "", whole.operations, lacking=frozenset(["nemesis"]))
        result = result_by("partitions", check_partitions, history)
        assert (result.validity, result.counts) == (Validity.UNKNOWN, {})


class TestRecovery:
    """Recovery is asked for at 100 ms and reported at 200 ms."""

    def recovered(self, *, back_ms: float | None = 150, how: str = "ok", **claim: Any) -> AdminStory:
        recording = story()
        if back_ms is not None:
            recording.changed(back_ms, isr=[1, 2, 3])
        state = {"topic": TOPIC, "partition": 0, "leader": 2, "isr": [1, 2, 3], "replicas": [1, 2, 3]}
        asked = {"bound_ms": 60_000}
        answer = asked | {"took_ms": 100, "partitions": [state | {"write_acked": True} | claim]}
        recording.both(100, 200, "recover", asked, answer=answer, how=how)
        return recording

    @pytest.mark.parametrize(("back_ms", "found"), [(50, False), (150, False), (250, False), (None, True)])
    def test_that_the_log_denies_to_its_end(self, back_ms: float | None, *, found: bool) -> None:
        result = judged(self.recovered(back_ms=back_ms))
        assert result.counts == ({"recovery-denied": 1} if found else {})

    def test_of_one_without_a_leader(self) -> None:
        recording = story()
        recording.changed(50, leader=-1, isr=[1, 2, 3])
        state = {"topic": TOPIC, "partition": 0, "leader": 2, "isr": [1, 2, 3], "replicas": [1, 2, 3]}
        answer = {"bound_ms": 1, "took_ms": 1, "partitions": [state | {"write_acked": True}]}
        recording.both(100, 200, "recover", {"bound_ms": 1}, answer=answer)
        assert judged(recording).counts == {"recovery-denied": 1}

    def test_one_that_was_not_reported(self) -> None:
        assert judged(self.recovered(back_ms=None, how="info")).counts == {}
        assert judged(self.recovered(back_ms=None, topic="other")).counts == {}
        assert judged(self.recovered(back_ms=None), began_ns=199_000_000).counts == {}
        recording = story()
        recording.add(200, "runner", OperationType.OK, "recover", value={})
        assert judged(recording).counts == {}

    @pytest.mark.parametrize(
        ("at_ms", "isrs", "found"),
        [
            (800, ([1, 2], [1, 2]), True),
            (800, ([1, 2], [1, 2, 3]), False),
            (700, ([1, 2], [1, 2]), False),  # the first of them was asked too early
        ],
    )
    def test_that_all_brokers_deny_at_last(
        self, at_ms: float, isrs: tuple[list[int], list[int]], *, found: bool
    ) -> None:
        recording = self.recovered()
        recording.record(160, "TOPIC_RECORD", {"name": "other", "topicId": "o"})
        made = {"leader": 1, "leaderEpoch": 1, "replicas": [1], "isr": [1]}
        recording.record(161, "PARTITION_RECORD", {"partitionId": 0, "topicId": "o"} | made)
        for node, isr in enumerate(isrs, 1):
            state, other = [0, 2, 1, [1, 2, 3], isr, None], [0, 1, 1, [1], [1], None]
            topics = {TOPIC: [state], "other": [other]}
            began_ns = round((at_ms - 0.1) * 1e6)
            recording.observe(at_ms, "partitions", {"began_ns": began_ns, "topics": topics}, node=f"n{node}")
        result = judged(recording)
        assert result.counts == ({"recovery-denied": 1} if found else {})

    def test_what_was_lost_again_is_no_denial(self) -> None:
        recording = self.recovered()
        recording.changed(500, isr=[1, 2])
        observe_partition(recording, 800, 2, 1, [1, 2])
        assert judged(recording).counts == {}

    def test_without_all_answers_nothing_is_decided(self) -> None:
        recording = self.recovered(back_ms=None)
        whole = recording.history(began_ns=ENDED_MS * 1_000_000)
        lacking = frozenset(["observer-partitions-n1"])
        history = History("run", "", whole.operations, lacking=lacking)
        result = result_by("partitions", check_partitions, history)
        assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
