"""A qualification as sections of plain text and tables for both pages."""

from collections.abc import Sequence

from results.campaigns.summary import Outcome
from results.campaigns.track_record import SideRecord
from results.markup.markdown import number
from results.qualification.compared import under
from results.qualification.comparison_sections import comparison_sections, measure_id, percent, spread_cells
from results.qualification.finding import CandidateAnomaly
from results.qualification.listed import first_of_cell, runs_section
from results.qualification.model import Cell, InterestingState, Qualification, TriedBuild
from results.qualification.records import QualificationRole, QualificationRun
from results.qualification.spent import spent_text
from results.qualification.upgrades import upgrades_section
from results.repeats.flakes import comparable, flakes_among
from results.sections.section import Section, named


def sections_of(result: Qualification) -> tuple[Section, ...]:
    """All sections after decision, gaps and anomalies, in order."""
    made = (
        _permitted(result),
        _matrix(result),
        upgrades_section(result.runs),
        *comparison_sections(result.comparisons),
        _by_fault(result),
        _states(result.states),
        _controls(result.controls),
        _undecided(result),
        Section("Time", spent_text(result.spent)),
        _troubled(result.runs),
        runs_section(result.runs),
    )
    return tuple(_bounded(section) for section in made if section.rows or section.lead)


def identity_of(result: Qualification) -> Section:
    """The tested versions, candidate and baseline."""
    builds = [result.candidate, *([result.baseline] if result.baseline else [])]
    rows = (
        ("asked for", *(build.asked for build in builds)),
        ("Kafka", *(", ".join(build.versions) or "no run" for build in builds)),
        ("image", *(_images(build) for build in builds)),
    )
    note = f"By krucible {', '.join(result.commits) or 'unknown'}, on {'; '.join(result.hosts) or 'no host'}."
    head = ("", "`candidate", "`baseline")[: 1 + len(builds)]
    return Section("Tested versions", "", head, rows, note)


def facts_of(found: CandidateAnomaly) -> tuple[tuple[str, str], ...]:
    """The facts about an anomaly, by label."""
    share = f"{found.candidate} of {number(found.candidate_of, 'run')}"
    others = f"{found.baseline} of {number(found.baseline_of, 'run')}" if found.baseline_of else "no run"
    tried = ", ".join(found.tried)
    facts = (
        ("stands", f"{found.standing}: {found.because}"),
        ("candidate", f"{share} (95 %: {percent(found.low)} to {percent(found.high)})"),
        ("baseline", others),
        ("first seen", f"{found.first_seen}, of {tried} in this store" if found.first_seen else ""),
        ("guarantee", found.example.guarantee),
        ("source", found.example.source),
        ("run", found.folder),
    )
    return tuple((label, text) for label, text in facts if text)


def _bounded(section: Section) -> Section:
    most = section.rows_max
    if len(section.rows) <= most:
        return section
    left_out = f"{len(section.rows) - most:,} more are in the JSON."
    note = f"{section.note} {left_out}".strip()
    kept = {name: getattr(section, name)[:most] for name in ("rows", "targets", "ids")}
    return section._replace(note=note, **kept)


def _images(build: TriedBuild) -> str:
    return "; ".join(build.images) or "not known"


def _permitted(result: Qualification) -> Section:
    rows = tuple((one.id, f"{one.candidate:,}", f"{one.baseline:,}") for one in result.permitted)
    lead = "An event or a setting in the history permitted these anomalies."
    head = ("`anomaly", ">candidate, runs", ">baseline, runs")
    return Section("Seen where they are permitted", lead if rows else "", head, rows)


def _matrix(result: Qualification) -> Section:
    cells = result.cells
    kinds = sorted({kind for cell in cells for kind in cell.faults})
    outcomes = [outcome.value for outcome in Outcome if any(cell.counts[outcome] for cell in cells)]
    head = ("`scenario", "mode", "side", ">runs", ">to verdict", *(f">{one}" for one in outcomes))
    head += (">unexpected", ">operations", ">acknowledged", *(f">{kind}" for kind in kinds))
    return Section(
        "Matrix",
        "Columns of kinds of faults: proven of attempted faults.",
        head,
        tuple(_cell(cell, outcomes, kinds) for cell in cells),
        targets=tuple(first_of_cell(result.runs, cell.role, cell.scenario, cell.mode) for cell in cells),
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


def _by_fault(result: Qualification) -> Section:
    kinds = result.fault_kinds
    rows = tuple(
        (
            one.total.kind,
            one.role,
            f"{one.total.count:,}",
            f"{one.total.proven:,}",
            *spread_cells(one.total.unavailable),
            *spread_cells(one.recovery),
        )
        for one in kinds
    )
    head = ("fault", "side", ">number", ">proven", ">unavailability p50", ">max", ">recovery p50", ">max")
    lead = (
        "Durations of single faults, which may overlap and share gaps. Recovery is that of a run after all "
        "faults are healed; it is listed with the kind of the last fault."
    )
    targets = tuple(measure_id(result.comparisons, under(one.total.kind)) for one in kinds)
    return Section("By kind of fault", lead if rows else "", head, rows, targets=targets)


def _states(states: Sequence[InterestingState]) -> Section:
    rows = tuple(
        (
            state.label,
            "yes" if state.required else "",
            f"{state.candidate:,} of {state.candidate_of:,}",
            f"{state.baseline:,} of {state.baseline_of:,}",
            named(state.folders),
        )
        for state in states
    )
    head = ("reached", "required", ">candidate, runs", ">baseline, runs", "/the candidate's")
    lead = "A run that did not reach a state says nothing about it."
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
    lead = "Known bugs: invalid on versions with the bug, valid on others, so the set-up can find bugs."
    return Section("Positive controls", lead if rows else "None was run.", head, rows)


def _undecided(result: Qualification) -> Section:
    rows = tuple(
        (one.role, f"{one.count:,} of {one.of:,}", f"{percent(one.low)} to {percent(one.high)}")
        for one in result.undecided
    )
    lead = (
        "Runs without a result: the verdict is unknown, the harness failed, or there are only accepted "
        "anomalies and not everything else was decided."
    )
    head = ("side", ">runs", ">95 %")
    return Section("Runs without a verdict", lead if rows else "", head, rows, _flakes(result.runs))


def _flakes(runs: Sequence[QualificationRun]) -> str:
    judged = [run for run in runs if run.judged]
    found = flakes_among(
        comparable(r.identity, r.outcome.outcome) for r in judged if r.identity and r.outcome
    )
    if found is None:
        return "No schedule ran twice on the same Kafka, so it is unknown whether there are flakes."
    share = f"{found.odd:,} of {number(found.runs, 'run')} ({percent(found.low)} to {percent(found.high)})"
    return f"Flakes, among runs whose schedule ran more than once on the same Kafka: {share}."


def _troubled(runs: Sequence[QualificationRun]) -> Section:
    rows = tuple(
        (
            run.planned.role,
            run.outcome.outcome,
            "; ".join(run.outcome.why),
            run.outcome.folder,
            run.identity.reproduce if run.identity else run.planned.command,
        )
        for run in sorted(runs, key=lambda run: run.planned.role is QualificationRole.BASELINE)
        if run.outcome is not None and (run.outcome.outcome is not Outcome.VALID)
    )
    return Section(
        "Runs to look at",
        "" if rows else "All runs are valid.",
        ("side", "verdict", "why", "/folder", "`again"),
        rows,
    )
