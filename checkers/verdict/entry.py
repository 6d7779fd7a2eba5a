"""A checker's export to the judge: its name, function, needs, and the anomalies that it can find."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from checkers.history.operations import History
from checkers.history.sources import Source
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.needs import Needs
from checkers.verdict.verdict import CheckerResult

Checker = Callable[[History], CheckerResult]


@dataclass(frozen=True, slots=True)
class Entry:
    """A checker as its module exports it.

    Attributes:
        name: its name in results and on the console.
        check: a pure function that judges a history.
        anomalies: its anomalies by id; a checker that only reports a run's conditions has none.
        needs: the journals that its rules need.

    Raises:
        ValueError: the needs contain a rule that is not one of its anomalies, or a source that does not
            exist.
    """

    name: str
    check: Checker
    anomalies: Mapping[str, AnomalyKind]
    needs: Needs

    def __post_init__(self) -> None:
        """Refuse needs with unknown rules or sources."""
        rules = self.needs.rules - self.anomalies.keys()
        unknown = [*sorted(rules), *sorted(self.needs.sources.difference(Source))]
        if unknown:
            raise ValueError(f"the needs of the checker {self.name} name what does not exist: {unknown}")
