"""All analytics together: every column is described, and what is computed has names and places of its own."""

from results.pipeline.analytics.tables import ANALYTICS
from results.pipeline.schemas import PARTITIONED_BY, TABLES


def test_every_column_says_what_it_means_and_every_table_where_it_goes() -> None:
    for name, analytic in ANALYTICS.items():
        assert all(field.metadata.get("comment") for field in analytic.schema), name
        assert set(analytic.partitioned_by) <= set(analytic.schema.names), name
        assert set(PARTITIONED_BY) <= set(analytic.schema.names) or not analytic.partitioned_by, name
    assert not set(ANALYTICS) & set(TABLES)
