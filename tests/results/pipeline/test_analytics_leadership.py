"""Elections, changes of leaders, shrinks of ISRs and stretches without a full one, from what nodes told."""

from pyspark.sql import SparkSession

from results.pipeline.analytics.availability import AVAILABILITY
from results.pipeline.analytics.leadership import LEADERSHIP, UNDER_REPLICATED, leadership, under_replicated
from results.pipeline.analytics.pulses import PULSES
from results.pipeline.analytics.recovery import RECOVERY, recovery
from tests.results.pipeline.small_tables import MS, Row, S, assert_rows, rows_of, table_of

RUN = {"ended_ns": 100 * S, "load_ended_ns": 90 * S, "unloaded": ["spared"]}


def seen(at_s: float, view: str, leader: int | None, epoch: int, isr: list[int], **others: object) -> Row:
    state = {"leader": leader, "leader_epoch": epoch, "isr": isr, "replicas": [1, 2, 3]}
    where = {"time_ns": int(at_s * S), "view": view, "subject": "partition", "topic": "t", "partition": 0}
    return where | state | others


VIEWS = (
    seen(1, "b1", 1, 4, [1, 2, 3]),
    seen(1.5, "b2", 1, 4, [1, 2, 3]),
    seen(2, "b1", 1, 4, [1, 2]),
    seen(2.1, "b2", 1, 4, [1, 2]),
    seen(3, "b1", None, 5, [2]),
    seen(4, "b1", 2, 6, [2]),
    seen(4.1, "b2", 2, 6, [2]),
    seen(5, "b1", 2, 6, [2, 1, 3]),
    seen(6, "b1", 2, 7, [2, 1, 3]),
    seen(1, "b1", 3, 0, [3, 1], partition=1, replicas=[1, 3]),
    seen(9, "b1", 3, 0, [3], partition=1, replicas=[1, 3]),
)


def test_elections_and_shrinks_of_partitions_and_of_the_quorum(spark: SparkSession) -> None:
    quorum = {"subject": "quorum", "view": "c1", "topic": None, "partition": None, "isr": None}
    state = table_of(
        spark,
        "cluster_state",
        *VIEWS,
        seen(1, "c1", 1, 9, []) | quorum,
        seen(2, "c2", 2, 11, []) | quorum,
    )
    of_t = {"subject": "partition", "topic": "t"}
    assert_rows(
        leadership(state, table_of(spark, "runs", RUN)),
        LEADERSHIP,
        of_t | {"partition": 0, "epochs": 3, "elections": 2, "leader_changes": 1, "isr_shrinks": 2},
        of_t | {"partition": 1, "epochs": 0, "elections": 0, "leader_changes": 0, "isr_shrinks": 1},
        {"subject": "quorum", "epochs": 2, "elections": 1, "leader_changes": 1},
    )


def test_an_isr_is_short_from_the_first_answer_that_says_so_to_the_next_that_does_not(
    spark: SparkSession,
) -> None:
    assert_rows(
        table_of(spark, "cluster_state", *VIEWS).transform(under_replicated),
        UNDER_REPLICATED,
        {"topic": "t", "partition": 0, "start_ns": 2 * S, "end_ns": 5 * S},
        {"topic": "t", "partition": 1, "start_ns": 9 * S, "end_ns": None},
    )


def pulse(partition: int, at_ms: int, last_ms: int | None = None, **others: object) -> Row:
    times = {"first_ns": at_ms * MS, "last_ns": (last_ms or at_ms) * MS}
    return {"kind": "send", "topic": "t", "partition": partition, "outcome": "ok"} | times | others


def gap(partition: int, start_ms: int, end_ms: int, **others: object) -> Row:
    return {"topic": "t", "partition": partition, "start_ns": start_ms * MS, "end_ns": end_ms * MS} | others


def healed(number: int, kind: str, asked_s: int, healed_s: int | None, **others: object) -> Row:
    healed_ns = None if healed_s is None else healed_s * S
    return {"fault": number, "kind": kind, "asked_ns": asked_s * S, "healed_ns": healed_ns} | others


def test_recovery_is_of_the_last_heal_of_each_kind_and_of_the_slowest_partition(spark: SparkSession) -> None:
    runs = table_of(spark, "runs", RUN, RUN | {"run_id": "r2"})
    faults = table_of(
        spark,
        "faults",
        healed(1, "kill", 5, 10),
        healed(2, "kill", 15, 20),
        healed(3, "pause", 18, 30),
        healed(4, "wipe-disk", 40, None),
        healed(5, "power-loss", 12, 14),
        healed(1, "stop", 50, 60, run_id="r2"),
    )
    pulses = rows_of(
        spark,
        PULSES,
        pulse(0, 1000, 80_000),
        pulse(1, 31_500, 80_000),
        pulse(9, 20_000, 80_000, topic="spared"),
    )
    gaps = rows_of(
        spark,
        AVAILABILITY,
        gap(0, 19_000, 20_400),
        gap(0, 20_400, 29_000),
        gap(9, 19_000, 28_000, topic="spared"),
    )
    short = rows_of(spark, UNDER_REPLICATED, gap(0, 16_000, 21_000), gap(1, 29_000, 32_000))
    seen_partitions = {"subject": "partition", "topic": "t", "isr_shrinks": 1}
    told = rows_of(spark, LEADERSHIP, seen_partitions | {"partition": 0}, seen_partitions | {"partition": 1})
    both = {"partitions": 2, "unwritten": 0, "observed": 2, "incomplete": 0}
    nobody = {"partitions": 0, "unwritten": 0, "observed": 0, "incomplete": 0}
    assert_rows(
        recovery(
            pulses=pulses,
            availability=gaps,
            under_replicated=short,
            leadership=told,
            faults=faults,
            runs=runs,
        ),
        RECOVERY,
        {"fault_kind": "kill", "healed_ns": 20 * S, "undisturbed": False}
        | both
        | {"writes_ms": 11_500.0, "isr_ms": 12_000.0},
        {"fault_kind": "pause", "healed_ns": 30 * S, "undisturbed": True}
        | both
        | {"writes_ms": 1500.0, "isr_ms": 2000.0},
        {"fault_kind": "power-loss", "healed_ns": 14 * S, "undisturbed": False}
        | both
        | {"writes_ms": 17_500.0, "isr_ms": 0.0},
        {"run_id": "r2", "fault_kind": "stop", "healed_ns": 60 * S, "undisturbed": True} | nobody,
    )


def test_what_never_comes_back_has_no_time(spark: SparkSession) -> None:
    found = recovery(
        pulses=rows_of(spark, PULSES, pulse(0, 1000, 19_000), pulse(1, 1000, 21_000)),
        availability=rows_of(spark, AVAILABILITY, gap(0, 19_000, 90_000, acknowledged=False)),
        under_replicated=rows_of(spark, UNDER_REPLICATED, gap(0, 18_000, 0) | {"end_ns": None}),
        leadership=rows_of(spark, LEADERSHIP, {"subject": "partition", "topic": "t", "partition": 0}),
        faults=table_of(spark, "faults", healed(1, "kill", 10, 20)),
        runs=table_of(spark, "runs", RUN),
    )
    lacking = {"partitions": 2, "unwritten": 1, "observed": 1, "incomplete": 1}
    kill = {"fault_kind": "kill", "healed_ns": 20 * S, "undisturbed": True}
    assert_rows(found, RECOVERY, kill | lacking)
