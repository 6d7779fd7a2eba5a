"""The only module that makes a SparkSession."""

import logging
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from results.pipeline.errors import PipelineError, spark_errors_named
from results.pipeline.spark.java import require_java

LOCAL = "local[*]"
"""All CPUs of this machine."""
BYTES_PER_PARTITION = 64 << 20
_MASTER = re.compile(
    r"local(\[(\*|\d+)(,\s*\d+)?\])?|spark://[^/\s]+|yarn|k8s://\S+|local-cluster\[[\d,\s]+\]"
)
_HOST = re.compile(r"(?P<host>.+):(?P<port>\d{1,5})")
_CONNECT_BOUND_S = 10
_END_BOUND_S = 30
_QUIET = Path(__file__).parent / "quiet.properties"
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.python.worker.reuse": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Plans are printed for every query and never read, so the short form is enough.
    "spark.sql.ui.explainMode": "simple",
}
_OF_LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": os.environ.get("SPARK_DRIVER_MEMORY", "2g"),
}
"""Settings of a local master: not reachable from outside, and one JVM does the work of all executors."""
JAVA_OF_LOCAL = (
    "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=240m",
    "-XX:+UseParallelGC",
    "-XX:MetaspaceSize=256m",
)
"""JVM options.  Most compiled code runs for seconds only, so the optimizing compiler takes more CPU than it
saves: half of all CPU for a hundred runs, a third for a thousand.  The initial metaspace is large enough to
avoid full collections while it grows."""


def is_master(text: str) -> bool:
    """Whether a text has the form of a Spark master."""
    return _MASTER.fullmatch(text) is not None


def open_session(
    master: str | None = None,
    *,
    app: str = "krucible",
    verbose: bool = False,
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """The active session unchanged, if there is one (spark-submit, tests), else a new one.

    Args:
        master: such as ``local[2]`` or ``spark://host:7077``; None uses that of spark-submit, otherwise
            `LOCAL`.
        app: name of the application.
        verbose: do not reduce Spark's log.
        settings: additional settings of Spark.

    Raises:
        PipelineError: Java or the master is missing or unusable.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if not verbose:
        _silence_py4j()
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted:
        require_java()
    master = master if master is not None or submitted else LOCAL
    if master is not None:
        _require_master(master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    with spark_errors_named(f"start on {master or 'the master of spark-submit'}"):
        builder = _builder(master, app, verbose=verbose)
        for name, value in (settings or {}).items():
            builder = builder.config(name, value)
        return builder.getOrCreate()


@contextmanager
def opened(
    master: str | None = None,
    *,
    app: str = "krucible",
    verbose: bool = False,
    settings: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """A session for the block; it is stopped afterwards unless it existed before.

    On Ctrl-C the JVM has ended before this returns, so that it prints nothing after our own message.
    """
    before = SparkSession.getActiveSession()
    session = open_session(master, app=app, verbose=verbose, settings=settings)
    try:
        yield session
    finally:
        interrupted = isinstance(sys.exc_info()[1], KeyboardInterrupt)
        if before is None:
            session.stop()
            if interrupted:
                _end_jvm()


def _end_jvm() -> None:
    """Wait until the JVM of the session has ended; it ends when its stdin is closed."""
    process: subprocess.Popen[bytes] | None = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 - kept there for callers, says pyspark.java_gateway
    if process is None or process.stdin is None:  # the JVM of spark-submit ends with spark-submit
        return
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - the next session starts another one
    process.stdin.close()
    try:
        process.wait(_END_BOUND_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def fit_shuffles(session: SparkSession, size_bytes: int) -> int:
    """Set the number of shuffle partitions, and return it: at least one for each core.

    Args:
        session: the session whose setting is changed.
        size_bytes: size of the data; a partition gets `BYTES_PER_PARTITION` at most.
    """
    cores = session.sparkContext.defaultParallelism
    partitions = max(cores, -(-size_bytes // BYTES_PER_PARTITION))
    session.conf.set("spark.sql.shuffle.partitions", str(partitions))
    return partitions


def _builder(master: str | None, app: str, *, verbose: bool) -> SparkSession.Builder:
    builder = SparkSession.builder.appName(app)
    if master is not None:
        builder = builder.master(master)
    local = master is not None and re.match(r"local(\[|$)", master) is not None
    java = (
        *(JAVA_OF_LOCAL if local else ()),
        *(() if verbose else (f"-Dlog4j2.configurationFile={_QUIET.as_uri()}",)),
    )
    settings = _SETTINGS | (_OF_LOCAL if local else {})
    if java:  # otherwise the options of spark-submit and of Spark's configuration files apply
        settings |= {"spark.driver.extraJavaOptions": " ".join(java)}
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder


def _silence_py4j() -> None:
    """Suppress tracebacks on stderr that do not indicate a defect.

    On Ctrl-C, py4j logs the interrupted call and Spark's attempt to cancel its jobs over the same connection.
    It uses the root logger, which is an oversight in py4j.
    """
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


def _require_master(master: str) -> None:
    """Refuse an invalid or unreachable master early; Spark would try for a minute.

    Raises:
        PipelineError: the master is invalid or not reachable.
    """
    if not is_master(master):
        raise PipelineError(
            "this is not a Spark master",
            got=master,
            expected="local[N], local[*], spark://HOST:PORT, yarn or k8s://URL",
            where="--master",
        )
    if not master.startswith("spark://"):
        return
    problems = [_unreachable(address) for address in master.removeprefix("spark://").split(",")]
    if all(problems):
        raise PipelineError(
            "the Spark master does not answer",
            got="; ".join(problem for problem in problems if problem),
            where=master,
            next_step="start it, or use another --master",
        )


def _unreachable(address: str) -> str | None:
    """Why a connection to ``HOST:PORT`` fails; None if it succeeds."""
    found = _HOST.fullmatch(address)
    if found is None:
        return f"{address}: expected HOST:PORT"
    try:
        socket.create_connection((found["host"], int(found["port"])), timeout=_CONNECT_BOUND_S).close()
    except (OSError, OverflowError) as error:
        return f"{address}: {error}"
    return None
