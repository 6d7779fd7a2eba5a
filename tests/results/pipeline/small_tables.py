"""Tables of a few hand-written rows: what a test does not name is null, or the same everywhere."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import Row as SparkRow
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from pyspark.testing import assertDataFrameEqual

from checkers.availability import load_end_ns
from checkers.faults import fault_windows
from checkers.history import History, OperationType
from checkers.licences.scene import Scene
from checkers.sends import acknowledged
from results.pipeline.schemas import TABLES

MS = 1_000_000
S = 1_000 * MS
DAY = dt.date(2026, 11, 20)
USUAL: Mapping[str, Any] = {"run_id": "r1", "date": DAY, "kafka_version": "4.3.1"}
Row = Mapping[str, Any]


def rows_of(spark: SparkSession, schema: StructType, *rows: Row) -> DataFrame:
    """A frame of rows; the run, the day and the version may be left out."""
    # By Arrow it is a relation of the driver's: no task makes rows of Python's objects.
    arrow = to_arrow_schema(schema, timezone="UTC")
    return spark.createDataFrame(pa.Table.from_pylist([_whole(schema, row) for row in rows], arrow), schema)


def assert_rows(frame: DataFrame, schema: StructType, *rows: Row) -> None:
    """That a frame has the columns of a schema, and these rows in whatever order."""
    assert [(f.name, f.dataType) for f in frame.schema] == [(f.name, f.dataType) for f in schema]
    assertDataFrameEqual(frame, [SparkRow(**_whole(schema, row)) for row in rows])


def _whole(schema: StructType, row: Row) -> dict[str, Any]:
    unknown = set(row) - set(schema.names)
    assert not unknown, f"no such columns: {unknown}"
    return {name: (USUAL | row).get(name) for name in schema.names}


def table_of(spark: SparkSession, name: str, *rows: Row) -> DataFrame:
    """Rows of one of the tables of runs."""
    return rows_of(spark, TABLES[name], *rows)


def tables_of(spark: SparkSession, histories: Mapping[str, History]) -> dict[str, DataFrame]:
    """What the pipeline's tables say of histories by their runs, by the checkers' own reading of them."""
    parts = {"runs": _run, "records": _acknowledged, "operations": _calls, "faults": _faults}
    return {
        name: table_of(
            spark,
            name,
            *({**row, "run_id": run_id} for run_id, history in histories.items() for row in rows(history)),
        )
        for name, rows in parts.items()
    }


def _run(history: History) -> Sequence[Row]:
    unloaded = [topic.name for topic in Scene(history).setup.topics if not topic.loaded]
    ended_ns = history.operations[-1].time_ns
    return [{"ended_ns": ended_ns, "load_ended_ns": load_end_ns(history), "unloaded": unloaded}]


def _acknowledged(history: History) -> Sequence[Row]:
    sends = acknowledged(history)
    told = zip(sends.topic.tolist(), sends.partition.tolist(), sends.time_ns.tolist(), strict=True)
    usual = {"kind": "send", "outcome": "ok"}
    return [
        usual | {"topic": sends.topics[topic], "partition": partition, "invoked_ns": at, "completed_ns": at}
        for topic, partition, at in told
    ]


def _calls(history: History) -> Sequence[Row]:
    begun: dict[Any, int] = {}
    calls = []
    for operation in history.operations:
        if operation.f != "send":
            continue
        if operation.type is OperationType.INVOKE:
            begun[operation.process] = operation.time_ns
        elif operation.process in begun:
            began_ns = begun.pop(operation.process)
            took = {"completed_ns": operation.time_ns, "latency_ns": operation.time_ns - began_ns}
            call = {"index": operation.index, "f": "send", "invoked_ns": began_ns}
            calls.append(call | took | {"type": str(operation.type)})
    return calls


def _faults(history: History) -> Sequence[Row]:
    return [
        {
            "fault": number,
            "id": window.id,
            "kind": window.kind,
            "asked_ns": window.invoked_ns,
            "healed_ns": window.healed_ns,
        }
        for number, window in enumerate(fault_windows(history), start=1)
    ]
