"""``krucible pipeline all`` leaves what the three steps leave, with one session and one pass."""

import contextlib
import io
import json
import re
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from harness import cli
from results.pipeline.analytics.tables import ANALYTICS
from results.pipeline.found import Skipped
from results.pipeline.schemas import TABLES
from results.pipeline.snapshots import files
from results.pipeline.snapshots.snapshot import CURRENT
from results.pipeline.steps.checked import Checked, together
from results.pipeline.steps.everything import bring_up_to_date
from results.pipeline.tasks import staging
from results.pipeline.tasks.units import shares_of_run
from tests.results.pipeline.judged_runs import histories, written

NAMES = ("lost", "registers", "torn")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("all") / "runs"
    for name in NAMES:
        written(root, name, histories()[name])
    return root


@pytest.fixture(scope="module")
def made(spark: SparkSession, runs: Path) -> tuple[Path, list[str]]:
    """The tables that `all` makes, and what it prints; tests do not change them.

    The store is named from its parent, and so, by default, is the folder of the tables.
    """
    assert spark.version
    with contextlib.chdir(runs.parent), contextlib.redirect_stdout(io.StringIO()) as out:
        assert cli.invoke(["pipeline", "all", runs.name]) == 0
    return runs.parent / "tables", lines_of(out.getvalue())


def sizes(tables: Path) -> dict[str, int]:
    """Rows of every table."""
    return {
        name: sum(pq.read_metadata(path).num_rows for path in files.of(tables / CURRENT / name))
        for name in (*TABLES, *ANALYTICS)
    }


def printed_by(capsys: pytest.CaptureFixture[str], *words: str | Path) -> list[str]:
    assert cli.invoke(["pipeline", *map(str, words)]) == 0
    return lines_of(capsys.readouterr().out)


def lines_of(out: str) -> list[str]:
    """What was printed, without how long it took."""
    return re.sub(r" in [\d.]+ s", "", out).splitlines()


def test_all_is_the_three_in_one(
    made: tuple[Path, list[str]], runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (one, together), three = made, tmp_path / "three"
    apart = [
        printed_by(capsys, "ingest", runs, "--tables", three),
        printed_by(capsys, "check", "--tables", three),
        printed_by(capsys, "tables", "--tables", three),
    ]
    assert together == [
        *(line for output in apart for line in output if not line.startswith(("tables", "next"))),
        f"tables     {Path(one.name) / CURRENT},",
    ]
    assert together[1:3] == ["judged     3 runs: 2 invalid, 1 unknown", f"computed   {len(ANALYTICS)} tables"]
    assert sizes(one) == sizes(three)
    assert min(sizes(one)[name] for name in ("runs", "verdicts", "anomalies", "throughput")) > 0


@pytest.mark.parametrize(
    ("command", "made_steps"),
    [
        (("all", "RUNS"), {"ingested", "checked", "computed"}),
        (("ingest", "RUNS"), {"ingested"}),
        (("check",), {"checked"}),
        (("tables",), {"computed"}),
    ],
)
def test_json_has_the_result_of_each_step_that_was_made(
    made: tuple[Path, list[str]],
    runs: Path,
    command: tuple[str, ...],
    made_steps: set[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    tables = made[0]
    words = [str(runs) if word == "RUNS" else word for word in command]
    assert cli.invoke(["pipeline", *words, "--tables", str(tables), "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert Path(value.pop("tables")) == tables / CURRENT
    assert value.pop("took_s") >= 0
    assert {step for step, result in value.items() if result is not None} == made_steps
    for step in made_steps & {"ingested", "checked"}:
        assert (value[step]["runs"], value[step]["unchanged"], value[step]["skipped"]) == (0, len(NAMES), [])
    if "computed" in made_steps:
        assert value["computed"] == {"tables": []}


def test_the_folder_of_the_tables_may_be_named_from_here(made: tuple[Path, list[str]]) -> None:
    assert sizes(made[0])["verdicts"] > sizes(made[0])["runs"] == len(NAMES)


def test_without_news_no_session_is_opened(made: tuple[Path, list[str]], runs: Path) -> None:
    def none() -> AbstractContextManager[SparkSession]:
        pytest.fail("a session was opened without work")

    done = bring_up_to_date(none, runs, made[0], lambda *_: None)
    assert (done.ingested.runs, done.ingested.unchanged) == (0, len(NAMES))
    assert done.checked == Checked(0, len(NAMES))
    assert done.computed.tables == ()


def test_a_run_of_several_shares_is_left_to_the_check(
    spark: SparkSession,
    runs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert spark.version
    large = max(path.stat().st_size for path in runs.rglob("history*.jsonl"))
    monkeypatch.setattr(staging, "shares_of_run", partial(shares_of_run, share_bytes=large // 2))
    assert printed_by(capsys, "ingest", runs, "--tables", tmp_path / "apart")[0].startswith(
        "ingested   3 runs"
    )
    assert sizes(tmp_path / "apart")["verdicts"] == 0
    output = printed_by(capsys, "all", runs, "--tables", tmp_path / "tables")
    assert "judged     3 runs: 2 invalid, 1 unknown" in output
    assert not any(line.startswith("unchanged") for line in output)


def test_what_was_judged_during_and_after_an_ingest_is_summed_up() -> None:
    one, other = Skipped("a", "valid before, invalid now"), Skipped("b", "its folder is gone")
    during = Checked(3, 0, {"invalid": 1, "valid": 2}, (one,), 1)
    later = Checked(2, 5, {"unknown": 1, "valid": 1}, (), 0, (other,))
    assert together(during, later) == Checked(
        5, 2, {"invalid": 1, "unknown": 1, "valid": 3}, (one,), 1, (other,)
    )


def test_verdicts_of_another_validity_are_listed_first_whoever_judged_them() -> None:
    a, b, c, d = (Skipped(name, "") for name in "abcd")
    during, later = Checked(2, 0, {}, (c, a), 1, (d,)), Checked(2, 2, {}, (d, b), 1, (b,))
    assert together(during, later).differing == (c, d, a, b)
    assert together(during, later).skipped == (b, d)
