"""The tables that runs become: every column with its type and what it means.

All tables have `run_id`, and the two columns by which they are partitioned: `date` and `kafka_version`.
Times in ns count from the run's beginning on the host's monotonic clock, as in the history.
"""

from collections.abc import Mapping

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

TEXT, LONG, INT, BOOLEAN, DOUBLE = StringType(), LongType(), IntegerType(), BooleanType(), DoubleType()
TEXTS, INTS = ArrayType(TEXT), ArrayType(INT)
PARTITIONED_BY = ("date", "kafka_version")
"""Columns that are folders, not columns of the files."""


def column(name: str, kind: DataType, comment: str) -> StructField:
    """A column with what it means, for docs/tables.md."""
    return StructField(name, kind, metadata={"comment": comment})


def table(*columns: StructField) -> StructType:
    """A table of runs: `run_id` first, what it is partitioned by last."""
    return StructType(
        [
            column("run_id", TEXT, "the run's id, as in its `run.json`"),
            *columns,
            column("date", DateType(), "UTC day on which the run began"),
            column("kafka_version", TEXT, "Kafka's version that ran"),
        ]
    )


RUNS = table(
    column("scenario", TEXT, "name of the scenario"),
    column("mode", TEXT, "`combined` or `isolated`; null if the history has no setup"),
    column("seed", LONG, "seed of the schedule"),
    column("began_at", TimestampType(), "when the run began, UTC"),
    column("ended_ns", LONG, "time of the last operation"),
    column("load_ended_ns", LONG, "when the load was over; null if the history does not record it"),
    column("unloaded", TEXTS, "topics to which the load itself writes nothing"),
    column("folder", TEXT, "the run's folder"),
    column("krucible_commit", TEXT, "commit of krucible; empty if unknown"),
    column("image_reference", TEXT, "what the engine calls the image"),
    column("image_digest", TEXT, "the engine's digest of the image; each machine that builds it has another"),
    column(
        "kafka_content",
        TEXT,
        "checksum of Kafka's jars, equal on every machine; the digest or reference where it is not known",
    ),
    column("features", MapType(TEXT, INT), "feature levels that were asked for"),
    column("options", TEXT, "the line that runs it again"),
    column("replay_of", TEXT, "run that it replays, runs again or makes smaller; null if there is none"),
    column("validity", TEXT, "`valid`, `invalid` or `unknown`, as `verdict.json` has it"),
    column("expected", TEXT, "validity that the scenario expected; null if none"),
    column("as_expected", BOOLEAN, "whether the verdict is the expected one; null if none was"),
    column("kernel", TEXT, "release of the host's kernel"),
    column("cpus", INT, "CPUs that the harness could use"),
    column("history_bytes", LONG, "size of the journals"),
    column("operations", LONG, "records sent, records returned, and operations that are neither"),
    column("fingerprint", TEXT, "of the identity, the verdict, the journals' sizes and our columns"),
)

OPERATIONS = table(
    column("index", LONG, "of the invocation in the history, from 0"),
    column("process", TEXT, "who did it"),
    column("f", TEXT, "what was done"),
    column("key", TEXT, "what it was done to; JSON where it is no text"),
    column("node", TEXT, "the one node that was asked, if recorded"),
    column("invoked_ns", LONG, "before the call"),
    column("completed_ns", LONG, "after its return; null while open"),
    column("latency_ns", LONG, "between the two; null while open"),
    column("type", TEXT, "`ok`, `fail`, `info`, or `open` if it never completed"),
    column("error", TEXT, "what went wrong, in the client's words"),
    column("sends", INT, "records that it sends"),
    column("acked", INT, "records of these that were acknowledged"),
    column("returned", INT, "records that it returned"),
    column("records", INT, "micro-operations: records sent and returned, 1 where there are none"),
)

RECORDS = table(
    column("op_index", LONG, "`index` of the operation"),
    column("kind", TEXT, "`send`, `read` or `final-read`"),
    column("topic", TEXT, "name of the topic"),
    column("partition", INT, "number of the partition"),
    column("offset", LONG, "its offset; null if not reported"),
    column("value", LONG, "what krucible sent; null for anything else"),
    column("text", TEXT, "JSON of a value that krucible never sends"),
    column("outcome", TEXT, "of sends `ok`, `fail` or `info`; `fail` if its transaction did not commit"),
    column("process", TEXT, "who sent or read it"),
    column("reader", TEXT, "of reads: client and isolation, such as `kafka-python/read_committed`"),
    column("invoked_ns", LONG, "when the operation was invoked"),
    column("completed_ns", LONG, "when it completed; null while open"),
    column("position", INT, "place among the records that the operation sent, or returned, from 0"),
    column("transactional", BOOLEAN, "whether it was sent or read in a transaction"),
)

FAULTS = table(
    column("fault", LONG, "number within the run, in order of injection, from 1"),
    column("id", TEXT, "as the history names it, such as `f1`"),
    column("kind", TEXT, "such as `partition` or `kill`"),
    column("targets", TEXTS, "nodes that it hit"),
    column("asked_ns", LONG, "when injecting began"),
    column("in_force_ns", LONG, "when a probe had confirmed it; null if none did"),
    column("heal_asked_ns", LONG, "when healing began; null if it never did"),
    column("healed_ns", LONG, "when a probe had confirmed the heal; null if none did"),
    column("proven", BOOLEAN, "whether a probe confirmed that it took effect"),
)

SILENCE_NS = 3_000_000_000
"""Who told nothing for longer had fallen silent: what a node answers is recorded at least once a second."""
CLUSTER_STATE = table(
    column("time_ns", LONG, "first of a stretch of answers: consecutive equal ones of one view"),
    column("until_ns", LONG, "last of them; one that differs, or comes after 3 s of silence, begins another"),
    column("answers", LONG, "number of these answers"),
    column("view", TEXT, "node that was asked"),
    column("subject", TEXT, "`partition`, or `quorum`: a controller's answer as the leader"),
    column("topic", TEXT, "of a partition"),
    column("partition", INT, "of a partition"),
    column("leader", INT, "node id; null if there is none"),
    column("leader_epoch", INT, "its epoch"),
    column("isr", INTS, "in-sync replicas of a partition, node ids"),
    column("elr", INTS, "eligible leader replicas of a partition; null if Kafka does not report them"),
    column("replicas", INTS, "replicas of a partition, node ids"),
    column("voters", INTS, "voters of the quorum, node ids"),
    column("high_watermark", LONG, "of the quorum; most of its stretches are one answer, as this moves"),
    column("end_offset", LONG, "of the quorum: where the leader's log ends"),
)

VERDICTS = table(
    column("checker", TEXT, "name of the checker, `*` for the whole"),
    column(
        "validity",
        TEXT,
        "`valid`, `invalid` or `unknown`; `not exercised` of a checker alone",
    ),
    column("unknown_because", TEXT, "why it could not decide"),
    column("reasons", TEXTS, "why it is not valid, one sentence each"),
    column("figures", TEXT, "the checker's numbers, JSON"),
    column("seconds", DOUBLE, "how long it took"),
)

ANOMALIES = table(
    column("checker", TEXT, "the checker that found it"),
    column("id", TEXT, "as in docs/anomalies.md"),
    column("count", LONG, "how many of this id the run has"),
    column("illegal", BOOLEAN, "whether any of them breaks a promise"),
    column("summary", TEXT, "the first one's sentence"),
    column("explanation", TEXT, "the first one's proof, one sentence a line"),
    column("signature", TEXT, "equal for the same failure in other runs"),
)

TABLES: Mapping[str, StructType] = {
    "runs": RUNS,
    "operations": OPERATIONS,
    "records": RECORDS,
    "faults": FAULTS,
    "cluster_state": CLUSTER_STATE,
    "verdicts": VERDICTS,
    "anomalies": ANOMALIES,
}
"""Tables of the runs themselves; those that are computed from them are in `results.pipeline.analytics`."""
