"""What nodes log of the ends of logs, as Kafka 4.3.1 words it."""

import pytest

from checkers.history.logged import EpochBegun, IsrShrunk, LogLoaded
from harness.evidence.log_ends import ENTRIES_MAX, begun_epochs, log_ends

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
BEGUN = AT + (
    "[kafka-3-metadata-loader-event-handler] [Broker id=3] Leader log-0-4 with topic id {} starts at leader"
    " epoch 5 from offset 737 with partition epoch 11, high watermark 736, ISR [1,3], adding replicas [] and"
    " removing replicas [] . Previous leader Some(2) and previous leader epoch was {}. (state.change.logger)"
)
FOLLOWER = AT + (
    "[kafka-1-metadata-loader-event-handler] [Broker id=1] Follower log-0-4 starts at leader epoch 5 from"
    " offset 737 with partition epoch 11 and high watermark 736. Current leader is 3. Previous leader Some(2)"
    " and previous leader epoch was 4. (state.change.logger)"
)
RECOVERING = "log-recovery-/var/lib/kafka/data-0"


def loader(partition: str, end: int, thread: str = RECOVERING) -> str:
    return LOADER.format(thread, partition, end)


def told(*lines: str) -> list[LogLoaded | IsrShrunk]:
    return list(log_ends("\n".join(lines)))


def test_of_each_start_the_last_line_about_a_log_counts() -> None:
    first = [START, loader("__cluster_metadata-0", 0, "main"), loader("log-0-4", 0), loader("log-0-4", 2151)]
    again = [START, loader("log-0-4", 2207)]
    assert [(e.topic, e.partition, e.end) for e in told(*first, *again) if isinstance(e, LogLoaded)] == [
        ("__cluster_metadata", 0, 0),
        ("log-0", 4, 2151),
        ("log-0", 4, 2207),
    ]
    assert told(*first)[1] == LogLoaded(4, "2026-11-23T13:15:48.127Z", "log-0", 4, 2151)


def test_a_log_that_is_made_later_is_not_loaded() -> None:
    assert told(START, loader("log-0-4", 0, "kafka-2-metadata-loader-event-handler")) == []


def test_whom_a_leader_leaves_behind() -> None:
    at, out = "2026-11-23T13:15:48.127Z", ((4, 968), (2, -1))
    assert told(SHRUNK, "and a line that says nothing") == [
        IsrShrunk(1, at, "log-0", 4, (4, 2, 1), 969, 974, out)
    ]


def test_a_flood_is_cut() -> None:
    assert len(told(*[SHRUNK] * (ENTRIES_MAX + 1))) == ENTRIES_MAX


@pytest.mark.parametrize("told_id", ["Some(chF0WpWT-_g)", "Optional[chF0WpWT-_g]", "chF0WpWT-_g"])
@pytest.mark.parametrize("previous", [4, -1])
def test_where_a_leader_begins_its_epoch(told_id: str, previous: int) -> None:
    at = "2026-11-23T13:15:48.127Z"
    lines = [START, FOLLOWER, BEGUN.format(told_id, previous)]
    assert list(begun_epochs("\n".join(lines))) == [
        EpochBegun(3, at, "log-0", "chF0WpWT-_g", 4, 5, 737, previous)
    ]


def test_a_flood_of_epochs_is_cut() -> None:
    flood = "\n".join([BEGUN.format("Some(a)", 4)] * (ENTRIES_MAX + 1))
    assert len(list(begun_epochs(flood))) == ENTRIES_MAX
