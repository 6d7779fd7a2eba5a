"""One session for all tests of the pipeline: starting one takes longer than most of them."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from results.pipeline.spark.session import opened

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    # Over a handful of rows, compiling each plan to Java costs far more than interpreting it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with opened("local[2]", app="tests of the pipeline") as session:
        for name, value in SETTINGS.items():
            session.conf.set(name, value)
        yield session
