"""Which spans of time overlap: joined by buckets of ten seconds, so that no span meets every other."""

from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

BUCKET_NS = 10_000_000_000
"""Width of a bucket; nearly all calls fall into one, a fault into two, and few faults meet in one."""
MOST_BUCKETS = 10_000
"""Most buckets that one span is laid into, more than a day: what lies beyond overlaps nothing."""
_BUCKET, _FIRST = "_bucket", "_first"


class SpanColumns(NamedTuple):
    """The columns in which a frame has the beginning and the end of its spans, both included, in ns."""

    start_ns: str
    end_ns: str


def overlapping(spans: DataFrame, columns: SpanColumns, windows: DataFrame, limits: SpanColumns) -> DataFrame:
    """Every span of a run with every window of the same run that it shares an instant with, each pair once.

    Args:
        spans: has `run_id` and `columns`; a span without a beginning or end overlaps nothing.
        columns: names of its beginning and end.
        windows: has `run_id` and `limits`; the side that is small enough to be sent to all.
        limits: names of its beginning and end.

    Returns:
        the columns of both, `run_id` once.
    """
    left, right = _bucketed(spans, columns), _bucketed(windows, limits)
    ours, theirs = f"{_FIRST}_{columns.start_ns}", f"{_FIRST}_{limits.start_ns}"
    together = left.withColumnRenamed(_FIRST, ours).join(
        right.withColumnRenamed(_FIRST, theirs), ["run_id", _BUCKET]
    )
    # A pair meets in each bucket that both lie in; the first of these counts.
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
