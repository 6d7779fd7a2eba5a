"""Measurements of sensitivity from files of outcomes, compared with today's catalogue of seeded bugs."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from harness.campaigns.sensitivity.identity import bug_digest
from harness.campaigns.sensitivity.kept import read_all, rerun_in
from harness.campaigns.sensitivity.reading import seen_in
from harness.errors import UsageError
from harness.seeded_bugs.catalogue import fits_version, seeded_bugs
from harness.seeded_bugs.header import SeededBug
from results.sensitivity import BugOutcome, BugRun, ControlRun, LeftOut, MadeAgain, MeasuredBug, Sensitivity
from results.sensitivity.outcomes import MeasurementOptions, OutcomeLine, Outcomes, Place


def measurements_in(paths: Iterable[Path]) -> tuple[Sensitivity, ...]:
    """The measurements of files, and of those in folders; files of one series are one measurement.

    Raises:
        UsageError: a file is no file of outcomes, or two of a series are of different measurements.
    """
    by_series: dict[str, dict[Path, Outcomes]] = {}
    for path, kept in read_all(paths).items():
        by_series.setdefault(kept.series, {})[path] = kept
    return tuple(_measured(series, files) for series, files in by_series.items())


def measurement_of(
    series: str,
    asked: MeasurementOptions,
    lines: Mapping[Place, OutcomeLine],
    bugs: Collection[SeededBug],
    rerun: tuple[MadeAgain, ...] = (),
) -> Sensitivity:
    """Make a measurement from its lines.

    Args:
        series: its name.
        asked: its options.
        lines: the outcomes; those of other bugs are ignored.
        bugs: the bugs of the search; those that do not fit the version are left out.
        rerun: bugs whose runs were made again after a change for that bug.
    """
    names = {bug.name for bug in bugs}
    mine = {
        place: line for place, line in lines.items() if line.bug in names or line.bug not in seeded_bugs()
    }
    whys = {place: _misfit(line, asked) for place, line in mine.items()}
    counting = {place: line for place, line in mine.items() if not whys[place]}
    fitting = [bug for bug in bugs if fits_version(bug, asked.kafka_version)]
    measured = [_measured_bug(bug, asked, counting) for bug in fitting]
    return Sensitivity(
        version=asked.kafka_version,
        preset=asked.preset,
        budget=asked.budget,
        seed=asked.seed,
        bugs=tuple(measured),
        controls=tuple(control for one in measured for control in _controls(one, counting)),
        withheld=tuple(bug.name for bug in bugs if bug not in fitting),
        series=series,
        commits=tuple(sorted({line.origin.commit for line in counting.values()} - {""})),
        left_out=tuple(LeftOut(*place, why) for place, why in sorted(whys.items()) if why),
        rerun=rerun,
    )


def _measured(series: str, files: Mapping[Path, Outcomes]) -> Sensitivity:
    """The measurement of a series; it only has the bugs of the search, not the whole catalogue."""
    asked = _options_in(series, files)
    lines: dict[Place, OutcomeLine] = {}
    for kept in files.values():
        for line in kept.runs:
            lines.setdefault(line.place, line)
    names = frozenset(name for kept in files.values() for name in kept.bug_names)
    bugs = [bug for name, bug in seeded_bugs().items() if name in names]
    return measurement_of(series, asked, lines, bugs, rerun_in(files.values()))


def _options_in(series: str, files: Mapping[Path, Outcomes]) -> MeasurementOptions:
    """The options of a series; the number of runs is the largest of all files.

    Raises:
        UsageError: two files differ in more than that.
    """
    (first, kept), *others = files.items()
    asked = kept.asked
    for path, other in others:
        if other.asked.text() != asked.text():
            raise UsageError(
                f"two files of the series {series!r} are of different measurements",
                got=f"{other.asked.text()}, in {path}",
                expected=f"{asked.text()}, as in {first}",
                next_step="give one of them another series",
            )
        asked = asked.longer(other.asked)
    return asked


def _misfit(line: OutcomeLine, asked: MeasurementOptions) -> str:
    """The reason why a line does not count; an older krucible may have planned its run differently."""
    bug = seeded_bugs().get(line.bug)
    if bug is None:
        return "the catalogue no longer has this bug"
    if not line.control and line.origin.bug != bug_digest(bug, asked.kafka_version):
        return "the bug's file has changed since"
    return (
        "" if fits_version(bug, asked.kafka_version) else f"the bug does not fit Kafka {asked.kafka_version}"
    )


def _measured_bug(
    bug: SeededBug, asked: MeasurementOptions, lines: Mapping[Place, OutcomeLine]
) -> MeasuredBug:
    mine = [line for line in lines.values() if line.bug == bug.name]
    return MeasuredBug(
        name=bug.name,
        area=bug.area,
        anomalies=bug.anomalies,
        fitting=all(line.fitting for line in mine),
        trials=tuple(_trials(bug, asked, lines)),
    )


def _trials(
    bug: SeededBug, asked: MeasurementOptions, lines: Mapping[Place, OutcomeLine]
) -> Iterator[BugRun]:
    for number in range(1, asked.runs + 1):
        line = lines.get((bug.name, number, False))
        none = BugRun(number=number, scenario="", mode="", command="")
        trial = none if line is None else seen_in(line, bug, asked.kafka_version)
        yield trial
        if trial.ending is BugOutcome.SEEN:
            return


def _controls(bug: MeasuredBug, lines: Mapping[Place, OutcomeLine]) -> Iterator[ControlRun]:
    """The controls of all runs that were made; the control of any other run is unknown."""
    for trial in bug.trials:
        line = lines.get((bug.name, trial.number, True))
        if line is not None:
            yield line.as_control()
        elif trial.ending is not BugOutcome.NOT_RUN:
            yield ControlRun(scenario=trial.scenario, mode=trial.mode, command="")
