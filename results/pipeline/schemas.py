"""The tables of runs: all columns with type and meaning.

All tables have `run_id` and are partitioned by `date` and `kafka_version`.
Times in ns count from the start of the run on the host's monotonic clock, as in the history.
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
    """A column with its meaning, for docs/tables.md."""
    return StructField(name, kind, metadata={"comment": comment})


def table(*columns: StructField) -> StructType:
    """A table of runs: `run_id` first, the partition columns last."""
    return StructType(
        [
            column("run_id", TEXT, "the run's id, as in its `run.json`"),
            *columns,
            column("date", DateType(), "UTC day on which the run began"),
            column("kafka_version", TEXT, "version of Kafka"),
        ]
    )


RUNS = table(
    column("scenario", TEXT, "name of the scenario"),
    column("mode", TEXT, "`combined` or `isolated`; null if the history has no setup"),
    column("seed", LONG, "seed of the schedule"),
    column("began_at", TimestampType(), "when the run began, UTC"),
    column("ended_ns", LONG, "time of the last operation"),
    column("load_ended_ns", LONG, "when the load ended; null if not recorded"),
    column("unloaded", TEXTS, "topics to which the load does not write"),
    column("folder", TEXT, "the run's folder"),
    column("krucible_commit", TEXT, "commit of krucible; empty if unknown"),
    column("image_reference", TEXT, "name of the image in the container engine"),
    column(
        "image_digest",
        TEXT,
        "the engine's digest of the image; it differs between machines that build the image",
    ),
    column(
        "kafka_content",
        TEXT,
        "checksum of Kafka's jars, equal on all machines; if unknown, the digest or reference of the image",
    ),
    column("features", MapType(TEXT, INT), "requested feature levels"),
    column("options", TEXT, "the command that repeats the run"),
    column("replay_of", TEXT, "run that it replays, repeats or minimises; null if none"),
    column("validity", TEXT, "`valid`, `invalid` or `unknown`, as in `verdict.json`"),
    column("expected", TEXT, "validity that the scenario expected; null if none"),
    column("as_expected", BOOLEAN, "whether the verdict is the expected one; null if none was"),
    column("kernel", TEXT, "release of the host's kernel"),
    column("cpus", INT, "CPUs that the harness could use"),
    column("history_bytes", LONG, "size of the journals"),
    column("operations", LONG, "records sent, records returned, and operations that are neither"),
    column(
        "fingerprint", TEXT, "hash of the identity, the verdict, the sizes of the journals and our columns"
    ),
)

OPERATIONS = table(
    column("index", LONG, "index of the invocation in the history, from 0"),
    column("process", TEXT, "process that invoked it"),
    column("f", TEXT, "function"),
    column("key", TEXT, "key, such as a topic; JSON unless it is a text"),
    column("node", TEXT, "node that was asked, if recorded"),
    column("invoked_ns", LONG, "before the call"),
    column("completed_ns", LONG, "after its return; null while open"),
    column("latency_ns", LONG, "from `invoked_ns` to `completed_ns`; null while open"),
    column("type", TEXT, "`ok`, `fail`, `info`, or `open` if it never completed"),
    column("error", TEXT, "error message of the client"),
    column("sends", INT, "number of records sent"),
    column("acked", INT, "number of these that were acknowledged"),
    column("returned", INT, "number of records returned"),
    column("records", INT, "micro-operations: records sent and returned; 1 if there are none"),
)

RECORDS = table(
    column("op_index", LONG, "`index` of the operation"),
    column("kind", TEXT, "`send`, `read` or `final-read`"),
    column("topic", TEXT, "name of the topic"),
    column("partition", INT, "number of the partition"),
    column("offset", LONG, "offset; null if not reported"),
    column("value", LONG, "value that krucible sent; null for any other value"),
    column("text", TEXT, "a value that krucible never sends, as JSON"),
    column(
        "outcome", TEXT, "outcome of a send: `ok`, `fail` or `info`; `fail` if its transaction did not commit"
    ),
    column("process", TEXT, "process that sent or read it"),
    column("reader", TEXT, "client and isolation of a read, such as `kafka-python/read_committed`"),
    column("invoked_ns", LONG, "when the operation was invoked"),
    column("completed_ns", LONG, "when it completed; null while open"),
    column("position", INT, "position among the records that the operation sent or returned, from 0"),
    column("transactional", BOOLEAN, "whether it was sent or read in a transaction"),
)

FAULTS = table(
    column("fault", LONG, "number within the run, in order of injection, from 1"),
    column("id", TEXT, "id in the history, such as `f1`"),
    column("kind", TEXT, "kind of fault, such as `partition` or `kill`"),
    column("targets", TEXTS, "affected nodes"),
    column("asked_ns", LONG, "when the injection began"),
    column("in_force_ns", LONG, "when a probe confirmed that it was in force; null if none did"),
    column("heal_asked_ns", LONG, "when the heal began; null if it did not"),
    column("healed_ns", LONG, "when a probe confirmed the heal; null if none did"),
    column("proven", BOOLEAN, "whether a probe confirmed that it took effect"),
)

SILENCE_NS = 3_000_000_000
"""A longer time without an answer is a silence; answers of a node are recorded at least once per second."""
CLUSTER_STATE = table(
    column("time_ns", LONG, "first answer of a stretch: consecutive equal answers of one view"),
    column(
        "until_ns",
        LONG,
        "last answer; a different answer, or one after 3 s of silence, begins another stretch",
    ),
    column("answers", LONG, "number of answers"),
    column("view", TEXT, "node that was asked"),
    column("subject", TEXT, "`partition`, or `quorum`: a controller's answer as the leader"),
    column("topic", TEXT, "topic; null for the quorum"),
    column("partition", INT, "number of the partition; null for the quorum"),
    column("leader", INT, "node id of the leader; null if there is none"),
    column("leader_epoch", INT, "its epoch"),
    column("isr", INTS, "in-sync replicas of a partition, node ids"),
    column("elr", INTS, "eligible leader replicas of a partition; null if Kafka does not report them"),
    column("replicas", INTS, "replicas of a partition, node ids"),
    column("voters", INTS, "voters of the quorum, node ids"),
    column(
        "high_watermark",
        LONG,
        "high watermark of the quorum; as it moves, most stretches of the quorum are one answer",
    ),
    column("end_offset", LONG, "log end offset of the quorum's leader"),
)

VERDICTS = table(
    column("checker", TEXT, "name of the checker, `*` for all"),
    column(
        "validity",
        TEXT,
        "`valid`, `invalid` or `unknown`; for one checker also `not exercised`",
    ),
    column("unknown_because", TEXT, "why the checker could not decide"),
    column("reasons", TEXTS, "why the verdict is not valid, one sentence each"),
    column("figures", TEXT, "the checker's numbers, JSON"),
    column("seconds", DOUBLE, "duration of the check"),
)

ANOMALIES = table(
    column("checker", TEXT, "the checker that found it"),
    column("id", TEXT, "as in docs/anomalies.md"),
    column("count", LONG, "number of anomalies with this id in the run"),
    column("illegal", BOOLEAN, "whether any of them breaks a guarantee"),
    column("summary", TEXT, "summary of the first one"),
    column("explanation", TEXT, "proof of the first one, one sentence per line"),
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
"""Tables of runs; the tables computed from them are in `results.pipeline.analytics`."""
