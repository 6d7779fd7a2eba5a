"""Evidence from disks: the records of ``__consumer_offsets`` that compaction left on each replica.

For each replica, the offsets are recorded at which records are left.  The records themselves were observed
while the log was written, except those after the last observation.  So for one replica of each partition, the
end of its log is recorded again, from the last batch on that compaction has changed.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from checkers.evidence.coordinators import OFFSETS_TOPIC
from checkers.history.observed import COMMITS, CommitsLeft, CommitsUnread
from checkers.logs.partitions.kept_commits import COMMITS_LEFT
from harness.evidence.coordinator_logs import replicas_of
from harness.evidence.leader_epochs import partitions_of_kafka
from harness.evidence.replicas import Reading, read_disk
from harness.kafka.segments.commits_log import CommitsLog, Placed, commits_seen
from harness.kafka.segments.growing import SEGMENT
from harness.kafka.segments.log_folder import LogRead
from harness.record.journal import Recorder

STRETCHES_MAX = 20_000
"""A replica whose records form more separate ranges of offsets than this is not recorded."""
BATCHES_RECORDED_MAX = 300
"""Largest number of batches at a log's end that are recorded again."""
READINGS_MAX = 5
_CONTROL = 0x20
_REPLACED = "segments are being replaced"


def gather_commits_left(recorder: Recorder, disks: Mapping[str, Sequence[Path]]) -> None:
    """Record the offsets that are left in each replica of the offsets topic, and the end of its log.

    Args:
        recorder: writes as an observer.
        disks: node name to the folders of its log directories, of brokers.
    """
    for topic, partition in partitions_of_kafka(disks):
        if topic == OFFSETS_TOPIC:
            _gather(recorder, disks, partition)


def _gather(recorder: Recorder, disks: Mapping[str, Sequence[Path]], partition: int) -> None:
    logs: list[tuple[tuple[int, int], Path]] = []
    for node, folder in replicas_of(disks, OFFSETS_TOPIC, partition):
        seen = _settled(partition, folder, recorder)
        if seen.end or seen.error is not None:
            recorder.observe("observe", COMMITS_LEFT, seen, node=node)
        if seen.end and seen.error is None:
            logs.append(((seen.epoch, seen.end), folder))
    began_ns = recorder.journal.clock.now_ns()
    farthest = max(logs, default=None)
    placed = [] if farthest is None else last_whole(CommitsLog(farthest[1]).read())
    if placed:
        recorder.observe("observe", COMMITS, commits_seen(began_ns, [(partition, placed)]))


def _settled(partition: int, folder: Path, recorder: Recorder) -> CommitsLeft | CommitsUnread:
    """The offsets left in a replica; it is read again if its segments were replaced meanwhile."""
    for _ in range(READINGS_MAX):
        seen = left_of(partition, folder, read_disk(folder, recorder.journal.clock.now_ns))
        if seen.error != _REPLACED:
            break
    return seen


def left_of(partition: int, folder: Path, reading: Reading) -> CommitsLeft | CommitsUnread:
    """The value of an observation, as docs/histories.md gives it."""
    log = reading.log
    if log is None:
        return CommitsUnread(reading.began_ns, partition, error=reading.error)
    epochs, left = log.columns["leader_epoch"], stretches_left(log)
    error = _doubt(folder, log, left)
    return CommitsLeft(
        reading.began_ns,
        partition,
        end=log.end,
        epoch=int(epochs[-1]) if len(epochs) else -1,
        log_start=log.start,
        active=log.active,
        left=left if error is None else [],
        error=error,
    )


def _doubt(folder: Path, log: LogRead, stretches: Sequence[object]) -> str | None:
    """The reason why the offsets left in a log are unknown; None if they are known."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        return f"{type(error).__name__}: {error.strerror or error}"
    now = tuple(name for name in names if SEGMENT.fullmatch(name))
    if now != log.files or any(name.endswith(".log.swap") for name in names):
        return _REPLACED
    if log.damage:
        return f"{log.damage[0].file} is damaged"
    if log.left is None:
        return "it is unknown which records of a batch are left"
    if len(stretches) > STRETCHES_MAX:
        return f"records lie in more than {STRETCHES_MAX} stretches"
    return None


def stretches_left(log: LogRead) -> list[tuple[int, int]]:
    """Ranges of offsets with records other than transaction markers; the second offset is exclusive."""
    base, last = log.columns["base_offset"], log.columns["last_offset"]
    whole = log.columns["count"] == last - base + 1
    whole &= (log.columns["attributes"] & _CONTROL) == 0
    single = np.empty(0, np.int64) if log.left is None else log.left
    first = np.concatenate([base[whole], single])
    end = np.concatenate([last[whole] + 1, single + 1])
    order = np.argsort(first, kind="stable")
    first, end = first[order], end[order]
    begins = np.flatnonzero(np.r_[True, first[1:] > end[:-1]]) if len(first) else np.empty(0, np.int64)
    ends = np.r_[begins[1:] - 1, len(first) - 1] if len(first) else begins
    return [(int(one), int(other)) for one, other in zip(first[begins], end[ends], strict=True)]


def last_whole(placed: Sequence[Placed]) -> Sequence[Placed]:
    """The last batches of a log from which compaction removed no record, at most a fixed number."""
    thin = [number for number, one in enumerate(placed) if not one.batch.whole]
    first = max(thin[-1] + 1 if thin else 0, len(placed) - BATCHES_RECORDED_MAX)
    return placed[first:]
