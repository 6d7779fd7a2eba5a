"""The pictures of a cause's card: the messages of its witness, and a comparison of replicas.

Their number is limited; the causes that are shown first get them.
"""

from markupsafe import Markup

from checkers.columns.tables import PartitionName
from checkers.history.operations import History
from checkers.verdict.places import place_of
from results.report.findings.flow.events import Flow, Flows
from results.report.findings.flow.flow import draw_flow
from results.report.findings.replicas.rows import ReplicaTables, SideBySide
from results.report.findings.tale import partition_named
from results.report.limits import DisplayLimits
from results.report.reading.calls import CallColumns
from results.run.causes import Cause
from results.run.observation import Observed

_OF_RECORDS = frozenset(("replicas", "log", "listed-offsets", "partitions"))
"""Checkers whose anomalies at an offset of a partition concern records of replicas."""


class Pictures:
    """Makes what the cards of one page show.

    Args:
        history: the run's history.
        calls: of that history.
        observed: the same, sorted out.
        limits: how much is shown.
    """

    def __init__(
        self, history: History, calls: CallColumns, observed: Observed, limits: DisplayLimits
    ) -> None:
        self._flows, self._tables = Flows(history, calls, observed), ReplicaTables(history)
        self._limits = limits
        self._drawn = self._compared = 0
        self.tables_left_out = 0

    def flow(self, cause: Cause) -> tuple[Markup, Flow] | None:
        """The drawing of a cause's messages, and what it shows; None without one, or one too many."""
        room = self._drawn < self._limits.flows
        flow = self._flows.of(cause, self._limits.witness) if room else None
        if flow is None:
            return None
        self._drawn += 1
        return draw_flow(flow), flow

    def replicas(self, cause: Cause) -> SideBySide | None:
        """The replicas of a cause's partition; None where it is about none, or one too many."""
        place = _offset_of(cause)
        if place is None:
            return None
        if self._compared >= self._limits.replicas:
            self.tables_left_out += self._tables.can_make(place[0])
            return None
        table = self._tables.of(*place)
        self._compared += table is not None
        return table


def _offset_of(cause: Cause) -> tuple[PartitionName, int] | None:
    """The partition and the offset of a cause that is about records; None of any other."""
    shown = cause.witness
    if shown is None or shown.checker not in _OF_RECORDS:
        return None
    place = place_of(shown.anomaly.subject, shown.checker)
    partition = partition_named(place.name)
    return None if partition is None or place.offset is None else (partition, place.offset)
