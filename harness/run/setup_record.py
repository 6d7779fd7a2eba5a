"""The setup operation of a run, which records its parts in the history."""

from collections.abc import Iterator, Sequence

import msgspec

from checkers.history.observed import EVIDENCE_PRODUCERS
from checkers.history.setup import ReadyAfter, RequiredNumbers, SetupNode, SetupOf, Topic
from checkers.runs.claimed_coordinators import EVIDENCE_COORDINATORS
from harness.evidence.disks import EVIDENCE
from harness.kafka.answers import TopicAnswer
from harness.kafka.topics import NewTopic
from harness.plan.planning import RunPlan
from harness.plan.random_schedules import least_operations
from harness.plan.schedule import blinks_of, faults_alone, gambits_of
from harness.plan.upgrades import later_versions, other_versions
from harness.run.readiness import Readiness
from harness.vocabulary import Workload
from harness.vocabulary.scenario import FixedSchedule, RandomSchedule
from harness.workloads.context import final_readers_of, workers_of

OBSERVE_INTERVAL_MS = 250
CONTROLLER_FETCH_TIMEOUT_KEY = "controller.quorum.fetch.timeout.ms"
CONTROLLER_FETCH_TIMEOUT_MS = 2_000
"""Kafka's default of `controller.quorum.fetch.timeout.ms` (``QuorumConfig``)."""


def wanted_topics(workload: Workload) -> Iterator[NewTopic]:
    """The topics of a workload that must be created."""
    for topic in workload.topics:
        yield NewTopic(
            topic.name,
            partitions=workload.partitions,
            replication_factor=workload.replication_factor,
            assignments=workload.assignments,
            config={"min.insync.replicas": str(workload.min_insync_replicas), **topic.config},
        )


def setup_of_run(
    plan: RunPlan, created: Sequence[TopicAnswer], ready: Readiness
) -> SetupOf[dict[str, object]]:
    """The setup of a run, with the whole configuration of its workload.

    Args:
        plan: plan of the run.
        created: answers to the requests that created its topics, in the order of `wanted_topics`.
        ready: how its cluster became ready.
    """
    topology, workload = plan.scenario.topology, plan.scenario.workload
    return SetupOf(
        kafka_version=plan.version,
        scenario=plan.options.scenario,
        seed=plan.options.seed,
        mode=topology.mode,
        quorum=topology.quorum,
        features=ready.features,
        nodes=tuple(SetupNode(node.name, node.id, tuple(node.roles)) for node in topology.nodes()),
        topics=tuple(_topics(workload, created)),
        config=topology.config,
        node_config=topology.node_config,
        node_versions=other_versions(topology, plan.version),
        later_versions=later_versions(plan.schedule, plan.version),
        promises=plan.scenario.promises,
        workload={
            "workers": workers_of(workload),
            "durable_processes": [workload.processes],
            **msgspec.to_builtins(workload),
        },
        controller_fetch_timeout_ms=int(
            topology.config.get(CONTROLLER_FETCH_TIMEOUT_KEY, CONTROLLER_FETCH_TIMEOUT_MS)
        ),
        observe_interval_ms=OBSERVE_INTERVAL_MS,
        assumptions=msgspec.convert(plan.scenario.assumptions, RequiredNumbers, from_attributes=True),
        planned_faults=len(faults_alone(plan.schedule)),
        planned_gambits=len(gambits_of(plan.schedule)),
        planned_blinks=len(blinks_of(plan.schedule)),
        drawn_faults=isinstance(plan.scenario.schedule, RandomSchedule),
        operations_min=_operations_min(plan),
        seeded_bug=plan.options.seeded_bug or "",
        controls=workload.controls,
        final_readers=len(final_readers_of(workload)),
        evidence=(*EVIDENCE, EVIDENCE_COORDINATORS, EVIDENCE_PRODUCERS),
        producers_end=True,
        ready=msgspec.convert(ready, ReadyAfter, from_attributes=True),
        expected=plan.expectation.validity,
        expected_anomalies=plan.expectation.alone,
        expected_consequences=plan.expectation.following,
    )


def _topics(workload: Workload, created: Sequence[TopicAnswer]) -> Iterator[Topic]:
    """The topics that were created, as recorded in the setup."""
    for made, new, asked in zip(created, wanted_topics(workload), workload.topics, strict=True):
        yield Topic(
            name=made.name,
            topic_id=made.topic_id,
            partitions=new.partitions,
            replication_factor=new.replication_factor,
            config=new.config,
            loaded=asked.loaded,
            read=msgspec.UNSET if asked.read else False,
        )


def _operations_min(plan: RunPlan) -> dict[str, int] | None:
    """How many of the drawn admin operations must be answered; None if none are drawn."""
    asked = plan.scenario.schedule
    if not isinstance(asked, RandomSchedule):
        return None
    acts = plan.schedule.acts if isinstance(plan.schedule, FixedSchedule) else ()
    return least_operations(asked, acts)
