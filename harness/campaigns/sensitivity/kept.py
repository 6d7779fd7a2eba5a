"""Files with outcomes of a measurement: those that count, and the one to write."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from harness.errors import UsageError, disk_errors_named
from results.sensitivity import MadeAgain
from results.sensitivity.outcomes import (
    MeasurementOptions,
    OutcomeLine,
    Outcomes,
    Place,
    decode_outcomes,
    encode_outcomes,
    outcomes_of,
)
from results.store.runs import write_whole

SUFFIX = ".json"


class KeptOutcomes:
    """The outcomes of a measurement in files; if several have the same run, the first counts.

    Args:
        asked: options of the measurement.
        target: the file that is rewritten, if any; it need not exist yet.
        others: files and folders that are read.
        series: name of the measurement; by default that in the target, or the target's name.
        bugs: names of the bugs whose runs are about to be made; the target keeps them.

    Attributes:
        rerun: bugs whose runs were made again after a change for that bug, from all files that count.
        ignored: files of another measurement, with the options of that one.

    Raises:
        UsageError: a file is no file of outcomes, or the target is of another measurement.
    """

    def __init__(
        self,
        asked: MeasurementOptions,
        target: Path | None,
        others: Sequence[Path],
        series: str | None,
        bugs: Collection[str] = (),
    ) -> None:
        self._asked = asked
        self._target = target
        self._bugs = frozenset(bugs)
        mine = _target_of(target, asked, series)
        read = read_all(others)
        named = [kept.series for kept in (mine, *read.values()) if kept is not None]
        self.series = series or next(iter(named), target.stem if target else "")
        fitting = {path: kept for path, kept in read.items() if self._counts(kept)}
        self.ignored = {path: _series_text(kept) for path, kept in read.items() if path not in fitting}
        counting = (*([mine] if mine else []), *fitting.values())
        self.rerun = rerun_in(counting)
        self._lines: dict[Place, OutcomeLine] = {}
        for kept in counting:
            for line in kept.runs:
                self._lines.setdefault(line.place, line)

    @property
    def lines(self) -> Mapping[Place, OutcomeLine]:
        """The known outcomes, by bug, number of the try, and whether it is the control."""
        return self._lines

    def renew(self, lines: Iterable[OutcomeLine]) -> None:
        """Add the current outcomes to the target, before the older ones; nothing is removed.

        The target is read again first, because another process may have changed it.
        """
        if self._target is None:
            return
        had = _target_of(self._target, self._asked, self.series)
        asked = self._asked.longer(had.asked) if had else self._asked
        earlier = {line.place: line for line in had.runs} if had else {}
        known = (line.judged_as(earlier.get(line.place)) for line in lines)
        bugs = self._bugs | had.bug_names if self._bugs and had else self._bugs or (had.bugs if had else ())
        whole = (*known, *earlier.values())
        data = encode_outcomes(outcomes_of(self.series, asked, whole, bugs, had.rerun if had else ()))
        with disk_errors_named():
            self._target.parent.mkdir(parents=True, exist_ok=True)
            if not self._target.exists() or self._target.read_bytes() != data:
                write_whole(self._target, data)

    def _counts(self, kept: Outcomes) -> bool:
        return kept.series == self.series and _same(kept.asked, self._asked)


def rerun_in(kept: Iterable[Outcomes]) -> tuple[MadeAgain, ...]:
    """The bugs whose runs were made again, in several files; the first reason of each counts."""
    by_bug: dict[str, MadeAgain] = {}
    for one in (again for outcomes in kept for again in outcomes.rerun):
        by_bug.setdefault(one.bug, one)
    return tuple(by_bug[name] for name in sorted(by_bug))


def read_all(paths: Iterable[Path]) -> Mapping[Path, Outcomes]:
    """Files of outcomes, including those in folders, in the order of their names.

    Raises:
        UsageError: one does not exist, is no file of outcomes, or is a folder without such files.
    """
    return {file: read_outcomes(file) for path in paths for file in _files(path)}


def read_outcomes(path: Path) -> Outcomes:
    """Read a file of outcomes.

    Raises:
        UsageError: it does not exist, or is no file of outcomes.
    """
    if not path.exists():
        raise _refused(path, "there is no such file", "name another file")
    with disk_errors_named():
        data = path.read_bytes()
    try:
        return decode_outcomes(data)
    except (ValueError, RecursionError) as error:
        marks = re.search(rb"^(<{7}|>{7}|={7})( |$)", data, re.MULTILINE)
        fix = "keep the runs of both sides, remove git's markers" if marks else "fix it, or name another file"
        raise _refused(path, str(error), fix) from error


def _refused(path: Path, problem: str, next_step: str) -> UsageError:
    return UsageError(
        "this file has no outcomes",
        got=problem,
        expected="a file that `krucible sensitivity --outcomes` wrote",
        where=str(path),
        next_step=next_step,
    )


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.glob(f"*{SUFFIX}") if file.is_file())
    if not found:
        raise UsageError(
            "this folder has no outcomes",
            got=f"a folder without files *{SUFFIX}",
            expected="files that `krucible sensitivity --outcomes` wrote, in the folder itself",
            where=str(path),
            next_step="name another folder, or a file",
        )
    return found


def _target_of(target: Path | None, asked: MeasurementOptions, series: str | None) -> Outcomes | None:
    if target is None or not target.exists():
        return None
    mine = read_outcomes(target)
    if not (_same(mine.asked, asked) and series in (None, mine.series)):
        raise UsageError(
            "this file has the outcomes of another measurement",
            got=_series_text(mine),
            expected=f"{series or mine.series}: {asked.text()}",
            where=str(target),
            next_step="name another file, or ask for the same measurement",
        )
    return mine


def _same(one: MeasurementOptions, other: MeasurementOptions) -> bool:
    """Whether both are the same measurement: all options but the number of runs are equal."""
    return one.text() == other.text()


def _series_text(kept: Outcomes) -> str:
    return f"{kept.series}: {kept.asked.text()}"
