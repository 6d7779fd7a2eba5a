"""An application of Kafka Streams needs its configs, and nothing that removes its records."""

import random

import msgspec
import pytest

from harness.plan.catalogue import load_scenario
from harness.plan.gambits import GAMBITS, drawn_gambit
from harness.plan.loads import problems_of_load
from harness.plan.removals import within
from harness.vocabulary import (
    AlterChosen,
    AlterTopic,
    Configure,
    DeleteFromChosen,
    FixedSchedule,
    Gambit,
    Mode,
    Pass,
    Perform,
    RandomSchedule,
    RequestForChosen,
    RollingSchedule,
    ScriptedSchedule,
    StreamsWorkload,
    TimedOperation,
    Topology,
    broker,
)

Schedule = FixedSchedule | RandomSchedule | RollingSchedule | ScriptedSchedule


def test_a_load_of_kafka_streams_needs_its_configs_of_brokers_and_times_in_order() -> None:
    scenario = load_scenario("exploratory/streams")
    assert problems_of_load(scenario) == []
    workload = StreamsWorkload(life_min_ms=9_000, life_max_ms=8_000, session_ms=5_000)
    problems = problems_of_load(msgspec.structs.replace(scenario, workload=workload))
    assert problems == [
        "life_min_ms is 9000, life_max_ms only 8000",
        "the topology has group.streams.session.timeout.ms=6000, expected 5000 as the workload has it",
    ]


@pytest.mark.parametrize("acks", ["0", "1"])
def test_a_load_of_kafka_streams_needs_acks_of_all(acks: str) -> None:
    scenario = load_scenario("exploratory/streams")
    workload = StreamsWorkload(acks=acks, idempotent=False)
    problems = problems_of_load(msgspec.structs.replace(scenario, workload=workload))
    assert problems == [f"an application of Kafka Streams needs acks=all, got acks={acks}"]


@pytest.mark.parametrize("name", ["log.retention.ms", "log.retention.bytes", "log.cleanup.policy"])
def test_a_load_of_kafka_streams_allows_no_removal_of_records(name: str) -> None:
    scenario = load_scenario("exploratory/streams")
    topology = msgspec.structs.replace(scenario.topology, node_config={"n2": {name: "20000"}})
    problems = problems_of_load(msgspec.structs.replace(scenario, topology=topology))
    assert problems == [f"n2 has {name}, by which records of the application may be removed; drop it"]


@pytest.mark.parametrize(
    ("workload", "problem"),
    [
        (
            StreamsWorkload(deletions_interval_ms=900),
            "deletions_interval_ms is 900, by which records of the application may be removed; drop it",
        ),
        (
            StreamsWorkload(config={"retention.ms": "9000"}),
            "config has retention.ms, expected nothing: the application's topics have no configs",
        ),
    ],
)
def test_a_load_of_kafka_streams_deletes_nothing(workload: StreamsWorkload, problem: str) -> None:
    scenario = load_scenario("exploratory/streams")
    assert problems_of_load(msgspec.structs.replace(scenario, workload=workload)) == [problem]


_RETENTION = Perform(AlterTopic("streams-out", "retention.ms", "9000"))
_NODE = Configure(broker(2), {"log.retention.bytes": "9000", "log.segment.bytes": "9000"})
_DELETES = Gambit(0, "own", (DeleteFromChosen(0.5),), 100)
_CLEANS = Gambit(0, "own", (Pass(1), RequestForChosen(AlterChosen("cleanup.policy", "compact"))), 100)
_UNKEPT = TimedOperation(5, AlterTopic("streams-in", "retention.bytes", "9"))


@pytest.mark.parametrize(
    ("schedule", "found"),
    [
        (
            ScriptedSchedule((Pass(1), _RETENTION), 1000),
            "move 2 sets retention.ms of streams-out",
        ),
        (
            ScriptedSchedule((Perform(AlterTopic("__consumer_offsets", "cleanup.policy", "delete")),), 1000),
            "move 1 sets cleanup.policy of __consumer_offsets",
        ),
        (ScriptedSchedule((_NODE,), 1000), "move 1 sets log.retention.bytes of a node"),
        (
            FixedSchedule((), 1000, acts=(_UNKEPT,)),
            "act 1 sets retention.bytes of streams-in",
        ),
        (FixedSchedule((), 1000, gambits=(_DELETES,)), "gambit 1 deletes records"),
        (
            FixedSchedule((), 1000, gambits=(_CLEANS,)),
            "gambit 1 sets cleanup.policy of a topic",
        ),
        (
            RandomSchedule(gambits={"all-copies": 1, "trimmed-while-held": 1}),
            "gambit trimmed-while-held deletes records",
        ),
        (
            RollingSchedule((), during=(_RETENTION,)),
            "move 1 during upgrades sets retention.ms of streams-out",
        ),
    ],
)
def test_a_schedule_for_kafka_streams_removes_no_records(schedule: Schedule, found: str) -> None:
    scenario = load_scenario("exploratory/streams")
    topology = msgspec.structs.replace(scenario.topology, mode=Mode.ISOLATED)
    given = msgspec.structs.replace(scenario, schedule=schedule, topology=topology)
    assert problems_of_load(given) == [
        f"{found}, by which records of the application may be removed; drop it"
    ]


@pytest.mark.parametrize(
    "schedule",
    [
        ScriptedSchedule((Perform(AlterTopic("streams-in", "segment.ms", "9000")), Pass(1)), 1000),
        ScriptedSchedule((Perform(AlterTopic("another", "retention.ms", "9000")),), 1000),
        ScriptedSchedule((Configure(broker(2), {"log.retention.bytes": None}),), 1000),
        RandomSchedule(gambits={"all-copies": 1, "trimmed-while-held": 0}),
        RandomSchedule(gambits={"trimmed-while-held": 1}, gambit_share=0.0),
    ],
)
def test_what_removes_no_record_of_the_application_is_allowed(schedule: Schedule) -> None:
    scenario = load_scenario("exploratory/streams")
    topology = msgspec.structs.replace(scenario.topology, mode=Mode.ISOLATED)
    given = msgspec.structs.replace(scenario, schedule=schedule, topology=topology)
    assert problems_of_load(given) == []


@pytest.mark.parametrize("name", GAMBITS)
def test_a_gambit_makes_the_same_requests_of_removal_in_every_draw(name: str) -> None:
    topology = Topology(mode=Mode.ISOLATED, brokers=4)
    drawn = (drawn_gambit(name, topology, random.Random(seed))[0] for seed in range(30))
    assert len({tuple(within(moves, ())) for moves in drawn}) == 1
