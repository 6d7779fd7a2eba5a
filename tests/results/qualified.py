"""Runs of a matrix made by hand, and a qualification of them."""

from collections.abc import Sequence
from typing import Any

from checkers.history.identity import HostIdentity, ImageIdentity, RunIdentity
from checkers.verdict.verdict import Anomaly
from results.campaigns.summary import Outcome, RunOutcome
from results.campaigns.track_record import SideRecord
from results.qualification import (
    ComparisonQuestion,
    PlannedRun,
    Qualification,
    QualificationRole,
    QualificationRun,
    qualify,
)
from results.run.measures import FaultMeasures, Measures

CHAOS = "exploratory/chaos"
VERSIONS = {QualificationRole.CANDIDATE: "4.3.1", QualificationRole.BASELINE: "4.1.1"}
LOST = Anomaly(
    "lost-write",
    "17 of log-0/1@4 is gone",
    "What is acknowledged stays.",
    "KIP-101",
    explanation=("n1 acknowledged 17 at offset 4.", "Nobody has it at the end."),
)


def run(
    role: QualificationRole = QualificationRole.CANDIDATE,
    seed: int = 1,
    outcome: Outcome | None = Outcome.VALID,
    *,
    scenario: str = CHAOS,
    mode: str = "combined",
    found: Sequence[Anomaly] = (),
    as_expected: bool | None = None,
    reasons: tuple[str, ...] = (),
    from_version: str = "",
    left_open: tuple[str, ...] = (),
    accepted: bool = False,
    **measures: Any,
) -> QualificationRun:
    """A run with its measures; an outcome of None: it was not run."""
    line = f"krucible run {scenario} --seed {seed} --mode {mode}"
    version = VERSIONS[role]
    planned = PlannedRun(
        role=role,
        scenario=scenario,
        mode=mode,
        pair=line,
        command=f"{line} --kafka-version {version}",
        from_version=from_version,
    )
    if outcome is None:
        return QualificationRun(planned=planned)
    done = RunOutcome(
        folder=f"20261122T0100{seed:02}Z-{seed}",
        outcome=outcome,
        as_expected=outcome is Outcome.VALID if as_expected is None else as_expected,
        identity=identity(planned, version, seed),
        anomalies={anomaly.id: 1 for anomaly in found},
        illegal=tuple(sorted(anomaly.id for anomaly in found)),
        reasons=reasons,
        measures=None if outcome is Outcome.FAILED else measured(**measures),
        open_anomalies=left_open,
        accepted=accepted,
    )
    return QualificationRun(
        planned=planned, outcome=done, sightings=tuple(found), image_checksums={"jars": version * 8}
    )


def identity(planned: PlannedRun, version: str, seed: int) -> RunIdentity:
    return RunIdentity(
        run=f"r{seed}",
        scenario=planned.scenario,
        seed=seed,
        kafka_version=version,
        began_at=f"2026-11-22T01:00:{seed:02}Z",
        reproduce=planned.command,
        krucible_commit="6129fa2",
        image=ImageIdentity(
            reference=f"krucible/kafka:{version}", source="maven", digest="sha256:" + "a" * 64
        ),
        host=HostIdentity(kernel="6.18", cpus=2, engine="20.10"),
    )


def measured(
    gaps: dict[str, int] | None = None,
    recovery_ms: int = 200,
    *,
    recovered: bool = True,
    coverage: dict[str, int] | None = None,
) -> Measures:
    """Measures with one fault of each kind and its unavailability."""
    kinds = {"kill": 5_000, "pause": 3_000} if gaps is None else gaps
    return Measures(
        duration_ms=60_000,
        load_ms=40_000,
        operations=1_000,
        sent_ok=900,
        faults=tuple(
            FaultMeasures(id=f"f{n}", kind=kind, proven=True, held_ms=6_000, unavailable_ms_max=gap)
            for n, (kind, gap) in enumerate(kinds.items())
        ),
        recovered=recovered,
        recovery_ms=recovery_ms,
        coverage={"elections": 3, "voter_sets": 0} if coverage is None else coverage,
    )


def side(outcome: Outcome = Outcome.INVALID, *, expected_red: bool = True, seeds: int = 1) -> SideRecord:
    """A positive control of one run."""
    done = RunOutcome(folder="20261122T020000Z-1", outcome=outcome, as_expected=True)
    return SideRecord(
        ticket="KAFKA-15489",
        scenario="regressions/kafka-15489-zombie-leader",
        summary="Cut the active controller off.",
        because="fixed in 3.7.0",
        version="3.6.2" if expected_red else "3.7.1",
        features={},
        config={},
        expected_red=expected_red,
        command="krucible run regressions/kafka-15489-zombie-leader --seed 1",
        seeds=seeds,
        runs=(done,),
    )


CONTROLS = (side(), side(Outcome.VALID, expected_red=False))
QUESTION = ComparisonQuestion(preset="smoke", candidate="4.3.1", baseline="4.1.1", required=("elections",))


def both(*seeds: int, **settings: Any) -> tuple[QualificationRun, ...]:
    """The same run on both sides, once a seed."""
    return tuple(run(role, seed, **settings) for seed in seeds for role in QualificationRole)


def qualification_of(
    runs: Sequence[QualificationRun],
    controls: Sequence[SideRecord] = CONTROLS,
    question: ComparisonQuestion = QUESTION,
    **others: Any,
) -> Qualification:
    return qualify(question, runs, controls, **others)
