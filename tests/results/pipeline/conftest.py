"""One session for all tests of the pipeline: starting one takes longer than most of them."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from results.pipeline.session import opened


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with opened("local[2]", app="tests of the pipeline") as session:
        session.conf.set("spark.sql.shuffle.partitions", "2")
        yield session
