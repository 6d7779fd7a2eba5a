"""Whether every node was observed all the time, as the run planned; reports missing observations.

Observers make each observation at least once a second while its node runs.  A node can't answer while a fault
is in force at it, or while its process does not run according to its container, until it has started again.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from checkers.evidence.faults import FaultWindow
from checkers.evidence.leader_epochs import LEADER_EPOCHS
from checkers.evidence.metadata_whole import begun_later, opaque_records, thinned_logs
from checkers.evidence.processes import gone, not_running
from checkers.evidence.topic_partitions import partitions_of
from checkers.history.faults import recorded_fault
from checkers.history.logged import VOTE, VotesEnd, vote_logged
from checkers.history.observed import (
    EVIDENCE_PRODUCERS,
    PARTITIONS,
    PRODUCERS,
    CoordinatorsSeen,
    LeaderEpochsSeen,
    PartitionsSeen,
)
from checkers.history.operations import OK, History
from checkers.history.phases import PHASE, Phase, phase_began_ns
from checkers.history.quorum import leaders_seen
from checkers.history.replicas import EVIDENCE_FOLDERS, FOLDERS, METADATA_LOG, REPLICA, ReplicaSeen
from checkers.history.setup import Setup, recorded_setup
from checkers.history.units import NS_PER_MS
from checkers.runs.claimed_coordinators import COORDINATORS, EVIDENCE_COORDINATORS
from checkers.runs.short_lists import first_of, number_of
from checkers.verdict.verdict import Assumption

_INTERVALS = 32
"""Observer intervals for which a node may be silent: 8 s; the longest in 102 clean runs was 2.5 s."""
_RETURN_NS = 60_000_000_000
"""How long a node may take from the end of a fault to its first answer; the same as the recovery bound."""
FINAL_REQUESTS = {
    "copy": ("committed-offsets",),
    "groups": ("poll",),
    "metadata": ("list-topics", "read"),
    "offsets": ("read",),
    "shares": ("share-offsets",),
    "streams": ("committed-offsets", "read-output"),
}
"""Kind of a workload to its further requests in the phase final-read, in addition to reading all records."""


class _Watch(NamedTuple):
    """An observation that must be made all the time.

    Attributes:
        key: key of the observations.
        nodes: the nodes that must be observed.
        what: its name in texts.
    """

    key: str
    nodes: tuple[str, ...]
    what: str


def coverage_of(history: History, setup: Setup, windows: Sequence[FaultWindow]) -> list[Assumption]:
    """Assumptions about the observation of a krucible run; none for histories of other harnesses.

    Raises:
        msgspec.ValidationError, ValueError: an observation is not as docs/histories.md says.
    """
    if not setup.scenario:
        return []
    return [
        _probed(history),
        *_watched(history, setup, windows),
        _views_of_all(history),
        _logs_whole(history),
        _epochs_noted(history),
        *_folders_reported(history, setup),
        *_coordinators_reported(history, setup),
        *_producers_known(history, setup),
        *_votes_reported(history, setup),
        *_answered_finally(history, setup),
    ]


def _probed(history: History) -> Assumption:
    """Require that every confirmed fault, and every heal, has the result of its probe."""
    blind = [
        f"{operation.f} of {operation.key}"
        for f in ("inject", "heal")
        for operation in history.of(f)
        if operation.type is OK and ((fault := recorded_fault(operation)) is None or not fault.probe)
    ]
    return _all_seen(
        "faults-covered", "what the probe found for each fault that took effect and for each heal", blind
    )


def _watched(history: History, setup: Setup, windows: Sequence[FaultWindow]) -> Iterator[Assumption]:
    """Require that no node that could answer was silent for long, during and after the load."""
    phases = {str(operation.key): operation.time_ns for operation in history.of(PHASE)}
    if Phase.LOAD not in phases:
        return
    span = phases[Phase.LOAD], phases.get(Phase.EVIDENCE, max(phases.values()))
    bound_ms = _INTERVALS * setup.observe_interval_ms
    away = _away(history, setup, windows)
    for watch in _watches(setup):
        times: dict[str, list[int]] = {node: [] for node in watch.nodes}
        for operation in history.observed(watch.key):
            times.setdefault(operation.node or "", []).append(operation.time_ns)
        silent = [
            f"{node} for {longest // NS_PER_MS} ms"
            for node in watch.nodes
            if (longest := _longest(times[node], span, away.get(node, ()))) > bound_ms * NS_PER_MS
        ]
        what = f"{watch.what}, never missing for more than {bound_ms} ms"
        yield _all_seen(f"{watch.key}-covered", what, silent)


def _watches(setup: Setup) -> Iterator[_Watch]:
    brokers = tuple(node.name for node in setup.nodes if "broker" in node.roles)
    yield _Watch("quorum", tuple(setup.controllers.values()), "answers of each controller")
    yield _Watch("quorum-state", tuple(node.name for node in setup.nodes), "each node's quorum-state file")
    yield _Watch("partitions", brokers, "each broker's view of the partitions")


def _away(history: History, setup: Setup, windows: Iterable[FaultWindow]) -> dict[str, list[tuple[int, int]]]:
    """For each node, the periods in which it could not answer."""
    found: dict[str, list[tuple[int, int]]] = {node.name: [] for node in setup.nodes}
    for window in windows:
        if window.silences or window.ends_processes:
            for node, spans in found.items():
                if window.concerns(node):
                    spans.append((window.invoked_ns, window.end_ns))
    for node, ended in not_running(history).items():
        found.setdefault(node, []).extend(ended)
    return found


def _longest(times: Sequence[int], span: tuple[int, int], away: Sequence[tuple[int, int]]) -> int:
    """The longest time in a span without an observation of a node that could answer; nanoseconds."""
    begin, end = span
    within = sorted(time_ns for time_ns in times if begin < time_ns < end)
    return max(_missed(before, after, away) for before, after in pairwise([begin, *within, end]))


def _missed(before: int, after: int, away: Sequence[tuple[int, int]]) -> int:
    """The part of a silence in which a node was neither unable to answer nor returning."""
    overlapping = [(from_ns, to_ns) for from_ns, to_ns in away if from_ns <= after and before <= to_ns]
    if not overlapping:
        return after - before
    first, last = min(from_ns for from_ns, _ in overlapping), max(to_ns for _, to_ns in overlapping)
    return max(first - before, after - last - _RETURN_NS)


def _views_of_all(history: History) -> Assumption:
    """Require that a broker reported each partition of the run's topics."""
    reported: dict[str, set[int]] = {}
    for operation in history.observed(PARTITIONS):
        for topic, states in msgspec.convert(operation.value, PartitionsSeen).topics.items():
            reported.setdefault(topic, set()).update(state.partition for state in states)
    names = [each.name for each in partitions_of(history)]
    unseen = [str(name) for name in names if name.partition not in reported.get(name.topic, ())]
    return _all_seen("views-covered", "a view of every partition by a broker", unseen)


def _logs_whole(history: History) -> Assumption:
    """Require that metadata logs contain what their batches and the quorum's leaders show."""
    problems = [*thinned_logs(history).values(), *begun_later(history), *opaque_records(history)]
    ends = [seen.end or 0 for _, seen in history.seen(METADATA_LOG, ReplicaSeen)]
    marks = [seen.high_watermark for _, seen in leaders_seen(history)]
    if ends and max(marks, default=-1) > max(ends):
        problems.append(f"they end at offset {max(ends)}, but {max(marks)} was reported as committed")
    return Assumption(
        "metadata-log-covered",
        not problems,
        "metadata logs with all their records",
        f"missing: {'; '.join(problems) or 'nothing'}",
    )


def _epochs_noted(history: History) -> Assumption:
    """Require that the stored leader epochs were recorded for each log with batches."""
    epochs = history.seen(LEADER_EPOCHS, LeaderEpochsSeen)
    noted = {(operation.node, seen.topic, seen.partition) for operation, seen in epochs}
    unknown = [
        f"{seen.topic}/{seen.partition} on {operation.node}"
        for operation, seen in history.seen(REPLICA, ReplicaSeen)
        if seen.count and (operation.node, seen.topic, seen.partition) not in noted
    ]
    return _all_seen(
        "leader-epochs-covered", "the leader epoch checkpoint of each replica with records", unknown
    )


def _folders_reported(history: History, setup: Setup) -> Iterator[Assumption]:
    """Require that, if folders had to be listed, all brokers' folders were.

    Older runs report none.
    """
    if EVIDENCE_FOLDERS in recorded_setup(history).evidence:
        listed = {operation.node for operation in history.observed(FOLDERS)}
        brokers = (node.name for node in setup.nodes if "broker" in node.roles)
        yield _all_seen(
            "folders-covered", "the folders on each broker's disks", [*sorted({*brokers} - listed)]
        )


def _coordinators_reported(history: History, setup: Setup) -> Iterator[Assumption]:
    """Require that, if brokers had to be asked what they coordinate, all running brokers answered."""
    if EVIDENCE_COORDINATORS in recorded_setup(history).evidence:
        answered = {
            operation.node
            for operation, seen in history.seen(COORDINATORS, CoordinatorsSeen)
            if None not in (seen.groups, seen.transactional_ids)
        }
        brokers = {node.name for node in setup.nodes if "broker" in node.roles}
        what = "the groups and transactional ids that each broker coordinates"
        yield _all_seen("coordinators-covered", what, [*sorted(brokers - answered - gone(history))])


def _producers_known(history: History, setup: Setup) -> Iterator[Assumption]:
    """Require that, if brokers had to be asked which producers they know, all running brokers answered."""
    if EVIDENCE_PRODUCERS in recorded_setup(history).evidence:
        answered = {operation.node for operation in history.observed(PRODUCERS)}
        brokers = {node.name for node in setup.nodes if "broker" in node.roles}
        what = "the producers that each broker knows"
        yield _all_seen("producers-covered", what, [*sorted(brokers - answered - gone(history))])


def _all_seen(name: str, what: str, unseen: Sequence[str]) -> Assumption:
    """Whether nothing is missing; the first missing items are named."""
    return Assumption(name, not unseen, what, f"not seen: {first_of(unseen)}" if unseen else "all seen")


def _votes_reported(history: History, setup: Setup) -> Iterator[Assumption]:
    """Require that, if logs were read for votes, those of all controllers were read to their ends.

    Older runs record no votes.
    """
    votes = ((o.node, vote_logged(o.value)) for o in history.observed(VOTE))
    further = {node: vote.further for node, vote in votes if isinstance(vote, VotesEnd)}
    if history.observed(VOTE):
        unread = [name for name in setup.controllers.values() if further.get(name) != 0]
        yield _all_seen("votes-covered", "all lines about votes in the log of each controller", unread)


def _answered_finally(history: History, setup: Setup) -> Iterator[Assumption]:
    """Require that the requests of a workload at the end were answered at least once."""
    since_ns = phase_began_ns(history, Phase.FINAL_READ)
    for f in FINAL_REQUESTS.get(setup.workload.kind, ()):
        if since_ns is not None:
            answered = sum(o.type is OK and o.time_ns >= since_ns for o in history.of(f))
            yield Assumption(
                f"final-{f}-covered",
                answered > 0,
                f"an answer to {f} in the phase final-read",
                number_of(answered, "answer"),
            )
