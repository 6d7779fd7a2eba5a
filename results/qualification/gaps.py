"""The gaps of a qualification, which a report lists first."""

from collections.abc import Iterator, Sequence

from results.campaigns.summary import Outcome, RunOutcome
from results.markup.cleaning import clean
from results.markup.markdown import number
from results.qualification.compared import Comparisons
from results.qualification.inference import pairs_needed
from results.qualification.model import Cell, ComparisonQuestion, InterestingState, Qualification, TriedBuild
from results.qualification.records import QualificationRole, QualificationRun, left_open, of_role, outcomes

EXAMPLES = 3
"""Maximum number of runs that a sentence names."""
REASON_MAX = 160
"""Maximum number of characters of a run's reason."""


def gaps_of(question: ComparisonQuestion, result: Qualification) -> tuple[str, ...]:
    """All gaps of a qualification, a sentence each; missing runs come first."""
    return (
        *_not_done(question, result),
        *short_cells(result.cells),
        *_without_verdict(result.runs),
        *_not_reached(result.states),
        *_of_faults(result.runs),
        *_not_compared(question, result.comparisons),
        *_otherwise(result.runs),
        *_several_builds((result.candidate, result.baseline)),
    )


def short_cells(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Cells in which too few runs have a verdict."""
    return tuple(
        f"{cell.scenario} ({cell.mode or 'mode unknown'}) on the {cell.role}: {cell.decided} of "
        f"{number(cell.planned, 'run')} with a verdict, {cell.needed} needed"
        for cell in cells
        if cell.decided < cell.needed
    )


def unreached_states(states: Sequence[InterestingState]) -> tuple[str, ...]:
    """Required states that no run of the candidate reached."""
    return tuple(
        f"required state was not reached: {state.label}"
        for state in states
        if state.required and not state.candidate
    )


def _not_done(question: ComparisonQuestion, result: Qualification) -> Iterator[str]:
    if question.baseline is None:
        yield "there is no baseline, so nothing is compared, and it is unknown whether an anomaly is new"
    if not result.controls:
        yield "there is no positive control, so it is unknown whether this set-up would have seen a bug"
    for role in QualificationRole:
        missing = sum(run.outcome is None for run in of_role(result.runs, role))
        if missing:
            yield f"{number(missing, 'planned run')} of the {role} not run"
    yield from question.withheld


def _without_verdict(runs: Sequence[QualificationRun]) -> Iterator[str]:
    for role in QualificationRole:
        made = [run for run in outcomes(of_role(runs, role)) if not left_open(run)]
        troubles = {
            "with verdict unknown": [run for run in made if run.outcome is Outcome.UNKNOWN],
            "with accepted anomalies, and with doubts about others": [run for run in made if run.undecided],
            "that failed": [run for run in made if run.outcome is Outcome.FAILED],
        }
        for word, troubled in troubles.items():
            if troubled:
                named = "; ".join(map(_with_reason, troubled[:EXAMPLES]))
                more = f"; and {len(troubled) - EXAMPLES} more" if len(troubled) > EXAMPLES else ""
                yield f"{number(len(troubled), 'run')} of the {role} {word} ({named}{more})"


def _with_reason(run: RunOutcome) -> str:
    """A run's folder, and the first thing that it could not decide."""
    reason = next(iter((*run.reasons, *run.causes)), "no reason recorded")
    return f"{run.folder or 'no folder'}: {clean(reason, REASON_MAX)}"


def _not_reached(states: Sequence[InterestingState]) -> Iterator[str]:
    yield from unreached_states(states)
    never = [s.label for s in states if not s.required and not s.candidate and s.name != "faults_withheld"]
    if never:
        yield f"never reached by the candidate: {', '.join(never)}"


def _of_faults(runs: Sequence[QualificationRun]) -> Iterator[str]:
    measured = [run.measures for run in outcomes(of_role(runs, QualificationRole.CANDIDATE)) if run.measures]
    withheld = sum(measures.coverage.get("faults_withheld", 0) for measures in measured)
    if withheld:
        yield f"{number(withheld, 'fault')} withheld to spare the last copies"
    unproven = sum(not fault.proven for measures in measured for fault in measures.faults)
    if unproven:
        yield f"{number(unproven, 'fault')} attempted, but not proven to have taken effect"


def _not_compared(question: ComparisonQuestion, comparisons: Comparisons) -> Iterator[str]:
    few = comparisons.too_few()
    if question.baseline is not None and not comparisons.durations:
        yield "no run of the candidate has a counterpart on the baseline, so no duration was compared"
    if question.baseline is not None and few:
        named = ", ".join(few)
        yield f"fewer than {pairs_needed()} pairs of runs, so no difference could be shown: {named}"
    if blind := comparisons.blind():
        tests = number(comparisons.tests(), "test")
        yield f"too few runs to show any difference after the correction for {tests}: {', '.join(blind)}"
    if weak := comparisons.weak():
        yield f"no difference was shown, and only a large one would have been: {', '.join(weak)}"


def _otherwise(runs: Sequence[QualificationRun]) -> Iterator[str]:
    """Valid runs for which an anomaly was expected: the anomaly is fixed, or the run missed it."""
    green = [
        run
        for run in outcomes(of_role(runs, QualificationRole.CANDIDATE))
        if run.outcome is Outcome.VALID and run.as_expected is False
    ]
    if green:
        named = ", ".join(run.folder for run in green[:EXAMPLES])
        yield f"{number(len(green), 'run')} of the candidate valid where an anomaly was expected ({named})"


def _several_builds(builds: tuple[TriedBuild, TriedBuild | None]) -> Iterator[str]:
    for build in builds:
        if build is not None and len(build.images) > 1:
            yield f"runs of {build.asked} are of {len(build.images)} different images"
