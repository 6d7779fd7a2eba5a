"""Commands that report all unknown options and wrong values of a command line at once, as our own errors."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import click

from harness.errors import UsageError

_VALUES = (
    re.compile(r"got (?P<got>.+)[,;] expected (?P<expected>.+)", re.DOTALL),
    re.compile(r"(?P<got>.+) is not (?P<expected>one of .+?)\.?", re.DOTALL),
)
"""The forms of the errors of our own types of values, and of click's choices."""
_NUMBER = re.compile(r"-\d")


class Problem(NamedTuple):
    """Something wrong on a command line.

    Attributes:
        got: what was typed, or what is missing.
        expected: what could stand there.
    """

    got: str
    expected: str


class WrongWordsError(click.UsageError):
    """Words of a command line are wrong or missing; shown as our own errors are."""

    def __init__(self, problems: list[Problem], context: click.Context, *, unknown: bool = False) -> None:
        several = len(problems) > 1
        command = context.command_path
        one = "no such option" if unknown else "an option or a value is wrong or missing"
        error = UsageError(
            f"{len(problems)} options or values are wrong or missing" if several else one,
            got="; ".join(problem.got for problem in problems),
            expected="; ".join(problem.expected for problem in problems),
            where=command,
            next_step=f"correct {'them' if several else 'it'}; {command} --help lists all options",
        )
        super().__init__(str(error), context)

    def show(self, file: object = None) -> None:
        """Print the error to stderr."""
        del file
        click.echo(f"krucible: {self.message}", err=True)


class Command(click.Command):
    """A command that reports every option and argument that is unknown, wrong or missing."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of the command line.

        Raises:
            WrongWordsError: an option or a value is unknown, wrong or missing.
            UsageError: something else is wrong.
        """
        words = list(args)  # parsing removes them from the list
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            problems = list(self._problems(ctx, words))
            if not problems:
                raise
            raise WrongWordsError(problems, ctx, unknown=isinstance(error, click.NoSuchOption)) from error

    def _problems(self, ctx: click.Context, words: list[str]) -> Iterator[Problem]:
        """Yield unknown options, then what is wrong with each value, in the order of the parameters."""
        reader = _Reader(self, ctx, words)
        read, rest = reader.read()
        yield from reader.problems
        for parameter in self.get_params(ctx):
            if parameter.is_eager or reader.is_uncertain(parameter):
                continue
            try:
                _value, rest = parameter.handle_parse_result(ctx, read, rest)
            except click.BadParameter as error:
                yield _of_value(error, parameter, ctx)
        if rest and reader.certain and not ctx.allow_extra_args:
            yield Problem(" ".join(map(str, rest)), "no further argument")


class _Reader:
    """Reads a command line of which some options are unknown.

    If a known option has a similar name, the reader assumes that this option was meant.  Then it is known
    whether the next word is a value.  If no option has a similar name, the next word may be a value or an
    argument, and no argument is judged.

    Attributes:
        problems: the unknown options, and those that lack a value.
        certain: whether it is known which words are arguments.
    """

    def __init__(self, command: click.Command, context: click.Context, words: list[str]) -> None:
        self._command = command
        self._context = context
        self._words = words
        self._meant: set[str] = set()
        self.problems: list[Problem] = []
        self.certain = True

    def is_uncertain(self, parameter: click.Parameter) -> bool:
        """Whether a parameter can't be judged, because an unknown option or its value may have been meant."""
        if isinstance(parameter, click.Argument):
            return not self.certain
        return not self._meant.isdisjoint(parameter.opts)

    def read(self) -> tuple[dict[str, object], list[str]]:
        """The values of the known options and arguments by parameter, and the words that are left."""
        while True:
            try:
                read, rest, _order = self._command.make_parser(self._context).parse_args([*self._words])
            except click.NoSuchOption as error:
                self._drop_unknown(error)
            except click.BadOptionUsage as error:
                self._meant.add(error.option_name)
                self.problems.append(self._misused(error.option_name))
                self._words.pop(self._place_of(error.option_name))
            else:
                return read, rest

    def _misused(self, name: str) -> Problem:
        """A flag that was given a value, or an option that lacks one."""
        with_value, without = f"{name} with a value", f"{name} without a value"
        is_flag = "=" in self._words[self._place_of(name)]
        return Problem(with_value, without) if is_flag else Problem(without, with_value)

    def _drop_unknown(self, error: click.NoSuchOption) -> None:
        at = self._place_of(error.option_name)
        word = self._words.pop(at)
        similar = error.possibilities[0] if error.possibilities else None
        self.problems.append(Problem(word, similar or f"an option of {self._context.command_path}"))
        option = next((one for one in self._command.get_params(self._context) if similar in one.opts), None)
        if option is not None:
            self._meant.update(option.opts)
        if "=" in word or at == len(self._words) or _is_option(self._words[at]):
            return
        if option is None:
            self.certain = False
        elif not getattr(option, "is_flag", False):
            self._words.pop(at)

    def _place_of(self, option: str) -> int:
        """The place of the word with an option, which may have its value, or be several short ones in one."""
        for at, word in enumerate(self._words):
            if word.partition("=")[0] == option:
                return at
        return next(
            at
            for at, word in enumerate(self._words)
            if word.startswith("-") and not word.startswith("--") and option[-1] in word
        )


def _of_value(error: click.BadParameter, parameter: click.Parameter, ctx: click.Context) -> Problem:
    name = parameter.opts[0] if isinstance(parameter, click.Option) else parameter.make_metavar(ctx)
    if isinstance(error, click.MissingParameter):
        return Problem(f"no {name}", name)
    matched = next(filter(None, (form.fullmatch(error.message) for form in _VALUES)), None)
    if matched is None:
        return Problem(f"{name}: {error.message}", f"another value of {name}")
    return Problem(f"{name} {matched['got']}", f"{name} with {matched['expected']}")


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-" and not _NUMBER.match(word)


class Group(click.Group):
    """A group whose commands are of the class `Command`."""

    command_class = Command
