"""Evidence from disks: the records of ``__share_group_state``, of one replica of each partition.

The replica is the farthest one (`harness.evidence.coordinator_logs`).  Share coordinators delete records that
newer snapshots replace every five minutes by default (``share.coordinator.state.topic.prune.interval.ms``).
So in most runs the log has all records that were ever written.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from checkers.evidence.coordinators import SHARES_TOPIC
from checkers.history.packing import packed_rows
from checkers.history.share_states import (
    SHARE_BATCH_TYPES,
    SHARE_STATE_TYPES,
    SHARE_STATES,
    ShareStatesSeen,
)
from harness.evidence.coordinator_logs import FarthestLog, farthest_logs
from harness.kafka.segments.share_states import SharePlace, ShareStateRecord, share_state_of
from harness.record.journal import Recorder


def gather_share_states(recorder: Recorder, disks: Mapping[str, Sequence[Path]]) -> None:
    """Record the states in each partition of the topic; without the topic, nothing.

    Args:
        recorder: writes as an observer.
        disks: node name to the folders of its log directories, of brokers.
    """
    for found in farthest_logs(recorder.journal.clock, disks, SHARES_TOPIC, share_state_of):
        recorder.observe("observe", SHARE_STATES, share_states_seen(found), node=found.node)


def share_states_seen(found: FarthestLog[ShareStateRecord]) -> ShareStatesSeen:
    """The value of an observation, as docs/histories.md gives it."""
    read = found.read
    if read.error is not None:
        return ShareStatesSeen(began_ns=found.began_ns, partition=found.partition, error=read.error)
    places: dict[SharePlace, int] = {}
    rows = [
        (
            offset,
            epoch,
            places.setdefault(record.place, len(places)),
            record.kind,
            record.snapshot_epoch,
            record.state_epoch,
            record.share_epoch,
            record.start,
            len(record.batches),
        )
        for offset, epoch, record in read.records
    ]
    batches = [batch for _, _, record in read.records for batch in record.batches]
    return ShareStatesSeen(
        began_ns=found.began_ns,
        partition=found.partition,
        end=read.place[1],
        places=[*places],
        unread=[*read.unread],
        count=len(rows),
        columns=packed_rows(rows, SHARE_STATE_TYPES),
        batch_count=len(batches),
        batches=packed_rows(batches, SHARE_BATCH_TYPES),
    )
