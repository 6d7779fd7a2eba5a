"""The page of commands: arguments, options and their defaults, and nothing of the host that writes it."""

import click
import pytest

from harness.cli.commands import krucible
from harness.cli.reference_page import commands_of, render_commands


@click.group
def group() -> None:
    """Some commands of a program."""


@group.command
@click.argument("run", default="latest", metavar="[RUN]")
@click.argument("other", required=False)
@click.option("--runs", default="runs", show_default=True, envvar="RUNS", show_envvar=True, help="Where.")
@click.option("--jobs", type=int, default=lambda: 17, show_default=True, help="How many.")
@click.option("--port", type=click.IntRange(0, 9), required=True, help="Port; 0 is any.")
@click.option("--scratch", help="Folder.  [default: a cache]")
@click.option("--secret", hidden=True)
def judge(**_: object) -> None:
    """Judge a run.

    What comes later is in the help alone.
    """


@group.group
def inner() -> None:
    """Commands below others."""


@inner.command("show-all")
def show_all() -> None:
    """Show everything there is."""


JUDGE = """## krucible judge

Judge a run.

```
krucible judge [OPTIONS] [RUN] [OTHER]
```

- `RUN` (default `latest`)
- `--runs TEXT`: Where (environment `RUNS`, default `runs`).
- `--jobs INTEGER`: How many (default `(dynamic)`).
- `--port INTEGER RANGE`: Port; 0 is any (range `0<=x<=9`, required).
- `--scratch TEXT`: Folder (default: a cache).
"""


def test_a_command_is_shown_with_all_that_is_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNS", "elsewhere")
    page = render_commands(group)
    assert JUDGE in page
    assert "elsewhere" not in page
    assert "secret" not in page


def test_the_first_list_leads_to_commands_of_all_levels() -> None:
    page = render_commands(group)
    assert "- [krucible judge](#krucible-judge): Judge a run." in page
    assert "- [krucible inner show-all](#krucible-inner-show-all): Show everything there is." in page
    assert "## krucible inner show-all" in page


ACTING = {
    "setup",
    "serve",
    "cluster up",
    "cluster down",
    "reassign execute",
    "reassign cancel",
    "heal",
}
"""Commands that do something and have no result to print."""


def test_every_command_that_prints_results_has_json() -> None:
    without = {
        context.command_path.removeprefix("krucible ")
        for context in commands_of(click.Context(krucible, info_name="krucible"))
        if not any("--json" in option.opts for option in context.command.params)
    }
    assert without == ACTING
