"""Joins overlapping time spans by buckets of ten seconds, which avoids a cross join."""

from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

BUCKET_NS = 10_000_000_000
"""Width of a bucket: almost all calls need one, most faults two, and few faults share one."""
MOST_BUCKETS = 10_000
"""Maximum number of buckets of a span, more than a day; the rest of a longer span overlaps nothing."""
_BUCKET, _FIRST = "_bucket", "_first"


class SpanColumns(NamedTuple):
    """Names of the columns with the start and the end of spans, both inclusive, in ns."""

    start_ns: str
    end_ns: str


def overlapping(spans: DataFrame, columns: SpanColumns, windows: DataFrame, limits: SpanColumns) -> DataFrame:
    """Pairs of a span and a window of the same run that overlap, each pair once.

    Args:
        spans: has `run_id` and `columns`; a span without a start or end overlaps nothing.
        columns: names of the start and end in `spans`.
        windows: has `run_id` and `limits`; small enough to be broadcast.
        limits: names of the start and end in `windows`.

    Returns:
        the columns of both, with one `run_id`.
    """
    left, right = _bucketed(spans, columns), _bucketed(windows, limits)
    ours, theirs = f"{_FIRST}_{columns.start_ns}", f"{_FIRST}_{limits.start_ns}"
    together = left.withColumnRenamed(_FIRST, ours).join(
        right.withColumnRenamed(_FIRST, theirs), ["run_id", _BUCKET]
    )
    # A pair is found in each bucket that both are in; only the first one counts.
    once = F.col(_BUCKET) == F.greatest(ours, theirs)
    meet = (F.col(columns.start_ns) <= F.col(limits.end_ns)) & (
        F.col(columns.end_ns) >= F.col(limits.start_ns)
    )
    return together.where(once & meet).drop(_BUCKET, ours, theirs)


def _bucketed(spans: DataFrame, columns: SpanColumns) -> DataFrame:
    """One row for each bucket that a span touches."""
    first, last = _bucket(F.col(columns.start_ns)), _bucket(F.col(columns.end_ns))
    forwards = F.col(columns.start_ns) <= F.col(columns.end_ns)
    return (
        spans.where(forwards)
        .withColumn(_FIRST, first)
        .withColumn(_BUCKET, F.explode(F.sequence(first, F.least(last, first + MOST_BUCKETS))))
    )


def _bucket(time_ns: Column) -> Column:
    return F.floor(time_ns / BUCKET_NS)
