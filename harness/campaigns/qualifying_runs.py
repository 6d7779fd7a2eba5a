"""The runs of a qualification in the stores: planned runs, controls, and others."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from checkers.history.identity import RunIdentity
from harness.campaigns.campaign import look_up
from harness.campaigns.contents import Content, Contents
from harness.errors import UsageError
from harness.plan.catalogue import expectation_for, load_scenario, scenario_names
from harness.plan.planning import RunOptions, RunPlan, plan_run, reproduce_line
from harness.plan.qualification import Build, Job, QualificationRole, control_jobs, pair_of
from results.campaigns.summary import RunOutcome, outcome_of
from results.campaigns.track_record import SideRecord
from results.qualification import KnownAnomaly, OtherRun, PlannedRun, QualificationRun, failed_run, run_of
from results.qualification import QualificationRole as Side
from results.repeats.flakes import content_of
from results.store.addresses import reports_from
from results.store.runs import RunSummary, RunUnreadableError, list_runs, load_identity


class GatheredRuns(NamedTuple):
    """All runs that a report covers.

    Attributes:
        runs: runs of candidate and baseline, including those that were not made.
        controls: the positive controls.
        elsewhere: other runs in the stores.
    """

    runs: tuple[QualificationRun, ...]
    controls: tuple[SideRecord, ...]
    elsewhere: tuple[OtherRun, ...]


class Stores:
    """One store, or those of several shards.

    Args:
        roots: folders of runs; if several have the same run, the first counts.
        contents: looks up Kafka's content; by default a new one.
    """

    def __init__(self, roots: Sequence[Path], contents: Contents | None = None) -> None:
        self._roots = tuple(roots)
        self.contents = contents or Contents()

    def folder_of(self, plan: RunPlan) -> Path | None:
        """Folder of the run with a verdict; None if no store has one."""
        found = (done for done, _failed in self._looked_up(plan))
        return next((folder for folder in found if folder is not None), None)

    def failure_of(self, plan: RunPlan) -> str | None:
        """The reason why the harness failed in a run, if it did."""
        found = (failed for _done, failed in self._looked_up(plan))
        return next((why for why in found if why is not None), None)

    def _looked_up(self, plan: RunPlan) -> Iterator[tuple[Path | None, str | None]]:
        """Folder and failure of a run, of each store."""
        seed = plan.options.seed
        for root in self._roots:
            done, failed = look_up(root, plan.options.scenario, {seed: plan}, self.contents)
            yield done.get(seed), failed.get(seed)

    def every(self) -> tuple[RunSummary, ...]:
        """All runs, oldest first, each folder once."""
        listed = {run.folder.resolve(): run for root in self._roots for run in list_runs(root)}
        return tuple(listed[folder] for folder in sorted(listed, key=lambda folder: (folder.name, folder)))

    def reports_from(self, folder: Path) -> dict[str, str]:
        """By name of a run's folder, the address of its report from a page in a folder.

        Names that several runs have, and runs without a report, are left out.
        """
        return reports_from(folder, [run.folder for run in self.every()])


def gather_planned(jobs: Sequence[Job], stores: Stores) -> GatheredRuns:
    """The outcomes of a matrix of runs."""
    plans = [(job, plan_run(job.options)) for job in jobs]
    runs = [_planned_run(job, plan, stores) for job, plan in plans if job.control is None]
    sides: dict[str, list[tuple[Job, RunPlan]]] = {}
    for job, plan in plans:
        if job.control is not None:
            sides.setdefault(_side_of(job.options), []).append((job, plan))
    controls = [_side_record(side, stores) for side in sides.values()]
    mine = {folder.resolve() for _job, plan in plans if (folder := stores.folder_of(plan)) is not None}
    others = (run for run in stores.every() if run.folder.resolve() not in mine)
    return GatheredRuns(tuple(runs), tuple(controls), tuple(map(_elsewhere, others)))


def gather_stored(candidate: Build, baseline: Build | None, stores: Stores) -> GatheredRuns:
    """All stored runs of two builds, made by any command; replays are left out."""
    builds = {Side.CANDIDATE: candidate} | ({} if baseline is None else {Side.BASELINE: baseline})
    contents = {side: stores.contents.of(build.kafka, build.version) for side, build in builds.items()}
    controls = {_settings(job.options): job for job in control_jobs(None, 1)}
    runs: list[QualificationRun] = []
    tried: dict[str, list[RunOutcome]] = {}
    elsewhere: list[OtherRun] = []
    for summary in stores.every():
        identity = _identity(summary)
        options = _options(identity)
        settings = "" if options is None else _settings(options, identity)
        side = _side_in(contents, identity)
        if settings in controls:
            tried.setdefault(settings, []).append(outcome_of(summary.folder))
        elif side is not None and options is not None:
            runs.append(run_of(_planned(side, options, summary.scenario), summary.folder))
        else:
            elsewhere.append(_elsewhere(summary))
    sides = (_stored_side(controls[settings], outcomes) for settings, outcomes in tried.items())
    return GatheredRuns(tuple(runs), tuple(sides), tuple(elsewhere))


def _stored_side(job: Job, outcomes: Sequence[RunOutcome]) -> SideRecord:
    return _record(job, plan_run(job.options), outcomes, len(outcomes))


def on_record(build: Build) -> Iterator[KnownAnomaly]:
    """Every anomaly that a scenario expects of a version, without mere consequences."""
    for name in scenario_names():
        scenario = load_scenario(name)
        expected = expectation_for(scenario, build.version, scenario.topology.features)
        for anomaly_id in expected.anomalies:
            yield KnownAnomaly(anomaly_id, scenario.ticket or name, name, expected.why)


def _planned_run(job: Job, plan: RunPlan, stores: Stores) -> QualificationRun:
    planned = PlannedRun(
        role=Side(job.role.value),
        scenario=job.options.scenario,
        mode=plan.scenario.topology.mode.value,
        pair=job.pair,
        command=plan.reproduce,
        from_version=plan.scenario.topology.start_version or "",
    )
    folder = stores.folder_of(plan)
    if folder is not None:
        return run_of(planned, folder)
    why = stores.failure_of(plan)
    return QualificationRun(planned=planned) if why is None else failed_run(planned, why)


def _side_record(side: Sequence[tuple[Job, RunPlan]], stores: Stores) -> SideRecord:
    job, plan = side[0]
    runs = [_planned_run(_as_candidate(one), its, stores) for one, its in side]
    return _record(job, plan, [run.outcome for run in runs if run.outcome is not None], len(side))


def _as_candidate(job: Job) -> Job:
    """A control's run is read in the same way for both sides."""
    return msgspec.structs.replace(job, role=QualificationRole.CANDIDATE)


def _record(job: Job, plan: RunPlan, outcomes: Sequence[RunOutcome], seeds: int) -> SideRecord:
    control = job.control
    if control is None:
        raise UsageError("only a control has a side", got=reproduce_line(job.options))
    return SideRecord(
        ticket=control.known.ticket,
        scenario=control.known.scenario,
        summary=plan.scenario.summary,
        because=plan.expectation.why,
        version=control.side.version,
        features=control.side.features,
        config=control.side.config,
        expected_red=control.side.expected_red,
        command=plan.reproduce,
        seeds=seeds,
        runs=tuple(outcomes),
    )


def _side_of(options: RunOptions) -> str:
    return reproduce_line(msgspec.structs.replace(options, seed=0))


def _settings(options: RunOptions, identity: RunIdentity | None = None) -> str:
    """The key of a control's run: all options except the seed, with the version that really ran."""
    version = identity.kafka_version if identity else options.kafka_version
    return _side_of(msgspec.structs.replace(options, kafka_version=version))


def _identity(summary: RunSummary) -> RunIdentity | None:
    try:
        return load_identity(summary.folder)
    except RunUnreadableError:
        return None


def _options(identity: RunIdentity | None) -> RunOptions | None:
    """Options of a run; None for a replay or a seeded bug, and if they can't be read any more."""
    if identity is None or identity.replay_of or identity.seeded_bug:
        return None
    try:
        return msgspec.convert(identity.options, RunOptions)
    except msgspec.ValidationError:
        return None


def _side_in(contents: Mapping[Side, Content], identity: RunIdentity | None) -> Side | None:
    """The side whose build the run used; None if both or neither are that build."""
    if identity is None:
        return None
    of = [side for side, content in contents.items() if content.is_of(identity)]
    return of[0] if len(of) == 1 else None


def _planned(side: Side, options: RunOptions, scenario: str) -> PlannedRun:
    own = load_scenario(scenario).topology if scenario in scenario_names() else None
    return PlannedRun(
        role=side,
        scenario=scenario,
        mode=str(options.mode or (own.mode if own else "")),
        pair=pair_of(options),
        command=reproduce_line(options),
        from_version=options.from_version or (own.start_version if own else None) or "",
    )


def _elsewhere(run: RunSummary) -> OtherRun:
    identity = _identity(run)
    image = identity.image if identity else None
    content = content_of(image, image.checksums) if image else ""
    return OtherRun(run.scenario, run.kafka_version, run.illegal, content)
