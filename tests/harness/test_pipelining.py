"""``krucible pipeline`` without a session: help, what is missing, and how progress is told."""

import importlib.util

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from harness import cli
from harness.cli import pipeline_options
from harness.cli.pipelining import COMMANDS, pipeline
from results.pipeline.progress import Lines


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
        "harness.cli.pipelining.find_spec", lambda name: None if name == "pyspark" else found(name)
    )
    assert cli.invoke(["pipeline", "ingest"]) == 3
    told = capsys.readouterr().err
    assert "Spark is not installed" in told
    assert "no pyspark" in told
    assert "make spark" in told
    assert cli.invoke(["pipeline", "--help"]) == 0


def test_lines_come_every_ten_per_cent_and_never_go_back() -> None:
    lines: list[str] = []
    tell = Lines(lines.append)
    for done, total in ((0, 0), (0, 40), (3, 40), (4, 40), (5, 40), (21, 40), (21, 80), (80, 80), (80, 80)):
        tell("ingest", done, total)
    assert lines == [
        "ingest      10 %  (4 of 40)",
        "ingest      50 %  (21 of 40)",
        "ingest     100 %  (80 of 80)",
    ]


def test_elsewhere_progress_is_lines_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with pipeline_options.shown() as progress:
        progress("check", 1, 2)
    captured = capsys.readouterr()
    assert captured.err == "check       50 %  (1 of 2)\n"
    assert captured.out == ""


def test_on_a_terminal_progress_is_bars(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        pipeline_options, "Console", lambda **_: Console(force_terminal=True, width=80, stderr=True)
    )
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with pipeline_options.shown() as progress:
        progress("check", 1, 2)
        progress("check", 2, 2)
    assert "2/2" in capsys.readouterr().err
