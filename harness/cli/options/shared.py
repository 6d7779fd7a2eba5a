"""Options that several commands share, and the types of their values."""

import os
import re
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from harness.cli.options.places import Folder
from harness.errors import UsageError
from harness.record.folder import RUNS
from harness.vocabulary.topology import NodeFile
from results.markup.trackers import Format
from results.store.commands import store_option

SEED_MAX = 2**63 - 1
"""The largest integer that every JSON parser reads exactly."""
SEEDS_MAX = 10_000
DAYS_MAX = 10_000
TIME_S_MAX = 7 * 24 * 3_600
_UNITS = {"h": 3_600, "m": 60, "s": 1}
_SEED = re.compile(r"[0-9]{1,18}")
_LEVEL = re.compile(r"[0-9]{1,4}")

F = TypeVar("F", bound=Callable[..., Any])


class WholeNumber(click.IntRange):
    """An integer within bounds. An error states the given value and the expected range."""

    name = "n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the number; fail if it is not an integer within the bounds."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"got {value!r}, expected {self._expected()}", param, ctx)

    def _expected(self) -> str:
        least = "" if self.min is None else f" from {self.min}"
        most = "" if self.max is None else f" up to {self.max}"
        return f"a whole number{least}{most}"


class Pair(click.ParamType[Any]):
    """A value of the form ``KEY=VALUE``."""

    name = "KEY=VALUE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Split at the first equals sign."""
        key, separator, text = str(value).partition("=")
        if not separator or not key:
            self.fail(f"got {value!r}, expected {self.name}", param, ctx)
        return key, text


class FeatureLevel(Pair):
    """A value of the form ``FEATURE=LEVEL``; the level is an integer."""

    name = "FEATURE=LEVEL"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Split the value and read the level."""
        key, text = super().convert(value, param, ctx)
        if not _LEVEL.fullmatch(text):
            self.fail(f"got {value!r}, expected {self.name}, LEVEL a whole number", param, ctx)
        return key, int(text)


class Mount(click.ParamType[NodeFile]):
    """A value of the form ``SRC:DST``: a file of this host, and its path on every node."""

    name = "SRC:DST"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> NodeFile:
        """Split at the last colon; the source must exist and is made absolute."""
        source, separator, destination = str(value).rpartition(":")
        if not separator or not destination.startswith("/"):
            self.fail(f"got {value!r}, expected SRC:DST with an absolute DST", param, ctx)
        if not os.path.isfile(source):  # noqa: PTH113 - False, not an error, for whatever can't be a file
            self.fail(f"got {source!r}, expected a file of this host as SRC", param, ctx)
        resolved = str(Path(source).resolve())
        if ":" in resolved:
            self.fail(
                f"got {resolved!r}, expected SRC without a colon: compose can't mount others", param, ctx
            )
        return NodeFile(resolved, destination)


class VocabularyChoice(click.Choice[Any]):
    """A word of the vocabulary, given by its value. Click's own type would use the member's name."""

    def normalize_choice(self, choice: Any, ctx: click.Context | None) -> str:
        """Return the word as it is typed."""
        del ctx
        return str(choice.value if isinstance(choice, Enum) else choice)


class Seeds(click.ParamType[range]):
    """A value of the form ``A..B``: every seed from A to B, both included."""

    name = "A..B"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> range:
        """Read both ends of the range."""
        if isinstance(value, range):
            return value
        first, separator, last = str(value).partition("..")
        seeds = _SEED.fullmatch(first) and _SEED.fullmatch(last) and range(int(first), int(last) + 1)
        if not (separator and seeds):
            self.fail(f"got {value!r}, expected A..B such as 1..20", param, ctx)
        if len(seeds) > SEEDS_MAX:
            self.fail(f"got {len(seeds)} seeds, expected at most {SEEDS_MAX}", param, ctx)
        return seeds


class Time(click.ParamType[int]):
    """A duration in seconds, written as ``2h``, ``90m`` or ``1h30m``."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the duration; fail if it does not have that form."""
        if isinstance(value, int):
            return value
        parts = re.findall(r"([0-9]{1,6})([hms])", str(value))
        found = sum(int(number) * _UNITS[unit] for number, unit in parts)
        if "".join(map("".join, parts)) != value or not 1 <= found <= TIME_S_MAX:
            self.fail(f"got {value!r}, expected a time such as 2h, 90m or 1h30m, a week at most", param, ctx)
        return found


def require_nothing_else(option: str, *allowed: str) -> None:
    """Refuse other options and arguments beside an option that takes all options from a stored run.

    Args:
        option: the option as it is typed.
        allowed: names of the parameters that may be given with it.

    Raises:
        UsageError: others were given; the error lists all of them.
    """
    context = click.get_current_context()
    typed = [
        parameter.opts[0] if isinstance(parameter, click.Option) else parameter.human_readable_name
        for parameter in context.command.params
        if context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
        and parameter.name not in allowed
    ]
    if typed:
        raise UsageError(
            f"{option} takes all options from the stored run",
            got=f"{option} and {', '.join(typed)}",
            next_step=f"drop {', '.join(typed)}, or {option}",
        )


def runs_option(function: F) -> F:
    """Add the option ``--runs DIR``."""
    return click.option(
        "--runs",
        type=Folder(),
        default=RUNS,
        show_default=True,
        envvar="KRUCIBLE_RUNS",
        show_envvar=True,
        help="Where runs are kept.",
    )(function)


def markup_option(default: Format) -> Callable[[F], F]:
    """Add the option ``--format``, whose value is `markup`.

    Args:
        default: its value unless it is given.
    """
    return click.option(
        "--format",
        "markup",
        type=click.Choice([each.value for each in Format]),
        default=default.value,
        show_default=True,
        help="Markup of the tracker: GitHub's Markdown, or the wiki markup of Kafka's JIRA.",
    )


def require_store(context: click.Context, runs: Path) -> None:
    """Refuse a store that was given but does not exist. The default store may be created later.

    Raises:
        UsageError: the folder does not exist.
    """
    if runs.is_dir() or context.get_parameter_source("runs") is ParameterSource.DEFAULT:
        return
    raise UsageError(
        "there is no such folder of runs",
        got=str(runs),
        expected="a folder that holds runs",
        where="--runs, or KRUCIBLE_RUNS",
        next_step=f"name another one, or make it: krucible run smoke/partition{store_option(runs)}",
    )
