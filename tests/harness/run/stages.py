"""Stages and executions without a cluster: they have what the real ones have, and nothing else."""

from pathlib import Path
from unittest.mock import MagicMock, create_autospec

from harness.cluster.cluster import Cluster
from harness.kafka.sizes import TopicSizes
from harness.nemesis.nemesis import Nemesis
from harness.plan.planning import RunOptions, plan_run
from harness.record.journal import Journals, Recorder
from harness.record.ledger import Ledger
from harness.record.tally import AcknowledgedCounter
from harness.run.execution import Execution
from harness.run.stage import Stage
from harness.run.threads import already_done

PLAN = plan_run(RunOptions(scenario="smoke/partition", seed=1))


def a_stage(folder: Path = Path("no such folder")) -> MagicMock:
    """The stage of a run of `PLAN` without nodes; calls are only remembered."""
    stage: MagicMock = create_autospec(Stage, instance=True)
    stage.plan, stage.folder, stage.topics = PLAN, folder, ()
    stage.sizes, stage.removal = TopicSizes(), already_done()
    stage.journals = create_autospec(Journals, instance=True)
    stage.ledger = create_autospec(Ledger, instance=True)
    stage.tally = create_autospec(AcknowledgedCounter, instance=True)
    stage.recorder = create_autospec(Recorder, instance=True)
    stage.cluster = create_autospec(Cluster, instance=True)
    stage.cluster.containers, stage.cluster.nodes = {}, ()
    stage.cluster.observe_listeners, stage.cluster.ended = {}, frozenset()
    return stage


def an_execution() -> MagicMock:
    """What carries out a schedule; calls are only remembered."""
    execution: MagicMock = create_autospec(Execution, instance=True)
    execution.nemesis = create_autospec(Nemesis, instance=True)
    execution.end_retention.return_value = iter(())
    return execution
