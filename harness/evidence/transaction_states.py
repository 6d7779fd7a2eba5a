"""Evidence from disks: the records of ``__transaction_state``, of one replica of each partition.

The replica is the one whose last batch has the newest leader epoch, and then the longest one.  What other
replicas have is not recorded: a deposed leader may have appended records that no coordinator has read.
By default the topic's segments have 100 MB, and only older segments are compacted.  So in most runs the log
has all records that were ever written.  Replicas of the run's topics must have been read before, so
that the decision of each marker is in the log.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from checkers.evidence.coordinators import TRANSACTIONS_TOPIC
from checkers.history.transaction_states import TRANSACTION_STATES, StatesSeen, packed_states
from harness.cluster.homes import disk_with, may_be_folder
from harness.evidence.leader_epochs import partitions_of_kafka
from harness.kafka.segments.growing import LogEnd, segments_in
from harness.kafka.segments.transaction_states import Partitions, PlacedState, SegmentStates, read_states
from harness.record.journal import Recorder

_READINGS_MAX = 5
_PAUSE_S = 0.02


class ReadStates(NamedTuple):
    """One replica's log.

    Attributes:
        place: leader epoch of the last batch, and the offset after it; (-1, 0) if there is none.
        records: all records, in order.
        unread: first offsets of batches that could not be decoded.
        error: why the log could not be read completely.
    """

    place: tuple[int, int] = (-1, 0)
    records: Sequence[PlacedState] = ()
    unread: Sequence[int] = ()
    error: str | None = None


def ends_of_states(disks: Mapping[str, Sequence[Path]]) -> dict[Path, int]:
    """The ends of the logs of the topic, by folder; those that can't be read are left out.

    Args:
        disks: node name to the folders of its log directories, of brokers.
    """
    found: dict[Path, int] = {}
    for topic, partition in partitions_of_kafka(disks):
        for directories in disks.values() if topic == TRANSACTIONS_TOPIC else ():
            folder = disk_with(directories, f"{topic}-{partition}") / f"{topic}-{partition}"
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
    for topic, partition in partitions_of_kafka(disks):
        if topic == TRANSACTIONS_TOPIC:
            began_ns = recorder.journal.clock.now_ns()
            name = f"{topic}-{partition}"
            folders = {node: disk_with(directories, name) / name for node, directories in disks.items()}
            node = _farthest({node: folder for node, folder in folders.items() if may_be_folder(folder)})
            if node is not None:
                seen = seen_of(began_ns, partition, read_folder(folders[node]), ends.get(folders[node]))
                recorder.observe("observe", TRANSACTION_STATES, seen, node=node)


def _farthest(folders: Mapping[str, Path]) -> str | None:
    """The node whose log has the newest leader epoch, and then the longest one; None without any log."""
    read = {node: read_folder(folder, decode=False) for node, folder in folders.items()}
    return max(read, key=lambda node: (read[node].error is None, read[node].place), default=None)


def read_folder(folder: Path, *, decode: bool = True) -> ReadStates:
    """Read a replica's log; it is read again if segments were deleted or replaced meanwhile.

    Args:
        folder: the replica's folder.
        decode: whether to decode records too.
    """
    for _ in range(_READINGS_MAX):
        try:
            names = sorted(segments_in(folder))
            return _joined(
                names, [read_states((folder / name).read_bytes(), decode=decode) for name in names]
            )
        except FileNotFoundError:
            time.sleep(_PAUSE_S)
        except OSError as error:
            return ReadStates(error=f"{type(error).__name__}: {error.strerror or error}")
    return ReadStates(error="segments are being replaced")


def _joined(names: Sequence[str], segments: Sequence[SegmentStates]) -> ReadStates:
    if not segments:
        return ReadStates(error="no segment can be read")
    damaged = [
        name
        for name, segment in zip(names, segments, strict=True)
        if segment.damaged or (segment.unfinished and name != names[-1])
    ]
    ends = [(one.leader_epoch, one.end) for one in segments if one.end is not None]
    return ReadStates(
        ends[-1] if ends else (-1, int(names[-1].partition(".")[0])),
        [record for segment in segments for record in segment.records],
        [offset for segment in segments for offset in segment.unread],
        f"{damaged[0]} is damaged" if damaged else None,
    )


def seen_of(began_ns: int, partition: int, read: ReadStates, settled: int | None) -> StatesSeen:
    """The value of an observation, as docs/histories.md gives it."""
    if read.error is not None:
        return StatesSeen(began_ns=began_ns, partition=partition, error=read.error)
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
        began_ns=began_ns,
        partition=partition,
        end=read.place[1],
        settled=settled,
        ids=[*ids],
        sets=[{topic: [*numbers] for topic, numbers in each} for each in sets if each is not None],
        unread=[*read.unread],
        count=len(rows),
        columns=packed_states(rows),
    )
