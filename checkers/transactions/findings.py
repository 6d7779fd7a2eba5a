"""Anomalies that need no cycle: how many there are, and some of them in words."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from checkers.transactions.anomalies import kind_of, verdict_lines
from checkers.transactions.judging import NAME_CHARACTERS, Story
from checkers.transactions.models import ConsistencyModel
from checkers.verdict import EXAMPLES_PER_ANOMALY, Anomaly


class Example(NamedTuple):
    """One anomaly in words.

    Attributes:
        summary: one sentence.
        transactions: those that show it.
        subject: the key.
    """

    summary: str
    transactions: tuple[int, ...]
    subject: str


class Found(NamedTuple):
    """All anomalies of one id: how many, and the i-th in words."""

    id: str
    times: int
    example: Callable[[int], Example]


def anomalies_of(
    found: Iterable[Found], story: Story, model: ConsistencyModel
) -> tuple[list[Anomaly], dict[str, int]]:
    """Examples of everything found, and the exact number of each id."""
    present = [each for each in found if each.times]
    anomalies = [
        _anomaly(each.id, each.example(place), story, model)
        for each in present
        for place in range(min(each.times, EXAMPLES_PER_ANOMALY))
    ]
    return anomalies, {each.id: each.times for each in present}


def _anomaly(identity: str, example: Example, story: Story, model: ConsistencyModel) -> Anomaly:
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
