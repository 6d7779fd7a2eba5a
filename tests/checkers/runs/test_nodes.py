"""The nodes checker: processes that ended unplanned, and what logs tell."""

from collections.abc import Callable

import msgspec
import pytest

from checkers.evidence.node_logs import SKIPPED
from checkers.history.operations import History
from checkers.runs.nodes import check_nodes
from checkers.verdict.verdict import Validity

Story = Callable[..., History]

ALL = "0.1 c1 running\n0.1 c2 running\n0.1 c3 running\n"


def deaths(history: History) -> int:
    return check_nodes(history).counts.get("node-died", 0)


def test_all_nodes_live(story: Story) -> None:
    result = check_nodes(story(ALL + "5 c1 paused\n6 c1 running"))
    assert result.validity is Validity.VALID
    assert result.counts == {}


def test_a_node_that_dies_by_itself(story: Story) -> None:
    result = check_nodes(story(ALL + "5 c1 exited 1"))
    assert result.validity is Validity.INVALID
    (anomaly,) = result.anomalies
    assert (anomaly.id, anomaly.subject, anomaly.witness) == ("node-died", "c1", (4,))
    assert "exit code 1" in anomaly.summary


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            "5 f1 kill c1 ok\n5.05 c1 exited 137\n9 f1 heal ok", 0, id="killed, seen before the probe"
        ),
        pytest.param(
            "5 f1 wipe-disk c1 ok\n5.05 c1 exited 137\n9 f1 heal ok", 0, id="killed for its disk to be wiped"
        ),
        pytest.param("5 f1 dead-disk c1 ok\n7 c1 exited 1\n9 f1 heal ok", 0, id="ended by its dead disk"),
        pytest.param("5 f1 dead-disk c1 ok\n9 f1 heal ok", 0, id="lived on with its dead disk"),
        pytest.param(
            "5 f1 dead-disk c1 ok\n7 c1 exited 1\n9 f1 heal info\n9.1 c1 running\n9.3 c1 exited 1",
            1,
            id="ended by its dead disk, started again, dead again",
        ),
        pytest.param("5 f1 stop c1 ok\n7 c1 exited 143\n9 f1 heal ok", 0, id="stopped"),
        pytest.param("5 f1 stop c1 info\n7 c1 exited 143\n9 f1 heal ok", 0, id="stopped, not confirmed"),
        pytest.param("5 f1 kill c1 lost\n7 c1 exited 137", 0, id="perhaps killed"),
        pytest.param("5 f1 kill c1 fail\n7 c1 exited 137", 1, id="not killed"),
        pytest.param("5 f1 kill c2 ok\n7 c1 exited 137\n9 f1 heal ok", 1, id="another was killed"),
        pytest.param("5 f1 pause c1 ok\n7 c1 exited 137\n9 f1 heal ok", 1, id="only paused"),
        pytest.param("4 c1 exited 1\n5 f1 kill c1 ok\n9 f1 heal ok", 1, id="before it was killed"),
        pytest.param("5 f1 kill c1 ok\n9 f1 heal ok\n9.2 c1 exited 1", 1, id="after it was started again"),
        pytest.param(
            "5 f1 kill c1 ok\n7 c1 exited 137 oom\n9 f1 heal ok", 1, id="out of memory while killed"
        ),
        pytest.param(
            "5 f1 kill c1 ok\n5.1 c1 exited 137\n9 f1 heal info\n9.3 c1 running\n9.9 c1 exited 1",
            1,
            id="killed, started again, dead again",
        ),
        pytest.param(
            "5 f1 kill c1 ok\n5.1 c1 exited 137\n9 f1 heal info\n9.3 c1 exited 1 started=9",
            1,
            id="started and dead again between two looks",
        ),
        pytest.param("5 c1 running started=4\n6 c1 running started=5", 1, id="dead and started unseen"),
        pytest.param("5 c1 running started=4\n6 c1 running", 0, id="nothing shows when it was started"),
        pytest.param(
            "4 c1 running started=1\n5 f1 kill c1 ok\n5.2 f1 heal ok\n6 c1 running started=5",
            0,
            id="killed and started unseen",
        ),
        pytest.param(
            "4 c1 running started=1\n5 f1 kill c1 ok\n7 f1 heal ok\n7 c1 exited 137 started=1\n"
            "8 c1 running started=7\n9 c1 running started=8",
            1,
            id="killed, started, dead and started unseen",
        ),
        pytest.param(
            "5 f1 kill c1 ok\n5.1 c1 exited 137\n7 f1 heal ok\n7 c1 running\n"
            "9 f2 stop c1 ok\n9.1 c1 exited 143\n12 f2 heal ok",
            0,
            id="killed, then stopped",
        ),
        pytest.param(
            "4 c1 running started=1\n5 f1 stop c1 ok\n5.1 c1 exited 143 started=1\n"
            "6 c1 created\n7 c1 running started=6\n9 f1 heal ok",
            0,
            id="upgraded, its new container seen before it was started",
        ),
        pytest.param(
            "4 c1 running started=1\n5 f1 stop c1 ok\n6 c1 created\n"
            "7 c1 running started=6\n8 c1 running started=7\n9 f1 heal ok",
            1,
            id="upgraded, dead and started unseen",
        ),
        pytest.param(
            "4 c1 running started=1\n5 f1 stop c1 ok\n5.1 c1 exited 143 started=1\n"
            "6 c1 created\n7 c1 exited 1 started=6\n9 f1 heal ok",
            1,
            id="upgraded, dead before it was seen running",
        ),
        pytest.param("4 c1 running started=1\n6 c1 created", 1, id="replaced without a fault"),
        pytest.param("5 f1 kill c1 lost\n6 c1 exited 137\n6 c2 exited 137", 0, id="perhaps both killed"),
        pytest.param("5 c1 exited 1\n6 c1 exited 1", 1, id="one death, seen twice"),
        pytest.param("5 c1 exited 1\n6 c1 running\n7 c1 exited 1", 2, id="two deaths"),
        pytest.param("5 phase done\n5.1 c1 exited 143", 0, id="the run is over"),
    ],
)
def test_which_ends_are_planned(story: Story, text: str, found: int) -> None:
    assert deaths(story(ALL + text)) == found


def test_a_death_for_want_of_memory_is_named(story: Story) -> None:
    (anomaly,) = check_nodes(story(ALL + "5 c1 exited 137 oom")).anomalies
    assert "out of memory" in anomaly.summary


@pytest.mark.parametrize("fields", [{}, {"oom": None, "exit_code": None, "started_at": None}])
def test_a_node_of_which_only_the_status_is_recorded_is_judged(story: Story, fields: dict[str, None]) -> None:
    history = story(ALL + "5 c1 exited 1")
    last = msgspec.structs.replace(history.operations[-1], value={"status": "exited", **fields})
    bare = msgspec.structs.replace(history, operations=(*history.operations[:-1], last))
    assert check_nodes(bare).counts["node-died"] == 1


def test_a_death_names_the_exception_that_was_fatal(story: Story) -> None:
    text = """
        5 c1 exited 1
        5 c2 log ERROR Encountered fatal fault: another's
        5 c1 log ERROR Encountered fatal fault: Error|IllegalStateException: empty|at kafka.Kafka
    """
    died = next(one for one in check_nodes(story(ALL + text)).anomalies if one.id == "node-died")
    assert died.summary.endswith("it was not killed or stopped. It logged: IllegalStateException: empty")
    assert died.witness == (4, 6)


@pytest.mark.parametrize(
    ("seen", "line", "ending"),
    [
        pytest.param(5, "30 c1 log ERROR Encountered fatal fault: Error", "fault: Error", id="no exception"),
        pytest.param(20, "30 c1 log ERROR Encountered fatal fault: Error", "stopped.", id="long before"),
        pytest.param(5, "30 c1 log ERROR Error", "stopped.", id="not fatal"),
        pytest.param(5, "30 c2 log ERROR Encountered fatal fault: Error", "stopped.", id="of another"),
    ],
)
def test_what_a_death_shows_of_a_log(story: Story, seen: int, line: str, ending: str) -> None:
    died = next(
        one for one in check_nodes(story(ALL + f"{seen} c1 exited 1\n{line}")).anomalies if one.illegal
    )
    assert died.summary.endswith(ending)


def test_a_node_that_was_never_observed_makes_it_unknown(story: Story) -> None:
    result = check_nodes(story("0.1 c1 running"))
    assert result.validity is Validity.UNKNOWN
    assert result.assumptions[0].observed == "not observed: c2, c3"


@pytest.mark.parametrize(
    ("text", "unseen"),
    [
        pytest.param("5 f1 kill c1 ok\n6 c1 exited 137\n9 f1 heal ok", None, id="seen"),
        pytest.param("5 f1 stop c1 ok\n9 f1 heal ok", "f1 of c1", id="not seen"),
        pytest.param("5 f1 kill c1 ok\n6 c2 exited 137\n9 f1 heal ok", "f1 of c1", id="another seen"),
        pytest.param("5 f1 kill c1 ok\n9 f1 heal ok\n9.5 c1 exited 137", "f1 of c1", id="seen too late"),
        pytest.param("5 f1 pause c1 ok\n9 f1 heal ok", None, id="a pause ends nothing"),
        pytest.param("5 f1 kill c1 info\n9 f1 heal ok", None, id="perhaps not killed"),
        pytest.param("5 f1 kill c1 ok", None, id="the run ended first"),
        pytest.param("5 f1 kill c1 ok\n5.5 f1 heal ok", None, id="over at once"),
    ],
)
def test_planned_ends_must_be_seen(story: Story, text: str, unseen: str | None) -> None:
    assumption = check_nodes(story(ALL + text)).assumptions[1]
    observed = f"not observed: {unseen}" if unseen else "all observed"
    assert (assumption.observed, assumption.met) == (observed, unseen is None)


def test_without_a_setup_it_is_unknown(story: Story) -> None:
    assert check_nodes(story(ALL, without_setup=True)).validity is Validity.UNKNOWN


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("FATAL [KafkaServer id=1] Fatal error during startup", "node-log-fatal"),
        ("ERROR Encountered fatal fault: Unexpected error in raft IO thread", "node-log-fatal"),
        ("ERROR Exiting Kafka due to fatal exception (kafka.Kafka$)", "node-log-fatal"),
        ("ERROR Uncaught exception in thread 'kafka-admin':", "uncaught-exception"),
        ("ERROR Uncaught exception in scheduled task 'flush-log'", "uncaught-exception"),
        ("WARN Exception in thread main java.lang.NoClassDefFoundError", "uncaught-exception"),
        ("ERROR [ReplicaFetcher replicaId=1]: Error due to", "thread-died"),
        ("ERROR [raft-io-thread]: Stopped due to fatal error with exit code 1", "thread-died"),
        (f"INFO [Transaction Marker Channel Manager 1]: {SKIPPED} Set(txn-0-1)", "marker-skipped"),
    ],
)
def test_lines_that_are_listed_but_redden_nothing(story: Story, line: str, kind: str) -> None:
    result = check_nodes(story(ALL + f"5 f1 pause c2 ok\n8 f1 heal ok\n30 c1 log {line}"))
    assert result.validity is Validity.VALID
    assert result.counts == {kind: 1}
    (anomaly,) = result.anomalies
    assert not anomaly.illegal
    assert anomaly.time_ns == 5_500_000_000, "the line's own time, not the time when it was gathered"
    assert anomaly.explanation == ("Line 7 of its log. Faults at that time: f1 (pause of c2).",)


@pytest.mark.parametrize("doing", ["while processing data for partition", "during truncation for"])
@pytest.mark.parametrize(("fault", "expected"), [("pause", 1), ("kill", 1), ("stop", 0), ("wipe-disk", 0)])
def test_a_fetcher_that_stops_is_red_unless_its_node_was_asked_to_stop(
    story: Story, doing: str, fault: str, expected: int
) -> None:
    line = f"ERROR [ReplicaFetcher replicaId=1] Unexpected error occurred {doing} log-0-1 at offset 621"
    seen = "6 c1 exited 137\n7 c1 running\n" if fault != "pause" else ""
    result = check_nodes(story(ALL + f"5 f1 {fault} c1 ok\n{seen}8 f1 heal ok\n30 c1 log {line}"))
    assert result.counts == ({"fetcher-stopped": expected} if expected else {})
    assert result.validity is (Validity.INVALID if expected else Validity.VALID)


def test_a_fetcher_of_the_process_that_a_heal_started_is_judged(story: Story) -> None:
    line = "ERROR [ReplicaFetcher replicaId=1] Unexpected error occurred during truncation for log-0-1"
    text = f"4 f1 stop c1 ok\n4.2 c1 exited 143\n5.45 f1 heal ok\n5.46 c1 running\n30 c1 log {line}"
    assert check_nodes(story(ALL + text)).counts == {"fetcher-stopped": 1}


APPEND = "Unexpected error occurred while processing data for partition log-0-7 at offset 1911"
FETCHER = (
    f"2026-11-28T09:26:51.817Z ERROR [ReplicaFetcher replicaId=3, leaderId=1, fetcherId=0] {APPEND} (k.R)"
)
EXCEPTION = "org.apache.kafka.UnexpectedAppendOffsetException: 8 is not 9"
TRUNCATION = "ERROR Unexpected error occurred during truncation for"


@pytest.mark.parametrize(
    ("line", "summary", "subject"),
    [
        (
            f"{FETCHER}\n{EXCEPTION}",
            f"c1 stopped fetching log-0/7 from broker 1 at offset 1911: {EXCEPTION}",
            "log-0/7@1911",
        ),
        (f"{TRUNCATION} log-0-7", "c1 stopped fetching log-0/7: it logged no exception", "log-0/7"),
        (f"{TRUNCATION} something else", f"c1 at 5.5 s: {TRUNCATION} something else", "c1"),
    ],
)
def test_a_stopped_fetcher_names_partition_leader_and_exception(
    story: Story, line: str, summary: str, subject: str
) -> None:
    history = story(ALL + "30 c1 log ERROR x")
    operations = tuple(
        msgspec.structs.replace(o, value=o.value | {"text": line, "level": "ERROR"})
        if o.key == "node-log"
        else o
        for o in history.operations
    )
    result = check_nodes(msgspec.structs.replace(history, operations=operations))
    (found,) = result.anomalies
    assert (found.id, found.summary, found.subject) == ("fetcher-stopped", summary, subject)
    assert "Faults at that time: none." in found.explanation[-1]
    assert not any("2026-11-28" in text for text in found.explanation)


def test_ordinary_errors_are_counted_only(story: Story) -> None:
    text = """
        30 c1 log ERROR [KafkaApi-1] Unexpected error handling request
        30 c1 log ERROR Graceful shutdown of RaftClient failed
        30 c1 log FATAL Graceful shutdown of RaftClient failed
        30 c2 log FATAL oh
        30 c2 log -
    """
    result = check_nodes(story(ALL + text))
    assert result.counts == {"node-log-fatal": 1}
    (reason,) = result.figures["harmless_lines"]
    assert "KafkaRaftClientDriver" in reason
    assert result.figures | {"harmless_lines": {}} == {
        "log_lines": 5,
        "error_lines": 1,
        "fatal_lines": 1,
        "harmless_lines": {},
        "nodes_with_more_lines": ["c2"],
    }


@pytest.mark.parametrize("at", ["not a time", None])
def test_a_line_without_a_time_has_the_time_of_its_gathering(story: Story, at: str | None) -> None:
    history = story(ALL + "30 c1 log FATAL oh")
    line = history.operations[-1]
    line = msgspec.structs.replace(line, value=line.value | {"at": at})
    (anomaly,) = check_nodes(
        msgspec.structs.replace(history, operations=(*history.operations[:-1], line))
    ).anomalies
    assert anomaly.time_ns == 30_000_000_000
    assert anomaly.explanation == ("Line 7 of its log. Faults at that time: none.",)


def test_a_line_of_a_run_without_a_beginning_has_the_time_of_its_gathering(story: Story) -> None:
    history = msgspec.structs.replace(story(ALL + "5 f1 kill c1 lost\n30 c1 log FATAL oh"), began_at="")
    (anomaly,) = check_nodes(history).anomalies
    assert anomaly.time_ns == 30_000_000_000
    assert anomaly.explanation == ("Line 7 of its log. Faults at that time: f1 (kill of unknown).",)


def test_a_line_with_a_zone_keeps_it(story: Story) -> None:
    history = story(ALL + "30 c1 log FATAL oh")
    line = history.operations[-1]
    line = msgspec.structs.replace(line, value=line.value | {"at": "2023-11-14T23:13:21+01:00"})
    (anomaly,) = check_nodes(
        msgspec.structs.replace(history, operations=(*history.operations[:-1], line))
    ).anomalies
    assert anomaly.time_ns == 1_000_000_000
