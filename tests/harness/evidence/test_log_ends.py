"""What nodes log of the ends of logs, as Kafka 4.3.1 words it."""

import pytest

from checkers.history.logged import IsrShrunk, LogCut, LogLoaded, LogTruncated
from harness.evidence.log_ends import log_ends

AT = "2026-11-23T13:15:48.127Z INFO "
START = AT + "[main] Registered signal handlers for TERM, INT, HUP (o.a.k.common.utils.LoggingSignalHandler)"
LOADER = (
    AT + "[{}] [LogLoader partition={}, dir=/var/lib/kafka/data] Loading producer state till offset {} (x)"
)
SHRUNK = AT + (
    "[kafka-scheduler-0] [Partition log-0-4 broker=1] Shrinking ISR from 4,2,1 to 1. Leader: (highWatermark:"
    " 969, endOffset: 974). Out of sync replicas: (brokerId: 4, endOffset: 968, lastCaughtUpTimeMs: 9)"
    " (brokerId: 2, endOffset: -1, lastCaughtUpTimeMs: 0). (kafka.cluster.Partition)"
)
RECOVERING = "log-recovery-/var/lib/kafka/data-0"
COMPLETED = (
    AT + "[{}] Completed load of Log(dir=/var/lib/kafka/data/log-0-4, topicId=EOwb0EDhQZuknW8sOcxKuw,"
    " topic=log-0, partition={}, highWatermark=118, lastStableOffset=118, logStartOffset=118,"
    " logEndOffset={}) with 17 segments, local-log-start-offset 118 and log-end-offset 261 in 223ms (7/11"
    " completed in /var/lib/kafka/data) (kafka.log.LogManager)"
)
RAFT = AT + "[main] [RaftManager id=2] Reading KRaft snapshot and log as part of the initialization (x)"


def loader(partition: str, end: int, thread: str = RECOVERING) -> str:
    return LOADER.format(thread, partition, end)


def completed(partition: int, end: int, thread: str = RECOVERING) -> str:
    return COMPLETED.format(thread, partition, end)


def log_ends_of(*lines: str) -> list[LogLoaded | IsrShrunk | LogTruncated | LogCut]:
    return list(log_ends("\n".join(lines)))


def test_of_each_start_the_last_line_about_a_log_counts() -> None:
    first = [START, loader("__cluster_metadata-0", 0, "main"), RAFT, loader("log-0-4", 0)]
    first += [loader("log-0-4", 2151), completed(4, 2151)]
    again = [START, loader("log-0-4", 2207), completed(4, 2207)]
    assert [
        (e.topic, e.partition, e.end) for e in log_ends_of(*first, *again) if isinstance(e, LogLoaded)
    ] == [
        ("__cluster_metadata", 0, 0),
        ("log-0", 4, 2151),
        ("log-0", 4, 2207),
    ]
    assert log_ends_of(*first)[1] == LogLoaded(5, "2026-11-23T13:15:48.127Z", "log-0", 4, 2151, 118)


def test_a_log_is_not_loaded_if_the_process_ended_in_the_middle_of_it() -> None:
    killed = [START, loader("__cluster_metadata-0", 9, "main"), RAFT, loader("log-0-4", 0)]
    assert [(each.topic, each.end) for each in log_ends_of(*killed) if isinstance(each, LogLoaded)] == [
        ("__cluster_metadata", 9)
    ]
    again = [START, loader("log-0-4", 0), loader("log-0-4", 402), completed(4, 402)]
    assert [each.line for each in log_ends_of(*killed, *again)] == [2, 7]
    assert log_ends_of(START, loader("__cluster_metadata-0", 9, "main")) == []


def test_where_a_log_begins() -> None:
    lines = [START, loader("log-0-4", 261), completed(4, 261), completed(5, 261, "main")]
    at = "2026-11-23T13:15:48.127Z"
    assert log_ends_of(*lines) == [LogLoaded(2, at, "log-0", 4, 261, 118)]
    assert log_ends_of(*lines[:2], completed(4, 262)) == [LogLoaded(2, at, "log-0", 4, 261)]


def test_a_log_that_is_made_later_is_not_loaded() -> None:
    assert log_ends_of(START, loader("log-0-4", 0, "kafka-2-metadata-loader-event-handler")) == []


def test_whom_a_leader_leaves_behind() -> None:
    at, out = "2026-11-23T13:15:48.127Z", ((4, 968), (2, -1))
    assert log_ends_of(SHRUNK, "and a line that says nothing") == [
        IsrShrunk(1, at, "log-0", 4, (4, 2, 1), 969, 974, out)
    ]


@pytest.mark.parametrize(
    ("thread", "logger"),
    [
        ("kafka-1-metadata-loader-event-handler", "org.apache.kafka.storage.internals.log.UnifiedLog"),
        ("ReplicaFetcherThread-0-3", "kafka.log.UnifiedLog"),  # before 4.0
    ],
)
def test_a_log_from_which_records_are_removed(thread: str, logger: str) -> None:
    at = "2026-11-28T02:43:24.205Z"
    line = f"{at} INFO [{thread}] [UnifiedLog partition={{}}, dir=/var/lib/kafka/data] Truncating to"
    lines = [
        f"{line} offset 2589 ({logger})".format("log-0-3"),
        f"{line} 0 has no effect as the largest offset in the log is -1 ({logger})".format("log-0-3"),
        f"{line} offset 7 ({logger})".format("__cluster_metadata-0"),
    ]
    assert log_ends_of(*lines) == [LogCut(1, at, "log-0", 3, 2589)]


@pytest.mark.parametrize(
    "who",
    [
        "[UnifiedLog partition=log-0-4, dir=/var/lib/kafka/data] ",
        "[ReplicaFetcher replicaId=1, leaderId=3, fetcherId=0] ",  # 3.9.0
    ],
)
def test_a_log_that_is_cut_off_below_its_high_watermark(who: str) -> None:
    cut = "2026-11-23T13:15:48.127Z WARN [ReplicaFetcherThread-0-3] {}Truncating log-0-4 to offset 609 below"
    lines = [f"{cut} high watermark 779 (x)", f"{cut} high watermark".replace("WARN", "INFO")]
    assert log_ends_of(*(line.format(who) for line in lines)) == [
        LogTruncated(1, "2026-11-23T13:15:48.127Z", "log-0", 4, 609, 779)
    ]
