"""A qualification as sections of plain text and tables, from which both pages are made."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from results.markdown import number
from results.qualification.comparing import MARGIN_MS, MARGIN_OF_MEDIAN, MARGIN_SHARE, Durations, Shares
from results.qualification.finding import Found
from results.qualification.model import Build, Cell, FaultKind, Qualification, State
from results.qualification.records import Role, Run
from results.qualification.spent import spent_text
from results.summary import Outcome, Spread
from results.text import seconds
from results.track_record import SideRecord

ROWS_MAX = 200
"""Of any table; the JSON has all."""


class Section(NamedTuple):
    """A heading, a sentence or two, and a table.

    Attributes:
        title: the heading.
        lead: what stands before the table; may be empty.
        head: names of columns; one that begins with ``>`` is of numbers, with a backtick of code.
        rows: plain texts, hostile ones as they are: whoever makes a page escapes them.
        note: what stands behind the table; may be empty.
    """

    title: str
    lead: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    note: str = ""


def sections_of(said: Qualification) -> tuple[Section, ...]:
    """Everything behind decision, gaps and findings, in the order in which it is read."""
    made = (
        _permitted(said),
        _matrix(said.cells),
        *_comparisons(said),
        _by_fault(said.fault_kinds),
        _states(said.states),
        _controls(said.controls),
        _undecided(said),
        Section("Time", spent_text(said.spent)),
        _troubled(said.runs),
    )
    return tuple(_bounded(section) for section in made if section.rows or section.lead)


def identity_of(said: Qualification) -> Section:
    """What was tried, candidate beside baseline."""
    builds = [said.candidate, *([said.baseline] if said.baseline else [])]
    rows = (
        ("asked for", *(build.asked for build in builds)),
        ("Kafka", *(", ".join(build.versions) or "no run" for build in builds)),
        ("image", *(_images(build) for build in builds)),
    )
    note = f"By krucible {', '.join(said.commits) or 'unknown'}, on {'; '.join(said.hosts) or 'no host'}."
    head = ("", "`candidate", "`baseline")[: 1 + len(builds)]
    return Section("What was tried", "", head, rows, note)


def facts_of(found: Found) -> tuple[tuple[str, str], ...]:
    """What is to be said of an anomaly, by label."""
    share = f"{found.candidate} of {number(found.candidate_of, 'run')}"
    others = f"{found.baseline} of {number(found.baseline_of, 'run')}" if found.baseline_of else "no run"
    tried = ", ".join(found.tried)
    facts = (
        ("stands", f"{found.standing}: {found.because}"),
        ("candidate", f"{share} (95 %: {_percent(found.low)} to {_percent(found.high)})"),
        ("baseline", others),
        ("first seen", f"{found.first_seen}, of {tried} in this store" if found.first_seen else ""),
        ("guarantee", found.example.guarantee),
        ("source", found.example.source),
        ("run", found.folder),
    )
    return tuple((label, text) for label, text in facts if text)


def _bounded(section: Section) -> Section:
    if len(section.rows) <= ROWS_MAX:
        return section
    left_out = f"{len(section.rows) - ROWS_MAX:,} more are in the JSON."
    note = f"{section.note} {left_out}".strip()
    return section._replace(rows=section.rows[:ROWS_MAX], note=note)


def _images(build: Build) -> str:
    return "; ".join(build.images) or "not known"


def _permitted(said: Qualification) -> Section:
    rows = tuple((one.id, f"{one.candidate:,}", f"{one.baseline:,}") for one in said.permitted)
    lead = "Anomalies of these names were licensed by something in the history, such as a setting."
    head = ("`anomaly", ">candidate, runs", ">baseline, runs")
    return Section("Seen where they are permitted", lead if rows else "", head, rows)


def _matrix(cells: Sequence[Cell]) -> Section:
    kinds = sorted({kind for cell in cells for kind in cell.faults})
    outcomes = [outcome.value for outcome in Outcome if any(cell.counts[outcome] for cell in cells)]
    head = ("`scenario", "mode", "side", ">runs", ">to verdict", *(f">{one}" for one in outcomes))
    head += (">unexpected", ">operations", ">acknowledged", *(f">{kind}" for kind in kinds))
    return Section(
        "Matrix",
        "Columns of kinds of faults: how many were proven, of how many were attempted.",
        head,
        tuple(_cell(cell, outcomes, kinds) for cell in cells),
    )


def _cell(cell: Cell, outcomes: Sequence[str], kinds: Sequence[str]) -> tuple[str, ...]:
    short = "" if cell.decided >= cell.needed else f", needs {cell.needed}"
    faults = (cell.faults.get(kind) for kind in kinds)
    return (
        cell.scenario,
        cell.mode or "not known",
        cell.role,
        f"{cell.planned:,}",
        f"{cell.decided:,}{short}",
        *(f"{cell.counts[outcome]:,}" for outcome in outcomes),
        f"{cell.unexpected:,}",
        f"{cell.operations:,}",
        f"{cell.acknowledged:,}",
        *("" if counts is None else f"{counts[1]:,} of {counts[0]:,}" for counts in faults),
    )


def _comparisons(said: Qualification) -> Iterator[Section]:
    durations, shares = said.comparisons.durations, said.comparisons.shares
    if not (durations or shares):
        return
    tests = said.comparisons.tried()
    yield Section(
        "Durations against the baseline",
        f"Paired by scenario, mode and seed. Of each run and kind of fault the longest time that any one "
        f"partition acknowledged nothing counts once. Worse: p below 0.05 by Wilcoxon's signed ranks, after "
        f"Holm's correction for {number(tests, 'test')}; a 95 % interval above 0; and a shift of more than "
        f"{seconds(MARGIN_MS)} and of {_percent(MARGIN_OF_MEDIAN)} of the baseline's median.",
        ("what", ">pairs", ">candidate p50 / max", ">baseline p50 / max", ">shift", ">95 %", ">p",
         ">corrected", "says"),
        tuple(map(_duration, durations)),
    )  # fmt: skip
    yield Section(
        "Runs against the baseline",
        f"Fisher's exact test, Newcombe's interval of the difference; worse by more than "
        f"{_percent(MARGIN_SHARE)}, corrected together with the durations.",
        ("what", ">candidate", ">baseline", ">difference, 95 %", ">p", ">corrected", "says"),
        tuple(map(_share, shares)),
    )


def _duration(one: Durations) -> tuple[str, ...]:
    known = one.low_ms is not None and one.high_ms is not None
    interval = f"{one.low_ms:+,} to {one.high_ms:+,} ms" if known else "none"
    corrected = "" if one.p_corrected is None else _p(one.p_corrected)
    return (
        one.name,
        f"{one.pairs:,}",
        " / ".join(_spread_cells(one.candidate)),
        " / ".join(_spread_cells(one.baseline)),
        f"{one.shift_ms:+,} ms",
        interval,
        _p(one.p),
        corrected,
        one.finding,
    )


def _share(one: Shares) -> tuple[str, ...]:
    return (
        one.name,
        f"{one.candidate:,} of {one.candidate_of:,}",
        f"{one.baseline:,} of {one.baseline_of:,}",
        f"{100 * one.low:+.0f} to {100 * one.high:+.0f} %",
        _p(one.p),
        _p(one.p_corrected),
        one.finding,
    )


def _by_fault(kinds: Sequence[FaultKind]) -> Section:
    rows = tuple(
        (
            one.total.kind,
            one.role,
            f"{one.total.count:,}",
            f"{one.total.proven:,}",
            *_spread_cells(one.total.unavailable),
            *_spread_cells(one.recovery),
        )
        for one in kinds
    )
    head = ("fault", "side", ">number", ">proven", ">unavailability p50", ">max", ">recovery p50", ">max")
    lead = (
        "Over single faults, which overlap and share gaps. Recovery is a run's, after all of its faults are "
        "healed, and stands with the kind that began last."
    )
    return Section("By kind of fault", lead if rows else "", head, rows)


def _states(states: Sequence[State]) -> Section:
    rows = tuple(
        (
            state.label,
            "yes" if state.required else "",
            f"{state.candidate:,} of {state.candidate_of:,}",
            f"{state.baseline:,} of {state.baseline_of:,}",
        )
        for state in states
    )
    head = ("reached", "required", ">candidate, runs", ">baseline, runs")
    lead = "A run that never came near a state says nothing of what happens there."
    return Section("Coverage", lead if rows else "", head, rows)


def _controls(sides: Sequence[SideRecord]) -> Section:
    rows = tuple(
        (
            side.ticket,
            side.scenario,
            side.version,
            "red" if side.expected_red else "green",
            f"{len(side.runs):,} of {side.seeds:,}",
            side.standing,
        )
        for side in sides
    )
    head = ("ticket", "`scenario", "Kafka", "expected", ">runs", "seen")
    lead = "Known bugs, red where Kafka has them and green where it has not: the same set-up sees them."
    return Section("Positive controls", lead if rows else "None was run.", head, rows)


def _undecided(said: Qualification) -> Section:
    rows = tuple(
        (one.role, f"{one.count:,} of {one.of:,}", f"{_percent(one.low)} to {_percent(one.high)}")
        for one in said.undecided
    )
    lead = "Runs that were carried out and say nothing: the verdict is unknown, or the harness failed."
    return Section("Flake rate", lead if rows else "", ("side", ">runs", ">95 %"), rows)


def _troubled(runs: Sequence[Run]) -> Section:
    rows = tuple(
        (
            run.planned.role,
            run.outcome.outcome,
            "; ".join(run.outcome.why),
            run.outcome.folder,
            run.identity.reproduce if run.identity else run.planned.command,
        )
        for run in sorted(runs, key=lambda run: run.planned.role is Role.BASELINE)
        if run.outcome is not None and (run.outcome.outcome is not Outcome.VALID)
    )
    return Section(
        "Runs to look at",
        "" if rows else "Every run that was carried out is valid.",
        ("side", "verdict", "why", "`folder", "`again"),
        rows,
    )


def _spread_cells(spread: Spread | None) -> tuple[str, str]:
    return ("", "") if spread is None else (seconds(spread.median_ms), seconds(spread.max_ms))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"  # noqa: PLR2004 - the last digit that is shown
