"""Evidence from disks: the records of ``__transaction_state``, of one replica of each partition.

The replica is the farthest one (`harness.evidence.coordinator_logs`).  By default the topic's segments have
100 MB, and only older segments are compacted.  So in most runs the log has all records that were ever
written.  Replicas of the run's topics must have been read before, so that the decision of each marker is in
the log.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from checkers.evidence.coordinators import TRANSACTIONS_TOPIC
from checkers.history.packing import packed_rows
from checkers.history.transaction_states import STATE_TYPES, TRANSACTION_STATES, StatesSeen
from harness.evidence.coordinator_logs import FarthestLog, farthest_logs, replicas_of
from harness.evidence.leader_epochs import partitions_of_kafka
from harness.kafka.segments.growing import LogEnd
from harness.kafka.segments.transaction_states import Partitions, StateRecord, state_of
from harness.record.journal import Recorder


def ends_of_states(disks: Mapping[str, Sequence[Path]]) -> dict[Path, int]:
    """The ends of the logs of the topic, by folder; those that can't be read are left out.

    Args:
        disks: node name to the folders of its log directories, of brokers.
    """
    found: dict[Path, int] = {}
    for topic, partition in partitions_of_kafka(disks):
        for _, folder in replicas_of(disks, topic, partition) if topic == TRANSACTIONS_TOPIC else ():
            with suppress(OSError):  # the observation of this log will have the error
                end = LogEnd(folder).read()
                found |= {} if end is None else {folder: end}
    return found


def gather_transaction_states(
    recorder: Recorder, disks: Mapping[str, Sequence[Path]], ends: Mapping[Path, int]
) -> None:
    """Record the states in each partition of the topic; without the topic, nothing.

    Args:
        recorder: writes as an observer.
        disks: node name to the folders of its log directories, of brokers.
        ends: ends of these logs before the replicas of the run's topics were read, by folder.
    """
    for found in farthest_logs(recorder.journal.clock, disks, TRANSACTIONS_TOPIC, state_of):
        seen = seen_of(found, ends.get(found.folder))
        recorder.observe("observe", TRANSACTION_STATES, seen, node=found.node)


def seen_of(found: FarthestLog[StateRecord], settled: int | None) -> StatesSeen:
    """The value of an observation, as docs/histories.md gives it."""
    read = found.read
    if read.error is not None:
        return StatesSeen(began_ns=found.began_ns, partition=found.partition, error=read.error)
    ids: dict[str, int] = {}
    sets: dict[Partitions | None, int] = {None: -1}
    rows: list[tuple[int, ...]] = []
    for offset, epoch, record in read.records:
        name = ids.setdefault(record.transactional_id, len(ids))
        where = sets.setdefault(record.partitions, len(sets) - 1)
        rows.append(
            (
                offset,
                epoch,
                name,
                record.status,
                record.producer_id,
                record.producer_epoch,
                record.previous_producer_id,
                record.next_producer_id,
                record.next_producer_epoch,
                record.version,
                record.timeout_ms,
                where,
                record.updated_ms,
                record.started_ms,
            )
        )
    return StatesSeen(
        began_ns=found.began_ns,
        partition=found.partition,
        end=read.place[1],
        settled=settled,
        ids=[*ids],
        sets=[{topic: [*numbers] for topic, numbers in each} for each in sets if each is not None],
        unread=[*read.unread],
        count=len(rows),
        columns=packed_rows(rows, STATE_TYPES),
    )
