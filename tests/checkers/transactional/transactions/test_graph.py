"""The kernel: graphs, whoever finds the edges; components, cycles, and what is reported of them."""

import numpy as np
import pytest

from checkers.columns.tables import NONE
from checkers.transactional.transactions.cycles import cycle, search
from checkers.transactional.transactions.cycles.cycle import CycleStep
from checkers.transactional.transactions.graph.dependencies import EdgeKind, Graph, GraphBuilder
from checkers.transactional.transactions.proofs.judging import (
    STEPS_SHOWN,
    GraphResult,
    judge_edges,
    models_ruled_out,
)

Pairs = list[tuple[int, int]]


class Numbers:
    """A story of transactions that are known by their numbers."""

    def transaction(self, number: int) -> str:
        return f"{{{number}}}"

    def because(self, step: CycleStep, source: str, target: str) -> str:
        return f"{source} and {target} have an edge {step.kind.name}"

    def operations(self, number: int) -> tuple[int, ...]:
        return (number,)

    def time_ns(self, number: int) -> int:
        return number


def builder_of(count: int, **kinds: Pairs) -> GraphBuilder:
    """Transactions that are all at once, and edges by the names of their kinds."""
    builder = GraphBuilder(np.arange(count), np.arange(count) + count)
    for kind, pairs in kinds.items():
        source, target = (np.array(ends) for ends in zip(*pairs, strict=True))
        builder.add(EdgeKind[kind], source, target)
    return builder


def judged(graph: Graph) -> GraphResult:
    return judge_edges(graph, Numbers(), lambda _: True)


def ring(count: int) -> Pairs:
    return [(n, (n + 1) % count) for n in range(count)]


def test_a_graph_without_edges() -> None:
    result = judged(GraphBuilder(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)).graph())
    assert (result.anomalies, result.counts, result.drawn) == ([], {}, ())
    assert result.figures == {"edges": {}, "components": 0, "largest_component": 0}


def test_an_edge_to_itself_proves_nothing() -> None:
    assert judged(builder_of(1, WW=[(0, 0)]).graph()).counts == {}


@pytest.mark.parametrize(
    ("kinds", "name"),
    [
        ({"WW": [(0, 1), (1, 0)]}, "G0"),
        ({"WW": [(0, 1)], "WR": [(1, 0)]}, "G1c"),
        ({"WR": [(0, 1)], "RW": [(1, 0)]}, "G-single"),
        ({"WR": [(0, 1), (2, 3)], "RW": [(1, 2), (3, 0)]}, "G-nonadjacent"),
        ({"RW": [(0, 1), (1, 0)]}, "G2-item"),
        ({"WW": [(0, 1)], "PROCESS": [(1, 0)]}, "G0-process"),
        ({"WW": [(0, 1)], "REALTIME": [(1, 0)]}, "G0-realtime"),
        ({"RW_BY_TIME": [(0, 1)], "WR": [(1, 0)]}, "G-single-realtime"),
    ],
)
def test_classes(kinds: dict[str, Pairs], name: str) -> None:
    assert judged(builder_of(4, **kinds).graph()).counts == {name: 1}


def test_a_component_is_named_by_the_strongest_cycle_in_it() -> None:
    graph = builder_of(4, RW=[(0, 1), (1, 0), (1, 2), (3, 0)], WW=[(2, 3), (3, 2)]).graph()
    assert judged(graph).counts == {"G0": 1}


def test_the_shortest_cycle_is_reported() -> None:
    graph = builder_of(6, WW=[*ring(6), (2, 0)]).graph()
    (anomaly,) = judged(graph).anomalies
    assert anomaly.witness == (0, 1, 2)


def test_components_apart_are_counted_apart() -> None:
    pairs = [pair for n in range(0, 60, 2) for pair in ((n, n + 1), (n + 1, n))]
    result = judged(builder_of(60, WW=pairs).graph())
    assert result.counts == {"G0": 30}
    assert len(result.anomalies) == 20


def test_many_components_without_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "CLASSIFIED_MAX", 22)
    wr = [(n, n + 1) for n in range(0, 60, 2)]
    rw = [(n + 1, n) for n in range(0, 60, 2)]
    result = judged(builder_of(60, WR=wr, RW=rw).graph())
    assert result.counts == {"G-single": 22, "G-nonadjacent": 8}
    assert len(result.anomalies) == len(result.drawn) == 20


def test_a_long_proof_is_cut() -> None:
    (anomaly,) = judged(builder_of(100, WW=ring(100)).graph()).anomalies
    lines = anomaly.explanation
    assert f"and so on, {100 - STEPS_SHOWN} steps more." in lines
    assert any(line.startswith("However, T100 < T1, because") for line in lines)


def test_a_search_that_is_cut_short_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one read skew hides among many anti-dependencies; the component is still classified by it."""
    monkeypatch.setattr(cycle, "VISITS", 1)
    wr = [(n, n + 1) for n in range(0, 40, 2)]
    rw = [(n + 1, (n + 2) % 40) for n in range(0, 40, 2)]
    result = judged(builder_of(40, WR=wr, RW=rw).graph())
    assert result.counts == {"G-nonadjacent": 1}
    assert result.anomalies[0].explanation[-3].startswith("The search for a cycle")
    monkeypatch.undo()
    exact = judged(builder_of(40, WR=wr, RW=rw).graph())
    assert not any(line.startswith("The search") for line in exact.anomalies[0].explanation)


def test_a_huge_component_does_not_explode() -> None:
    rng = np.random.default_rng(5)
    source = rng.integers(0, 50_000, 200_000)
    target = rng.integers(0, 50_000, 200_000)
    builder = GraphBuilder(np.arange(50_000), np.arange(50_000) + 1)
    builder.add(EdgeKind.RW, source, target)
    result = judged(builder.graph())
    assert result.counts == {"G2-item": 1}
    assert len(result.anomalies[0].witness) < 40


def test_barriers_order_by_real_time_in_linear_size() -> None:
    """Ten rounds of ten transactions at once, each round after the one before."""
    begin = np.concatenate([np.arange(10) + 20 * n for n in range(10)])
    builder = GraphBuilder(begin, begin + 10)
    builder.add_real_time(np.ones(100, dtype=np.bool_))
    edges = builder.graph().edges
    assert len(edges.source) < 4 * 100
    builder.add(EdgeKind.RW, np.array([99]), np.array([0]))
    (anomaly,) = judged(builder.graph()).anomalies
    assert anomaly.id == "G-single-realtime"
    assert anomaly.witness == (0, 99)


def test_what_has_no_end_comes_before_nothing() -> None:
    builder = GraphBuilder(np.array([0, 5]), np.array([NONE, 6]))
    builder.add_real_time(np.ones(2, dtype=np.bool_))
    builder.add_process_order(np.zeros(2, dtype=np.int64), np.ones(2, dtype=np.bool_))
    assert not len(builder.graph().edges.source)


@pytest.mark.parametrize("seed", range(20))
def test_fans_are_all_pairs(seed: int) -> None:
    """Each reader reaches every writer of its group but itself, and nobody else."""
    rng = np.random.default_rng(seed)
    readers = {(int(rng.integers(0, 8)), int(rng.integers(0, 3))) for _ in range(8)}
    writers = {(int(rng.integers(0, 8)), int(rng.integers(0, 3))) for _ in range(8)}
    builder = GraphBuilder(np.arange(8), np.arange(8))
    reader, of = (np.array(ends) for ends in zip(*sorted(readers), strict=True))
    writer, group = (np.array(ends) for ends in zip(*sorted(writers), strict=True))
    builder.add_fans((reader, of, np.arange(len(reader))), (writer, group))
    expected = {(one, other) for one, a in readers for other, b in writers if a == b and one != other}
    assert _pairs(builder.graph()) == expected


def _pairs(graph: Graph) -> set[tuple[int, int]]:
    """Transactions that reach each other by joints alone."""
    onward: dict[int, list[int]] = {}
    for source, target in zip(graph.edges.source.tolist(), graph.edges.target.tolist(), strict=True):
        onward.setdefault(source, []).append(target)
    found = set()
    for first in range(graph.transactions):
        rest, seen = list(onward.get(first, [])), set()
        while rest:
            node = rest.pop()
            if node < graph.transactions:
                found.add((first, node))
            elif node not in seen:
                seen.add(node)
                rest += onward.get(node, [])
    return found


def test_models_that_anomalies_rule_out() -> None:
    assert models_ruled_out([]) == []
    assert models_ruled_out(["torn-transaction"]) == []
    assert models_ruled_out(["G2-item", "G2-item-realtime"])[:2] == ["repeatable-read", "serializable"]
