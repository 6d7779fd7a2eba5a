"""``krucible signatures``: lists the failures of some runs, and which of them no earlier run had."""

from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from checkers.verdict.verdict import Verdict
from harness.campaigns.keeping import circumstances_of, identity_of
from harness.cli.options.places import File, Folder
from harness.cli.options.shared import DAYS_MAX, WholeNumber, markup_option
from harness.cli.parsing import Command
from harness.errors import UsageError, disk_errors_named
from results.campaigns.step_summary import append_blocks
from results.failures.nights import part_of, past_runs, remember, signed_runs
from results.failures.signatures import SignatureRuns, issue_of, seen_in
from results.markup.cleaning import clean
from results.markup.markdown import code, escaped, number, table
from results.markup.trackers import Format
from results.run.issue import render_issue
from results.store.runs import followed, load_verdict, run_folders, write_whole

ISSUES_MAX = 10
"""Maximum number of issues written at once, so that one defect does not flood a tracker."""
_TEXT_MAX = 300
_SUFFIXES = {Format.MARKDOWN: ".md", Format.JIRA: ".jira"}


@click.command("signatures", cls=Command)
@click.argument("folder", type=Folder("a folder of runs, such as runs"))
@click.option(
    "--past",
    type=Folder(),
    help="The store of past nights; a signature is new if no run there has it.  It need not exist yet.",
)
@click.option("--new", "only_new", is_flag=True, help="List new signatures only.")
@click.option(
    "--issues",
    type=Folder(),
    help=f"Write a text for a tracker into this folder for each new signature, at most {ISSUES_MAX}.",
)
@markup_option(Format.MARKDOWN)
@click.option("--add", is_flag=True, help="Add the runs of FOLDER to --past afterwards.")
@click.option(
    "--keep-days",
    type=WholeNumber(1, DAYS_MAX),
    default=90,
    show_default=True,
    help="With --add: drop runs from --past that began so many days before the newest one.",
)
@click.option(
    "--step-summary",
    type=File(),
    help="Append the list to a file, such as $GITHUB_STEP_SUMMARY.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def signatures_command(
    folder: Path,
    *,
    past: Path | None,
    only_new: bool,
    issues: Path | None,
    markup: str,
    add: bool,
    keep_days: int,
    step_summary: Path | None,
    as_json: bool,
) -> None:
    """List the signatures of failures in the runs of FOLDER, and which of them are new.

    FOLDER is a store, a part of one, or a run, such as runs/latest.  A run is never compared with itself, so
    --past may be the store that contains FOLDER.  --add accepts only whole stores.

    A signature is equal for the same failure in other runs.  Failures that a scenario expects, and those of
    seeded bugs, have none.  --past is a store: krucible list, summary and serve read it.
    """
    if add and past is None:
        raise UsageError(
            "--add needs the store that it adds to",
            got="--add without --past",
            next_step="name that store: --past FOLDER",
        )
    _require_issues(issues, Format(markup))
    folder = _with_runs(folder)
    is_run = folder in run_folders(folder)
    if add:
        _require_store(folder, is_run=is_run)
    root = folder.parent if is_run else folder
    before = () if past is None else past_runs(past)
    runs = list(signed_runs(root, folder))
    if not runs:
        click.echo(f"runs  none in {folder} has a verdict, so there is nothing to compare", err=True)
    seen = seen_in(runs, before)
    shown = [one for one in seen if one.new] if only_new else list(seen)
    click.echo(msgspec.json.encode(list(map(_as_json, shown))).decode() if as_json else _text(shown, seen))
    with disk_errors_named():
        if step_summary is not None:
            append_blocks(_blocks(seen), step_summary, "`krucible signatures` over the artifacts")
        new = [one for one in seen if one.new]
        left_out = [] if issues is None else _write_issues(new, root, issues, Format(markup))
        if add and past is not None:
            _remember(folder, past, keep_days, left_out)


def _require_issues(issues: Path | None, markup: Format) -> None:
    """Refuse a markup other than Markdown if no issues are written.

    Raises:
        UsageError: a markup was named for no issues.
    """
    if issues is None and markup is not Format.MARKDOWN:
        raise UsageError(
            "--format is the markup of the texts that --issues writes",
            got=f"--format {markup} without --issues",
            next_step="name a folder for them: --issues FOLDER",
        )


def _with_runs(folder: Path) -> Path:
    """Return the absolute path of the given folder, without links. The folder must hold at least one run.

    Raises:
        UsageError: there is no such folder, or no run in it.
    """
    found = followed(folder)
    if next(run_folders(found), None) is None:
        raise UsageError(
            "there are no runs to compare",
            got="a folder without runs" if folder.is_dir() else "no such folder",
            expected="a folder that has runs as SCENARIO/TIME-SEED, such as "
            "smoke/partition/20261122T010000Z-7, or the folder of a run",
            where=clean(str(folder), _TEXT_MAX),
            next_step="name a folder of runs, such as runs, or make a run: krucible run smoke/partition",
        )
    return found


def _require_store(folder: Path, *, is_run: bool) -> None:
    """Refuse a run, and a part of a store: their runs would have different paths in the store of the past.

    Raises:
        UsageError: the folder is one of these.
    """
    scenario = part_of(folder)
    if is_run or scenario:
        raise UsageError(
            "--add needs a store, in which each run has a place",
            got=f"{folder}, which is {'a run' if is_run else 'a part of a store'}",
            expected=f"a folder in which runs lie below {scenario or 'their scenarios'}",
            next_step="name the folder of all runs",
        )


def _remember(folder: Path, past: Path, keep_days: int, left_out: Sequence[str]) -> None:
    """Add the runs of a store to that of past nights."""
    added, dropped = remember([folder], past, keep_days, left_out)
    and_dropped = f", {number(dropped, 'run')} dropped" if dropped else ""
    click.echo(f"past  {number(added, 'run')} added to {past}{and_dropped}", err=True)


def _text(shown: Sequence[SignatureRuns], seen: Sequence[SignatureRuns]) -> str:
    new = sum(one.new for one in seen)
    lines = [f"{number(len(seen), 'signature')}, {new} new"]
    for one in shown:
        lines.append(f"{one.id}  {_name(one)}  {_how_often(one)}")
        lines.append(f"  {clean(one.signature.words, _TEXT_MAX)}")
        lines.append(f"  first in {clean(one.runs[0], _TEXT_MAX)}")
    return "\n".join(lines)


def _name(one: SignatureRuns) -> str:
    return clean(f"{one.signature.checker}/{one.signature.anomaly}", _TEXT_MAX)


def _how_often(one: SignatureRuns) -> str:
    runs = number(len(one.runs), "run")
    if one.new:
        return f"{runs}, new"
    return f"{runs}, {number(one.before, 'run')} before, first {clean(one.first_seen, _TEXT_MAX)}"


def _as_json(one: SignatureRuns) -> dict[str, object]:
    value: dict[str, object] = msgspec.to_builtins(one)
    return value | {"new": one.new}


def _blocks(seen: Sequence[SignatureRuns]) -> list[str]:
    """Return the Markdown blocks for the page of a CI job."""
    new = sum(one.new for one in seen)
    blocks = [f"## Signatures: {len(seen):,}, {new:,} new"]
    if seen:
        rows = [
            (f"`{one.id}`", f"`{code(_name(one))}`", escaped(_how_often(one)), f"`{code(one.runs[0])}`")
            for one in seen
        ]
        blocks.append(table(("signature", "anomaly", "runs", "first in"), rows))
    return blocks


def _write_issues(new: Sequence[SignatureRuns], root: Path, place: Path, markup: Format) -> list[str]:
    """Write the texts of new issues. Return the ids of the signatures above `ISSUES_MAX`."""
    place.mkdir(parents=True, exist_ok=True)
    for one in new[:ISSUES_MAX]:
        folder = root / one.runs[0]
        verdict: Verdict = load_verdict(folder)
        identity, circumstances = identity_of(folder), circumstances_of(folder)
        issue = render_issue(folder, verdict, identity, markup, circumstances=circumstances)
        text = issue_of(one, issue, markup)
        write_whole(place / f"{one.id}{_SUFFIXES[markup]}", text.encode("utf-8", "backslashreplace"))
    if left := new[ISSUES_MAX:]:
        click.echo(f"issues  {number(len(left), 'signature')} left out; new again next time", err=True)
    return [one.id for one in left]
