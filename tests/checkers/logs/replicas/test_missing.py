"""A broker that ran all the time has a log of every partition of which it has long been a replica."""

import pytest

from checkers.history.operations import History
from checkers.judge import result_by
from checkers.logs.replicas.judging import check_replicas
from checkers.logs.replicas.placed import placed_of
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import TOPIC_ID, AdminStory

MS = 1_000_000
GONE = {"missing-replica": 1}
OLD_ID = "oldAURLxReyXmuf8pnFOsg"


def story(
    read_ms: float = 20_000,
    folders: tuple[tuple[str, str], ...] = (("other-0", "other"),),
    *,
    node: str = "n2",
    recovered: str = "ok",
    recovered_ms: float = 5_000,
    **fields: list[str],
) -> AdminStory:
    """A topic is created at 1 ms, recovery ends later, and a broker's folders are read after that."""
    recording = AdminStory()
    recording.observe(0.1, "node", {"status": "running"}, node=node)
    recording.created()
    recording.both(4_000, recovered_ms, "recover", {"bound_ms": 60_000}, key="log-0", how=recovered)
    value = {"began_ns": round(read_ms * MS), "folders": [list(each) for each in folders]} | fields
    recording.observe(read_ms + 1, "folders", value, node=node)
    return recording


def judged(recording: AdminStory) -> CheckerResult:
    return check_replicas(recording.history())


def test_of_a_partition_of_which_it_is_a_replica() -> None:
    result = judged(story())
    assert (result.validity, result.counts) == (Validity.INVALID, GONE)
    (anomaly,) = result.anomalies
    text = f"n2 had no log log-0-0 of the topic {TOPIC_ID}, 20.0 s after it became a replica."
    assert anomaly.summary == text
    assert (anomaly.subject, anomaly.time_ns, len(anomaly.witness)) == ("log-0-0", 20_001 * MS, 1)
    assert result.figures["folders_due"] == 1


@pytest.mark.parametrize(
    ("folders", "found"),
    [
        ((("log-0-0", TOPIC_ID),), {}),
        ((("log-0-0", OLD_ID),), GONE),
        ((("log-0-0.3f2a-delete", TOPIC_ID),), GONE),
        ((("log-0-0.3f2a-future", TOPIC_ID),), {}),
        ((("log-0-0.3f2a-future", OLD_ID),), GONE),
        ((("log-0-1", TOPIC_ID),), GONE),
        ((), {}),  # in an older history, no folder is listed of a disk that can't be read
    ],
)
def test_by_name_and_topic_id(folders: tuple[tuple[str, str], ...], found: dict[str, int]) -> None:
    assert judged(story(folders=folders)).counts == found


def test_of_a_broker_whose_container_nobody_reported_nothing_is_due() -> None:
    recording = AdminStory()
    recording.created()
    recording.both(4_000, 5_000, "recover", {"bound_ms": 60_000}, key="log-0")
    recording.observe(
        20_001, "folders", {"began_ns": 20_000 * MS, "folders": [["other-0", "other"]]}, node="n2"
    )
    assert judged(recording).counts == {}


@pytest.mark.parametrize(("unread", "found"), [([], GONE), (["log-0-0"], {}), (["data-2"], {})])
@pytest.mark.parametrize("folders", [(), (("other-0", "other"),)])
def test_all_folders_must_have_been_read(
    folders: tuple[tuple[str, str], ...], unread: list[str], found: dict[str, int]
) -> None:
    assert judged(story(folders=folders, unread=unread)).counts == found


def test_the_metadata_log_is_read_once_for_all_rules() -> None:
    history = story().history()
    assert placed_of(history) is placed_of(history)


def test_of_a_node_that_is_no_broker_nothing_is_due() -> None:
    assert judged(story(node="n9")).counts == {}


@pytest.mark.parametrize("how", ["info", "fail"])
def test_nothing_is_due_where_the_cluster_did_not_recover(how: str) -> None:
    assert judged(story(recovered=how)).counts == {}


def test_nothing_is_due_before_it_recovered() -> None:
    recording = story()
    recording.both(20_002, 20_003, "recover", {"bound_ms": 60_000}, key="log-0")
    assert judged(recording).counts == {}


def test_nothing_is_due_a_moment_after_it_was_created() -> None:
    assert judged(story(10_000)).counts == {}


def test_nothing_is_due_of_a_topic_that_was_removed() -> None:
    recording = story()
    recording.record(19_000, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID})
    assert judged(recording).counts == {}


@pytest.mark.parametrize(
    ("at_ms", "replicas", "found"),
    [
        (200, (1, 3), {}),
        (200, (3, 2), GONE),  # it was away, and is back for long
        (15_000, (3, 2), {}),  # it is back for a moment
    ],
)
def test_of_a_partition_that_was_moved(
    at_ms: float, replicas: tuple[int, ...], found: dict[str, int]
) -> None:
    recording = story()
    recording.changed(100, replicas=[1, 3], isr=[1, 3])
    recording.changed(at_ms, replicas=list(replicas), isr=list(replicas))
    assert judged(recording).counts == found


def test_what_happened_after_the_log_ends_is_not_known() -> None:
    recording = story()
    recording.changed(300, isr=[1, 3])
    recording.changed(400, replicas=[1, 3])
    assert check_replicas(recording.history(cut=3)).counts == {}


def test_where_a_wiped_disk_may_have_taken_records_nothing_is_decided() -> None:
    recording = story()
    recording.fault(300, 310, "wipe-disk", "n1", scope="all", new_directory_id=False)
    assert judged(recording).counts == {}


@pytest.mark.parametrize(
    ("kind", "healed_ms", "node", "found"),
    [
        ("partition", 9_000, "n2", GONE),
        ("partition", 11_000, "n2", {}),
        ("kill", None, "n2", {}),
        ("dead-disk", 9_000, "n2", {}),
        ("dead-disk", 9_000, "n1", GONE),
    ],
)
def test_a_fault_keeps_a_broker_from_creating_it(
    kind: str, healed_ms: float | None, node: str, found: dict[str, int]
) -> None:
    recording = story(recovered_ms=max(healed_ms or 0, 5_000) + 100)
    recording.fault(50, healed_ms, kind, node)
    assert judged(recording).counts == found


@pytest.mark.parametrize(("recovered_ms", "found"), [(5_000, {}), (8_500, GONE)])
def test_a_broker_that_started_after_recovery_may_still_load_its_logs(
    recovered_ms: float, found: dict[str, int]
) -> None:
    recording = story(recovered_ms=recovered_ms)
    recording.observe(8_000, "node", {"status": "running"}, node="n2")
    assert judged(recording).counts == found


def test_a_fault_after_recovery_may_have_undone_it() -> None:
    recording = story()
    recording.fault(8_000, 8_500, "partition", "n2")
    assert judged(recording).counts == {}


def test_without_folders_nothing_is_decided() -> None:
    recording = AdminStory()
    recording.created()
    assert judged(recording).figures["folders_due"] == 0


@pytest.mark.parametrize("journal", ["nemesis", "nodes", "runner"])
def test_without_what_it_rests_on_nothing_is_decided(journal: str) -> None:
    history = History("run", "", story().history().operations, lacking=frozenset([journal]))
    result = result_by("replicas", check_replicas, history)
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
