"""Committed records are in the voters' logs at the end; the disks are read after the load.

A leader that reports a high watermark in an epoch reports that the records below it were appended in that
epoch or before, and are on the disks of a majority of the voters.  Every later leader has them too (Raft,
Leader Completeness), so a voter that has them never drops them.  A log lacks them if it ends below the high
watermark, or if it has records of a later epoch below it, because another record is then at a committed
offset.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

import msgspec

from checkers.columns.tables import NEVER
from checkers.evidence.metadata_whole import thinned_logs
from checkers.evidence.replicas import ReplicaLog, batches_of
from checkers.history.operations import History, once
from checkers.history.replicas import MetadataLogSeen
from checkers.history.setup import setup_of
from checkers.history.sources import Source, lacking
from checkers.kraft.quorum.committed import METADATA_COMMITTED_LOST
from checkers.kraft.quorum.views import NONE, LeaderClaim
from checkers.verdict.verdict import Anomaly

DiskHit = Callable[[int, int, int], bool]
"""Whether a fault of its disk may have hit a node, given by id, at some time between two times."""
Licence = Callable[[LeaderClaim, int], str | None]
"""Why records that were committed when a leader answered may be lost by a time, or None."""


class KeptLogs:
    """Logs of voters whose ends and records are known.

    Some logs prove nothing and are left out: those that could not be read or decoded, that lack records, or
    that end with an incomplete batch; and empty ones, because their records may be in a snapshot.  If the
    voters may be unknown, all logs are left out.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError, ValueError: an observation is not as docs/histories.md says.
    """

    def __init__(self, history: History) -> None:
        setup = setup_of(history)
        ids = {} if setup is None else {name: voter for voter, name in setup.controllers.items()}
        thinned, complete = thinned_logs(history), lacking(history, Source.QUORUM, Source.ADMIN) is None
        self._logs = {
            ids[log.node]: log
            for log in batches_of(history).metadata_logs
            if log.node in ids and log.op not in thinned and _whole(log) and complete
        }

    def __len__(self) -> int:
        """Number of logs that were read completely."""
        return len(self._logs)

    def lacking(self, claim: LeaderClaim, disk_hit: DiskHit) -> dict[int, ReplicaLog]:
        """The logs that lack records which a leader reported as committed, by the ids of their nodes.

        Logs that were read before the report, and logs whose disks a fault hit, are left out.
        """
        return {
            voter: log
            for voter, log in self._logs.items()
            if claim.time_ns < log.seen.began_ns
            and kept_until(log, claim.epoch) < claim.high_watermark
            and not disk_hit(voter, 0, log.time_ns)
        }

    @property
    def read_ns(self) -> int:
        """When the last of the logs had been read."""
        return max((log.time_ns for log in self._logs.values()), default=0)


kept_logs = once(KeptLogs)
"""Returns the `KeptLogs` of a history."""


def kept_until(log: ReplicaLog, epoch: int) -> int:
    """The offset up to which a log has records of an epoch and earlier epochs."""
    later = log["base_offset"][log["leader_epoch"] > epoch]
    return min(log.end, int(later.min(initial=NEVER)))


def _whole(log: ReplicaLog) -> bool:
    seen = log.seen
    decoded = isinstance(seen, MetadataLogSeen) and seen.decoder_error is None
    return log.readable and decoded and len(log) > 0 and seen.tail is None and not seen.corrupt


def committed_gone(
    claims: Sequence[LeaderClaim], logs: KeptLogs, disk_hit: DiskHit, licence: Licence
) -> Iterator[Anomaly]:
    """The highest high watermark of each epoch below which a majority of the voters lacks records.

    The voter sets are those of that answer, and of all answers since.  A majority of each of these sets must
    lack the records, so that a change of the voters can't explain the loss.
    """
    for claim in _highest(claims):
        lacking = logs.lacking(claim, disk_hit)
        sets = [each.voters for each in claims if each.time_ns >= claim.time_ns]
        if all(2 * sum(voter.id in lacking for voter in voters) > len(voters) for voters in sets):
            why = licence(claim, logs.read_ns)
            yield msgspec.structs.replace(_gone(claim, lacking.values()), illegal=why is None, licence=why)


def _highest(claims: Iterable[LeaderClaim]) -> Iterator[LeaderClaim]:
    """The answer with the highest high watermark of each epoch, without self-contradicting answers."""
    sound = (
        claim for claim in claims if claim.end_offset == NONE or claim.high_watermark <= claim.end_offset
    )
    ordered = sorted(sound, key=lambda claim: (claim.epoch, -claim.high_watermark, claim.time_ns))
    for _, some in groupby(ordered, key=lambda claim: claim.epoch):
        yield next(some)


def _gone(claim: LeaderClaim, lacking: Iterable[ReplicaLog]) -> Anomaly:
    logs = list(lacking)
    nodes = ", ".join(log.node for log in logs)
    claimed = f"At {claim.time_ns / 1e9:.3f} s {claim.node} led epoch {claim.epoch}"
    return METADATA_COMMITTED_LOST.found(
        f"{claim.node}, leader of epoch {claim.epoch}, reported that all records below "
        f"{claim.high_watermark} were committed, but the metadata logs of {nodes}, a majority of "
        "the voters, lack some of them.",
        subject=f"epoch {claim.epoch}, at the end",
        time_ns=max(log.time_ns for log in logs),
        witness=(claim.index, *(log.op for log in logs)),
        explanation=(
            f"{claimed}: high watermark {claim.high_watermark}, log end {claim.end_offset}.",
            *(_reading_text(log, claim.epoch) for log in logs),
        ),
    )


def _reading_text(log: ReplicaLog, epoch: int) -> str:
    until = kept_until(log, epoch)
    behind = "where it ends" if until == log.end else "where a later epoch begins"
    read_s = log.seen.began_ns / 1e9
    return f"Read from {read_s:.3f} s on, the log of {log.node} has that up to {until}, {behind}."
