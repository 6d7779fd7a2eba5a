"""Makes the plan that repeats a recorded run, from its folder."""

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from checkers.history.identity import IDENTITY_FILE, RunIdentity, decode_identity
from checkers.history.operations import History
from checkers.history.reading import HistoryError, read_journals
from harness.errors import UsageError
from harness.plan.catalogue import scenario_names
from harness.plan.planning import RunOptions, RunPlan, option_words, plan_run
from harness.plan.replaying import MisfitError, Resolution, resolution_of
from harness.plan.schedule import Planned, decode, faults_of, problems_of
from harness.plan.upgrades import other_versions
from harness.record.folder import SCHEDULE_FILE
from harness.vocabulary.faults import Target

INJECTING = ("nemesis", "nemesis-[0-9]*", "gambits")
"""Processes that inject faults and choose their targets."""
_JOURNALS = (*INJECTING, "nemesis-blinks", "moves", "runner", "admin", "admin-*")
"""Processes that carry out schedules, and those that record times."""
_SYMBOLIC = "--symbolic"
_PLANS = "krucible run "
"""The beginning of the command of a run that planned its own schedule."""
_DAMAGED = (OSError, ValueError, HistoryError)


class RecordedActions(NamedTuple):
    """The recorded schedule of a run, and what was done.

    Attributes:
        folder: folder of the run.
        identity: identity of the run.
        schedule: the planned schedule.
        history: history of the processes that carried it out.
    """

    folder: Path
    identity: RunIdentity
    schedule: Planned
    history: History


class OtherKafka(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A replacement for the recorded Kafka; None keeps a field.  The fields are those of `RunOptions`."""

    kafka_version: str | None = None
    kafka_tarball: str | None = None
    kafka_image: str | None = None
    image_source: str | None = None


class Replay(NamedTuple):
    """The plan that repeats a run.

    Attributes:
        plan: the plan.
        roles: name of a fault to the role that its target had in the recorded run.
        notes: differences from the recorded run, one sentence each.
    """

    plan: RunPlan
    roles: dict[str, Target]
    notes: tuple[str, ...]


def journals_of(folder: Path, names: Iterable[str]) -> list[Path]:
    """The journals of a run with these names; ``*`` stands for any text."""
    return [path for name in names for path in sorted(folder.glob(f"history-{name}.jsonl"))]


def load_recorded(folder: Path) -> RecordedActions:
    """Read the recorded schedule and actions of a run.

    Raises:
        UsageError: if something is missing, or if this krucible can't read it.
    """
    try:
        identity = decode_identity((folder / IDENTITY_FILE).read_bytes())
        schedule = decode((folder / SCHEDULE_FILE).read_bytes())
        history = read_journals(journals_of(folder, _JOURNALS))
    except _DAMAGED as error:
        raise UsageError(
            "that run can't be repeated",
            got=str(error),
            expected="a run's identity, schedule and journals, as this krucible writes them",
            where=str(folder),
            next_step=f"judge what was recorded: krucible check {shlex.quote(str(folder))}",
        ) from error
    return RecordedActions(folder, identity, schedule, history)


def plan_replay(recorded: RecordedActions, instead: OtherKafka, *, symbolic: bool) -> Replay:
    """Plan the same run again, with its recorded schedule.

    Args:
        recorded: the run.
        instead: the Kafka that runs instead of the recorded one.
        symbolic: whether the new run chooses the nodes of the schedule.

    Raises:
        UsageError: if the scenario no longer exists, or if the record no longer fits it.
    """
    now = plan_run(options_of(recorded.folder, recorded.identity, instead))
    notes = [*_changes(recorded, now), *_replacements(recorded.identity, instead)]
    resolution = Resolution(recorded.schedule, {}, ())
    if not symbolic:
        resolution = _resolved(recorded, now)
    _require_fitting(recorded, now, resolution.schedule)
    plan = msgspec.structs.replace(
        now,
        schedule=resolution.schedule,
        reproduce=replay_line(recorded.folder, instead, symbolic=symbolic),
        replay_of=recorded.identity.run,
    )
    return Replay(plan, resolution.roles, (*notes, *resolution.notes))


def is_rerun(identity: RunIdentity) -> bool:
    """Whether a run names another run, but planned its own schedule from the same options.

    This includes the candidates of ``krucible minimise``, whose scenarios are in separate files.
    """
    planned = identity.reproduce.startswith(_PLANS)
    return bool(identity.replay_of) and planned and "scenario_file" not in identity.options


def is_resolved(identity: RunIdentity) -> bool:
    """Whether a run's schedule has nodes instead of roles, so that no role is left to be resolved."""
    replayed = bool(identity.replay_of) and not is_rerun(identity)
    return replayed and _SYMBOLIC not in identity.reproduce.split()


def replay_line(folder: Path, instead: OtherKafka, *, symbolic: bool) -> str:
    """The shell command that repeats a recorded schedule."""
    words = ["krucible", "replay", str(folder), *([_SYMBOLIC] if symbolic else [])]
    given: dict[str, object] = msgspec.to_builtins(instead)
    for name, value in given.items():
        words += option_words(name, value)
    return shlex.join(words)


def options_of(folder: Path, identity: RunIdentity, instead: OtherKafka) -> RunOptions:
    """The options with which a run was made, with its version.

    Args:
        folder: folder of the run.
        identity: identity of the run.
        instead: the Kafka that runs instead of the recorded one.

    Raises:
        UsageError: if the scenario or a file no longer exists, or this krucible does not have an option.
    """
    if identity.scenario not in scenario_names() and "scenario_file" not in identity.options:
        raise _gone(folder, identity)
    given = {
        "scenario": identity.scenario,
        "seed": identity.seed,
        **identity.options,
        "kafka_version": identity.kafka_version,
    }
    strange = sorted(given.keys() - set(RunOptions.__struct_fields__))
    if strange:
        raise _of_another(folder, identity, f"it has unknown options: {', '.join(strange)}")
    chosen: dict[str, object] = msgspec.to_builtins(instead)
    if chosen:  # another version is no longer that tarball's, or that image's
        given = {name: value for name, value in given.items() if name not in OtherKafka.__struct_fields__}
        given |= {"kafka_version": identity.kafka_version} | chosen
    try:
        options = msgspec.convert(given, RunOptions)
    except msgspec.ValidationError as error:
        raise _of_another(folder, identity, str(error)) from error
    if missing := [file.source for file in options.node_file if not Path(file.source).is_file()]:
        raise UsageError(
            "files that every node of that run had are gone",
            got=f"no file {', '.join(missing)}",
            where=str(folder),
            next_step="put them back",
        )
    return options


def _gone(folder: Path, identity: RunIdentity) -> UsageError:
    commit = identity.krucible_commit
    return UsageError(
        "the scenario of that run is gone",
        got=f"{identity.scenario}, recorded by krucible {commit or 'of an unknown commit'}",
        where=str(folder),
        next_step=f"git checkout {commit.removesuffix('-dirty')}" if commit else "krucible list --scenarios",
    )


def _of_another(folder: Path, identity: RunIdentity, got: str) -> UsageError:
    commit = identity.krucible_commit
    return UsageError(
        "that run was recorded by another version of krucible, and this one can't repeat it",
        got=got,
        where=str(folder),
        next_step=f"git checkout {commit.removesuffix('-dirty')}" if commit else "krucible list --scenarios",
    )


def _resolved(recorded: RecordedActions, now: RunPlan) -> Resolution:
    try:
        return resolution_of(recorded.schedule, recorded.history, now.scenario.topology.nodes())
    except MisfitError as error:
        raise _of_another(
            recorded.folder, recorded.identity, f"the topology is another one: {error.args[0]}"
        ) from error
    except (KeyError, TypeError, ValueError) as error:
        raise _of_another(recorded.folder, recorded.identity, f"{type(error).__name__}: {error}") from error


def _require_fitting(recorded: RecordedActions, now: RunPlan, schedule: Planned) -> None:
    topology = now.scenario.topology
    reasons = {fault.unavailable_because(topology) for fault in faults_of(schedule)}
    problems = problems_of(schedule) + sorted(reason for reason in reasons if reason)
    if problems:
        raise _of_another(recorded.folder, recorded.identity, "; ".join(problems))


def _changes(recorded: RecordedActions, now: RunPlan) -> list[str]:
    """Changes of the scenario since the recorded run."""
    found = []
    by = recorded.identity.krucible_commit or "of an unknown commit"
    planned = not recorded.identity.replay_of or is_rerun(recorded.identity)
    if planned and now.schedule != recorded.schedule:
        found.append(f"the scenario's schedule has changed; that of krucible {by} is used")
    setup = next((o.value for o in recorded.history.operations if o.f == "setup"), None)
    if setup is None:
        return [*found, "that run never began its load, so it is unknown what else has changed since"]
    changed = [name for name, value in _as_set_up(now).items() if not _holds(setup.get(name), value)]
    return [*found, *(f"the scenario's {name} is not that of krucible {by}" for name in changed)]


def _as_set_up(now: RunPlan) -> dict[str, object]:
    """The part of the ``setup`` operation that a plan decides, see `harness.run.stage`."""
    topology, scenario = now.scenario.topology, now.scenario
    value: dict[str, object] = msgspec.to_builtins(
        {
            "mode": topology.mode,
            "quorum": topology.quorum,
            "nodes": [{"name": node.name, "id": node.id, "roles": node.roles} for node in topology.nodes()],
            "config": topology.config,
            "node_config": topology.node_config,
            "node_versions": other_versions(topology, now.version),
            "workload": scenario.workload,
            "assumptions": scenario.assumptions,
            "promises": scenario.promises,
        }
    )
    decoded: dict[str, object] = msgspec.json.decode(msgspec.json.encode(value))
    return decoded


def _holds(then: object, now: object) -> bool:
    """Whether a record has all current values; it may have more."""
    if isinstance(then, dict) and isinstance(now, dict):
        return all(name in then and then[name] == value for name, value in now.items())
    return bool(then == now)


def _replacements(identity: RunIdentity, instead: OtherKafka) -> list[str]:
    given: dict[str, str] = msgspec.to_builtins(instead)
    ran = identity.image.reference if identity.image else f"Kafka {identity.kafka_version}"
    return [f"in place of {ran}: {', '.join(given.values())}"] if given else []
