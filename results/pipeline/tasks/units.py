"""Units of judging: one for each run, and for a large run one for each share of its log and its registers.

A run's unit reads the journals once and judges everything that concerns the run as a whole.  Of a large run
it leaves the log and the registers to units of their own, which get their rows from it: whatever is judged
per partition, and per register, may be judged anywhere.  The run's unit takes the results together again.
Verdicts are those of `checkers.judge.judge`, byte for byte, because the same functions make them of one part
or of many.

Measured on one million records sent or returned in 12 partitions (22 MB, one core): reading takes 2.5 s,
loading the columns 0.5 s, judging the log by them 0.3 s; of 200,000 operations on 50 registers reading takes
5.4 s, loading 0.8 s, judging 0.03 s.  So a share that read the journals again would cost many times what it
judges, and one made of the table `records` could not name the operations that are its proof: shares are cut
from what the run's unit has loaded anyway, and travel as bytes.  They are worth it only for runs that are so
large that everything else would wait for them: `SHARE_BYTES`.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from checkers.columns.tables import Columns
from checkers.evidence.faults import fault_windows
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
from checkers.logs.log.refusals import disks_of
from checkers.logs.log.shares import shares as shares_of_log
from checkers.registers import Judgeable, judgeable, losing_of
from checkers.registers import parts as of_registers
from checkers.registers.columns import Registers
from checkers.registers.kept import Milestones
from checkers.verdict.verdict import CheckerResult, Verdict
from checkers.verdict.withholding import Hole, hole_of, withheld

RUN = "run"
"""Name of the unit that every run has."""
SHARE_BYTES = 64 << 20
"""Journals of which log and registers make one share; runs of less than two have none."""


def shares_of_run(history_bytes: int, share_bytes: int = SHARE_BYTES) -> int:
    """Into how many shares the log of a run is cut, and its registers; 1 where the run is one unit."""
    return 1 if history_bytes < 2 * share_bytes else -(-history_bytes // share_bytes)


class CheckerShare(Protocol):
    """One share of a run."""

    def judge(self) -> Any:
        """Judge this unit by its checker."""


class CheckerOverview(Protocol):
    """What is known of all shares of one checker."""

    def result(self, parts: Sequence[Any]) -> CheckerResult:
        """Put together what was found in the shares, in their order."""


class Unit(NamedTuple):
    """`RUN`, or a checker's name with the number of its share, such as ``log/3``; and what it holds."""

    name: str
    content: Any


class ShareResult(NamedTuple):
    """What a share's unit found; nothing if it raised, and then the checker judges the run in one piece."""

    part: Any
    seconds: float


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """What a run's unit has to say.

    Attributes:
        folder: the run's folder.
        setup: the run's set-up; None without one that can be read.
        fault_kinds: kinds of faults that were injected.
        hole: what is missing of its history.
        results: what checkers say, by name, as far as it is known.
        wholes: what waits for shares, by the checker's name.
        seconds: how long each checker took, and reading, which is `READING`, if it was read for this.
    """

    folder: str
    setup: Setup | None
    fault_kinds: tuple[str, ...]
    hole: Hole | None = None
    results: dict[str, CheckerResult] = field(default_factory=dict)
    wholes: dict[str, CheckerOverview] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


READING = "reading"
"""Name of what is no checker and takes time all the same."""


def units_of(folder: str, shares: int, history: History | None = None) -> Iterator[Unit]:
    """Judge what concerns a run as a whole, and cut the rest into shares; the run's own unit comes last.

    Args:
        folder: the run's folder.
        shares: as `shares_of_run` says.
        history: what its journals say, where they have been read already.

    Raises:
        HistoryError: its journals can't be read.
    """
    seconds: dict[str, float] = {}
    if history is None:
        with _timed(seconds, READING):
            history = read_history(Path(folder))
    kinds = tuple(sorted({window.kind for window in fault_windows(history)}))
    run = JudgedRun(folder, readable_setup(history), kinds, hole=hole_of(history), seconds=seconds)
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
    """What a checker finds in one share of a run, and how long that took."""
    began = time.perf_counter()
    try:
        part = work.judge()
    except Exception:  # noqa: BLE001 - the checker will raise it again in one piece, where it is told as ever
        part = None
    return ShareResult(part, time.perf_counter() - began)


def verdict_and_seconds(
    run: JudgedRun, found: dict[str, list[ShareResult]]
) -> tuple[Verdict, dict[str, float]]:
    """Put the results of a run together.

    Args:
        run: what its own unit has to say.
        found: of each checker that waits for shares, what was found in them, in their order.
    """
    results, seconds = dict(run.results), dict(run.seconds)
    for name, whole in run.wholes.items():
        with _timed(seconds, name):
            results[name] = _together(name, whole, [share.part for share in found[name]], run)
        seconds[name] += sum(share.seconds for share in found[name])
    return verdict_of([results[name] for name in CHECKERS], run.setup), seconds


def _together(name: str, whole: CheckerOverview, parts: list[Any], run: JudgedRun) -> CheckerResult:
    if all(part is not None for part in parts):
        return withheld(whole.result(parts), NEEDS[name], run.hole)
    return result_by(name, CHECKERS[name], read_history(Path(run.folder)))


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Add the time that a block takes."""
    began = time.perf_counter()
    try:
        yield
    finally:
        seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - began


class _Shared(NamedTuple):
    """What a checker judges in shares."""

    whole: CheckerOverview
    works: Iterator[CheckerShare]


_Share = Callable[[History, str, int], _Shared | None]
"""Cuts what a checker needs of the history of a folder into so many shares; None where there is nothing."""


def _shared(share: _Share, history: History, folder: str, count: int) -> _Shared | None:
    try:
        return share(history, folder, count)
    except Exception:  # noqa: BLE001 - the checker will raise it again in one piece, where it is told as ever
        return None


@dataclass(frozen=True, slots=True)
class _LogWhole:
    overview: of_log.LogOverview

    def result(self, parts: Sequence[of_log.PartitionsResult]) -> CheckerResult:
        return put_log_together(self.overview, parts)


@dataclass(frozen=True, slots=True)
class _LogShare:
    folder: str
    columns: Columns
    licences: Licences

    def judge(self) -> of_log.PartitionsResult:
        # Who appended a record twice is asked of the replicas; where there is no such record, nobody reads.
        evidence = cache(lambda: disks_of(read_history(Path(self.folder))))
        return check_log_part(self.columns, self.licences, evidence)


@dataclass(frozen=True, slots=True)
class _RegistersWhole:
    folder: str
    overview: of_registers.RegistersOverview

    def result(self, parts: Sequence[of_registers.RegistersResult]) -> CheckerResult:
        return of_registers.put_together(self.overview, parts, self._losing)

    def _losing(self) -> str | None:
        return losing_of(read_history(Path(self.folder)))()


@dataclass(frozen=True, slots=True)
class _RegistersShare:
    folder: str
    registers: Registers
    milestones: Milestones | None

    def judge(self) -> of_registers.RegistersResult:
        return of_registers.check_part(self.registers, _Recorded(self.folder), self.milestones)


class _Recorded(Sequence[Operation]):
    """The operations of a folder's history, read when one is looked up: where nothing is found, none is."""

    def __init__(self, folder: str) -> None:
        self._all = cache(lambda: read_history(Path(folder)).operations)

    def __getitem__(self, index: Any) -> Any:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())


def _share_log(history: History, folder: str, count: int) -> _Shared:
    columns, licences = columns_of(history), licences_of(history)
    works = (_LogShare(folder, share, licences) for share in shares_of_log(columns, count))
    return _Shared(_LogWhole(of_log.overview_of(columns, unassigned_damage(history))), works)


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
"""Checkers that judge partitions, or registers, one apart from the other."""
