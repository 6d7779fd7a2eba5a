"""Unknown options and wrong values on a command line: all are reported, with what was expected."""

from collections.abc import Iterator

import click
import pytest

from harness import cli
from harness.cli.commands import krucible
from harness.cli.options.shared import SEED_MAX
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


NUMBER = "with a whole number from 1 up to 1000000"


@pytest.mark.parametrize(
    ("words", "got", "expected"),
    [
        (
            ["run", CHAOS, "--seed", "x", "--rate", "0", "--config", "novalue"],
            "--seed 'x'; --config 'novalue'; --rate '0'",
            f"--seed with a whole number from 0 up to {SEED_MAX}; --config with KEY=VALUE; --rate {NUMBER}",
        ),
        (
            ["run", CHAOS, "--mode", "x", "--rate", "0"],
            "--mode 'x'; --rate '0'",
            f"--mode with one of 'combined', 'isolated'; --rate {NUMBER}",
        ),
        (
            ["replay", "--times", "0"],
            "no RUN; --times '0'",
            "RUN; --times with a whole number from 1 up to 1000",
        ),
        (
            ["quorum", "remove-voter", "--timeout-ms", "x"],
            "no --id; --timeout-ms 'x'",
            "--id; --timeout-ms with a whole number from 1 up to 3600000",
        ),
        (
            ["run", CHAOS, "--sed", "3", "--kafka-verson", "4.3.1"],
            "--sed; --kafka-verson",
            "--seed; --kafka-version",
        ),
        (["run", CHAOS, "--sede", "x", "--rate", "0"], "--sede; --rate '0'", f"--seed; --rate {NUMBER}"),
        (["run", CHAOS, "--sed=3", "--keepp"], "--sed=3; --keepp", "--seed; --keep"),
        (["run", CHAOS, "--sed", "-3", "--rate", "0"], "--sed; --rate '0'", f"--seed; --rate {NUMBER}"),
        (
            ["run", "--zzzz", CHAOS, "-q", "--rate", "0"],
            "--zzzz; -q; --rate '0'",
            f"an option of krucible run; an option of krucible run; --rate {NUMBER}",
        ),
        (
            ["replay", "--zzzz", "x", "--times", "0"],
            "--zzzz; --times '0'",
            "an option of krucible replay; --times",
        ),
        (["quorum", "remove-voter", "--ids", "3"], "--ids", "--id"),
        (["run", CHAOS, "more", "--keepp", "words"], "--keepp; more words", "--keep; no further argument"),
        (
            ["run", CHAOS, "--rate", "0", "--keep=1"],
            "--keep with a value; --rate '0'",
            f"--keep without a value; --rate {NUMBER}",
        ),
        (["run", CHAOS, "--seed", "x"], "--seed 'x'", f"--seed with a whole number from 0 up to {SEED_MAX}"),
        (["run", CHAOS, "--fault", "kil"], "--fault 'kil'", "--fault with one of 'partition', 'kill'"),
        (["run", CHAOS, "--feature", "x"], "--feature 'x'", "--feature with FEATURE=LEVEL"),
        (["replay"], "no RUN", "RUN"),
        (["run", CHAOS, "--seed"], "--seed without a value", "--seed with a value"),
        (["run", CHAOS, "more"], "more", "no further argument"),
    ],
)
def test_all_are_reported(
    words: list[str], got: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(words) == 64
    what, *facts = capsys.readouterr().err.splitlines()
    command = " ".join(["krucible", *words[: 2 if words[0] == "quorum" else 1]])
    many = got.count("; ") + 1
    several = f"{many} options or values are wrong or missing"
    one = "no such option" if got == "--ids" else "an option or a value is wrong or missing"
    assert what == f"krucible: {several if many > 1 else one}"
    assert facts[0] == f"  got:      {got}"
    assert facts[1].startswith(f"  expected: {expected}")
    assert facts[2] == f"  where:    {command}"
    assert facts[3].startswith("  next:     correct ")
    assert facts[3].endswith(f"; {command} --help lists all options")


@pytest.mark.parametrize(
    ("words", "what", "where"),
    [
        (["--nope", "run"], "no such option '--nope'", "krucible"),
        (["quorum", "nope"], "no such command 'nope'", "krucible quorum"),
    ],
)
def test_an_error_of_a_group_has_the_same_form(
    words: list[str], what: str, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(words) == 64
    stderr = capsys.readouterr().err
    assert stderr == f"krucible: {what}\n  where:    {where}\n  next:     {where} --help\n"


def test_a_bisection_is_stopped_by_several_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["replay", "--bisect", "--times", "0"]) == 128
    assert "2 options or values are wrong or missing" in capsys.readouterr().err


def test_a_bisection_is_stopped_by_an_unknown_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["replay", "latest", "--bisect", "--time", "2"]) == 128
    assert "expected: --times\n" in capsys.readouterr().err
