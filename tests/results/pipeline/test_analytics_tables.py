"""All analytics together: each has the columns it promises, and is computed from nothing but tables."""

from pyspark.sql import SparkSession

from results.pipeline.analytics.tables import ANALYTICS, analysed
from results.pipeline.schemas import PARTITIONED_BY, TABLES
from tests.results.pipeline.small_tables import table_of


def test_every_column_says_what_it_means_and_every_table_where_it_goes() -> None:
    for name, analytic in ANALYTICS.items():
        assert all(field.metadata.get("comment") for field in analytic.schema), name
        assert set(analytic.partitioned_by) <= set(analytic.schema.names), name
        assert set(PARTITIONED_BY) <= set(analytic.schema.names) or not analytic.partitioned_by, name
    assert not set(ANALYTICS) & set(TABLES)


def test_frames_have_the_columns_that_schemas_promise_and_nothing_is_kept(spark: SparkSession) -> None:
    tables = {name: table_of(spark, name) for name in TABLES}
    with analysed(tables) as frames:
        assert list(frames) == list(ANALYTICS)
        for name, frame in frames.items():
            promised = [(field.name, field.dataType) for field in ANALYTICS[name].schema]
            assert [(field.name, field.dataType) for field in frame.schema] == promised, name
        assert frames["availability"].is_cached
        kept = frames["availability"]
    assert not kept.is_cached
