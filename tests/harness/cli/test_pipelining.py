"""``krucible pipeline`` without a session: help, what is missing, and how progress is shown."""

import importlib.util
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from harness import cli
from harness.cli.pipeline import options
from harness.cli.pipeline.group import COMMANDS, pipeline
from results.pipeline.spark.progress import Lines
from results.store.runs import run_folders
from tests.results.pipeline.stored_runs import store


def test_help_names_every_command_and_every_command_is_there() -> None:
    shown = CliRunner().invoke(pipeline, ["--help"]).output
    for name in COMMANDS:
        assert name in shown
        command = pipeline.get_command(click.Context(pipeline), name)
        assert command is not None
        assert command.help
    assert pipeline.get_command(click.Context(pipeline), "nothing") is None


def test_without_spark_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "harness.cli.pipeline.group.find_spec", lambda name: None if name == "pyspark" else found(name)
    )
    assert cli.invoke(["pipeline", "ingest"]) == 3
    stderr = capsys.readouterr().err
    assert "Spark is not installed" in stderr
    assert "no pyspark" in stderr
    assert "make spark" in stderr
    assert "pip install" not in stderr
    assert cli.invoke(["pipeline", "--help"]) == 0


def test_help_names_the_environment_variables() -> None:
    shown = " ".join(CliRunner().invoke(pipeline, ["all", "--help"]).output.split())
    for name in ("KRUCIBLE_RUNS", "KRUCIBLE_TABLES", "KRUCIBLE_SPARK_MASTER", "SPARK_DRIVER_MEMORY"):
        assert name in shown


@pytest.mark.parametrize("step", ["ingest", "all"])
@pytest.mark.parametrize(("made", "got"), [(True, "a folder without runs"), (False, "no such folder or run")])
def test_the_store_is_that_of_the_other_commands_and_holds_runs(
    step: str,
    got: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    made: bool,
) -> None:
    runs, tables = tmp_path / "stored", tmp_path / "tables"
    if made:
        runs.mkdir()
    monkeypatch.setenv("KRUCIBLE_RUNS", str(runs))
    assert cli.invoke(["pipeline", step, "--tables", str(tables)]) == 64
    output = capsys.readouterr()
    assert output.out == ""
    for text in ("there are no runs to ingest", got, str(runs), "krucible run smoke/partition"):
        assert text in output.err
    assert not tables.exists()


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("latest", {"20261121T203155Z-901"}),
        ("stored/latest", {"20261121T203155Z-901"}),
        ("901", {"20261121T203155Z-901"}),
        ("20261121T203155Z", {"20261121T203155Z-901"}),
        ("smoke/partition", {"20261121T203155Z-901", "20261120T203155Z-7"}),
        ("stored", {"20261121T203155Z-901", "20261120T203155Z-7"}),
    ],
)
def test_runs_have_the_names_that_other_commands_take(
    name: str, found: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KRUCIBLE_RUNS", "stored")
    for folder in ("20261120T203155Z-7", "20261121T203155Z-901"):
        place = tmp_path / "stored" / "smoke" / "partition" / folder
        place.mkdir(parents=True)
        (place / "run.json").touch()
    (tmp_path / "stored" / "latest").symlink_to(place)
    chosen = options.require_runs(Path(name))
    assert {run.name for run in run_folders(chosen)} == found


def test_a_name_that_several_runs_have_is_refused_with_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path))
    for scenario in ("a", "b"):
        place = tmp_path / scenario / "20261121T203155Z-901"
        place.mkdir(parents=True)
        (place / "run.json").touch()
    assert cli.invoke(["pipeline", "ingest", "901", "--tables", str(tmp_path / "tables")]) == 64
    stderr = capsys.readouterr().err
    assert "a/20261121T203155Z-901" in stderr
    assert "b/20261121T203155Z-901" in stderr


@pytest.mark.parametrize("step", ["ingest", "all"])
def test_where_no_run_can_be_ingested_it_is_reported_why_and_what_to_do(
    step: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    killed = store(tmp_path / "runs", "a0", verdict=None)
    tables = tmp_path / "tables"
    assert cli.invoke(["pipeline", step, str(tmp_path / "runs"), "--tables", str(tables)]) == 64
    output = capsys.readouterr()
    assert output.out.splitlines()[-1] == f"  {killed}: verdict.json is missing in {killed}"
    assert "next  " not in output.out
    assert "there are no runs in the tables" in output.err
    assert options.MEND_RUNS in output.err


@pytest.mark.parametrize("step", ["check", "tables"])
def test_where_nothing_was_ingested_there_is_nothing_to_judge_or_compute(
    step: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["pipeline", step, "--tables", str(tmp_path / "tables")]) == 64
    output = capsys.readouterr()
    assert output.out == ""
    assert "there are no runs in the tables" in output.err
    assert str(tmp_path / "tables") in output.err
    assert "krucible pipeline ingest" in output.err
    assert list(tmp_path.iterdir()) == []


def test_lines_come_every_ten_per_cent_and_never_go_back() -> None:
    lines: list[str] = []
    show = Lines(lines.append)
    for done, total in ((0, 0), (0, 40), (3, 40), (4, 40), (5, 40), (21, 40), (21, 80), (80, 80), (80, 80)):
        show("ingest", done, total)
    assert lines == [
        "ingest      10 %  (4 of 40)",
        "ingest      50 %  (21 of 40)",
        "ingest     100 %  (80 of 80)",
    ]


def test_elsewhere_progress_is_lines_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with options.shown() as progress:
        progress("check", 1, 2)
    captured = capsys.readouterr()
    assert captured.err == "check       50 %  (1 of 2)\n"
    assert captured.out == ""


def test_on_a_terminal_progress_is_bars(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(options, "Console", lambda **_: Console(force_terminal=True, width=80, stderr=True))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with options.shown() as progress:
        progress("check", 1, 2)
        progress("check", 2, 2)
    assert "2/2" in capsys.readouterr().err
