"""Over many runs: versions in their order, flakes with intervals, failures when they first appeared."""

import datetime as dt
import random
from collections.abc import Mapping

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from checkers.history.identity import ImageIdentity, RunIdentity
from results.pipeline.analytics.availability import AVAILABILITY_BY_FAULT
from results.pipeline.analytics.flakes import FLAKES, flakes, wilson
from results.pipeline.analytics.signatures import SIGNATURES, signatures, version_key
from results.pipeline.analytics.trend import TREND, trend
from results.repeats.flakes import comparable, content_of, flakes_among
from results.repeats.wilson import wilson as interval
from tests.results.pipeline.small_tables import DAY, Row, assert_rows, rows_of, table_of

NEXT_DAY = DAY + dt.timedelta(days=1)


def run(
    run_id: str, validity: str, version: str | None = "4.3.1", date: dt.date = DAY, **others: object
) -> Row:
    began_at = dt.datetime.combine(date, dt.time(), dt.UTC)
    row = {"run_id": run_id, "validity": validity, "kafka_version": version, "date": date}
    return row | {"scenario": "smoke/kill", "began_at": began_at, "as_expected": validity == "valid"} | others


def test_versions_are_ordered_by_their_numbers(spark: SparkSession) -> None:
    ordered = [
        None,
        "trunk",
        "0.10.2.1",
        "2.8.0",
        "3.9",
        "3.9.1",
        "3.10.0",
        "4.3.0-rc1",
        "4.3.0-rc2",
        "4.3.0",
    ]
    versions = spark.createDataFrame([(version,) for version in reversed(ordered)], "kafka_version string")
    keys = versions.select("kafka_version", version_key("kafka_version").alias("key")).orderBy("key")
    found = [row.kafka_version for row in keys.collect()]
    assert found[2:] == ordered[2:]
    assert set(found[:2]) == {None, "trunk"}


def test_the_interval_is_wilsons(spark: SparkSession) -> None:
    shares = [(0, 10), (1, 10), (5, 10), (10, 10), (0, 1), (1, 1), (81, 263)]
    asked = spark.createDataFrame([*shares, (0, 0)], "count long, of long").coalesce(1)
    *found, nothing = asked.select(*wilson(F.col("count"), F.col("of"))).collect()
    assert [tuple(row) for row in found] == [pytest.approx(interval(*share)) for share in shares]
    assert tuple(nothing) == (None, None)


def test_a_schedule_is_flaky_that_ends_differently_on_the_same_kafka(spark: SparkSession) -> None:
    line = "krucible run smoke/kill --seed {} --kafka-version 4.3.1 --mode isolated"
    again: Row = {"seed": 7, "options": line.format(7)}
    runs = table_of(
        spark,
        "runs",
        *(run(f"r{seed}", "valid", seed=seed, options=line.format(seed)) for seed in range(8)),
        run("r8", "unknown", seed=8, options=line.format(8)),
        run("r9", "unknown", **again),
        run("r10", "valid", **again, image_digest="sha256:other"),
        run("r11", "invalid", "4.1.1", seed=1, options="krucible run smoke/kill --seed=1"),
        run("r12", "valid", options="krucible replay r7", replay_of="r7"),
        run("r13", "valid", options="krucible replay gone", replay_of="gone"),
        run("r15", "invalid", "4.2.0", options="krucible replay runs/lost", replay_of="lost"),
        run("r16", "valid", "4.2.0", options="krucible replay runs/lost", replay_of="lost"),
        run("r14", "invalid", None, seed=1, options="krucible run smoke/kill --seed 1"),
    )
    of_isolated = {"options": "krucible run smoke/kill --mode isolated"}
    one = {"scenario": "smoke/kill", "options": "krucible run smoke/kill", "runs": 1, "seeds": 1} | {
        "kafka_version": "4.1.1",
        "valid": 0,
        "invalid": 1,
        "unknown": 0,
        "unexpected": 1,
        "repeated": 0,
        "flaky": False,
    }
    eleven: Row = {"kafka_version": "4.3.1", "runs": 11, "seeds": 9, "valid": 9, "invalid": 0, "unknown": 2}
    nothing = dict.fromkeys(("runs", "seeds", "valid", "invalid", "unknown", "unexpected"), 0)
    lost: Row = {"scenario": "smoke/kill", "kafka_version": "4.2.0", "options": "krucible replay lost"}
    lost = lost | nothing | {"repeated": 2, "flaky": True}
    ends, half = interval(1, 3), interval(1, 2)
    odd: Row = {"unexpected": 2, "repeated": 3, "flaky": True, "flake_rate": 1 / 3}
    rate: Row = {"flake_rate_low": ends.low, "flake_rate_high": ends.high}
    rows = (
        {**of_isolated, "scenario": "smoke/kill", **eleven, **odd, **rate},
        one,
        one | {"kafka_version": None},
        {**lost, "flake_rate": 1 / 2, "flake_rate_low": half.low, "flake_rate_high": half.high},
    )
    assert_rows(runs.transform(flakes), FLAKES, *rows)


def identity_of(number: int, chance: random.Random) -> RunIdentity:
    """A run; from the 21st on a replay of an earlier one, or of one that is gone, or a candidate of it."""
    origin = chance.choice([f"r{chance.randrange(number)}"] * 4 + ["gone"]) if number > 20 else ""
    line = f"krucible run smoke/kill --seed {chance.randrange(6)}"
    again = f"krucible replay {origin}" if origin and chance.random() < 0.75 else line
    machine, jars = chance.randrange(3), {"jars": f"{chance.randrange(2)}"}
    if line is again:
        again += f" --kafka-tarball /machine-{machine}/kafka.tgz"
    return RunIdentity(
        run=f"r{number}",
        scenario="smoke/kill",
        seed=0,
        kafka_version="4.3.1",
        began_at="",
        reproduce=again,
        image=ImageIdentity(reference="k", digest=f"sha256:{machine}", checksums=jars if number % 9 else {}),
        replay_of=origin,
    )


def row_of(identity: RunIdentity, validity: str) -> Row:
    assert identity.image is not None
    return run(
        identity.run,
        validity,
        options=identity.reproduce,
        replay_of=identity.replay_of or None,
        image_digest=identity.image.digest,
        image_reference=identity.image.reference,
        kafka_content=content_of(identity.image, identity.image.checksums),
    )


def hops(identity: RunIdentity, here: Mapping[str, RunIdentity]) -> int:
    """Over how many replays a run goes back."""
    origin = here.get(identity.replay_of)
    replays = identity.reproduce.startswith("krucible replay")
    return 1 + hops(origin, here) if replays and origin else int(replays)


def test_the_table_of_flakes_has_the_definition_that_everything_has(spark: SparkSession) -> None:
    chance = random.Random(5)
    store = [
        (identity_of(number, chance), chance.choice(("valid", "invalid", "unknown"))) for number in range(90)
    ]
    here = {identity.run: identity for identity, _verdict in store}
    assert {hops(identity, here) for identity in here.values()} >= {0, 1, 2, 3}
    runs = table_of(spark, "runs", *(row_of(*one) for one in store))
    rows = runs.transform(flakes).collect()
    found = flakes_among(comparable(*one) for one in store)
    assert found is not None
    assert {row.options for row in rows} == {"krucible run smoke/kill", "krucible replay gone"}
    assert sum(row.repeated for row in rows) == found.runs
    assert sum(row.flake_rate * row.repeated for row in rows) == pytest.approx(found.odd)


def test_one_tarball_on_two_machines_is_one_content(spark: SparkSession) -> None:
    line = "krucible run smoke/kill --seed 1 --kafka-tarball /{}/kafka.tgz"
    made: list[Row] = [{"options": line.format(place), "image_digest": place} for place in "abc"]
    here, there, other = made
    runs = (
        run("r1", "valid", kafka_content="jars", **here),
        run("r2", "invalid", kafka_content="jars", **there),
        run("r3", "valid", kafka_content="others", **other),
        run("r4", "valid", "3.9.1", **here),
        run("r5", "invalid", "3.9.1", **there),
    )
    rows = table_of(spark, "runs", *runs).transform(flakes).collect()
    found = {row.kafka_version: (row.options, row.runs, row.repeated, row.flaky) for row in rows}
    options = "krucible run smoke/kill"
    assert found == {"4.3.1": (options, 3, 2, True), "3.9.1": (options, 2, 0, False)}


def test_replays_go_back_over_eight_of_them_and_a_circle_ends(spark: SparkSession) -> None:
    line: Row = {"options": "krucible run smoke/kill --seed 1", "seed": 1}
    chain = [
        run(f"r{n}", "valid", options=f"krucible replay r{n - 1}", replay_of=f"r{n - 1}") for n in range(1, 9)
    ]
    circle = [
        run(f"c{n}", "invalid", options=f"krucible replay c{1 - n}", replay_of=f"c{1 - n}") for n in (0, 1)
    ]
    rows = table_of(spark, "runs", run("r0", "invalid", **line), *chain, *circle).transform(flakes).collect()
    (row,) = (row for row in rows if row.runs)
    assert (row.options, row.runs, row.repeated) == ("krucible run smoke/kill", 1, 9)
    assert row.flake_rate == pytest.approx(1 / 9)
    assert not any(other.flaky for other in rows if other is not row)


LOST = {"checker": "log", "id": "lost-write", "illegal": True, "signature": "s1", "summary": "lost 3"}
LICENSED = {"checker": "log", "id": "lost-write", "illegal": False, "signature": "s2", "summary": "lost 4"}
RUNS = (
    run("a", "valid", "3.9.1", operations=10),
    run("b", "invalid", "3.10.0", operations=20),
    run("c", "invalid", "3.10.0", date=NEXT_DAY, operations=30),
    run("d", "unknown", "3.10.0", date=NEXT_DAY, operations=40, as_expected=None),
    run("e", "invalid", "3.8.0", operations=50, scenario="smoke/pause"),
    run("f", "invalid", "3.10.0", operations=60, replay_of="b"),
    run("g", "valid", "3.9.1", date=NEXT_DAY, operations=70, replay_of="b"),
)


def in_run(run_id: str, anomaly: Row) -> Row:
    (found,) = (row for row in RUNS if row["run_id"] == run_id)
    return anomaly | {name: found[name] for name in ("run_id", "date", "kafka_version")}


ANOMALIES = (in_run("b", LOST), in_run("c", LOST), in_run("d", LICENSED), in_run("a", LICENSED))
OF_LOST = {
    "first_version": "3.10.0",
    "last_version": "3.10.0",
    "runs": 2,
    "runs_before": 2,
    "first_date": DAY,
    "last_date": NEXT_DAY,
    "example_run": "b",
    "example_scenario": "smoke/kill",
}
OF_LICENSED = OF_LOST | {"first_version": "3.9.1", "runs_before": 0, "example_run": "a"}


def test_a_signature_appears_first_in_a_version_by_number_and_not_by_name(spark: SparkSession) -> None:
    found = signatures(table_of(spark, "anomalies", *ANOMALIES), table_of(spark, "runs", *RUNS))
    assert_rows(found, SIGNATURES, LOST | OF_LOST, LICENSED | OF_LICENSED)


def test_a_day_and_a_version_in_one_row(spark: SparkSession) -> None:
    sends = {"f": "send", "type": "ok", "date": NEXT_DAY, "kafka_version": "3.10.0"}
    faults = {"fault": 1, "fault_kind": "kill", "date": NEXT_DAY, "kafka_version": "3.10.0"}
    found = trend(
        runs=table_of(spark, "runs", *RUNS),
        operations=table_of(
            spark,
            "operations",
            *({**sends, "latency_ns": number * 1_000_000} for number in range(1, 201)),
            {**sends, "type": "info", "latency_ns": 10**12},
        ),
        availability_by_fault=rows_of(
            spark,
            AVAILABILITY_BY_FAULT,
            *({**faults, "unavailable_ms": each} for each in (1.0, 2.0, 60.0, None)),
        ),
        anomalies=table_of(spark, "anomalies", *ANOMALIES),
        signatures=rows_of(spark, SIGNATURES, LOST | OF_LOST, LICENSED | OF_LICENSED),
    )
    verdicts = ("replays", "valid", "invalid", "unknown", "unexpected")
    none = dict.fromkeys((*verdicts, "faults", "signatures", "new_signatures"), 0) | {"runs": 1}
    bad = none | {"invalid": 1, "unexpected": 1}
    latest = bad | {"date": NEXT_DAY, "kafka_version": "3.10.0", "unknown": 1, "runs": 2, "operations": 70}
    new = {"signatures": 1, "new_signatures": 1}
    measured = {"sends_p99_ms": 198.0, "faults": 4, "unavailable_ms_p50": 2.0, "unavailable_ms_max": 60.0}
    assert_rows(
        found,
        TREND,
        none | {"kafka_version": "3.9.1", "valid": 1, "operations": 10},
        none | {"kafka_version": "3.9.1", "date": NEXT_DAY, "runs": 0, "replays": 1, "operations": 70},
        bad | {"kafka_version": "3.10.0", "operations": 80, "replays": 1} | new,
        bad | {"kafka_version": "3.8.0", "operations": 50},
        latest | measured | {"signatures": 1},
    )
