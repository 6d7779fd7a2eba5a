"""The table of exit codes has every command, and the codes that the commands really give."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from checkers.verdict.verdict import Validity
from harness import cli
from harness.campaigns import exits, keeping
from harness.cli import doctor, exit_codes
from harness.cli.campaigns import qualify, sensitivity, track_record
from harness.cli.clusters import quorum
from harness.cli.commands import krucible
from harness.cli.exit_codes import MEANINGS, ONLY_DONE, render_exit_codes
from harness.cli.runs import minimise, replay
from harness.errors import KrucibleError, UsageError
from results.pipeline.errors import NotTablesError, PipelineError
from results.store.runs import RunNotFoundError, RunUnreadableError
from tests.harness.recorded_run import a_verdict, planned, store_run


def names(group: click.Group, above: str = "") -> Iterator[str]:
    """Every command, with the groups that it is in."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from names(command, f"{above}{name} ")
        elif command is not None and not command.hidden:
            yield f"{above}{name}"


def meaning(name: str, option: str = "") -> exit_codes.ExitCodeMeaning:
    """The row of a command."""
    return next(one for one in MEANINGS if name in one.commands and one.option == option)


def test_every_command_is_in_one_of_both_tables() -> None:
    several = {name for one in MEANINGS for name in one.commands}
    assert several | set(ONLY_DONE) == set(names(krucible))
    assert not several & set(ONLY_DONE)


def test_every_option_of_the_table_is_one_of_the_command() -> None:
    for one in MEANINGS:
        for name in one.commands:
            command: click.Command = krucible
            for word in name.split():
                assert isinstance(command, click.Group)
                command = command.get_command(click.Context(command), word) or pytest.fail(name)
            options = {text for each in command.params for text in each.opts}
            assert not one.option or one.option in options, one


def test_codes_are_the_same_in_all_commands() -> None:
    assert (exits.EXIT_FAILED, exits.EXIT_USAGE, exits.EXIT_INTERRUPTED) == (3, 64, 130)
    assert set(exit_codes.GENERAL) == {0, 1, 2, 3, 64, 130}
    assert keeping.EXIT_CODES == {Validity.VALID: 0, Validity.INVALID: 1, Validity.UNKNOWN: 2}
    assert sorted(track_record.EXIT_CODES.values()) == [0, 1, 2, 3]
    assert sorted(qualify.EXIT_CODES.values()) == [0, 1, 2]
    assert (replay.EXIT_BACK, replay.EXIT_NEVER, replay.EXIT_UNKNOWN, replay.EXIT_FAILED) == (0, 1, 2, 3)
    assert (minimise.EXIT_MINIMISED, minimise.EXIT_NEVER, minimise.EXIT_UNFINISHED) == (0, 1, 2)
    assert (sensitivity.EXIT_COMPLETE, sensitivity.EXIT_ALARMED, sensitivity.EXIT_UNFINISHED) == (0, 1, 2)
    assert sorted(quorum._EXIT_CODES.values()) == [0, 1, 2]
    assert doctor.NOT_READY == 3


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KrucibleError("x"), 3),
        (RunUnreadableError("x"), 3),
        (OSError(28, "No space left on device"), 3),
        (ZeroDivisionError("x"), 3),
        (UsageError("x"), 64),
        (RunNotFoundError("x"), 64),
        (PipelineError("x"), 3),
        (NotTablesError("x"), 64),
        (click.BadParameter("x"), 64),
        (click.NoSuchOption("--x"), 64),
        (click.Abort(), 130),
    ],
)
def test_every_kind_of_error_has_its_code(error: Exception, code: int) -> None:
    def fail() -> None:
        raise error

    assert exits.coded(fail) == code


@pytest.mark.parametrize(
    ("validity", "code"), [(Validity.VALID, 0), (Validity.INVALID, 1), (Validity.UNKNOWN, 2)]
)
def test_a_summary_ends_as_the_table_says(validity: Validity, code: int, tmp_path: Path) -> None:
    plan = planned("smoke/partition")
    verdict = a_verdict(validity, *(["lost-write"] if validity is Validity.INVALID else []))
    store_run(tmp_path / "smoke/partition/20261122T010000Z-7", plan, verdict, [])
    assert cli.invoke(["summary", str(tmp_path)]) == code
    row = meaning("summary")
    assert (row.done, row.no, row.undecided)[code].endswith(f"{validity}")


def test_the_page_has_both_tables() -> None:
    section = render_exit_codes()
    assert "| `qualify --shard` | all runs of the shard have a verdict |  | a run has none |" in section
    assert "| 64 | The command is wrong" in section
    assert "`cluster up`" in section
