"""What the judge lists of a checker: its name, its function and the anomalies that it can find."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from checkers.history.operations import History
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import CheckerResult

Checker = Callable[[History], CheckerResult]


class Entry(NamedTuple):
    """A checker, as its module exports it.

    Attributes:
        name: as its results and the console call it.
        check: judges a history, a pure function.
        anomalies: by id; one that only reports a run's conditions has none.
    """

    name: str
    check: Checker
    anomalies: Mapping[str, AnomalyKind] = MappingProxyType({})
