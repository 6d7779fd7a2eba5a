"""Judges dependency edges of any front: from a graph to anomalies with proofs."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

import msgspec
import numpy as np

from checkers.transactional.transactions.cycles.cycle import Cycle, CycleStep
from checkers.transactional.transactions.cycles.search import Anomalous, find_cycles
from checkers.transactional.transactions.graph.dependencies import EdgeKind, Graph
from checkers.transactional.transactions.models.anomalies import ANOMALIES, verdict_lines
from checkers.transactional.transactions.models.consistency import parted, ruled_out
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY, Anomaly

NAME_CHARACTERS = 300
"""Longest text of one transaction in a proof."""
STEPS_SHOWN = 40
"""Steps of a cycle that a proof lists; a longer cycle's middle is replaced by a count."""

_SIGNS = {
    EdgeKind.WW: "ww",
    EdgeKind.WR: "wr",
    EdgeKind.RW: "rw",
    EdgeKind.PROCESS: "process",
    EdgeKind.REALTIME: "rt",
    EdgeKind.RW_BY_TIME: "rw",
    EdgeKind.WW_BY_PROCESS: "ww",
    EdgeKind.RW_BY_PROCESS: "rw",
}


class GraphDescriber(Protocol):
    """Describes a front's transactions and edges."""

    def transaction(self, number: int) -> str:
        """What a transaction did, such as ``{append x 3, r y [1 2]}``."""
        ...

    def because(self, step: CycleStep, source: str, target: str) -> str:
        """Why one comes before the other: a clause without a full stop that uses the given names."""
        ...

    def operations(self, number: int) -> tuple[int, ...]:
        """Positions in the history of a transaction's operations, the invocation first."""
        ...

    def time_ns(self, number: int) -> int:
        """When a transaction ended, or when it began if the end is unknown."""
        ...


class DrawnCycle(msgspec.Struct, frozen=True):
    """A cycle to draw.

    Attributes:
        id: the anomaly.
        nodes: text of each transaction; they are called T1, T2 and so on.
        arcs: source and target, as indices in `nodes`, and the sign: ww, wr, rw, process or rt.
        witness: the witness of the anomaly, which distinguishes it from others of its id.
        reasons: the reason of each arc, in order; a long cycle lacks the reasons of its later arcs, and
            verdicts of earlier versions lack all reasons.
    """

    id: str
    nodes: tuple[str, ...]
    arcs: tuple[tuple[int, int, str], ...]
    witness: tuple[int, ...] = ()
    reasons: tuple[str, ...] = ()


class GraphResult(NamedTuple):
    """The result of judging a graph.

    Attributes:
        anomalies: at most `EXAMPLES_PER_ANOMALY` of each id.
        counts: number of components of each id.
        drawn: the cycles of the anomalies, in their order.
        figures: edges by kind, components with a cycle, the size of the largest.
    """

    anomalies: list[Anomaly]
    counts: dict[str, int]
    drawn: tuple[DrawnCycle, ...]
    figures: dict[str, object]


def judge_edges(graph: Graph, story: GraphDescriber, forbidden: Callable[[str], bool]) -> GraphResult:
    """Find and prove every anomaly of a graph.

    Args:
        graph: the dependency graph.
        story: descriptions of the transactions and of the reasons for edges.
        forbidden: whether an anomaly id is illegal here.
    """
    findings = find_cycles(graph, forbidden)
    counted: Counter[str] = Counter()
    anomalies, drawn = [], []
    for found in findings.found:
        counted[found.id] += 1
        if counted[found.id] <= EXAMPLES_PER_ANOMALY:
            kind = msgspec.structs.replace(ANOMALIES[found.id], illegal=forbidden(found.id))
            anomalies.append(_anomaly(kind, found, story))
            drawn.append(drawn_of(found.id, found.cycle, story))
    figures = {
        "edges": _edges_by_kind(graph),
        "components": findings.cyclic,
        "largest_component": findings.largest,
    }
    return GraphResult(anomalies, findings.counts, tuple(drawn), figures)


def drawn_of(identity: str, cycle: Cycle, story: GraphDescriber) -> DrawnCycle:
    """A cycle as nodes and arcs."""
    numbers = _numbers(cycle)
    nodes = tuple(_bounded(story.transaction(number)) for number in numbers)
    arcs = ((numbers[step.source], numbers[step.target], _SIGNS[step.kind]) for step in cycle)
    reasons = (
        _bounded(_because(step, story, f"T{numbers[step.source] + 1}", f"T{numbers[step.target] + 1}"))
        for step in cycle[:STEPS_SHOWN]
    )
    return DrawnCycle(identity, nodes, tuple(arcs), _witness(numbers, story), tuple(reasons))


def models_ruled_out(identities: Iterable[str]) -> list[str]:
    """All models that some anomalies contradict, weakest first."""
    found = {model for identity in identities for part in ruled_out(identity) for model in part}
    return [model.value for model in sorted(found, key=list(type(next(iter(found)))).index)] if found else []


def _numbers(cycle: Cycle) -> dict[int, int]:
    """Number of each transaction, in the order of the cycle."""
    return {number: place for place, number in enumerate(dict.fromkeys(step.source for step in cycle))}


def _witness(numbers: Iterable[int], story: GraphDescriber) -> tuple[int, ...]:
    """The operations of some transactions."""
    return tuple(sorted({operation for number in numbers for operation in story.operations(number)}))


def _anomaly(kind: AnomalyKind, found: Anomalous, story: GraphDescriber) -> Anomaly:
    numbers = _numbers(found.cycle)
    signs = " ".join(f"T{numbers[step.source] + 1} {_SIGNS[step.kind]}" for step in found.cycle)
    name = parted(kind.id)[0]
    return kind.found(
        f"{len(numbers)} transactions in a circle ({name}): {_bounded(signs)} T1",
        subject=story.transaction(found.cycle[0].source)[:80],
        time_ns=max(story.time_ns(number) for number in numbers),
        witness=_witness(numbers, story),
        explanation=(*_proof(found, story), *verdict_lines(kind.id)),
    )


def _proof(found: Anomalous, story: GraphDescriber) -> Iterable[str]:
    """The proof, line by line."""
    numbers = _numbers(found.cycle)
    names = {number: f"T{place + 1}" for number, place in numbers.items()}
    shown = _shown(found.cycle)
    cited = dict.fromkeys(number for step in shown for number in (step.source, step.target))
    for number in sorted(cited, key=numbers.__getitem__):
        yield f"{names[number]} = {_bounded(story.transaction(number))}"
    for place, step in enumerate(shown):
        last = place == len(shown) - 1
        if last and len(shown) < len(found.cycle):
            yield f"and so on, {len(found.cycle) - len(shown)} steps more."
        one, other = names[step.source], names[step.target]
        because = _because(step, story, one, other)
        if last:
            yield f"However, {one} < {other}, because {because}: a contradiction!"
        else:
            yield f"{one} < {other}, because {because}."
    if not found.exact:
        yield "The search for a cycle with a single anti-dependency was cut short; there may be one as well."


def _shown(cycle: Cycle) -> Cycle:
    """The steps that a proof lists."""
    return cycle if len(cycle) <= STEPS_SHOWN else (*cycle[: STEPS_SHOWN - 1], cycle[-1])


def _because(step: CycleStep, story: GraphDescriber, one: str, other: str) -> str:
    if step.kind is EdgeKind.PROCESS:
        return f"the process that ran {one} ran {other} after it"
    if step.kind is EdgeKind.REALTIME:
        return f"{one} was complete before {other} began"
    return story.because(step, one, other)


def _edges_by_kind(graph: Graph) -> dict[str, int]:
    counts = np.bincount(graph.edges.kind, minlength=len(EdgeKind)).tolist()
    return {kind.name.lower().replace("_", "-"): counts[kind] for kind in EdgeKind if counts[kind]}


def _bounded(text: str) -> str:
    return text if len(text) <= NAME_CHARACTERS else f"{text[: NAME_CHARACTERS - 1]}…"
