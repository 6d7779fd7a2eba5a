"""``krucible issue``: prints a stored run as a text for an issue tracker."""

import json
from pathlib import Path

import click

from harness.campaigns.keeping import circumstances_of, identity_of
from harness.campaigns.rejudging import verdict_of
from harness.cli.options.completion import complete_run
from harness.cli.options.places import File
from harness.cli.options.shared import markup_option, runs_option
from harness.cli.parsing import Command
from results.markup.trackers import Format, title_and_body
from results.run.issue import render_issue
from results.store.runs import find_run, write_whole


@click.command("issue", cls=Command)
@click.argument("run", shell_complete=complete_run)
@markup_option(Format.MARKDOWN)
@click.option(
    "--out",
    type=File(),
    help="Write the text to a file instead of printing it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the title apart from the body.")
@runs_option
def issue_command(run: str, *, markup: str, out: Path | None, as_json: bool, runs: Path) -> None:
    """Print a stored RUN as a text that can be pasted into a tracker.

    The first line is the title.  A run that is not as expected has this text in Markdown already, as issue.md
    in its folder.
    """
    folder = find_run(runs, run)
    text = render_issue(
        folder,
        verdict_of(folder),
        identity_of(folder),
        Format(markup),
        circumstances=circumstances_of(folder),
    )
    if as_json:
        title, body = title_and_body(text)
        document = {"run": str(folder), "format": markup, "title": title, "body": body}
        text = json.dumps(document) + "\n"
    if out is None:
        click.echo(text, nl=False)
    else:
        write_whole(out, text.encode("utf-8", "backslashreplace"))
        click.echo(f"issue  {out}")
