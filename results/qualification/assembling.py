"""Assembles all data of a qualification report from planned runs and their outcomes.

The functions are pure: the same records give the same qualification.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from results.campaigns.summary import RunOutcome, Spread, summarise
from results.campaigns.track_record import ExpectationStatus, SideRecord
from results.markup.markdown import distinct, number
from results.qualification.compared import Comparisons
from results.qualification.comparing import compare, spread
from results.qualification.deciding import RULE, Reason, RuleInput, decide
from results.qualification.finding import AnomalyExplanation, CandidateAnomaly, found_in, permitted_in
from results.qualification.gaps import gaps_of, short_cells, unreached_states
from results.qualification.inference import share_interval
from results.qualification.model import (
    Cell,
    ComparisonQuestion,
    FaultKind,
    InterestingState,
    Qualification,
    TriedBuild,
    Undecided,
)
from results.qualification.records import (
    KnownAnomaly,
    OtherRun,
    QualificationRole,
    QualificationRun,
    of_role,
    outcomes,
)
from results.qualification.spent import ended_at, spent_on
from results.run.coverage import LABELS

DECIDED_SHARE_MIN = 0.75
"""Share of a cell's planned runs, rounded up, that must have a verdict."""
_CONTENT_SHOWN = 19
"""Number of characters of a checksum, enough to find it in the list of images."""


def qualify(
    question: ComparisonQuestion,
    runs: Sequence[QualificationRun],
    controls: Sequence[SideRecord],
    elsewhere: Sequence[OtherRun] = (),
    on_record: Sequence[KnownAnomaly] = (),
) -> Qualification:
    """Assemble the whole qualification.

    Args:
        question: the question to answer.
        runs: all planned runs, including those that were not made.
        controls: the positive controls.
        elsewhere: other runs of the store.
        on_record: known anomalies of the candidate's version.
    """
    ordered = tuple(sorted(runs, key=lambda run: (run.planned.command, run.outcome is None, _folder(run))))
    cells, states = tuple(_cells(ordered)), tuple(_states(question, ordered))
    found, comparisons = found_in(ordered, elsewhere, on_record), compare(ordered)
    decision, reasons = decide(
        _rule_input(
            question, ordered, controls, cells=cells, states=states, found=found, comparisons=comparisons
        )
    )
    candidate = of_role(ordered, QualificationRole.CANDIDATE)
    summary = summarise(outcomes(candidate))
    operations = sum(cell.operations for cell in cells if cell.role is QualificationRole.CANDIDATE)
    faults = sum(total.proven for total in summary.faults)
    result = Qualification(
        preset=question.preset,
        decision=decision,
        reasons=reasons,
        why=why_of(reasons, comparisons, controls),
        rule=RULE,
        generated_at=max(map(ended_at, outcomes(ordered)), default=""),
        candidate=_build(question.candidate, candidate),
        baseline=_baseline(question, ordered),
        claim=claim_of(found, operations, faults),
        operations=operations,
        acknowledged=summary.sent_ok,
        faults=faults,
        cells=cells,
        found=found,
        permitted=permitted_in(ordered),
        comparisons=comparisons,
        fault_kinds=tuple(_fault_kinds(ordered)),
        states=states,
        undecided=tuple(_undecided(ordered)),
        controls=tuple(controls),
        commits=tuple(distinct(run.identity.krucible_commit for run in ordered if run.identity)),
        hosts=tuple(distinct(_host(run) for run in ordered if run.identity)),
        spent=spent_on([*outcomes(ordered), *(run for side in controls for run in side.runs)]),
        runs=ordered,
    )
    return msgspec.structs.replace(result, gaps=gaps_of(question, result))


def _rule_input(
    question: ComparisonQuestion,
    runs: Sequence[QualificationRun],
    controls: Sequence[SideRecord],
    *,
    cells: Sequence[Cell],
    states: Sequence[InterestingState],
    found: Sequence[CandidateAnomaly],
    comparisons: Comparisons,
) -> RuleInput:
    return RuleInput(
        unexplained=_texts_of(found, AnomalyExplanation.UNEXPLAINED),
        worse=comparisons.worse(),
        controls=tuple(_controls(controls)),
        mixed=tuple(_mixed(question, runs)),
        doubtful=_texts_of(found, AnomalyExplanation.DOUBTFUL),
        short=(*_silent(question, runs), *short_cells(cells)),
        unreached=unreached_states(states),
    )


def _texts_of(found: Iterable[CandidateAnomaly], standing: AnomalyExplanation) -> tuple[str, ...]:
    return tuple(_found_text(one) for one in found if one.standing is standing)


def claim_of(found: Sequence[CandidateAnomaly], operations: int, faults: int) -> str:
    """The claim about the candidate; it never says that the candidate is correct."""
    if not operations:
        return "Nothing was run."
    mine = [one for one in found if one.standing is not AnomalyExplanation.GONE]
    where = f"in {number(operations, 'operation')} under {number(faults, 'fault')}"
    if not mine:
        return f"No illegal anomaly was found {where}."
    counts = Counter(one.standing for one in mine)
    explained = ", ".join(f"{counts[one]:,} {one}" for one in AnomalyExplanation if counts[one])
    return f"Anomalies: {explained}, {where}."


def why_of(reasons: Sequence[Reason], comparisons: Comparisons, controls: Sequence[SideRecord]) -> str:
    """The most severe reason of the decision in one sentence, or that there is none."""
    if reasons:
        more = f" ({number(len(reasons) - 1, 'more reason')})" if len(reasons) > 1 else ""
        return f"{reasons[0].text}{more}."
    able, every = comparisons.tried(), len(comparisons.durations) + len(comparisons.shares)
    compared = f"no comparison says worse ({able:,} of {every:,} could)" if every else "nothing was compared"
    return f"nothing found is unexplained, {compared}, {number(len(controls), 'control')} as expected."


def _baseline(question: ComparisonQuestion, runs: Sequence[QualificationRun]) -> TriedBuild | None:
    if question.baseline is None:
        return None
    return _build(question.baseline, of_role(runs, QualificationRole.BASELINE))


def _build(asked: str, runs: Sequence[QualificationRun]) -> TriedBuild:
    images = sorted({_image(run) for run in runs if run.identity and run.identity.image})
    versions = sorted({run.identity.kafka_version for run in runs if run.identity})
    return TriedBuild(asked=asked, versions=tuple(versions), images=tuple(images))


def _image(run: QualificationRun) -> str:
    """Reference, digest and checksum of the jars (a checksum of all checksums, if they are listed)."""
    image = run.identity.image if run.identity else None
    if image is None:
        return ""
    tools = f"with the tools of {image.tools}" if image.tools else ""
    parts = [image.reference, image.digest, f"from {image.source}" if image.source else "", tools]
    return ", ".join([*filter(None, parts), *([f"jars {run.content}"] if run.image_checksums else [])])


def _cells(runs: Sequence[QualificationRun]) -> Iterator[Cell]:
    names = sorted({_place(run) for run in runs})
    for scenario, mode, role in ((*name, role) for name in names for role in QualificationRole):
        here = [run for run in of_role(runs, role) if _place(run) == (scenario, mode)]
        if not here:
            continue
        summary = summarise(outcomes(here))
        measured = [one.measures for one in summary.runs if one.measures]
        yield Cell(
            role=role,
            scenario=scenario,
            mode=mode,
            planned=len(here),
            needed=math.ceil(len(here) * DECIDED_SHARE_MIN),
            decided=sum(run.decided for run in here),
            counts=summary.counts,
            unexpected=summary.unexpected,
            operations=sum(measures.operations for measures in measured),
            acknowledged=summary.sent_ok,
            faults={total.kind: (total.count, total.proven) for total in summary.faults},
        )


def _states(question: ComparisonQuestion, runs: Sequence[QualificationRun]) -> Iterator[InterestingState]:
    for name, label in LABELS.items():
        sides = [
            _reached(name, of_role(runs, role))
            for role in (QualificationRole.CANDIDATE, QualificationRole.BASELINE)
        ]
        required = name in question.required
        if required or any(counted for _folders, counted in sides):
            yield InterestingState(
                name=name,
                label=label,
                required=required,
                candidate=len(sides[0][0]),
                candidate_of=sides[0][1],
                baseline=len(sides[1][0]),
                baseline_of=sides[1][1],
                folders=sides[0][0],
            )


def _reached(name: str, runs: Sequence[QualificationRun]) -> tuple[tuple[str, ...], int]:
    """The runs in which a state was reached, and the number of runs that can report it."""
    counting = [run for run in outcomes(runs) if _has_counter(run, name)]
    reached = (run.folder for run in counting if run.measures and run.measures.coverage[name] > 0)
    return tuple(reached), len(counting)


def _has_counter(run: RunOutcome, name: str) -> bool:
    return run.measures is not None and name in run.measures.coverage


def _fault_kinds(runs: Sequence[QualificationRun]) -> Iterator[FaultKind]:
    """Faults of the candidate and the baseline, by kind."""
    totals = [
        FaultKind(role=role, total=total, recovery=_recovery(total.kind, outcomes(of_role(runs, role))))
        for role in (QualificationRole.CANDIDATE, QualificationRole.BASELINE)
        for total in summarise(outcomes(of_role(runs, role))).faults
    ]
    yield from sorted(totals, key=lambda one: (one.total.kind, one.role is QualificationRole.BASELINE))


def _recovery(kind: str, runs: Iterable[RunOutcome]) -> Spread | None:
    measured = [run.measures for run in runs if run.measures and run.measures.faults]
    took = [m.recovery_ms for m in measured if m.faults[-1].kind == kind and m.recovery_ms is not None]
    return spread(took) if took else None


def _undecided(runs: Sequence[QualificationRun]) -> Iterator[Undecided]:
    for role in (QualificationRole.CANDIDATE, QualificationRole.BASELINE):
        there = [run for run in of_role(runs, role) if run.outcome is not None]
        count = sum(not run.decided for run in there)
        if there:
            ends = share_interval(count, len(there))
            yield Undecided(
                role=role, count=count, of=len(there), low=round(ends.low, 4), high=round(ends.high, 4)
            )


def _found_text(found: CandidateAnomaly) -> str:
    where = f"{found.scenario} ({found.mode})" if found.mode else found.scenario
    share = f"{found.candidate} of {found.candidate_of} runs"
    return f"{found.id} in {where}, {share}: {found.because}"


def _controls(sides: Sequence[SideRecord]) -> Iterator[str]:
    """Problems of the positive controls."""
    if not sides:
        yield "no positive control was run"
    for side in sides:
        if side.standing is not ExpectationStatus.AS_EXPECTED:
            expected = "red" if side.expected_red else "green"
            done = f"{len(side.runs)} of {side.seeds} runs"
            yield f"control {side.ticket} on {side.version}, expected {expected}: {side.standing} ({done})"


def _silent(question: ComparisonQuestion, runs: Sequence[QualificationRun]) -> Iterator[str]:
    """Requested sides without a verdict."""
    asked = [QualificationRole.CANDIDATE] if question.baseline is None else list(QualificationRole)
    for role in asked:
        if not any(run.decided for run in of_role(runs, role)):
            yield f"no run of the {role} has a verdict"


def _mixed(question: ComparisonQuestion, runs: Sequence[QualificationRun]) -> Iterator[str]:
    """Problems with builds: a side with several builds of Kafka, or two sides with the same build.

    Each of these prevents a decision.
    """
    asked = {QualificationRole.CANDIDATE: question.candidate, QualificationRole.BASELINE: question.baseline}
    counts = {role: Counter(run.content for run in of_role(runs, role) if run.content) for role in asked}
    for role, found in counts.items():
        if len(found) > 1:
            names = ", ".join(f"{_short(content)} in {n}" for content, n in sorted(found.items()))
            yield f"runs of the {role} {asked[role]} are of {len(found)} different contents of Kafka: {names}"
    if both := counts[QualificationRole.CANDIDATE].keys() & counts[QualificationRole.BASELINE].keys():
        names = ", ".join(map(_short, sorted(both)))
        yield f"{question.candidate} was compared to itself: {question.baseline} is the same Kafka ({names})"


def _short(content: str) -> str:
    return content[:_CONTENT_SHOWN]


def _place(run: QualificationRun) -> tuple[str, str]:
    return run.planned.scenario, run.planned.mode


def _folder(run: QualificationRun) -> str:
    return run.outcome.folder if run.outcome else ""


def _host(run: QualificationRun) -> str:
    host = run.identity.host if run.identity else None
    return f"Linux {host.kernel}, {host.cpus} CPUs, {host.engine}" if host else ""
