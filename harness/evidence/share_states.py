"""Evidence from disks: the records of ``__share_group_state``, of one replica of each partition.

The replica is chosen like that of ``__transaction_state`` (`harness.evidence.transaction_states`).  Share
coordinators delete records that newer snapshots replace every five minutes by default
(``share.coordinator.state.topic.prune.interval.ms``).  So in most runs the log has all records that were ever
written.
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
from harness.cluster.homes import disk_with, may_be_folder
from harness.evidence.coordinator_logs import ReadLog, farthest, read_folder
from harness.evidence.leader_epochs import partitions_of_kafka
from harness.kafka.segments.share_states import SharePlace, ShareStateRecord, share_state_of
from harness.record.journal import Recorder


def gather_share_states(recorder: Recorder, disks: Mapping[str, Sequence[Path]]) -> None:
    """Record the states in each partition of the topic; without the topic, nothing.

    Args:
        recorder: writes as an observer.
        disks: node name to the folders of its log directories, of brokers.
    """
    for topic, partition in partitions_of_kafka(disks):
        if topic == SHARES_TOPIC:
            began_ns = recorder.journal.clock.now_ns()
            name = f"{topic}-{partition}"
            folders = {node: disk_with(directories, name) / name for node, directories in disks.items()}
            node = farthest({node: folder for node, folder in folders.items() if may_be_folder(folder)})
            if node is not None:
                seen = share_states_seen(began_ns, partition, read_folder(folders[node], share_state_of))
                recorder.observe("observe", SHARE_STATES, seen, node=node)


def share_states_seen(began_ns: int, partition: int, read: ReadLog[ShareStateRecord]) -> ShareStatesSeen:
    """The value of an observation, as docs/histories.md gives it."""
    if read.error is not None:
        return ShareStatesSeen(began_ns=began_ns, partition=partition, error=read.error)
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
        began_ns=began_ns,
        partition=partition,
        end=read.place[1],
        places=[*places],
        unread=[*read.unread],
        count=len(rows),
        columns=packed_rows(rows, SHARE_STATE_TYPES),
        batch_count=len(batches),
        batches=packed_rows(batches, SHARE_BATCH_TYPES),
    )
