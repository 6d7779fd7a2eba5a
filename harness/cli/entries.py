"""Groups that import a command only when it is called, suggest near names, and complete without imports."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click
from click.exceptions import NoSuchCommand
from click.shell_completion import CompletionItem

from harness.cli.parsing import Group


class CommandEntry(NamedTuple):
    """Where a command is, and the first sentence of its help."""

    module: str
    name: str
    summary: str


class LazyGroup(Group):
    """A group whose commands are listed in a table.

    Args:
        entries: the commands by name, in the order of the help text.
        attrs: what every group takes.
    """

    def __init__(self, *, entries: Mapping[str, CommandEntry], **attrs: Any) -> None:
        super().__init__(**attrs)
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, in the order of the help text."""
        del ctx
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if there is none of that name."""
        del ctx
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = getattr(import_module(entry.module), entry.name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was typed.

        Raises:
            NoSuchCommand: there is none, with the nearest names.
        """
        try:
            return super().resolve_command(ctx, args)
        except NoSuchCommand as error:
            raise NoSuchCommand(error.command_name, possibilities=self.entries, ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands for help."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.entries.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands that begin like this, then what click completes of every command: its options."""
        named = [
            CompletionItem(name, help=entry.summary)
            for name, entry in self.entries.items()
            if name.startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]
