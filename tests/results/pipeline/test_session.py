"""What Spark needs and does not find is reported at once, with what to do about it."""

import socket
import stat
from pathlib import Path

import pytest
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from results.pipeline.errors import PipelineError, spark_errors_named
from results.pipeline.spark.java import JAVA_MIN, require_java
from results.pipeline.spark.session import BYTES_PER_PARTITION, fit_shuffles, is_master, open_session, opened


def java(folder: Path, output: str, code: int = 0) -> Path:
    """A JAVA_HOME whose java prints something."""
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{output}' >&2\nexit {code}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return folder


def test_the_java_of_java_home_is_the_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path, 'openjdk version "21.0.2" 2024-01-16')))
    java_21 = require_java()
    assert (java_21.version, java_21.major) == ("21.0.2", 21)


@pytest.mark.parametrize(
    ("output", "code", "message"),
    [
        ('java version "1.8.0_392"', 0, "(?s)too old for Spark.*version 8.*openjdk-17-jre-headless"),
        ('openjdk version "11.0.21"', 0, f"(?s)version 11.*Java {JAVA_MIN} or newer"),
        ("cannot allocate memory", 1, "(?s)does not start.*cannot allocate memory"),
        ("hello", 0, "(?s)does not start.*hello"),
    ],
)
def test_a_java_that_will_not_do_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, output: str, code: int, message: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path, output, code)))
    with pytest.raises(PipelineError, match=message):
        require_java()


def test_no_java_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PipelineError, match=r"(?s)Java is missing.*apt-get install openjdk-17-jre-headless"):
        require_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PipelineError, match="JAVA_HOME has no bin/java"):
        require_java()


@pytest.mark.parametrize("text", ["local", "local[2]", "local[*]", "local[4,2]", "spark://a:1,b:2", "yarn"])
def test_masters_are_known_by_their_form(text: str) -> None:
    assert is_master(text)


@pytest.mark.parametrize("text", ["", "localhost", "local[]", "spark:a", "http://x", "local[2] --conf x"])
def test_what_is_no_master_is_refused(text: str) -> None:
    assert not is_master(text)


def test_a_master_that_does_not_answer_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(
        PipelineError, match=rf"(?s)the Spark master does not answer.*127\.0\.0\.1:{port}.*refused"
    ):
        open_session(f"spark://127.0.0.1:{port}")
    with pytest.raises(PipelineError, match="expected HOST:PORT"):
        open_session("spark://nowhere")
    with pytest.raises(PipelineError, match="this is not a Spark master"):
        open_session("here")


def test_a_session_that_is_there_is_taken_and_left(spark: SparkSession) -> None:
    with opened("local[7]") as session:
        assert session is spark
    assert spark.range(3).count() == 3


def test_the_session_is_utc_and_fits_shuffles_to_sizes(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert fit_shuffles(spark, 1) == 2
    assert fit_shuffles(spark, 9 * BYTES_PER_PARTITION + 1) == 10
    assert spark.conf.get("spark.sql.shuffle.partitions") == "10"
    spark.conf.set("spark.sql.shuffle.partitions", before or "2")


def test_an_error_of_sparks_own_shows_the_cause_alone(spark: SparkSession) -> None:
    with pytest.raises(PipelineError, match=r"could not count\n  got: .*DIVIDE_BY_ZERO") as raised, \
            spark_errors_named("count"):  # fmt: skip
        spark.range(1).selectExpr("1 / id").collect()
    assert "at org.apache" not in str(raised.value)
    assert len(str(raised.value)) < 1_000


def test_a_full_disk_of_sparks_is_a_full_disk() -> None:
    error = PySparkRuntimeError("java.io.IOException: No space left on device\n\tat java.base")
    with pytest.raises(OSError, match="No space left on device"), spark_errors_named("write"):
        raise error
