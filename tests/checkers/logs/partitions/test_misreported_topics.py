"""Brokers tell of what a record made, and go on to tell of it until a record removes it."""

from typing import Any

import pytest

from checkers.history.operations import History
from checkers.judge import result_by
from checkers.logs.partitions import check_partitions
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import TOPIC, TOPIC_ID, AdminStory
from tests.checkers.logs.replicas.replica_histories import Batch, metadata

READ_NS = 20_000_000_000
STATE = [1, 0, [1, 2, 3], [1, 2, 3], None]
STRANGE, BACK = {"view-without-record": 1}, {"view-went-back": 1}


def story() -> AdminStory:
    """The first partition is made at 2 ms, a second one of the same topic at 50 ms."""
    recording = AdminStory()
    recording.created()
    made(recording, 50, TOPIC_ID, 1)
    return recording


def made(recording: AdminStory, at_ms: float, topic_id: str, partition: int) -> None:
    state = {"leader": 1, "leaderEpoch": 0, "replicas": [1, 2, 3], "isr": [1, 2, 3]}
    recording.record(at_ms, "PARTITION_RECORD", {"partitionId": partition, "topicId": topic_id, **state})


def observe_partitions(
    recording: AdminStory, at_ms: float, *partitions: tuple[str, int], node: int = 1
) -> None:
    """A broker reports these partitions, all in the state in which they are made."""
    topics: dict[str, list[Any]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append([number, *STATE])
    recording.observe(
        at_ms, "partitions", {"began_ns": round((at_ms - 0.1) * 1e6), "topics": topics}, node=f"n{node}"
    )


def judged(recording: AdminStory, **changed: Any) -> CheckerResult:
    return check_partitions(recording.history(**{"began_ns": READ_NS} | changed))


A, B, OTHER = (TOPIC, 0), (TOPIC, 1), ("other", 0)


class TestStrangers:
    """A broker reports a topic, or a partition, that was never made, or not yet."""

    @pytest.mark.parametrize(
        ("at_ms", "partitions", "found"),
        [
            (60, [A, B], {}),
            (60, [A, B, OTHER], STRANGE),
            (60, [A, B, (TOPIC, 2)], STRANGE),
            (40, [A, B], STRANGE),
            (60, [], {}),
            (25_000, [OTHER], {}),  # later than the log was read
        ],
    )
    def test_against_the_log(
        self, at_ms: float, partitions: list[tuple[str, int]], found: dict[str, int]
    ) -> None:
        recording = story()
        observe_partitions(recording, at_ms, *partitions)
        observe_partitions(recording, at_ms + 1, *partitions)
        observe_partitions(recording, at_ms + 1, *partitions, node=2)
        assert judged(recording).counts == found

    def test_names_who_reported_it_when(self) -> None:
        recording = story()
        observe_partitions(recording, 60, OTHER)
        (anomaly,) = judged(recording).anomalies
        assert anomaly.summary == "n1 reported other/0 at 0.060 s, but the metadata log never created it."
        assert (anomaly.subject, anomaly.time_ns, len(anomaly.witness)) == ("other/0", 60_000_000, 2)

    def test_of_a_topic_that_was_removed_any_of_its_name_may_be_meant(self) -> None:
        recording = story()
        for at_ms, topic_id in ((100, "first"), (200, "second")):
            recording.record(at_ms, "TOPIC_RECORD", {"name": "other", "topicId": topic_id})
            made(recording, at_ms + 1, topic_id, 0)
            recording.record(at_ms + 50, "REMOVE_TOPIC_RECORD", {"topicId": topic_id})
        observe_partitions(recording, 105, OTHER)
        observe_partitions(recording, 500, OTHER, node=2)
        assert judged(recording).counts == {}
        observe_partitions(recording, 90, OTHER, node=3)
        result = judged(recording)
        assert result.counts == STRANGE
        assert "the metadata log did not create it before 0.100 s" in result.anomalies[0].summary

    @pytest.mark.parametrize(
        "changed",
        [
            pytest.param({"log_start": 1}, id="the log begins later"),
            pytest.param({"metadata_log": False}, id="no log"),
            pytest.param({"began_ns": 1}, id="read before"),
        ],
    )
    def test_what_the_log_may_lack_is_not_judged(self, changed: dict[str, Any]) -> None:
        recording = story()
        observe_partitions(recording, 60, OTHER)
        assert judged(recording, **changed).counts == {}

    def test_nor_where_leaders_reported_more_than_it_has(self) -> None:
        recording = story()
        observe_partitions(recording, 60, OTHER)
        recording.record(70, "TOPIC_RECORD", {"name": "late", "topicId": "late"})
        recording.record(80, "TOPIC_RECORD", {"name": "later", "topicId": "later"})
        assert judged(recording, cut=2).counts == {}

    def test_nor_where_records_are_missing(self) -> None:
        recording = story()
        observe_partitions(recording, 60, OTHER)
        batches = [Batch(0, 1), Batch(1, 2)]
        for node, records in (
            ("n1", recording.records[:2]),
            ("n2", [recording.records[0], recording.records[2]]),
        ):
            more = {"records": records, "began_ns": READ_NS}
            recording.observe(900, "metadata-log", metadata([*batches, Batch(3, 2)], **more), node=node)
        assert check_partitions(recording.history(metadata_log=False)).counts == {}

    @pytest.mark.parametrize(("node", "found"), [("n1", {}), ("n9", STRANGE)])
    def test_nor_where_a_wiped_disk_explains_it(self, node: str, found: dict[str, int]) -> None:
        recording = story()
        observe_partitions(recording, 60, OTHER)
        recording.fault(70, 80, "wipe-disk", node, scope="all", new_directory_id=False)
        assert judged(recording).counts == found

    def test_without_the_nemesis_nobody_knows_of_wiped_disks(self) -> None:
        recording = story()
        observe_partitions(recording, 60, OTHER)
        whole = recording.history(began_ns=READ_NS)
        history = History("run", "", whole.operations, lacking=frozenset(["nemesis"]))
        result = result_by("partitions", check_partitions, history)
        assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
        assert "view-without-record may only be a gap" in str(result.unknown_because)


class TestForgetting:
    """A broker reported both partitions at 60 ms, and fewer at 70 ms."""

    def forgetful(self, *left: tuple[str, int]) -> AdminStory:
        recording = story()
        observe_partitions(recording, 60, A, B)
        observe_partitions(recording, 70, *left)
        observe_partitions(recording, 80, *left)
        return recording

    def test_a_partition(self) -> None:
        result = judged(self.forgetful(A))
        assert (result.validity, result.counts) == (Validity.INVALID, BACK)
        text = "n1 no longer reported log-0/1 at 0.070 s, but had at 0.060 s. It was not removed."
        assert result.anomalies[0].summary == text

    def test_a_topic(self) -> None:
        assert judged(self.forgetful()).counts == {"view-went-back": 2}

    def test_none(self) -> None:
        assert judged(self.forgetful(B, A)).counts == {}

    def test_another_broker_may_not_have_known_it(self) -> None:
        recording = story()
        observe_partitions(recording, 60, A, B)
        observe_partitions(recording, 70, A, node=2)
        assert judged(recording).counts == {}

    @pytest.mark.parametrize(("removed_ms", "found"), [(65, {}), (75, BACK)])
    def test_what_was_removed_before(self, removed_ms: float, found: dict[str, int]) -> None:
        recording = story()
        recording.record(removed_ms, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID})
        observe_partitions(recording, 60, A, B)
        observe_partitions(recording, 70, B)
        assert judged(recording).counts == found

    def test_a_topic_that_is_made_again_may_not_be_known_yet(self) -> None:
        recording = story()
        recording.record(62, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID})
        recording.record(64, "TOPIC_RECORD", {"name": TOPIC, "topicId": "next"})
        made(recording, 65, "next", 0)
        observe_partitions(recording, 60, A, B)
        observe_partitions(recording, 70)
        observe_partitions(recording, 80, A)
        assert judged(recording).counts == {}

    def test_what_never_was_is_forgotten_with_reason(self) -> None:
        recording = story()
        observe_partitions(recording, 60, A, B, OTHER)
        observe_partitions(recording, 70, A, B)
        assert judged(recording).counts == STRANGE

    @pytest.mark.parametrize(
        ("kind", "node", "found"), [("kill", "n1", {}), ("pause", "n1", BACK), ("kill", "n2", BACK)]
    )
    def test_one_that_was_restarted_begins_anew(self, kind: str, node: str, found: dict[str, int]) -> None:
        recording = self.forgetful(A)
        recording.fault(62, 66, kind, node)
        assert judged(recording).counts == found

    def test_one_that_ended_by_itself_too(self) -> None:
        recording = self.forgetful(A)
        recording.observe(90, "node", {"status": "running"}, node="n1")
        assert judged(recording).counts == {}

    @pytest.mark.parametrize("changed", [{"log_start": 1}, {"metadata_log": False}, {"began_ns": 1}])
    def test_where_the_log_may_lack_its_removal_it_is_not_judged(self, changed: dict[str, Any]) -> None:
        assert judged(self.forgetful(A), **changed).counts == {}

    @pytest.mark.parametrize("journal", ["nemesis", "nodes"])
    def test_where_it_may_have_been_restarted_unseen_nothing_is_decided(self, journal: str) -> None:
        whole = self.forgetful(A).history(began_ns=READ_NS)
        history = History("run", "", whole.operations, lacking=frozenset([journal]))
        result = result_by("partitions", check_partitions, history)
        assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
