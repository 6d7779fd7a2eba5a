"""Units of judging: one for each run, and for a large run one for each share of its log and its registers.

A run's unit reads the journals once and judges everything that concerns the whole run.  In a large run the
log and the registers are judged per partition and per register in units of their own, which get their rows
from the run's unit.  Then the results are combined.  Verdicts are those of `checkers.judge.judge`, byte for
byte, because the same functions are used for one part and for many.

Measured on one million records sent or returned in 12 partitions (22 MB, one core): reading takes 2.5 s,
loading the columns 0.5 s, judging the log 0.3 s.  For 200,000 operations on 50 registers reading takes 5.4 s,
loading 0.8 s, judging 0.03 s.  If each share read the journals again, that would take much longer than the
judging.  Shares of the table `records` could not name the operations that are the proof.  So shares are cut
from what the run's unit has loaded, and are transferred as bytes.  They help only if everything else would
wait for a large run: `SHARE_BYTES`.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, overload

from checkers.columns.tables import Columns
from checkers.evidence.faults import fault_windows
from checkers.evidence.holes import with_hole_of_leader
from checkers.evidence.loading import columns_of
from checkers.history.operations import History, Operation
from checkers.history.reading import read_history
from checkers.history.setup import Setup
from checkers.history.sources import unassigned_damage
from checkers.judge import CHECKERS, NEEDS, readable_setup, result_by, verdict_of
from checkers.licences import Licences, licences_of
from checkers.logs.log import check_part as check_log_part
from checkers.logs.log import figures as of_log
from checkers.logs.log import put_together as put_log_together
from checkers.logs.log.log_shares import shares as shares_of_log
from checkers.logs.log.refused_batches import disks_of
from checkers.registers import Judgeable, judgeable, losing_of
from checkers.registers import parts as of_registers
from checkers.registers.columns import Registers
from checkers.registers.stored_registers import Milestones
from checkers.verdict.verdict import Anomaly, CheckerResult, Verdict
from checkers.verdict.withholding import MissingParts, missing_parts_of, withheld

RUN = "run"
"""Name of the unit that every run has."""
SHARE_BYTES = 64 << 20
"""Size of the journals for one share of log and registers; smaller runs than two shares are not split."""


def shares_of_run(history_bytes: int, share_bytes: int = SHARE_BYTES) -> int:
    """Number of shares of a run's log, and of its registers; 1 if the run is one unit."""
    return 1 if history_bytes < 2 * share_bytes else -(-history_bytes // share_bytes)


class CheckerShare(Protocol):
    """One share of a run."""

    def judge(self) -> object:
        """Judge this share with its checker."""


class CheckerOverview(Protocol):
    """Data of one checker that all shares have in common."""

    def result(self, parts: Sequence[Any]) -> CheckerResult:
        """Combine the results of the shares, given in their order."""


class Unit(NamedTuple):
    """Name (`RUN`, or a checker and the number of a share, such as ``log/3``) and content of a unit."""

    name: str
    content: Any


class ShareResult(NamedTuple):
    """Result of a share; empty if the checker raised, and then it judges the run in one piece."""

    part: object
    seconds: float


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """Result of a run's own unit.

    Attributes:
        folder: the run's folder.
        setup: the run's set-up; None if it is missing or can't be read.
        fault_kinds: kinds of faults that were injected.
        lost: what is missing in the history.
        results: results of checkers so far, by name.
        wholes: common data of checkers that wait for shares, by name.
        seconds: duration of each checker, and of reading (`READING`) if the journals were read for this.
    """

    folder: str
    setup: Setup | None
    fault_kinds: tuple[str, ...]
    lost: MissingParts | None = None
    results: dict[str, CheckerResult] = field(default_factory=dict)
    wholes: dict[str, CheckerOverview] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


READING = "reading"
"""Name for the time of reading, which is not a checker."""


def units_of(folder: str, shares: int, history: History | None = None) -> Iterator[Unit]:
    """Judge what concerns the whole run, and cut the rest into shares; the run's own unit comes last.

    Args:
        folder: the run's folder.
        shares: number of shares, from `shares_of_run`.
        history: the content of its journals, if they were read already.

    Raises:
        HistoryError: its journals can't be read.
    """
    seconds: dict[str, float] = {}
    if history is None:
        with _timed(seconds, READING):
            history = read_history(Path(folder))
    kinds = tuple(sorted({window.kind for window in fault_windows(history)}))
    run = JudgedRun(folder, readable_setup(history), kinds, lost=missing_parts_of(history), seconds=seconds)
    for name, checker in CHECKERS.items():
        share = _SHARING.get(name) if shares > 1 else None
        with _timed(seconds, name):
            shared = None if share is None else _shared(share, history, folder, shares)
            if shared is None:
                run.results[name] = result_by(name, checker, history)
                continue
        run.wholes[name] = shared.whole
        for number, work in enumerate(shared.works):
            yield Unit(f"{name}/{number}", work)
    yield Unit(RUN, run)


def judged(work: CheckerShare) -> ShareResult:
    """Judge one share of a run, with its duration."""
    began = time.perf_counter()
    try:
        part = work.judge()
    except Exception:  # noqa: BLE001 - the checker judges the run in one piece then, and reports it
        part = None
    return ShareResult(part, time.perf_counter() - began)


def verdict_and_seconds(
    run: JudgedRun, found: dict[str, list[ShareResult]]
) -> tuple[Verdict, dict[str, float]]:
    """Combine the results of a run.

    Args:
        run: the result of its own unit.
        found: results of the shares in their order, for each checker that waits for shares.
    """
    results, seconds = dict(run.results), dict(run.seconds)
    for name, whole in run.wholes.items():
        with _timed(seconds, name):
            results[name] = _together(name, whole, [share.part for share in found[name]], run)
        seconds[name] += sum(share.seconds for share in found[name])
    return verdict_of([results[name] for name in CHECKERS], run.setup), seconds


def _together(name: str, whole: CheckerOverview, parts: Sequence[object], run: JudgedRun) -> CheckerResult:
    if all(part is not None for part in parts):
        return withheld(whole.result(parts), NEEDS[name], run.lost)
    return result_by(name, CHECKERS[name], read_history(Path(run.folder)))


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Add the duration of the block."""
    began = time.perf_counter()
    try:
        yield
    finally:
        seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - began


class _Shared(NamedTuple):
    """A checker that can judge shares."""

    whole: CheckerOverview
    works: Iterator[CheckerShare]


_Share = Callable[[History, str, int], _Shared | None]
"""Cuts the checker's input from the history of a folder into this number of shares; None if it is empty."""


def _shared(share: _Share, history: History, folder: str, count: int) -> _Shared | None:
    try:
        return share(history, folder, count)
    except Exception:  # noqa: BLE001 - the checker judges the run in one piece then, and reports it
        return None


@dataclass(frozen=True, slots=True)
class _LogWhole:
    folder: str
    overview: of_log.LogOverview

    def result(self, parts: Sequence[of_log.PartitionsResult]) -> CheckerResult:
        # The history is read only if a record was lost.
        history = cache(lambda: read_history(Path(self.folder)))

        def explained(lost: Anomaly) -> Anomaly:
            return with_hole_of_leader(history(), lost)

        return put_log_together(self.overview, parts, explained)


@dataclass(frozen=True, slots=True)
class _LogShare:
    folder: str
    columns: Columns
    licences: Licences

    def judge(self) -> of_log.PartitionsResult:
        # The replicas show who appended a record twice; they are read only if there is such a record.
        evidence = cache(lambda: disks_of(read_history(Path(self.folder))))
        return check_log_part(self.columns, self.licences, evidence)


@dataclass(frozen=True, slots=True)
class _RegistersWhole:
    folder: str
    overview: of_registers.RegistersOverview

    def result(self, parts: Sequence[of_registers.RegistersResult]) -> CheckerResult:
        # The history is read only if a committed offset was lost.
        history = cache(lambda: read_history(Path(self.folder)))

        def losing(lost: Anomaly) -> str | None:
            return losing_of(history())(lost)

        return of_registers.put_together(self.overview, parts, losing)


@dataclass(frozen=True, slots=True)
class _RegistersShare:
    folder: str
    registers: Registers
    milestones: Milestones | None

    def judge(self) -> of_registers.RegistersResult:
        return of_registers.check_part(self.registers, _Recorded(self.folder), self.milestones)


class _Recorded(Sequence[Operation]):
    """The operations of a folder's history; it is read when one is looked up, so not without anomalies."""

    def __init__(self, folder: str) -> None:
        self._all = cache(lambda: read_history(Path(folder)).operations)

    @overload
    def __getitem__(self, index: int) -> Operation: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Operation]: ...
    def __getitem__(self, index: int | slice) -> Operation | Sequence[Operation]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())


def _share_log(history: History, folder: str, count: int) -> _Shared:
    columns, licences = columns_of(history), licences_of(history)
    works = (_LogShare(folder, share, licences) for share in shares_of_log(columns, count))
    return _Shared(_LogWhole(folder, of_log.overview_of(columns, unassigned_damage(history))), works)


def _share_registers(history: History, folder: str, count: int) -> _Shared | None:
    found = judgeable(history)
    if not isinstance(found, Judgeable):
        return None
    milestones = found.overview.milestones
    works = (
        _RegistersShare(folder, share, milestones) for share in of_registers.shares(found.registers, count)
    )
    return _Shared(_RegistersWhole(folder, found.overview), works)


_SHARING: Mapping[str, _Share] = {"log": _share_log, "registers": _share_registers}
"""Checkers that judge each partition, or each register, independently."""
