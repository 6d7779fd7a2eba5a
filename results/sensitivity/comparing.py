"""Compares several measurements, as sections of plain text and tables for both pages."""

from collections.abc import Callable, Iterator, Sequence

from results.campaigns.summary import Outcome
from results.markup.markdown import distinct, number
from results.sections.section import Section
from results.sensitivity.model import (
    BugOutcome,
    BugRun,
    MeasuredBug,
    Rate,
    Sensitivity,
    first_rate_of,
    rate_of,
    rate_without_rerun,
)
from results.sensitivity.sections import (
    WITHOUT_RERUN,
    alarms_of,
    alarms_text,
    controls_of,
    left_out_of,
    note_of,
    rate_text,
    rerun_of,
    seconds_of,
    troubles_of,
    without_rerun_text,
)

_HOUR_MS = 3_600_000


def comparison_of(measured: Sequence[Sensitivity]) -> tuple[Section, ...]:
    """All sections of the page; each measurement must have a name."""
    if not measured:
        return ()
    own = (section for result in measured for section in _own(result))
    of_bugs = [result for result in measured if not _controls_alone(result)]
    whole = (_rates, _endings, _scenarios, _bugs) if of_bugs else ()
    return (_measurements(measured), *(section(of_bugs) for section in whole), *own)


def claims_of(measured: Sequence[Sensitivity]) -> tuple[str, ...]:
    """A line for each measurement: which bugs are new, the rate of those that were seen, the false alarms."""
    news = ["", *map(_news, measured[1:], _new_bugs(measured)[1:])]  # of the first one all bugs are new
    return tuple(
        f"{result.series}: {new}{_claim(result)}" for result, new in zip(measured, news, strict=False)
    )


def _controls_alone(result: Sensitivity) -> bool:
    """Whether controls were made, but no run with a bug."""
    return any(one.outcome for one in result.controls) and not any(bug.runs for bug in result.bugs)


def _new_bugs(measured: Sequence[Sensitivity]) -> list[int]:
    """For each measurement the number of its bugs that no measurement before has; all of the first one."""
    known: set[str] = set()
    counts = []
    for result in measured:
        names = set() if _controls_alone(result) else {bug.name for bug in result.bugs}
        counts.append(len(names - known))
        known |= names
    return counts


def _news(result: Sensitivity, new: int) -> str:
    """That a measurement has bugs that those before do not have; empty if it has none."""
    if not new:
        return ""
    if new == len(result.bugs):
        return f"none of its {number(new, 'bug')} is in a measurement before; "
    verb = "is" if new == 1 else "are"
    return f"{new:,} of its {number(len(result.bugs), 'bug')} {verb} in no measurement before; "


def _claim(result: Sensitivity) -> str:
    if _controls_alone(result):
        return f"no run with a bug; {alarms_text(result)}."
    first, whole = first_rate_of(result.bugs), rate_of(result.bugs)
    all_runs = "" if result.runs == 1 else f", within {result.runs} runs {rate_text(whole)}"
    seen = f"seen in the first run {rate_text(first)}{all_runs}{without_rerun_text(result)}"
    return f"{seen}; {alarms_text(result)}."


def _measurements(measured: Sequence[Sensitivity]) -> Section:
    rows = [
        (
            result.series,
            result.version,
            result.preset,
            result.budget,
            f"{result.seed}",
            f"{sum(bug.runs > 0 for bug in result.bugs):,} of {len(result.bugs):,}",
            f"{new:,}",
            f"{sum(bug.runs for bug in result.bugs):,}",
            f"{sum(one.outcome is not None for one in result.controls):,}",
            "{:,} of {:,}".format(*alarms_of(result)),
            _judged_again(result),
            ", ".join(result.commits),
        )
        for result, new in zip(measured, _new_bugs(measured), strict=True)
    ]
    head = (
        "measurement", "Kafka", "runs of", "budget", ">seed", ">bugs tried", ">new bugs", ">runs",
        ">controls", ">false alarms", ">judged again", "`krucible",
    )  # fmt: skip
    return Section(
        "Measurements",
        "The budget is the maximum number of runs of each bug, and the seconds of each run. Each measurement "
        "has its own bugs; new are those that no measurement before has. False alarms "
        "are counted among the controls whose verdict is not unknown. Judged again is the number of runs and "
        "controls whose verdict was given by another commit of krucible than the one that recorded them. "
        "Outcomes of earlier versions do not say which commit gave the verdict.",
        head,
        tuple(rows),
    )


def _judged_again(result: Sensitivity) -> str:
    """Number of its verdicts that another commit gave, and number of those whose commit is not known."""
    none = (BugOutcome.NOT_RUN, BugOutcome.FAILED)
    known = [one.judged_again for bug in result.bugs for one in bug.trials if one.ending not in none]
    known += [one.judged_again for one in result.controls if one.outcome not in (None, Outcome.FAILED)]
    unknown = known.count(None)
    return f"{known.count(True):,}" + (f", {unknown:,} not known" if unknown else "")


def _rates(measured: Sequence[Sensitivity]) -> Section:
    kinds = [(result, rate) for result in measured for rate in _rates_of(result)]
    areas = distinct(bug.area for result in measured for bug in result.bugs)
    rows = [("all", *(_rate(rate(result.bugs)) for result, (_name, rate) in kinds))]
    if any(result.rerun for result in measured):
        rows.append((WITHOUT_RERUN, *(_rate_without_rerun(result, rate) for result, (_name, rate) in kinds)))
    rows += [
        (
            area,
            *(
                _rate(rate([bug for bug in result.bugs if bug.area == area]))
                for result, (_name, rate) in kinds
            ),
        )
        for area in sorted(areas)
    ]
    return Section(
        "Detection rate",
        "The rates count all bugs that were tried. Every miss counts, whatever its reason. Wilson's 95 % "
        f"interval is in brackets.{_rerun_lead(measured)}{_unlike(measured)}",
        ("area", *(f"{result.series}, {name}" for result, (name, _rate_of) in kinds)),
        tuple(rows),
        note_of([bug for result in measured for bug in result.bugs]),
    )


def _rates_of(result: Sensitivity) -> list[tuple[str, Callable[[Sequence[MeasuredBug]], Rate]]]:
    """The rates of a measurement: one if each bug has one run, else two."""
    all_runs = [(f"within {result.runs} runs", rate_of)] if result.runs > 1 else []
    return [("first run", first_rate_of), *all_runs]


def _rerun_lead(measured: Sequence[Sensitivity]) -> str:
    """A sentence about the row without runs that were made again; empty if there is no such row."""
    if not any(result.rerun for result in measured):
        return ""
    return (
        f" In the row {WITHOUT_RERUN!r} the bugs whose runs were made again after a change for that bug do "
        "not count as seen; it is empty for measurements that have no such runs."
    )


def _unlike(measured: Sequence[Sensitivity]) -> str:
    """A sentence that warns of comparing the rates of different bugs; empty if all have the same bugs."""
    if len({frozenset(bug.name for bug in result.bugs) for result in measured}) == 1:
        return ""
    return (
        " The measurements do not have the same bugs, so a difference of their rates can come from the bugs. "
        "A cell is empty if the measurement tried no bug of the area."
    )


def _rate_without_rerun(result: Sensitivity, rate: Callable[[Sequence[MeasuredBug]], Rate]) -> str:
    """Empty for a measurement that marks no runs as made again."""
    return _rate(rate_without_rerun(rate, result.bugs, result.rerun)) if result.rerun else ""


def _rate(rate: Rate) -> str:
    if rate.of == 0:
        return ""
    low, high = (round(100 * end) for end in rate.interval)
    return f"{rate.seen:,} of {rate.of:,}, {100 * rate.seen / rate.of:.0f} % ({low}-{high} %)"


def _endings(measured: Sequence[Sensitivity]) -> Section:
    rows = [
        (ending, *(f"{sum(bug.ending is ending for bug in result.bugs):,}" for result in measured))
        for ending in BugOutcome
        if any(bug.ending is ending for result in measured for bug in result.bugs)
    ]
    rows.append(("all bugs of the measurement", *(f"{len(result.bugs):,}" for result in measured)))
    return Section(
        "Kinds of misses",
        "The number of bugs with each outcome, among the bugs of each measurement. If a bug has several "
        "runs, the one in which it got farthest counts. A bug of the measurement is not run if none of its "
        "runs counts.",
        ("outcome", *(f">{result.series}" for result in measured)),
        tuple(rows),
    )


def _scenarios(measured: Sequence[Sensitivity]) -> Section:
    """How many bugs a scenario's runs find per hour, among the bugs that they can trigger."""
    tried = [_by_scenario(result) for result in measured]
    names = distinct(name for trials in tried for name in trials)
    longest = max(reversed(tried), key=lambda trials: sum(map(len, trials.values())))
    names = sorted(names, key=lambda name: (-_seen_an_hour(longest.get(name, ())), name))
    return Section(
        "Scenarios",
        "How many of the runs with a bug saw it, in total and per hour of run time. A scenario only runs "
        "with bugs that its schedule and load can trigger. Rows are sorted by the measurement with "
        "most runs.",
        ("`scenario", *(result.series for result in measured)),
        tuple((name, *(_worth(trials.get(name, ())) for trials in tried)) for name in names),
    )


def _by_scenario(result: Sensitivity) -> dict[str, list[BugRun]]:
    trials: dict[str, list[BugRun]] = {}
    for one in (
        trial for bug in result.bugs for trial in bug.trials if trial.ending is not BugOutcome.NOT_RUN
    ):
        trials.setdefault(one.scenario, []).append(one)
    return trials


def _seen(trials: Sequence[BugRun]) -> int:
    return sum(one.ending is BugOutcome.SEEN for one in trials)


def _seen_an_hour(trials: Sequence[BugRun]) -> float:
    return _seen(trials) * _HOUR_MS / max(1, sum(one.run_ms for one in trials))


def _worth(trials: Sequence[BugRun]) -> str:
    if not trials:
        return ""
    return f"{_seen(trials):,} of {len(trials):,}, {_seen_an_hour(trials):.0f} an hour"


def _bugs(measured: Sequence[Sensitivity]) -> Section:
    by_name = [{bug.name: bug for bug in result.bugs} for result in measured]
    known = {name: bug.area for bugs in by_name for name, bug in bugs.items()}
    names = sorted(known, key=lambda name: (known[name], name))
    rows = [(known[name], name, *(_ending_text(bugs.get(name)) for bugs in by_name)) for name in names]
    return Section(
        "Bugs",
        "For each bug: outcome, first visible anomaly, number of runs, and their duration in seconds. "
        "The last run counts up to that anomaly. A bug is not tried if it is no bug of "
        "the measurement.",
        ("area", "`bug", *(result.series for result in measured)),
        tuple(rows),
    )


def _ending_text(bug: MeasuredBug | None) -> str:
    if bug is None:
        return "not tried"
    if bug.runs == 0:
        return BugOutcome.NOT_RUN.value
    by = f" by {bug.first.id}" if bug.first else ""
    missing = "" if bug.finished else f"; {number(len(bug.trials) - bug.runs, 'run')} missing"
    return f"{bug.ending}{by}, {number(bug.runs, 'run')}, {seconds_of(bug)} s{missing}"


def _own(result: Sensitivity) -> Iterator[Section]:
    """Sections about one measurement only."""
    for section in (*troubles_of(result), *rerun_of(result), controls_of(result), *left_out_of(result)):
        yield section._replace(title=f"{section.title}: {result.series}")
