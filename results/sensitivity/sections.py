"""A measurement as sections of plain text and tables for both pages."""

from collections.abc import Iterator, Sequence

from checkers.history.units import MS_PER_S
from results.campaigns.summary import Outcome
from results.markup.markdown import distinct, number
from results.sections.section import Section
from results.sensitivity.model import (
    BugOutcome,
    BugRun,
    ControlRun,
    MeasuredBug,
    Rate,
    Sensitivity,
    first_rate_of,
    rate_of,
    rate_without_rerun,
)

WITHOUT_RERUN = "all, without runs made again"
"""Name of the row with the rate in which bugs whose runs were made again do not count as seen."""


def sections_of(result: Sensitivity) -> tuple[Section, ...]:
    """All sections of the page, in order."""
    return (
        _rates(result),
        _bugs(result),
        *troubles_of(result),
        *rerun_of(result),
        controls_of(result),
        *left_out_of(result),
        _trials(result),
    )


def rate_text(rate: Rate) -> str:
    """``2 of 3, 67 % (95 % interval 21-94 %)``, or that none was completed."""
    if rate.of == 0:
        return "none was completed"
    low, high = (round(100 * end) for end in rate.interval)
    return f"{rate.seen:,} of {rate.of:,}, {100 * rate.seen / rate.of:.0f} % (95 % interval {low}-{high} %)"


def without_rerun_text(result: Sensitivity) -> str:
    """The rate without runs that were made again after a change for their bug; empty if there are none."""
    if not result.rerun:
        return ""
    fewer = rate_without_rerun(rate_of, result.bugs, result.rerun)
    return f"; without runs that were made again after a change for that bug: {rate_text(fewer)}"


def alarms_text(result: Sensitivity) -> str:
    """The number of false alarms among the decided controls, and of controls that show a bug of Kafka."""
    alarms, decided = alarms_of(result)
    kafkas = sum(bool(one.cause) for one in result.controls)
    if not decided:
        return "no control run was decided"
    text = f"{number(alarms, 'false alarm')} in {number(decided, 'decided control run')}"
    return f"{text}, of which {kafkas:,} found a bug of Kafka itself" if kafkas else text


def alarms_of(result: Sensitivity) -> tuple[int, int]:
    """Number of false alarms, and number of decided controls."""
    verdicts = (Outcome.INVALID, Outcome.VALID)
    decided = [one for one in result.controls if one.outcome in verdicts or one.allowed]
    return sum(one.alarm for one in decided), len(decided)


def _rates(result: Sensitivity) -> Section:
    areas = distinct(bug.area for bug in result.bugs)
    by_area = [(area, [bug for bug in result.bugs if bug.area == area]) for area in areas]
    rows = [("all", *_rate_cells(result.bugs, result.runs)), *_without_rerun(result)]
    rows += [(area, *_rate_cells(bugs, result.runs)) for area, bugs in by_area]
    head = (">bugs", ">seen", ">rate", ">from", ">to")
    first = (">first run", *head[1:]) if result.runs > 1 else ()
    return Section(
        "Detection rate",
        "The rates count all bugs that were tried. Every miss counts, whatever its reason. The interval is "
        "Wilson's 95 % interval.",
        ("area", *head, *first),
        tuple(rows),
        note_of(result.bugs),
    )


def _without_rerun(result: Sensitivity) -> Iterator[tuple[str, ...]]:
    if result.rerun:
        rates = (rate_of, first_rate_of) if result.runs > 1 else (rate_of,)
        cells = (_rate_row(rate_without_rerun(rate, result.bugs, result.rerun)) for rate in rates)
        yield (WITHOUT_RERUN, *(cell for row in cells for cell in row))


def rerun_of(result: Sensitivity) -> Iterator[Section]:
    """Bugs whose runs were made again, if any."""
    if result.rerun:
        yield Section(
            "Runs made again",
            "After a change that was made for these bugs, their runs were made again with the same seeds. "
            f"The row {WITHOUT_RERUN!r} of the detection rate does not count these bugs as seen.",
            ("`bug", "change"),
            tuple((one.bug, one.why) for one in result.rerun),
        )


def note_of(bugs: Sequence[MeasuredBug]) -> str:
    """Number of bugs that may still be seen, if not all runs were made yet."""
    missing = sum(bug.runs > 0 and not bug.finished for bug in bugs)
    if not missing:
        return ""
    have = (
        "1 bug that was not seen yet has" if missing == 1 else f"{missing:,} bugs that were not seen yet have"
    )
    return f"{have} runs left. Until then each counts as missed, so the rate can only rise."


def _rate_cells(bugs: Sequence[MeasuredBug], runs: int) -> tuple[str, ...]:
    first = _rate_row(first_rate_of(bugs)) if runs > 1 else ()
    return (*_rate_row(rate_of(bugs)), *first)


def _rate_row(rate: Rate) -> tuple[str, ...]:
    if rate.of == 0:
        return ("0", "0", "", "", "")
    shares = (rate.seen / rate.of, *rate.interval)
    return (f"{rate.of:,}", f"{rate.seen:,}", *(f"{100 * share:.0f} %" for share in shares))


def _bugs(result: Sensitivity) -> Section:
    return Section(
        "Bugs",
        "If a bug has several runs, the one in which it got farthest counts. Seconds are the duration of "
        "its runs; the last run counts up to the anomaly.",
        ("`bug", "area", "outcome", "`first by", ">runs", ">seconds", "note"),
        tuple(map(_bug_row, result.bugs)),
    )


def _bug_row(bug: MeasuredBug) -> tuple[str, ...]:
    seen = bug.first.id if bug.first else ""
    notes = "; ".join(_notes(bug))
    return (bug.name, bug.area, bug.ending, seen, f"{bug.runs:,}", seconds_of(bug), notes)


def seconds_of(bug: MeasuredBug) -> str:
    """Duration of a bug's runs, the last one up to the anomaly, as text."""
    return f"{bug.spent_ms / MS_PER_S:,.0f}"


def _notes(bug: MeasuredBug) -> Iterator[str]:
    if not bug.fitting:
        yield "the preset has no faults that it needs"
    if not bug.finished:
        yield f"{number(len(bug.trials) - bug.runs, 'run')} missing"


def troubles_of(result: Sensitivity) -> Iterator[Section]:
    """Runs that neither found nor missed their bug."""
    odd = (
        BugOutcome.ACCEPTED,
        BugOutcome.OTHERWISE,
        BugOutcome.UNEXPLAINED,
        BugOutcome.UNKNOWN,
        BugOutcome.NOT_INJECTED,
        BugOutcome.FAILED,
    )
    rows = [
        (bug.name, one.ending, _why(one), one.command)
        for bug in result.bugs
        for one in bug.trials
        if one.ending in odd
    ]
    if rows:
        yield Section(
            "To look at",
            "Runs that neither found nor missed their bug: an unknown verdict, no verdict, no installed "
            "bug, or only anomalies that the bug does not predict or that the scenario accepts without it.",
            ("`bug", "outcome", "why", "`again"),
            tuple(rows),
        )


def _why(trial: BugRun) -> str:
    reach = f"the bug: {trial.reach.replace('-', ' ')}" if trial.reach else "no log mentions the bug"
    found = f"by {', '.join(one.id for one in trial.found)}" if trial.found else ""
    return "; ".join(filter(None, (found, reach if trial.folder else "", trial.why)))


def controls_of(result: Sensitivity) -> Section:
    """Outcomes of the controls, and controls with problems."""
    counts = {outcome: sum(one.outcome is outcome for one in result.controls) for outcome in (*Outcome, None)}
    outcomes = ", ".join(f"{count:,} {outcome or 'not run'}" for outcome, count in counts.items() if count)
    rows = [row for one in result.controls for row in _control_rows(one)]
    return Section(
        "Controls",
        f"The same runs without a bug: {outcomes or 'none'}. An anomaly in one of them is a false alarm, or "
        "a bug of Kafka itself.",
        ("scenario", "mode", "outcome", "anomalies, or why", "`again") if rows else (),
        tuple(rows),
    )


def _control_rows(one: ControlRun) -> Iterator[tuple[str, ...]]:
    if one.outcome not in (Outcome.VALID, None):
        outcome: str = f"{one.outcome}, as its scenario allows" if one.allowed else one.outcome
        found = () if one.outcome is Outcome.UNKNOWN else one.anomalies
        what = ", ".join(found) or one.why
        if one.cause:
            outcome, what = "invalid, by a bug of Kafka", f"{what}: {one.cause}"
        yield one.scenario, one.mode, outcome, what, one.command


def left_out_of(result: Sensitivity) -> Iterator[Section]:
    """Stored runs that do not count, if any."""
    rows = [(one.bug, f"{one.number}", "yes" if one.control else "", one.why) for one in result.left_out]
    if rows:
        lead = "Outcomes that do not count, because they do not belong to this measurement."
        yield Section("Left out", lead, ("`bug", ">run", "control", "why"), tuple(rows))


def _trials(result: Sensitivity) -> Section:
    rows = [
        (bug.name, f"{one.number}", one.scenario, one.mode, one.ending, one.folder, one.command)
        for bug in result.bugs
        for one in bug.trials
    ]
    head = ("`bug", ">run", "scenario", "mode", "outcome", "`folder", "`again")
    return Section("Runs", "", head, tuple(rows))
