"""regressions/kafka-19851-removed-config: configs can be changed after an upgrade that removed one."""

from harness.vocabulary import (
    Acknowledged,
    AlterTopic,
    Await,
    ErrorCode,
    Expectation,
    Mode,
    Pass,
    Perform,
    Scenario,
    ScriptedSchedule,
    Topology,
    Validity,
    controller,
)
from scenarios.upgrading import BROKERS, HELD, LOAD, OLDEST, changed

SCENARIO = Scenario(
    summary="Set a config that Kafka 4.0 removed, upgrade all nodes from 3.9.0, and change another config.",
    why=(
        "The metadata log keeps the removed config. A controller that validates all configs of a topic when "
        "one is changed refuses the change because of it, and every later one."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            Perform(AlterTopic("log-0", "message.format.version", "3.0-IV1"), expect=(ErrorCode.NONE,)),
            *changed(controller(1), *BROKERS),
            Perform(
                AlterTopic("log-0", "max.message.bytes", "1000000"),
                expect=(ErrorCode.NONE, ErrorCode.INVALID_CONFIG),
                until_ms=10_000,
            ),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=60_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, start_version=OLDEST),
    workload=LOAD,
    kafka_version="4.2.1",
    versions_min="4.0.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("config-change-blocked",),
            before="4.2.1",
            start_before="4.0.0",
            why="KAFKA-19851: fixed in 4.2.1",
        ),
    ),
    assumptions=HELD,
    ticket="KAFKA-19851",
)
