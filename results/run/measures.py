"""The numbers of a run for its last lines, its report and the summary of a campaign.

They are stored in the run's folder next to the verdict, so that the summary of a campaign does not read the
histories again.
"""

from pathlib import Path

import msgspec

from checkers.history.phases import Phase
from checkers.history.units import NS_PER_MS
from checkers.runs.availability import CHECKER as AVAILABILITY
from checkers.runs.starts import CHECKER as STARTS
from checkers.verdict.verdict import Verdict
from results.run.coverage import coverage_of
from results.run.observation import ClusterRecovery, FaultSeen, Observed
from results.store.runs import load_record, save_record

MEASURES_FILE = "measures.json"
UNDER_LOAD = (Phase.LOAD, Phase.HEAL, Phase.RECOVER)
"""Phases with load. The load begins with the first of them, and ends before the next other phase."""


class _Unavailability(msgspec.Struct, frozen=True):
    id: str
    unavailable_ms: float | None = None


class FaultMeasures(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of a fault.

    Attributes:
        id: e.g. ``f1``.
        kind: ``partition``, ``kill``, ``pause`` or ``stop``.
        targets: names of the affected nodes.
        proven: whether the probe confirmed that it took effect.
        held_ms: how long it was proven to be in force.
        unavailable_ms_max: longest time from an acknowledgement of a partition to the next one, or to the end
            of the load, among the times that overlap the fault; None if it was not measured.
    """

    id: str
    kind: str
    targets: tuple[str, ...] = ()
    proven: bool = False
    held_ms: int | None = None
    unavailable_ms_max: int | None = None


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of a run.

    Attributes:
        duration_ms: time from its start to its last operation.
        load_ms: duration of the load, including faults and recovery; None without load, and in measures of
            an older krucible.
        operations: number of operations in its history.
        sent_ok: number of acknowledged records.
        sent_fail: number of records that were certainly not appended.
        sent_info: number of records whose outcome the client does not know.
        polled: number of records that polls returned.
        read_finally: number of records that the final read returned, for all clients and isolation levels.
        others: other operations of clients: numbers of ok, info and fail by f.
        faults: the attempted faults.
        unavailable_ms_max: the longest unavailability of all faults.
        recovered: whether the cluster recovered within its bound; None if the run did not reach recovery.
        recovery_ms: duration of the recovery, or of waiting for it.
        starts: number of starts until the cluster was ready, or until the harness gave up.
        coverage: how often each interesting state was reached; see `results.run.coverage`.
    """

    duration_ms: int
    load_ms: int | None = None
    operations: int
    sent_ok: int = 0
    sent_fail: int = 0
    sent_info: int = 0
    polled: int = 0
    read_finally: int = 0
    others: dict[str, dict[str, int]] = {}
    faults: tuple[FaultMeasures, ...] = ()
    unavailable_ms_max: int | None = None
    recovered: bool | None = None
    recovery_ms: int | None = None
    starts: int = 1
    coverage: dict[str, int] = {}


def measure(observed: Observed, verdict: Verdict) -> Measures:
    """The numbers of a run: counted in its history, or taken from its verdict."""
    gaps = _unavailable_ms(verdict)
    faults = tuple(_of_fault(fault, gaps.get(fault.id)) for fault in observed.faults if fault.attempted)
    unavailable = [f.unavailable_ms_max for f in faults if f.unavailable_ms_max is not None]
    recovery: ClusterRecovery | None = observed.recovery
    return Measures(
        duration_ms=observed.end_ns // NS_PER_MS,
        load_ms=_load_ms(observed),
        operations=observed.operations,
        sent_ok=observed.records["ok"],
        sent_fail=observed.records["fail"],
        sent_info=observed.records["info"],
        polled=int(observed.polls.records.sum()),
        read_finally=observed.records_final,
        others=observed.others,
        faults=faults,
        unavailable_ms_max=max(unavailable, default=None),
        recovered=recovery.recovered if recovery else None,
        recovery_ms=recovery.took_ms if recovery else None,
        starts=_starts(verdict),
        coverage=coverage_of(verdict),
    )


def save_measures(folder: Path, measures: Measures) -> Path:
    """Write ``measures.json`` atomically.

    Raises:
        OSError: if it can't be written.
    """
    return save_record(folder / MEASURES_FILE, measures)


def load_measures(folder: Path) -> Measures:
    """The inverse of `save_measures`.

    Raises:
        RunUnreadableError: if ``measures.json`` is missing or damaged.
    """
    return load_record(folder / MEASURES_FILE, Measures)


def _starts(verdict: Verdict) -> int:
    """Number of starts from the starts checker; 1 if not recorded."""
    figures = next((result.figures for result in verdict.results if result.checker == STARTS), {})
    counted = figures.get("starts")
    return counted if isinstance(counted, int) and counted > 0 else 1


def _load_ms(observed: Observed) -> int | None:
    """Duration of the load: from its phase to the first phase without load, else to the end."""
    began_ns = next((time_ns for name, time_ns in observed.phases if name == UNDER_LOAD[0]), None)
    if began_ns is None:
        return None
    later = (ns for name, ns in observed.phases if ns >= began_ns and name not in UNDER_LOAD)
    return (next(later, observed.end_ns) - began_ns) // NS_PER_MS


def _of_fault(fault: FaultSeen, unavailable_ms: int | None) -> FaultMeasures:
    return FaultMeasures(
        id=fault.id,
        kind=fault.kind,
        targets=fault.targets,
        proven=fault.effective_ns is not None,
        held_ms=fault.held_ms,
        unavailable_ms_max=unavailable_ms,
    )


def _unavailable_ms(verdict: Verdict) -> dict[str, int]:
    """Unavailability by fault from the availability checker; verdicts of other versions may lack it."""
    figures = next((result.figures for result in verdict.results if result.checker == AVAILABILITY), {})
    try:
        faults = msgspec.convert(figures.get("faults", []), list[_Unavailability])
    except msgspec.ValidationError:
        return {}
    return {fault.id: round(fault.unavailable_ms) for fault in faults if fault.unavailable_ms is not None}
