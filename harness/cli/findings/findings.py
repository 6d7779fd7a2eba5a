"""``krucible findings``: lists the defects that krucible found in Kafka, or prints one as a ticket."""

import difflib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from harness.cli.options.shared import markup_option
from harness.cli.parsing import Group
from harness.errors import KrucibleError, UsageError
from results.findings.page import Finding, read_findings
from results.findings.ticket import render_ticket
from results.markup.trackers import Format, title_and_body

PAGE = Path(__file__).parents[3] / "docs/findings.md"


def complete_finding(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the names of findings with this prefix."""
    del context, parameter
    return [CompletionItem(each.name) for each in findings() if each.name.startswith(incomplete)]


@click.group("findings", cls=Group)
def findings_command() -> None:
    """List defects of Kafka that krucible found, or print one of them as the text of a ticket.

    They are those of docs/findings.md, which have no ticket yet.
    """


@findings_command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_findings(*, as_json: bool) -> None:
    """List all findings: name, component, and the versions in which each was seen."""
    found = findings()
    if as_json:
        listed = [
            {"name": one.name, "title": one.title, "component": one.component} | dict(one.facts)
            for one in found
        ]
        click.echo(json.dumps(listed))
        return
    for each in found:
        click.echo(f"{each.name}  ({each.component})")
        click.echo(f"    {each.facts['versions'].partition('. ')[0]}")


@findings_command.command("export")
@click.argument("name", shell_complete=complete_finding)
@markup_option(Format.JIRA)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the title apart from the body.")
def export(name: str, *, markup: str, as_json: bool) -> None:
    """Print the finding NAME as the text of a ticket; its first line is the title."""
    all_of_them = findings()
    found = next((each for each in all_of_them if each.name == name), None)
    if found is None:
        raise UsageError(
            "no finding has this name",
            got=name,
            expected=" or ".join(_nearest(name, [each.name for each in all_of_them])),
            next_step="krucible findings list",
        )
    with _page_errors_named():
        ticket = render_ticket(found, Format(markup))
    if as_json:
        title, body = title_and_body(ticket)
        click.echo(json.dumps({"name": name, "format": markup, "title": title, "body": body}))
    else:
        click.echo(ticket, nl=False)


def _nearest(name: str, names: list[str]) -> list[str]:
    """The names that are most like a name, or have it in them; all if none is."""
    near = [each for each in names if name in each] or difflib.get_close_matches(name, names)
    return near or names


def findings() -> tuple[Finding, ...]:
    """Return all findings of the page.

    Raises:
        KrucibleError: if the page can't be read, or does not exist, because only a checkout has it.
    """
    if not PAGE.is_file():
        raise KrucibleError(
            "the page of findings is not here",
            where=str(PAGE),
            expected="a checkout of krucible; an installation without one has no docs",
            next_step="run this from a checkout",
        )
    with _page_errors_named():
        return read_findings(PAGE.read_text())


@contextmanager
def _page_errors_named() -> Iterator[None]:
    try:
        yield
    except ValueError as error:  # the page can't be parsed, can't be rendered, or is not UTF-8
        raise KrucibleError(
            "the page of findings can't be read",
            got=str(error),
            where=str(PAGE),
            expected="sections like those of the committed page",
            next_step="correct the page, or restore it: git checkout docs/findings.md",
        ) from error
