"""Compares the metadata logs of all nodes with that of the last leader that reported a high watermark.

Two logs are compared up to the offset, below the high watermark, that the other node has fetched according to
the leader.  They are also compared up to the last batch that both have: logs with a record of the same offset
and epoch are equal up to it (Raft, Log Matching), committed or not.  If disks with votes were lost, two
leaders may have had one epoch, so only reported high watermarks count.

Within a log no offset is missing: leaders assign the next offset to each batch, and these logs are not
compacted (KIP-630: a snapshot only replaces their beginning).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from checkers.evidence.faults import fault_windows
from checkers.evidence.replicas import ReplicaLog
from checkers.history.operations import History
from checkers.history.replicas import EVIDENCE_METADATA, MetadataLogSeen
from checkers.history.setup import Setup
from checkers.logs.replicas.anomalies import METADATA_DIVERGENCE
from checkers.logs.replicas.committed import MetadataEnd, metadata_end
from checkers.logs.replicas.comparison import ComparedRange, batches_within, find_divergence
from checkers.logs.replicas.gaps import find_missing_offsets
from checkers.logs.replicas.limits import limits_of
from checkers.logs.replicas.single_log import Finds
from checkers.verdict.verdict import Anomaly


class MetadataLogComparison(NamedTuple):
    """The result of comparing metadata logs.

    Attributes:
        anomalies: differences, at most one for each log.
        gaps: offsets that are missing within logs.
        doubts: why some logs could not be compared.
        batches: number of compared batches of each log.
    """

    anomalies: list[Anomaly]
    gaps: list[Finds]
    doubts: list[str]
    batches: list[int]


def compare_metadata_logs(
    history: History, logs: Sequence[ReplicaLog], meant: Setup
) -> MetadataLogComparison:
    """Compare every node's metadata log with the leader's; nothing is compared if the leader is unknown.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    readable = {log.node: log for log in logs if log.readable}
    unsynced = limits_of(history, meant).unsynced
    gaps = list(find_missing_offsets([log for log in readable.values() if _in_one_piece(log, unsynced)], 0))
    doubts = list(_unread(meant, readable))
    committed = metadata_end(history, meant.names)
    if committed is None or committed.leader not in readable:
        unknown = ["the metadata log of the quorum's leader is unknown"] if readable else []
        return MetadataLogComparison([], gaps, [*doubts, *unknown], [])
    reference = readable.pop(committed.leader)
    matching = not any(window.wipes for window in fault_windows(history))
    pairs = [(log, _stretch(reference, log, committed, matching=matching)) for log in readable.values()]
    return MetadataLogComparison(
        [found for log, at in pairs for found in find_divergence(METADATA_DIVERGENCE, reference, log, at)],
        gaps,
        doubts,
        [batches_within(log, at) for log, at in pairs],
    )


def _in_one_piece(log: ReplicaLog, unsynced: frozenset[str]) -> bool:
    """Whether missing offsets in a log can only come from a wrong leader or a wrong append.

    Observers need not sync the records that they append, so a node that loses power may lose the end of one
    segment and keep the next one.  Damaged batches are another finding.
    """
    return not log.seen.corrupt and (log.node not in unsynced or log.seen.segments <= 1)


def _unread(meant: Setup, readable: Mapping[str, ReplicaLog]) -> Iterator[str]:
    """Nodes whose metadata log is missing although it had to be gathered."""
    if EVIDENCE_METADATA in meant.evidence:
        for node in meant.nodes:
            problem = _not_decoded(readable.get(node.name))
            if problem:
                yield f"the metadata log of {node.name} {problem}"


def _not_decoded(log: ReplicaLog | None) -> str | None:
    """Why the records of a metadata log are unknown; None if they are known."""
    if log is None:
        return "was not read"
    problem = log.seen.decoder_error if isinstance(log.seen, MetadataLogSeen) else None
    return problem and f"was not decoded: {problem}"


def _stretch(
    reference: ReplicaLog, log: ReplicaLog, committed: MetadataEnd, *, matching: bool
) -> ComparedRange:
    """The range in which both logs must be equal."""
    known = min(committed.high_watermark, committed.fetched.get(log.node, 0), reference.end, log.end)
    reason = (
        f"{reference.node}, the leader, reported that {log.node} had fetched all records below "
        f"{known}, which were committed."
    )
    shared = _shared_end(reference, log) if matching and not reference.seen.corrupt + log.seen.corrupt else 0
    if shared > known:
        known = shared
        reason = f"{reference.node} and {log.node} both have a batch of one epoch that ends at {known - 1}."
    return ComparedRange(max(reference.start, log.start), known, (committed.op,), reason)


def _shared_end(reference: ReplicaLog, log: ReplicaLog) -> int:
    """The offset after the last batch with the same offset and epoch in both logs; 0 if there is none."""
    _, left, right = np.intersect1d(reference["base_offset"], log["base_offset"], return_indices=True)
    same = np.flatnonzero(reference["leader_epoch"][left] == log["leader_epoch"][right])
    if not len(same):
        return 0
    place = same[-1]
    return 1 + min(int(reference["last_offset"][left[place]]), int(log["last_offset"][right[place]]))
