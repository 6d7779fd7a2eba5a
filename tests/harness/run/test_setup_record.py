"""What a run records of itself: the same bytes as before, but for additions; every krucible reads them."""

import msgspec

from checkers.history.setup import Setup
from harness.kafka.answers import TopicAnswer
from harness.plan.planning import RunPlan
from harness.run.readiness import Readiness
from harness.run.setup_record import setup_of_run
from tests.harness.recorded_run import planned

READY = Readiness(1.5, 2.0, 3.0, {"metadata.version": 29})
LINE = (
    '{"kafka_version":"4.3.1","scenario":"smoke/partition","seed":7,"mode":"combined","quorum":"dynamic",'
    '"features":{"metadata.version":29},"nodes":[{"name":"n1","id":1,"roles":["broker","controller"]},'
    '{"name":"n2","id":2,"roles":["broker","controller"]},'
    '{"name":"n3","id":3,"roles":["broker","controller"]}],'
    '"topics":[{"name":"log-0","topic_id":"id-1","partitions":6,"replication_factor":3,'
    '"config":{"min.insync.replicas":"2"},"loaded":true}],"config":{},"node_config":{},"node_versions":{},'
    '"promises":[],"workload":{"workers":15,"durable_processes":[6],"kind":"log","partitions":6,'
    '"replication_factor":3,"assignments":[],"min_insync_replicas":2,"rate":200,'
    '"final_clients":["kafka-python","confluent-kafka"],"java_version":null,'
    '"producers":4,"consumers":2,"subscribed":0,'
    '"acks":"all","idempotent":true,"batch":4,"pipelined":false,"deletions_interval_ms":0,"config":{},'
    '"libraries":["kafka-python","confluent-kafka"]},'
    '"controller_fetch_timeout_ms":2000,"observe_interval_ms":250,"assumptions":{"acked_before":100,'
    '"acked_after":100,"invoked_during":5,"fault_held_ms":5000,"recovery_ms":60000,'
    '"why_lowered":"the node that is cut off may lead every partition"},'
    '"planned_faults":3,"controls":[],"final_readers":4,'
    '"evidence":["replicas","metadata-log","folders","aborted-transactions","transaction-states",'
    '"share-states","coordinators","producers"],"producers_end":true,'
    '"ready":{"controller_s":1.5,"brokers_s":2.0,"write_s":3.0},"expected":"valid","expected_anomalies":[]}'
)
"""As krucible wrote it when it was a dictionary; `java_version` and `producers_end` were added later."""


def written(plan: RunPlan) -> bytes:
    topics = plan.scenario.workload.topics
    created = [TopicAnswer(topic.name, f"id-{n}", 0, ()) for n, topic in enumerate(topics, 1)]
    return msgspec.json.encode(setup_of_run(plan, created, READY))


def test_a_setup_is_written_as_before() -> None:
    assert written(planned("smoke/partition", kafka_version="4.3.1")).decode() == LINE


def test_what_chance_drew_is_printed_for_a_random_schedule_alone() -> None:
    setup = msgspec.json.decode(written(planned("exploratory/chaos", kafka_version="4.3.1")), type=Setup)
    assert setup.drawn_faults
    assert setup.planned_blinks
    assert setup.operations_min
    assert '"drawn_faults"' not in LINE


def test_a_run_may_have_the_consequences_of_what_is_expected() -> None:
    plan = planned("findings/skipped-marker", kafka_version="4.4.0")
    setup = msgspec.json.decode(written(plan), type=Setup)
    assert {"marker-shared", "lost-write"} <= set(setup.expected_anomalies)


def test_consequences_of_what_a_valid_run_may_have_are_written_apart() -> None:
    setup = msgspec.json.decode(written(planned("exploratory/share", kafka_version="4.4.0")), type=Setup)
    assert setup.expected_anomalies == ("share-state-initialised-again",)
    assert "delivered-after-acknowledgement" in setup.expected_consequences


def test_a_reader_takes_what_was_written() -> None:
    plan = planned("exploratory/groups", kafka_version="4.3.1")
    setup = msgspec.json.decode(written(plan), type=Setup)
    assert (setup.scenario, setup.workload.kind) == ("exploratory/groups", "groups")
    assert setup.workload.groups == msgspec.to_builtins(plan.scenario.workload)["groups"]
    assert setup.workload.durable_processes == (plan.scenario.workload.processes,)
    assert setup.names == {node.id: node.name for node in plan.scenario.topology.nodes()}
