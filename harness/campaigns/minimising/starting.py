"""The start of a minimisation: the anomaly of a red run, its scenario, and the options of each run."""

import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from checkers.verdict.verdict import Anomaly, Validity, Verdict
from harness.campaigns.minimising.fitting import fits
from harness.campaigns.minimising.search import Trial
from harness.campaigns.minimising.until import schedule_until
from harness.errors import UsageError
from harness.plan.planning import RunOptions
from harness.plan.replaying_plan import OtherKafka, RecordedActions, Replay, is_resolved, plan_replay
from harness.seeded_bugs.catalogue import seeded_bugs
from harness.vocabulary.scenario import Expectation, Scenario
from results.markup.cleaning import clean
from results.store.commands import option_of_store_of

_TEXT_MAX = 240
_MS_PER_S = 1_000
_ID = re.compile(r"[A-Za-z0-9-]+")
"""Valid names of anomalies: the name is used for a folder, and the verdict may come from anywhere."""


class Start(NamedTuple):
    """The start of a search.

    Attributes:
        wanted: id of the anomaly that must return.
        whole: the scenario of the run, with the schedule that it planned.
        trials: possible starts of the search; the first one that shows the anomaly is used.
        guess: the schedule until the anomaly, which is tried before them; None if that is not shorter.
        options: options of every run, except scenario and file.
    """

    wanted: str
    whole: Scenario
    trials: tuple[Trial, ...]
    options: RunOptions
    guess: Trial | None = None


def start_of(recorded: RecordedActions, verdict: Verdict, asked: str | None) -> Start:
    """Choose the anomaly and the scenarios to start from.

    Args:
        recorded: the run.
        verdict: its verdict.
        asked: the anomaly that must return; None for the first one that the run shows.

    Raises:
        UsageError: the run is not red, does not have that anomaly, or can't be carried out again.
    """
    wanted = _wanted(recorded, verdict, asked)
    planned = plan_replay(recorded, OtherKafka(), symbolic=True)
    executed = plan_replay(recorded, OtherKafka(), symbolic=False)
    whole = _scenario(planned, recorded, wanted)
    trials = [
        *(
            []
            if is_resolved(recorded.identity)
            else [Trial(whole, "the whole schedule, roles resolved again")]
        ),
        Trial(_scenario(executed, recorded, wanted), "the whole schedule, on the same nodes"),
    ]
    given = planned.plan.options
    options = RunOptions(
        scenario=given.scenario,
        seed=given.seed,
        kafka_version=planned.plan.version,
        seeded_bug=given.seeded_bug,
        image_source=given.image_source,
        kafka_tarball=given.kafka_tarball,
        kafka_image=given.kafka_image,
    )
    return Start(wanted, whole, tuple(trials), options, _guess(recorded, verdict, whole, wanted))


def _guess(recorded: RecordedActions, verdict: Verdict, whole: Scenario, wanted: str) -> Trial | None:
    """The scenario without the steps that began after the anomaly first occurred; roles are resolved again.

    None if the time of the anomaly is unknown, or if no shorter schedule can be made.
    """
    moments = [each.time_ns for each in _illegal(verdict) if each.id == wanted and each.time_ns is not None]
    if not moments or is_resolved(recorded.identity):
        return None
    schedule = schedule_until(recorded.schedule, recorded.history, min(moments))
    if schedule is None:
        return None
    trial = Trial(
        replace(whole, schedule=schedule),
        f"the schedule until the anomaly, {schedule.duration_ms / _MS_PER_S:.0f} s, roles resolved again",
    )
    return trial if fits(trial.scenario) else None


def shows(verdict: Verdict, wanted: str) -> bool:
    """Whether a verdict has an illegal anomaly of this id."""
    return any(anomaly.id == wanted for anomaly in _illegal(verdict))


def _wanted(recorded: RecordedActions, verdict: Verdict, asked: str | None) -> str:
    where, illegal = str(recorded.folder), sorted(_illegal(verdict), key=_moment)
    found = list(dict.fromkeys(anomaly.id for anomaly in illegal))
    if verdict.validity is not Validity.INVALID or not found:
        store = option_of_store_of(recorded.folder, recorded.identity)
        raise UsageError(
            "only a run that is invalid can be minimised",
            got=f"the verdict {verdict.validity}",
            expected="an anomaly that can return",
            where=where,
            next_step=f"krucible list --verdict invalid{store}",
        )
    if asked is not None and asked not in found:
        raise UsageError(
            "that run does not show that anomaly",
            got=asked,
            expected=", ".join(found),
            where=where,
            next_step="name one of them, or drop --anomaly",
        )
    if odd := [each for each in found if not _ID.fullmatch(each)]:
        raise UsageError(
            "an anomaly in the run's verdict has an invalid name",
            got=clean(repr(odd[0]), _TEXT_MAX),
            expected="letters, digits and hyphens, as docs/anomalies.md has them",
            where=where,
            next_step=f"judge the run again: krucible check {shlex.quote(where)}",
        )
    bug = seeded_bugs().get(recorded.identity.seeded_bug)
    likely = [each for each in found if bug is not None and each in bug.anomalies]
    return asked or (likely or found)[0]


def _scenario(replay: Replay, recorded: RecordedActions, wanted: str) -> Scenario:
    """The scenario of a replay, as a scenario of its own."""
    identity, plan = recorded.identity, replay.plan
    expected = Expectation(Validity.INVALID, (wanted,), why=f"run {identity.run} of {identity.scenario}")
    return replace(
        plan.scenario,
        summary=f"{wanted}, minimised from a run of {identity.scenario}.",
        schedule=plan.schedule,
        kafka_version=plan.version,
        keeps_draws=True,
        # With a bug, the bug's anomalies are expected; without one, no anomaly is.
        expectations=() if plan.options.seeded_bug else (expected,),
    )


def _illegal(verdict: Verdict) -> Iterator[Anomaly]:
    return (anomaly for result in verdict.results for anomaly in result.anomalies if anomaly.illegal)


def _moment(anomaly: Anomaly) -> tuple[bool, int, str]:
    """Sort key by time; anomalies without a time come last."""
    return anomaly.time_ns is None, anomaly.time_ns or 0, anomaly.id
