"""Commands that report all wrong values of a command line at once, and not only the first one."""

from collections.abc import Iterator

import click


class Command(click.Command):
    """A command that reports every option and argument that is wrong or missing."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of the command line.

        An unknown option is reported alone. The next word may or may not be its value, so the rest can't be
        parsed.

        Raises:
            BadParameter: one value is wrong or missing.
            UsageError: several values are wrong or missing.
        """
        words = list(args)  # parsing removes them from the list
        try:
            return super().parse_args(ctx, args)
        except click.BadParameter as error:
            problems = list(self._problems(ctx, words))
            if len(problems) < 2:  # noqa: PLR2004 - several
                raise
            listed = "".join(f"\n  {problem}" for problem in problems)
            raise click.UsageError(f"{len(problems)} values are wrong or missing:{listed}", ctx) from error

    def _problems(self, ctx: click.Context, words: list[str]) -> Iterator[str]:
        """Yield what is wrong with each value, in the order in which the command declares the parameters."""
        read, rest, _order = self.make_parser(ctx).parse_args(words)
        for parameter in self.get_params(ctx):
            try:
                _value, rest = parameter.handle_parse_result(ctx, read, rest)
            except click.BadParameter as error:
                yield error.format_message()


class Group(click.Group):
    """A group whose commands are of the class `Command`."""

    command_class = Command
