"""Whether a node uses the newest voter set in its metadata log, committed or not.

Nodes log each quorum state that they enter, with its epoch and the voters that they use.  After its last
truncation, a node's log at any time is a prefix of the log on its disk at the end.  So the voters of a state
must be those of the last voter record before the offset of the truncation, or of a later voter record up to
the epoch of that state.

Records that were lost without a truncation are not in that log.  So if a fault hit a node's disk, only states
that the node entered after its next start count.  Nodes continue to run while disks are read, so only states
that the node entered before the read count.  A log does not count if records are missing, or if it begins
with a snapshot, because it then lacks the voter sets that the snapshot replaced.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from checkers.evidence.faults import FaultWindow, fault_windows
from checkers.evidence.metadata_whole import thinned_logs
from checkers.evidence.node_logs import logged_at_ns
from checkers.history.logged import METADATA_TRUNCATED, QUORUM_VIEW, MetadataTruncated, QuorumViewLogged
from checkers.history.missing_logs import nodes_lacking
from checkers.history.operations import History
from checkers.history.replicas import METADATA_LOG, MetadataLogSeen
from checkers.kraft.quorum.voter_sets import VOTERS_RECORD, named, voters_in
from checkers.kraft.quorum.votes import SLACK_NS
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

VOTERS_NOT_IN_LOG = AnomalyKind(
    id="voters-not-in-log",
    meaning="A node acted by a set of voters that its metadata log did not have, or no longer had.",
    guarantee="A node acts by the last set of voters that is in its metadata log now, committed or not.",
    source="KIP-853, Voter Changes",
)


class _View(NamedTuple):
    """A state that a node entered: the index of the observation, the time, and the content of the line."""

    op: int
    time_ns: int | None
    logged: QuorumViewLogged


class _VotersRecord(NamedTuple):
    """A voter set in a metadata log, and the ids of its voters."""

    offset: int
    epoch: int
    voters: tuple[int, ...]


class _Sets(NamedTuple):
    """Voter sets in one node's metadata log, and when the log was read."""

    op: int
    read_ns: int
    sets: tuple[_VotersRecord, ...]

    def allowed(self, truncated_to: int, epoch: int) -> set[tuple[int, ...]]:
        """The voter sets that the node may use in an epoch after a truncation; empty if unknown."""
        before = [one.voters for one in self.sets if one.offset < truncated_to]
        first = before[-1:] if truncated_to else [one.voters for one in self.sets[:1]]
        if not first:
            return set()
        later = (one.voters for one in self.sets if one.offset >= truncated_to and one.epoch <= epoch)
        return {*first, *later}


class Comparison(NamedTuple):
    """A state that a node entered, and the voter sets that its metadata log allows in that state."""

    node: str
    view: _View
    log: _Sets
    truncated_to: int
    allowed: frozenset[tuple[int, ...]]


def compared_states(history: History, disk_faults: Sequence[FaultWindow]) -> list[Comparison]:
    """The states that can be compared with their node's metadata log, by node, in the order of the lines.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        disk_faults: faults that hit disks with metadata logs.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    logs = _logs(history)
    cut = nodes_lacking(history, QUORUM_VIEW) | nodes_lacking(history, METADATA_TRUNCATED)
    torn = [window for window in fault_windows(history) if window.tears_writes]
    found: list[Comparison] = []
    for node, views in _views(history).items():
        if node in cut or node not in logs:
            continue
        hit = [window for window in (*disk_faults, *torn) if window.concerns(node)]
        end, line = _last_truncation(history, node)
        known = [view for view in _after(views, hit) if view.logged.line > line]
        found += _compared(node, known, logs[node], end)
    return found


def _compared(node: str, views: Sequence[_View], log: _Sets, truncated_to: int) -> Iterator[Comparison]:
    for view in views:
        if view.time_ns is not None and view.time_ns + SLACK_NS <= log.read_ns:
            allowed = frozenset(log.allowed(truncated_to, view.logged.epoch))
            if allowed:
                yield Comparison(node, view, log, truncated_to, allowed)


def voters_not_in_logs(compared: Sequence[Comparison]) -> Iterator[Anomaly]:
    """One finding for each node that used voters that its log did not have, at the first such state."""
    named_nodes: set[str] = set()
    for each in compared:
        if each.view.logged.voters not in each.allowed and each.node not in named_nodes:
            named_nodes.add(each.node)
            yield _finding(each)


def _logs(history: History) -> dict[str, _Sets]:
    """The voter sets by node, from logs that begin at offset 0 and whose voter sets could all be decoded."""
    thinned = thinned_logs(history)
    found = {}
    for operation in history.observed(METADATA_LOG):
        seen = msgspec.convert(operation.value, MetadataLogSeen)
        readable = seen.error is None and seen.decoder_error is None and operation.index not in thinned
        if operation.node is None or not readable or seen.log_start:
            continue
        first = seen.checkpoint[1] if seen.checkpoint is not None and _of_the_beginning(seen) else []
        records = [record for record in (*first, *seen.records) if record.kind == VOTERS_RECORD]
        if records and all(content is not None for *_, content in records):
            sets = (
                _VotersRecord(offset, epoch, tuple(sorted(voters_in(voter_set))))
                for offset, epoch, _, voter_set in records
            )
            found[operation.node] = _Sets(operation.index, seen.began_ns, tuple(sets))
    return found


def _of_the_beginning(seen: MetadataLogSeen) -> bool:
    """Whether the newest snapshot is the one that formatting writes, which ends at offset 0."""
    return seen.checkpoint is not None and int(seen.checkpoint[0].partition("-")[0]) == 0


def _views(history: History) -> dict[str, list[_View]]:
    found: dict[str, list[_View]] = {}
    for operation in history.observed(QUORUM_VIEW):
        logged = msgspec.convert(operation.value, QuorumViewLogged)
        time_ns = logged_at_ns(history, logged.at)
        found.setdefault(operation.node or "", []).append(_View(operation.index, time_ns, logged))
    return found


def _last_truncation(history: History, node: str) -> tuple[int, int]:
    """The offset and the line of the last truncation that a node logged; 0 and 0 if there was none."""
    truncations = (
        msgspec.convert(operation.value, MetadataTruncated)
        for operation in history.observed(METADATA_TRUNCATED)
        if operation.node == node
    )
    last = max(truncations, key=lambda each: each.line, default=None)
    return (0, 0) if last is None else (last.end, last.line)


def _after(views: Sequence[_View], hit: Sequence[FaultWindow]) -> Sequence[_View]:
    """The states since the last start, if the disk was hit; none if it was hit after that start."""
    if not hit:
        return views
    starts = [place for place, view in enumerate(views) if view.logged.started]
    since = views[starts[-1]].time_ns if starts else None
    hit_ns = max(window.invoked_ns for window in hit)
    if since is None or since - SLACK_NS <= hit_ns:
        return []
    return views[starts[-1] :]


def _finding(compared: Comparison) -> Anomaly:
    node, logged, truncated_to = compared.node, compared.view.logged, compared.truncated_to
    allowed = " or ".join(f"[{named(voters)}]" for voters in sorted(compared.allowed))
    cut = f"It had truncated its metadata log to offset {truncated_to}." if truncated_to else ""
    return VOTERS_NOT_IN_LOG.found(
        f"{node} acted by the voters [{named(logged.voters)}] in epoch {logged.epoch}; its metadata log has"
        f" {allowed}.",
        subject=f"{node}, epoch {logged.epoch}",
        time_ns=compared.view.time_ns,
        witness=(compared.view.op, compared.log.op),
        explanation=(
            *((cut,) if cut else ()),
            f"Line {logged.line}: {logged.state}, epoch {logged.epoch}, voters [{named(logged.voters)}].",
        ),
    )
