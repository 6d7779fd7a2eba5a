"""Several wrong values on one command line: all are reported, each as if it were alone."""

from collections.abc import Iterator

import click
import pytest

from harness import cli
from harness.cli.commands import krucible
from harness.cli.parsing import Command

CHAOS = "exploratory/chaos"


def commands(group: click.Group) -> Iterator[click.Command]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command)
        else:
            yield command


def test_every_command_reports_all_of_them() -> None:
    assert [command.name for command in commands(krucible) if not isinstance(command, Command)] == []


@pytest.mark.parametrize(
    ("words", "problems"),
    [
        (
            ["run", CHAOS, "--seed", "x", "--rate", "0", "--config", "novalue"],
            [
                "Invalid value for '--seed': got 'x', expected a whole number from 0 up to",
                "Invalid value for '--config': got 'novalue', expected KEY=VALUE",
                "Invalid value for '--rate': got '0', expected a whole number from 1 up to 1000000",
            ],
        ),
        (
            ["replay", "--times", "0"],
            [
                "Missing argument 'RUN'.",
                "Invalid value for '--times': got '0', expected a whole number from 1 up to 1000",
            ],
        ),
        (
            ["quorum", "remove-voter", "--timeout-ms", "x"],
            ["Missing option '--id'.", "Invalid value for '--timeout-ms': got 'x', expected a whole number"],
        ),
    ],
)
def test_all_are_reported(words: list[str], problems: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(words) == 64
    said = capsys.readouterr().err
    shown = said.partition(f"Error: {len(problems)} values are wrong or missing:\n")[2].splitlines()
    assert len(shown) == len(problems)
    for line, problem in zip(shown, problems, strict=True):
        assert line.startswith(f"  {problem}")
    assert f"Try 'krucible {words[0]}" in said


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["run", CHAOS, "--seed", "x"], "Error: Invalid value for '--seed': got 'x'"),
        (["run", CHAOS, "--sede", "x", "--rate", "0"], "Error: No such option '--sede'."),
        (["replay"], "Error: Missing argument 'RUN'."),
    ],
)
def test_one_is_reported_as_before(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(words) == 64
    assert error in capsys.readouterr().err


def test_a_bisection_is_stopped_by_several_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["replay", "--bisect", "--times", "0"]) == 128
    assert "2 values are wrong or missing" in capsys.readouterr().err
