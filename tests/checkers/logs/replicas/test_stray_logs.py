"""A log that is no replica's any more, for long, is set aside by every broker that ran all the time."""

from typing import Any

import pytest

from checkers.history.operations import History
from checkers.judge import result_by
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import TOPIC_ID, AdminStory

MS = 1_000_000
KEPT = {"stray-replica": 1}


def story(
    read_ms: float = 20_000, *, folder: str = "log-0-0", removed: bool = True, started: bool = True
) -> AdminStory:
    """A topic is removed at 100 ms; a broker's folders are read later."""
    recording = AdminStory()
    if started:
        recording.observe(0.1, "node", {"status": "running"}, node="n2")
    recording.created()
    if removed:
        recording.record(100, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID})
    value = {"began_ns": round(read_ms * MS), "folders": [[folder, TOPIC_ID], ["other-0", "other"]]}
    recording.observe(read_ms + 1, "folders", value, node="n2")
    return recording


def judged(recording: AdminStory) -> CheckerResult:
    return check_replicas(recording.history())


def test_of_a_topic_that_was_removed() -> None:
    result = judged(story())
    assert (result.validity, result.counts) == (Validity.INVALID, KEPT)
    (anomaly,) = result.anomalies
    assert anomaly.summary == f"n2 kept log-0-0 of the topic {TOPIC_ID}, 19.9 s after it was removed."
    assert (anomaly.subject, anomaly.time_ns, len(anomaly.witness)) == ("log-0-0", 20_001 * MS, 1)
    assert (result.figures["folders_listed"], result.figures["removals_applied"]) == (2, 1)


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(story(folder="log-0-0.3f2a-delete"), id="to be deleted"),
        pytest.param(story(folder="log-0-0.3f2a-stray"), id="found at the start"),
        pytest.param(story(removed=False), id="still there"),
        pytest.param(story(started=False), id="nobody reported when it started"),
        pytest.param(story(10_090), id="removed a moment ago"),
    ],
)
def test_what_a_broker_may_have(recording: AdminStory) -> None:
    assert judged(recording).counts == {}


class TestElsewhere:
    """The partition's replicas are brokers 1 to 3, from 100 ms on 1 and 3, from 200 ms on others."""

    def moved(self, read_ms: float = 20_000, after: tuple[int, ...] = (1, 3), **folder: Any) -> AdminStory:
        recording = story(read_ms, removed=False, **folder)
        recording.changed(100, replicas=[1, 3], isr=[1, 3])
        recording.changed(200, replicas=list(after), isr=list(after))
        recording.record(210, "PARTITION_CHANGE_RECORD", {"partitionId": 9, "topicId": "unknown", "isr": [1]})
        return recording

    def test_of_a_partition_that_was_moved(self) -> None:
        result = judged(self.moved())
        assert (result.validity, result.counts) == (Validity.INVALID, KEPT)
        text = f"n2 kept log-0-0 of the topic {TOPIC_ID}, 19.9 s after it was only on other brokers."
        assert result.anomalies[0].summary == text

    def test_of_one_that_was_never_there(self) -> None:
        recording = AdminStory()
        recording.observe(0.1, "node", {"status": "running"}, node="n2")
        recording.created([1, 3])
        value = {"began_ns": 20_000 * MS, "folders": [["log-0-0", TOPIC_ID]]}
        recording.observe(20_001, "folders", value, node="n2")
        assert judged(recording).counts == KEPT

    @pytest.mark.parametrize(
        ("read_ms", "after", "folder"),
        [
            (20_000, (1, 2, 3), "log-0-0"),  # it came back
            (10_090, (1, 3), "log-0-0"),  # a moment ago
            (20_000, (1, 3), "log-0-0.3f2a-delete"),
            (20_000, (1, 3), "log-0-7"),  # which nobody reports
            (20_000, (1, 3), "log-1-0"),  # of another name than the topic with this id
        ],
    )
    def test_what_a_broker_may_have(self, read_ms: float, after: tuple[int, ...], folder: str) -> None:
        assert judged(self.moved(read_ms, after, folder=folder)).counts == {}

    def test_what_happened_after_the_log_ends_is_not_known(self) -> None:
        recording = self.moved()
        recording.changed(300, replicas=[1, 2, 3], isr=[1, 3])
        recording.changed(400, isr=[1, 2, 3])
        assert check_replicas(recording.history(cut=4)).counts == {}

    def test_where_a_wiped_disk_may_have_taken_records_nothing_is_decided(self) -> None:
        recording = self.moved()
        recording.fault(300, 310, "wipe-disk", "n1", scope="all", new_directory_id=False)
        assert judged(recording).counts == {}


def test_a_removal_that_nobody_reported_to_be_committed_may_be_unknown() -> None:
    recording = story(removed=False)
    recording.records.append([2, 1, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID}])
    assert judged(recording).counts == {}


def test_without_a_metadata_log_nothing_is_known() -> None:
    assert check_replicas(story().history(metadata_log=False)).counts == {}


@pytest.mark.parametrize(
    ("kind", "healed_ms", "node", "found"),
    [
        ("partition", 9_000, "n2", KEPT),
        ("partition", 11_000, "n2", {}),
        ("partition", 11_000, "n1", {}),  # nobody may have led, or reported what was committed
        ("kill", None, "n2", {}),
        ("dead-disk", 9_000, "n2", {}),
        ("dead-disk", 9_000, "n1", KEPT),
    ],
)
def test_a_fault_keeps_a_broker_from_applying_it(
    kind: str, healed_ms: float | None, node: str, found: dict[str, int]
) -> None:
    recording = story()
    recording.fault(50, healed_ms, kind, node)
    assert judged(recording).counts == found


@pytest.mark.parametrize(
    ("at_ms", "status", "node", "found"),
    [
        (9_000, "running", "n2", KEPT),
        (11_000, "running", "n2", {}),
        (11_000, "running", "n1", KEPT),
        (9_000, "exited", "n2", {}),
    ],
)
def test_a_broker_that_did_not_run_long_enough(
    at_ms: float, status: str, node: str, found: dict[str, int]
) -> None:
    recording = story()
    recording.observe(at_ms, "node", {"status": status}, node=node)
    assert judged(recording).counts == found


@pytest.mark.parametrize("journal", ["nemesis", "nodes"])
def test_without_what_it_rests_on_nothing_is_decided(journal: str) -> None:
    history = History("run", "", story().history().operations, lacking=frozenset([journal]))
    result = result_by("replicas", check_replicas, history)
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
    assert "stray-replica may only be a gap" in str(result.unknown_because)
