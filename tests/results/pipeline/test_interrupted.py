"""Ctrl-C in the middle of ``krucible pipeline``, as a terminal sends it: to all processes at once."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import harness.cli
from results.pipeline.analytics.tables import ANALYTICS
from results.pipeline.analytics.updating import compute
from results.pipeline.snapshots.snapshot import CURRENT
from results.pipeline.steps.check import check
from results.pipeline.steps.ingest import ingest
from tests.harness.waiting import wait_until
from tests.results.pipeline.stored_runs import store, tree
from tests.standalone import SETTINGS

COMMANDS = Path(harness.cli.__file__).with_name("__main__.py")
BOUND_S = 300
ENVIRONMENT = os.environ | {
    "SPARK_LOCAL_IP": "127.0.0.1",
    # Until the first table is begun, most of the time would go into compiling plans.
    "SPARK_CONF_DIR": str(SETTINGS),
    "PYSPARK_PYTHON": sys.executable,
}


@pytest.fixture(scope="module")
def held(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store, and tables with one run of it that was ingested and judged; a test copies both."""
    place = tmp_path_factory.mktemp("held")
    store(place / "runs", "a0")
    ingest(lambda: nullcontext(spark), place / "runs", place / "tables", lambda *_: None)
    check(lambda: nullcontext(spark), place / "tables", lambda *_: None)
    for number in range(1, 25):
        store(place / "runs", f"b{number}", version=f"4.{number}.0")
    return place


@pytest.mark.parametrize(
    ("step", "begun"),
    [
        pytest.param("ingest", "building-*/scratch/*/*/*/*", marks=pytest.mark.long),
        ("tables", "building-*/scratch/*"),
    ],
)
def test_ctrl_c_is_reported_in_a_line_and_leaves_the_tables_as_they_were(
    spark: SparkSession, held: Path, tmp_path: Path, step: str, begun: str
) -> None:
    runs, tables = held / "runs", tmp_path / "tables"
    shutil.copytree(held / "tables", tables, symlinks=True)
    before = tree(tables / CURRENT)

    words: list[str | Path] = ["pipeline", step, *([runs] if step == "ingest" else []), "--tables", tables]
    with subprocess.Popen(
        [sys.executable, COMMANDS, *words, "--master", "local[1]"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,  # not a session: it must not be less nice than who interrupts it
    ) as interrupted:
        wait_until(lambda: list(tables.glob(begun)) or interrupted.poll() is not None, BOUND_S)
        os.killpg(interrupted.pid, signal.SIGINT)
        out, stderr = interrupted.communicate(timeout=BOUND_S)
    assert interrupted.returncode == 130, (out, stderr)
    assert stderr.splitlines()[-1] == "krucible: interrupted"
    assert "Traceback" not in out + stderr
    assert tree(tables / CURRENT) == before

    assert compute(lambda: nullcontext(spark), tables, lambda *_: None).tables == tuple(ANALYTICS)
    assert not list(tables.glob("building-*"))
