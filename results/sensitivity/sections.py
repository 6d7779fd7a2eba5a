"""What was found of seeded bugs as sections of plain text and tables, from which both pages are made."""

from collections.abc import Iterator, Sequence

from results.markdown import distinct, number
from results.qualification.sections import Section
from results.sensitivity.model import Control, Ending, Rate, Sensitivity, Sought, Trial, rate_of
from results.summary import Outcome

_MS_PER_S = 1_000


def sections_of(said: Sensitivity) -> tuple[Section, ...]:
    """All of a page, in order."""
    return (_rates(said), _bugs(said), *_troubles(said), _controls(said), _trials(said))


def told_rate(rate: Rate) -> str:
    """``2 of 3, 67 % (95 % interval 21-94 %)``; of none nothing is known."""
    if rate.of == 0:
        return "none was tried to the end"
    low, high = (round(100 * end) for end in rate.interval)
    return f"{rate.seen:,} of {rate.of:,}, {100 * rate.seen / rate.of:.0f} % (95 % interval {low}-{high} %)"


def told_alarms(said: Sensitivity) -> str:
    """False alarms, of so many controls that were decided."""
    decided = [one for one in said.controls if one.outcome in (Outcome.VALID, Outcome.INVALID)]
    alarms = sum(one.outcome is Outcome.INVALID for one in decided)
    return f"{number(alarms, 'false alarm')} in {number(len(decided), 'decided control run')}"


def _rates(said: Sensitivity) -> Section:
    areas = distinct(bug.area for bug in said.bugs)
    by_area = [(area, [bug for bug in said.bugs if bug.area == area]) for area in areas]
    rows = [_rate_row("all", said.bugs), *(_rate_row(area, bugs) for area, bugs in by_area)]
    return Section(
        "Detection rate",
        "Of the bugs that were seen or whose budget is spent; every miss counts, whatever its reason. "
        "The interval is Wilson's at 95 %.",
        ("area", ">bugs", ">seen", ">rate", ">from", ">to", ">in the first run"),
        tuple(rows),
    )


def _rate_row(area: str, bugs: Sequence[Sought]) -> tuple[str, ...]:
    rate = rate_of(bugs)
    if rate.of == 0:
        return (area, "0", "0", "", "", "", "")
    shares = [rate.seen / rate.of, *rate.interval]
    first = sum(bug.ending is Ending.SEEN and bug.runs == 1 for bug in bugs)
    return (
        area,
        f"{rate.of:,}",
        f"{rate.seen:,}",
        *(f"{100 * share:.0f} %" for share in shares),
        f"{first:,}",
    )


def _bugs(said: Sensitivity) -> Section:
    return Section(
        "Bugs",
        "Of several runs the one counts in which a bug came farthest. Seconds are those of its runs, the "
        "last one up to the anomaly.",
        ("`bug", "area", "outcome", "`first by", ">runs", ">seconds", "note"),
        tuple(map(_bug_row, said.bugs)),
    )


def _bug_row(bug: Sought) -> tuple[str, ...]:
    seen = bug.first.id if bug.first else ""
    spent = f"{bug.spent_ms / _MS_PER_S:,.0f}"
    return (bug.name, bug.area, bug.ending, seen, f"{bug.runs:,}", spent, "; ".join(_notes(bug)))


def _notes(bug: Sought) -> Iterator[str]:
    if not bug.fitting:
        yield "the preset draws nothing that it takes"
    if bug.first is not None and not bug.foreseen:
        yield "the catalogue does not name that anomaly"
    if not bug.finished:
        yield f"{number(len(bug.trials) - bug.runs, 'run')} missing"


def _troubles(said: Sensitivity) -> Iterator[Section]:
    """Runs that are neither a find nor a miss."""
    odd = (Ending.UNEXPLAINED, Ending.UNKNOWN, Ending.NOT_INJECTED, Ending.FAILED)
    rows = [
        (bug.name, one.ending, _why(one), one.command)
        for bug in said.bugs
        for one in bug.trials
        if one.ending in odd
    ]
    if rows:
        yield Section(
            "To look at",
            "Runs that say nothing of what is found: no decision, no verdict, no bug, or an anomaly that is "
            "not the bug's.",
            ("`bug", "outcome", "why", "`again"),
            tuple(rows),
        )


def _why(trial: Trial) -> str:
    reach = f"the bug: {trial.reach.replace('-', ' ')}" if trial.reach else "no log tells of the bug"
    first = f"by {trial.first.id}" if trial.first else ""
    return "; ".join(filter(None, (first, reach if trial.folder else "", trial.why)))


def _controls(said: Sensitivity) -> Section:
    counts = {outcome: sum(one.outcome is outcome for one in said.controls) for outcome in (*Outcome, None)}
    told = ", ".join(f"{count:,} {outcome or 'not run'}" for outcome, count in counts.items() if count)
    rows = [row for one in said.controls for row in _control_rows(one)]
    return Section(
        "Controls",
        f"The same runs without a bug: {told or 'none'}. What is found in one is a false alarm, or a bug "
        "that Kafka has already.",
        ("scenario", "mode", "outcome", "anomalies, or why", "`again") if rows else (),
        tuple(rows),
    )


def _control_rows(one: Control) -> Iterator[tuple[str, ...]]:
    if one.outcome not in (Outcome.VALID, None):
        yield one.scenario, one.mode, one.outcome, ", ".join(one.anomalies) or one.why, one.command


def _trials(said: Sensitivity) -> Section:
    rows = [
        (bug.name, f"{one.number}", one.scenario, one.mode, one.ending, one.folder, one.command)
        for bug in said.bugs
        for one in bug.trials
    ]
    head = ("`bug", ">run", "scenario", "mode", "outcome", "`folder", "`again")
    return Section("Runs", "", head, tuple(rows))
