"""Tables of a few hand-written rows: what a test does not name is null, or the same everywhere."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import Row as SparkRow
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from pyspark.testing import assertDataFrameEqual

from checkers.evidence.loading import columns_of
from checkers.history.operations import History
from checkers.licences.facts import Facts
from checkers.runs.availability import load_end_ns
from results.pipeline.rows.operations import operations_of
from results.pipeline.rows.pairing import pair
from results.pipeline.rows.records import records_of
from results.pipeline.rows.states import faults_of
from results.pipeline.schemas import TABLES

MS = 1_000_000
S = 1_000 * MS
DAY = dt.date(2026, 11, 20)
USUAL: dict[str, Any] = {"run_id": "r1", "date": DAY, "kafka_version": "4.3.1"}
Row = dict[str, Any]


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
    """What an ingest makes of histories, by their runs."""
    rows_by_table: dict[str, list[Row]] = {name: [] for name in ("runs", "operations", "records", "faults")}
    for run_id, history in histories.items():
        columns, paired = columns_of(history), pair(history)
        rows_by_table["runs"].append({**_run(history), "run_id": run_id})
        parts = {
            "operations": operations_of(history, columns, paired),
            "records": records_of(history, columns, paired),
            "faults": faults_of(history),
        }
        for name, part in parts.items():
            rows_by_table[name] += [{**row, "run_id": run_id} for row in part.to_pylist()]
    return {name: table_of(spark, name, *rows) for name, rows in rows_by_table.items()}


def _run(history: History) -> Row:
    unloaded = [topic.name for topic in Facts(history).setup.topics if not topic.loaded]
    ended_ns = history.operations[-1].time_ns
    return {"ended_ns": ended_ns, "load_ended_ns": load_end_ns(history), "unloaded": unloaded}
