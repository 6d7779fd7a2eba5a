"""Drawings of the messages of a cause's witness, and tables that compare replicas.

Their number is limited. The first causes on the page get them.
"""

from markupsafe import Markup

from checkers.columns.tables import PartitionName
from checkers.history.operations import History
from checkers.verdict.places import place_of
from results.report.cards.flow.flow import draw_flow
from results.report.cards.flow.flow_events import Flow, Flows
from results.report.cards.replicas.replica_rows import ReplicaTables, SideBySide
from results.report.reading.calls import CallColumns
from results.report.size_limits import DisplayLimits
from results.run.anomaly_partitions import partition_named
from results.run.causes import Cause
from results.run.observation import Observed

_OF_RECORDS = frozenset(
    ("replicas", "log", "listed-offsets", "partitions", "share-groups", "dead-letters", "nodes")
)
"""Checkers whose anomalies have a partition and an offset at which replicas can be compared."""


class Pictures:
    """Makes the drawings and tables of one page.

    Args:
        history: the run's history.
        calls: the calls of that history.
        observed: the observations of that history.
        limits: upper bounds of what is shown.
    """

    def __init__(
        self, history: History, calls: CallColumns, observed: Observed, limits: DisplayLimits
    ) -> None:
        self._flows, self._tables = Flows(history, calls, observed), ReplicaTables(history)
        self._limits = limits
        self._drawn = self._compared = 0
        self.tables_left_out = 0

    def flow(self, cause: Cause) -> tuple[Markup, Flow] | None:
        """Draw the messages of a cause; None if it has none, or above the limit."""
        room = self._drawn < self._limits.flows
        flow = self._flows.of(cause, self._limits.witness) if room else None
        if flow is None:
            return None
        self._drawn += 1
        return draw_flow(flow), flow

    def replicas(self, cause: Cause) -> SideBySide | None:
        """Compare the replicas of a cause's partition; None if it has no partition, or above the limit."""
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
    """Partition and offset of a cause that concerns records, else None."""
    shown = cause.witness
    if shown is None or shown.checker not in _OF_RECORDS:
        return None
    place = place_of(shown.anomaly.subject, shown.checker)
    partition = partition_named(place.name)
    return None if partition is None or place.offset is None else (partition, place.offset)
