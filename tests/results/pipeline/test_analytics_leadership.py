"""Elections, changes of leaders, shrinks of ISRs and stretches without a full one, as nodes reported."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from pyspark.sql import SparkSession

from checkers.history.operations import History, Operation, OperationType
from results.pipeline.analytics.availability import AVAILABILITY
from results.pipeline.analytics.leadership import LEADERSHIP, UNDER_REPLICATED, leadership, under_replicated
from results.pipeline.analytics.pulses import PULSES
from results.pipeline.analytics.recovery import RECOVERY, heals, recovery
from results.pipeline.rows.states import cluster_state_of
from results.pipeline.schemas import SILENCE_NS
from tests.results.pipeline.small_tables import MS, Row, S, assert_rows, rows_of, table_of

RUN = {"ended_ns": 100 * S, "load_ended_ns": 90 * S, "unloaded": ["spared"]}


def seen(at_s: float, view: str, leader: int | None, epoch: int, isr: list[int], **others: object) -> Row:
    """A stretch of one answer, unless it has an `until_s`."""
    state = {"leader": leader, "leader_epoch": epoch, "isr": isr, "replicas": [1, 2, 3]}
    until_ns = round(float(str(others.pop("until_s", at_s))) * S)
    where = {"time_ns": round(at_s * S), "until_ns": until_ns, "view": view}
    return where | {"subject": "partition", "topic": "t", "partition": 0} | state | others


VIEWS = (
    seen(1, "b1", 1, 4, [1, 2, 3]),
    seen(1.5, "b2", 1, 4, [1, 2, 3]),
    seen(2, "b1", 1, 4, [1, 2], until_s=2.5),
    seen(2.1, "b2", 1, 4, [1, 2], until_s=3.1),
    seen(3, "b1", None, 5, [2], until_s=3.5),
    seen(4, "b1", 2, 6, [2], until_s=4.9),
    seen(4.1, "b2", 2, 6, [2], until_s=4.1),
    seen(5, "b1", 2, 6, [2, 1, 3], until_s=5.8),
    seen(6, "b1", 2, 7, [2, 1, 3]),
    seen(1, "b1", 3, 0, [3, 1], partition=1, replicas=[1, 3]),
    seen(9, "b1", 3, 0, [3], partition=1, replicas=[1, 3], until_s=20),
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
        leadership(state),
        LEADERSHIP,
        of_t | {"partition": 0, "epochs": 3, "elections": 2, "leader_changes": 1, "isr_shrinks": 2},
        of_t | {"partition": 1, "epochs": 0, "elections": 0, "leader_changes": 0, "isr_shrinks": 1},
        {"subject": "quorum", "epochs": 2, "elections": 1, "leader_changes": 1},
    )


ALL, TWO = [1, 2, 3], [1, 2]
SHORT: Mapping[str, tuple[Sequence[Row], Sequence[tuple[float, float | None]]]] = {
    "all views agree": (
        (
            seen(1, "b1", 1, 4, ALL, until_s=9.9),
            seen(1.1, "b2", 1, 4, ALL, until_s=9.8),
            seen(10, "b1", 1, 4, TWO, until_s=20),
            seen(10.1, "b2", 1, 4, TWO, until_s=20.1),
            seen(20.5, "b1", 1, 4, ALL, until_s=40),
            seen(20.6, "b2", 1, 4, ALL, until_s=40),
        ),
        ((10, 20.5),),
    ),
    "a view that lags still reports a full ISR while another reports two that are not": (
        (
            seen(1, "b1", 1, 4, ALL, until_s=9.5),
            seen(1, "b2", 1, 4, ALL, until_s=10.2),
            seen(10, "b1", 1, 4, TWO),
            seen(10.3, "b1", 2, 5, TWO, until_s=15),
            seen(10.5, "b2", 2, 5, TWO, until_s=15.5),
            seen(15.2, "b1", 2, 5, ALL, until_s=30),
            seen(15.9, "b2", 2, 5, ALL, until_s=30),
        ),
        ((10, 15.5),),
    ),
    "a view that was cut off reported a full ISR all the time": (
        (
            seen(1, "b1", 1, 4, ALL, until_s=9.5),
            seen(1, "b2", 1, 4, ALL, until_s=30),
            seen(10, "b1", 1, 4, TWO, until_s=15),
            seen(16, "b1", 1, 4, ALL, until_s=30),
        ),
        ((10, 15),),
    ),
    "a view was killed while it reported a short one, and reports another when it is back": (
        (
            seen(1, "b1", 1, 4, ALL, until_s=9.5),
            seen(10, "b1", 1, 4, TWO, until_s=12),
            seen(10.5, "b2", 1, 4, TWO, until_s=14),
            seen(14.5, "b2", 1, 4, ALL, until_s=50),
            seen(30, "b1", 1, 4, TWO),
            seen(30.5, "b1", 1, 4, ALL, until_s=50),
        ),
        ((10, 14.5), (30, 30)),
    ),
    "a view was killed while it reported a short one, and never came back": (
        (
            seen(10, "b1", 1, 4, TWO, until_s=12),
            seen(1, "b2", 1, 4, ALL, until_s=11.9),
            seen(14.5, "b2", 1, 4, ALL, until_s=50),
        ),
        ((10, 14.5),),
    ),
    "it is never full again": (
        (
            seen(1, "b1", 1, 4, ALL, until_s=9),
            seen(10, "b1", 1, 4, TWO, until_s=11),
            seen(11.2, "b1", 1, 4, ALL, until_s=12),
            seen(13, "b1", 1, 4, TWO, until_s=40),
            seen(14, "b2", 1, 4, TWO, until_s=20),
        ),
        ((10, 11.2), (13, None)),
    ),
    "one view reports a full ISR in the very answer in which another does no more": (
        (
            seen(10, "b1", 1, 4, TWO, until_s=11),
            seen(12, "b1", 1, 4, ALL, until_s=19),
            seen(12, "b2", 1, 4, TWO, until_s=13),
            seen(14, "b2", 1, 4, ALL, until_s=19),
            seen(15, "b2", 1, 4, TWO, until_s=16),
            seen(17, "b2", 1, 4, ALL, until_s=19),
        ),
        ((10, 13), (15, 16)),
    ),
}


def test_an_isr_is_short_while_any_view_says_so(spark: SparkSession) -> None:
    """Each of these, in a partition of its own; and those of `VIEWS`, in an earlier form as well."""
    states = [row | {"partition": n} for n, (rows, _) in enumerate(SHORT.values()) for row in rows]
    views = [row | {"topic": "views"} for row in VIEWS]
    earlier = [row | {"topic": "earlier", "until_ns": None} for row in VIEWS]
    expected: list[Row] = [
        {"topic": "t", "partition": n, "start_ns": round(start * S), "end_ns": end and round(end * S)}
        for n, (_, spans) in enumerate(SHORT.values())
        for start, end in spans
    ]
    for topic in ("views", "earlier"):
        expected += [
            {"topic": topic, "partition": 0, "start_ns": 2 * S, "end_ns": 5 * S},
            {"topic": topic, "partition": 1, "start_ns": 9 * S, "end_ns": None},
        ]
    found = table_of(spark, "cluster_state", *states, *views, *earlier).transform(under_replicated)
    assert_rows(found, UNDER_REPLICATED, *expected)


def wandering(seed: int, partitions: int) -> History:
    """What three brokers reported, now and then silent, of partitions that change at random, come and go."""
    chance = random.Random(seed)
    views: dict[str, dict[int, list[Any]]] = {"b1": {}, "b2": {}, "b3": {}}
    operations: list[Operation] = []
    for second in range(40):
        for view, states in views.items():
            if chance.random() < 0.2:
                continue
            for partition in range(partitions):
                if partition not in states or chance.random() < 0.2:
                    isr = chance.choice([[1, 2, 3], [1, 2, 3], [3, 1, 2], [1, 3], [2]])
                    state = [chance.choice([-1, 1, 2]), second // 8 + chance.randint(0, 1), [1, 2, 3], isr]
                    states[partition] = [partition, *state, None]
            answer = {"topics": {"t": [state for state in states.values() if chance.random() < 0.97]}}
            at_ns = second * S + chance.randrange(S)
            fields = (view, OperationType.OK, "observe", "partitions", {"began_ns": 0, **answer}, None, view)
            operations.append(Operation(len(operations), at_ns, *fields))
    return History("r1", "", tuple(sorted(operations, key=lambda operation: operation.time_ns)))


def spans_of(stretches: Sequence[Row]) -> list[tuple[int, int | None]]:
    """`under_replicated` of one partition, stretch by stretch."""
    full: list[Row] = []
    short: list[Row] = []
    for row in stretches:
        (full if len(row["isr"]) >= len(row["replicas"]) else short).append(row)
    spans: list[tuple[int, float]] = []
    for one in short:
        until_ns = one["until_ns"]
        next_ns = min(
            (r["time_ns"] for r in stretches if r["view"] == one["view"] and r["time_ns"] > one["time_ns"]),
            default=inf,
        )
        if next_ns - until_ns <= SILENCE_NS and any(r["time_ns"] == next_ns for r in short):
            spans.append((one["time_ns"], next_ns))
        else:
            ends = (max(r["time_ns"], until_ns) for r in full if r["until_ns"] > until_ns)
            spans.append((one["time_ns"], min(ends, default=inf)))
    merged: list[tuple[int, float]] = []
    for span in sorted(spans):
        if merged and span[0] <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], span[1])
        else:
            merged.append(span)
    return [(start_ns, None if end_ns == inf else int(end_ns)) for start_ns, end_ns in merged]


def test_stretches_give_of_leadership_what_single_answers_do_and_of_isrs_what_a_plain_loop_does(
    spark: SparkSession,
) -> None:
    history = wandering(seed=7, partitions=40)
    stretches = cluster_state_of(history).to_pylist()
    answers = [
        {**row, "run_id": "r2", "time_ns": operation.time_ns, "until_ns": None}
        for operation in history.operations
        for row in stretches
        if row["view"] == operation.node and row["time_ns"] <= operation.time_ns <= row["until_ns"]
    ]
    assert len(answers) > 2 * len(stretches)
    state = table_of(spark, "cluster_state", *stretches, *answers)

    figures: dict[str, dict[int, list[Any]]] = {"r1": {}, "r2": {}}
    for row in leadership(state).collect():
        figures[row.run_id][row.partition] = [row.epochs, row.elections, row.leader_changes, row.isr_shrinks]
    assert figures["r1"] == figures["r2"]
    assert len(figures["r1"]) == 40

    found: dict[int, list[tuple[int, int | None]]] = defaultdict(list)
    for row in under_replicated(state.where("run_id = 'r1'")).orderBy("start_ns").collect():
        found[row.partition].append((row.start_ns, row.end_ns))
    expected = {n: spans_of([row for row in stretches if row["partition"] == n]) for n in range(40)}
    assert found == {n: spans for n, spans in expected.items() if spans}
    assert sum(map(len, expected.values())) > 100


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
    leadership_rows = rows_of(
        spark, LEADERSHIP, seen_partitions | {"partition": 0}, seen_partitions | {"partition": 1}
    )
    both = {"partitions": 2, "unwritten": 0, "observed": 2, "incomplete": 0}
    nobody = {"partitions": 0, "unwritten": 0, "observed": 0, "incomplete": 0}
    assert_rows(
        recovery(
            pulses=pulses,
            availability=gaps,
            under_replicated=short,
            leadership=leadership_rows,
            heals=heals(faults, runs),
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
    runs = table_of(spark, "runs", RUN)
    found = recovery(
        pulses=rows_of(spark, PULSES, pulse(0, 1000, 19_000), pulse(1, 1000, 21_000)),
        availability=rows_of(spark, AVAILABILITY, gap(0, 19_000, 90_000, acknowledged=False)),
        under_replicated=rows_of(spark, UNDER_REPLICATED, gap(0, 18_000, 0) | {"end_ns": None}),
        leadership=rows_of(spark, LEADERSHIP, {"subject": "partition", "topic": "t", "partition": 0}),
        heals=heals(table_of(spark, "faults", healed(1, "kill", 10, 20)), runs),
        runs=runs,
    )
    lacking = {"partitions": 2, "unwritten": 1, "observed": 1, "incomplete": 1}
    kill = {"fault_kind": "kill", "healed_ns": 20 * S, "undisturbed": True}
    assert_rows(found, RECOVERY, kill | lacking)
