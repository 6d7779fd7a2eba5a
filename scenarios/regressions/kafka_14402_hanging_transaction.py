"""regressions/kafka-14402-hanging-transaction: a late Produce must not begin a transaction without an end."""

from harness.vocabulary import (
    Expectation,
    FixedSchedule,
    Quorum,
    Scenario,
    Script,
    ScriptedTransactions,
    Topology,
    Validity,
)
from scenarios.aborting import OFTEN_ABORTED

SCENARIO = Scenario(
    summary="A transaction is aborted while one of its Produce requests waits on another connection.",
    why=(
        "The broker that receives the late request can't know that its transaction is over. Before 3.6.0 it "
        "appends the record. The last stable offset then never passes that record, and consumers at "
        "read_committed never read what others commit after it."
    ),
    schedule=FixedSchedule(steps=(), duration_ms=18_000),
    topology=Topology(quorum=Quorum.STATIC, config=OFTEN_ABORTED),
    workload=ScriptedTransactions(script=Script.HANGING_TRANSACTION, rate=100),
    kafka_version="3.6.2",
    versions_min="3.5.2",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("hanging-transaction",),
            before="3.6.0",
            why="KAFKA-14402 (KIP-890, part 1): the leader asks the coordinator since 3.6.0",
        ),
    ),
    ticket="KAFKA-14402",
)
