"""The run of one item: planned, carried out and judged as by ``krucible run``, then reported to pytest."""

from pathlib import Path

import msgspec
import pytest

from checkers.history.reading import HistoryError
from checkers.verdict.verdict import Verdict
from harness.campaigns.cancelling import cancellable
from harness.campaigns.keeping import identity_of
from harness.campaigns.making import run_one
from harness.campaigns.series import Venue
from harness.cluster.loop_disks import lacking
from harness.errors import KrucibleError, UsageError
from harness.plan.catalogue import load_scenario
from harness.plan.planning import RunOptions, RunPlan, plan_run
from harness.pytest_plugin.session import ItemOptions
from harness.vocabulary.scenario import RandomSchedule
from results.run.junit import explained, passes, properties_of
from results.run.text import closing_text
from results.store.runs import StoreError


class NotAsExpectedError(Exception):
    """A run came to another verdict than its scenario expects; the message explains it."""


def run_scenario(item: pytest.Item, asked: ItemOptions) -> None:
    """Make and judge the requested run; the item gets the properties that distinguish it from others.

    Raises:
        NotAsExpectedError: if the verdict is not as expected.
        KrucibleError: if the harness failed.
        KeyboardInterrupt: if the run was interrupted; it was healed and judged nevertheless.
    """
    plan = _planned(asked)
    properties = {"seed": str(asked.seed), "reproduce": plan.reproduce}
    try:
        with cancellable() as cancelled:
            folder, verdict = run_one(plan, Venue(asked.runs), cancelled)
        properties |= properties_of(folder, identity_of(folder), verdict)
    finally:
        item.user_properties += properties.items()
    if cancelled.is_set():
        raise KeyboardInterrupt
    if not passes(verdict):
        raise NotAsExpectedError(explanation(folder, verdict))


def known_text(error: BaseException) -> str | None:
    """The text of an error to show instead of a traceback; None for unexpected errors."""
    known = (NotAsExpectedError, KrucibleError, StoreError, HistoryError)
    return str(error) if isinstance(error, known) else None


def explanation(folder: Path, verdict: Verdict) -> str:
    """The last lines of the run, then what each checker found, with the guarantee and the proof."""
    parts = [closing_text(folder, verdict, identity_of(folder))]
    for result in verdict.results:
        lines = explained(result, verdict)
        if lines:
            parts.append("\n".join([f"{result.checker}:", *(f"  {line}" for line in lines)]))
    return "\n\n".join(parts)


def _planned(asked: ItemOptions) -> RunPlan:
    """The plan; skips what this version or this host does not support, with the reason."""
    scenario = load_scenario(asked.scenario)
    random = isinstance(scenario.schedule, RandomSchedule)
    options = RunOptions(
        scenario=asked.scenario,
        seed=asked.seed,
        kafka_version=asked.kafka_version,
        duration_s=asked.duration_s if random else None,
        fault=() if asked.fault is None else (asked.fault,),
    )
    if (lack := lacking(scenario.topology.disk)) is not None:
        pytest.skip(f"this host can't give nodes disks of their own: {lack}")
    try:
        return plan_run(options)
    except UsageError as error:
        if asked.kafka_version is None:
            raise
        plan_run(msgspec.structs.replace(options, kafka_version=None))  # raises if it is not the version
        pytest.skip(error.got)
