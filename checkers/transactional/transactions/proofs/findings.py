"""Anomalies that need no cycle: their numbers, and texts of some of them."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from checkers.transactional.transactions.cycles.version_orders import TRANSACTIONS_MAX, Contested, unexplained
from checkers.transactional.transactions.graph.dependencies import Graph
from checkers.transactional.transactions.models.anomalies import ANOMALIES, kind_of, verdict_lines
from checkers.transactional.transactions.models.consistency import ConsistencyModel, forbids, not_weaker
from checkers.transactional.transactions.proofs.judging import NAME_CHARACTERS, GraphDescriber
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY, Anomaly


class Example(NamedTuple):
    """The text of one anomaly.

    Attributes:
        summary: one sentence.
        transactions: transactions that show it.
        subject: the key.
    """

    summary: str
    transactions: tuple[int, ...]
    subject: str


class TransactionFinding(NamedTuple):
    """All anomalies of one id: their number, and a function that returns the text of the i-th."""

    id: str
    times: int
    example: Callable[[int], Example]


def anomalies_of(
    found: Iterable[TransactionFinding], story: GraphDescriber, model: ConsistencyModel
) -> tuple[list[Anomaly], dict[str, int]]:
    """Examples of all findings, and the exact number of each id."""
    present = [each for each in found if each.times]
    anomalies = [
        _anomaly(each.id, each.example(place), story, model)
        for each in present
        for place in range(min(each.times, EXAMPLES_PER_ANOMALY))
    ]
    return anomalies, {each.id: each.times for each in present}


def _anomaly(identity: str, example: Example, story: GraphDescriber, model: ConsistencyModel) -> Anomaly:
    names = (
        f"T{place} = {story.transaction(number)[:NAME_CHARACTERS]}"
        for place, number in enumerate(example.transactions, 1)
    )
    return kind_of(identity, model).found(
        example.summary,
        subject=example.subject,
        time_ns=max(story.time_ns(number) for number in example.transactions),
        witness=sorted({position for n in example.transactions for position in story.operations(n)}),
        explanation=(*names, f"{example.summary}.", *verdict_lines(identity)),
    )


class Unsettled(NamedTuple):
    """The undecided part of a front.

    Attributes:
        graph: the graph.
        contested: finds the versions whose order is unknown; called only for small histories.
        keys: name of each key, by its code.
    """

    graph: Graph
    contested: Callable[[], list[Contested]]
    keys: Callable[[int], str]


def of_orders(unsettled: Unsettled, story: GraphDescriber, model: ConsistencyModel) -> list[Anomaly]:
    """The anomaly of a history that no version order explains; at most one.

    Used if nothing else is wrong.

    Args:
        unsettled: the undecided versions.
        story: descriptions of its transactions.
        model: the consistency model that the history must satisfy.
    """
    graph = unsettled.graph
    if graph.transactions > TRANSACTIONS_MAX or not forbids(model, "G-single"):
        return []
    contested = unsettled.contested()
    numbers = unexplained(graph, contested, model)
    if not numbers:
        return []
    involved = [each for each in contested if sum(one.writer in numbers for one in each.versions) > 1]
    names = ", ".join(unsettled.keys(each.key) for each in involved)
    anomaly = ANOMALIES["no-version-order"].found(
        f"no order of the versions of {names} explains what {len(numbers)} transactions read",
        subject=names,
        time_ns=max(story.time_ns(number) for number in numbers),
        witness=sorted({position for number in numbers for position in story.operations(number)}),
        explanation=(
            *(f"T{n} = {story.transaction(number)[:NAME_CHARACTERS]}" for n, number in enumerate(numbers, 1)),
            f"The reads do not show the order of their writes to {names}, so each order was tried.",
            "Each order makes a circle of writes, reads and missed writes.",
            f"This rules out {', '.join(not_weaker(model))}.",
        ),
    )
    return [anomaly]
