"""What the replicas checker has found so far."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from checkers.logs.replicas.single_log import Finds
from checkers.verdict.verdict import Anomaly

REASONS_NAMED = 3


@dataclass(slots=True)
class Findings:
    """The findings so far.

    Attributes:
        anomalies: examples, in the order in which they were found.
        counts: exact numbers by id.
        figures: measured numbers.
        doubts: why some replicas could not be judged.
    """

    anomalies: list[Anomaly] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    figures: Counter[str] = field(default_factory=Counter)
    doubts: list[str] = field(default_factory=list)

    def add(self, found: Iterable[Anomaly]) -> None:
        """Add anomalies, each of which counts as one."""
        for anomaly in found:
            self.anomalies.append(anomaly)
            self.counts[anomaly.id] += 1

    def take(self, found: Iterable[Finds]) -> None:
        """Add anomalies that are counted, with examples."""
        for finds in found:
            self.anomalies.extend(finds.examples)
            self.counts[finds.kind.id] += finds.number

    def unknown_because(self) -> str | None:
        """The first doubts, and how many more there are; None without doubts."""
        if not self.doubts:
            return None
        rest = len(self.doubts) - REASONS_NAMED
        return "; ".join(self.doubts[:REASONS_NAMED]) + (f"; and {rest} more" if rest > 0 else "")
