"""``krucible check`` and ``krucible report``: judge a history, and write its report, again without Docker."""

import difflib
import json
import os
from functools import partial
from pathlib import Path

import click
import msgspec
from msgspec.structs import replace
from rich.console import Console

from checkers.foreign.judging import JudgingOptions
from checkers.foreign.workloads import ForeignWorkload
from checkers.history.reading import read_history
from checkers.judge import judge
from checkers.registers.linearizability import MODELS
from checkers.transactional.transactions import ConsistencyModel, Declared
from harness.campaigns.activity import shown_on_terminal
from harness.campaigns.keeping import EXIT_CODES, identity_of, keep_for_ci, show
from harness.campaigns.rejudging import check_run
from harness.cli.histories.foreign import (
    STDIN,
    JudgedFile,
    initial_of,
    is_journal,
    judge_file,
    judge_journal,
    judgement_text,
    save_proofs,
    verdict_as_json,
)
from harness.cli.histories.html import BESIDE, SUFFIX, PageFile, page_of, write_page_of
from harness.cli.histories.labels import compare, comparison_as_json, load_labels, summary_of, table_of
from harness.cli.options.completion import complete_run
from harness.cli.options.places import Folder
from harness.cli.options.shared import runs_option
from harness.cli.options.structs import gathered
from harness.cli.parsing import Command
from harness.errors import KrucibleError, UsageError, disk_errors_named
from harness.plan.catalogue import scenario_names
from harness.run.own_identity import this_krucible
from results.markup.cleaning import clean
from results.report import write_report
from results.run.circumstances import Circumstances
from results.run.measures import measure
from results.run.observation import observe
from results.store.commands import command_to_list
from results.store.runs import LATEST, RunAmbiguousError, RunNotFoundError, find_run

_TEXT_MAX = 240
_WHOLE_FOLDER = "copy the whole folder of the run, with run.json and all history*.jsonl, or name another one"


class _Foreign(msgspec.Struct, frozen=True, kw_only=True):
    """The options for a history of another harness; None if they were not given."""

    workload: str | None
    model: str | None
    initial: str | None
    out: Path | None
    html: Path | str | None
    sequential_keys: bool | None
    linearizable_keys: bool | None
    wfr_keys: bool | None

    def judging_options(self) -> JudgingOptions:
        """Return how the history is judged."""
        declared = Declared(
            sequential=bool(self.sequential_keys),
            linearizable=bool(self.linearizable_keys),
            writes_follow_reads=bool(self.wfr_keys),
        )
        return JudgingOptions(self.workload, self.model, initial_of(self.initial), declared)

    def refuse(self, why: str) -> None:
        """Refuse these options.

        Raises:
            UsageError: one of them was given.
        """
        names = [name for name in self.__struct_fields__ if getattr(self, name) is not None]
        given = ", ".join(f"--{name.replace('_', '-')}" for name in names)
        if given:
            raise UsageError(
                "this option is only for a history of another harness",
                got=given,
                expected=f"no such option {why}",
                next_step=f"drop {given}",
            )


@click.command(cls=Command)
@click.argument("run", default=LATEST, metavar="[RUN|FILE|DIR]", shell_complete=complete_run)
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
@click.option(
    "--workload",
    type=click.Choice([str(name) for name in ForeignWorkload]),
    metavar="NAME",
    help=f"Workload of FILE; inferred if not given. One of {', '.join(ForeignWorkload)}.",
)
@click.option(
    "--model",
    type=click.Choice([str(name) for name in (*ConsistencyModel, *MODELS)]),
    metavar="NAME",
    help=f"What FILE is checked against: a model of transactions ({', '.join(ConsistencyModel)}) or "
    f"an object ({', '.join(map(str, MODELS))}).",
)
@click.option("--initial", metavar="VALUE", help="The object's initial value, JSON or EDN.")
@click.option(
    "--sequential-keys",
    is_flag=True,
    default=None,
    help="For rw-register: assume that each key is sequentially consistent.",
)
@click.option(
    "--linearizable-keys",
    is_flag=True,
    default=None,
    help="For rw-register: assume that each key is linearizable.",
)
@click.option(
    "--wfr-keys",
    is_flag=True,
    default=None,
    help="For rw-register: assume that writes of a transaction follow its reads.",
)
@click.option(
    "--out",
    type=Folder(),
    help="Write proofs and drawings of FILE to this folder.",
)
@click.option(
    "--html",
    type=PageFile(),
    is_flag=False,
    flag_value=BESIDE,
    metavar="[PAGE]",
    help=f"Write a report of FILE to PAGE ({SUFFIX}), by default to FILE{SUFFIX} in the current folder.",
)
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    help="File with verdicts of another checker: judge every file of DIR that it names, and compare.",
)
@runs_option
@gathered(_Foreign)
def check(foreign: _Foreign, *, run: str, as_json: bool, runs: Path, labels: Path | None) -> int:
    """Judge a stored RUN again (latest, a scenario's name or a folder), or the FILE of another harness.

    RUN may also be the run's seed or the beginning of its time.
    FILE is a history in Jepsen's EDN, JSON or log form, gzip-compressed or not; - is standard input.
    Exit codes: 0 valid, 1 invalid, 2 unknown; with --labels 0 if all agree, otherwise 1.
    """
    if labels is not None:
        foreign.refuse("with --labels: that file says it for each history")
        return _compare(run, labels, as_json=as_json)
    if run == STDIN or _is_readable(run):
        return _check_file(run, foreign, as_json=as_json)
    folder = _find(runs, run)
    foreign.refuse("with a run of krucible, whose folder has all that, and its report")
    return check_run(folder, as_json=as_json)


def _is_readable(name: str) -> bool:
    """Whether the name is a file or a pipe, as in ``check <(zcat …)``."""
    return os.path.exists(name) and not _is_folder(name)  # noqa: PTH110 - False, not an error, for whatever can't be either


def _is_folder(name: str) -> bool:
    return os.path.isdir(name)  # noqa: PTH112 - False, not an error, for a name that no folder can have


def _find(runs: Path, name: str) -> Path:
    try:
        return find_run(runs, name)
    except RunNotFoundError as error:
        if name == LATEST or isinstance(error, RunAmbiguousError):
            raise
        is_folder = _is_folder(name)
        raise UsageError(
            "there is no run in that folder" if is_folder else "no run and no file has that name",
            got=clean(name, _TEXT_MAX) + _similar(name),
            expected=f"{LATEST}, a scenario with runs, a run's folder, seed or time, a file, "
            "or a folder with --labels",
            where=f"{runs}, and the current folder",
            next_step=_WHOLE_FOLDER if is_folder else command_to_list(runs),
        ) from error


def _similar(name: str) -> str:
    near = difflib.get_close_matches(name, scenario_names(), n=1)
    return f"; did you mean {near[0]}?" if near and near[0] != name else ""


def _check_file(name: str, foreign: _Foreign, *, as_json: bool) -> int:
    page = None if foreign.html is None else page_of(name, foreign.html)
    if name != STDIN and Path(name).is_file() and is_journal(name):
        replace(foreign, out=None, html=None).refuse("with a journal of krucible, which has recorded it")
        judging = partial(judge_journal, Path(name))
    else:
        judging = partial(judge_file, name, foreign.judging_options())
    with shown_on_terminal(2) as show_step:
        judged = judging(show_step)
    if foreign.out is not None:
        count = save_proofs(foreign.out, judged)
        click.echo(f"{count} files in {foreign.out}", err=True)
    if page is not None:
        try:
            with disk_errors_named():
                write_page_of(judged, page)
        except KrucibleError:
            _print(judged, None, as_json=as_json)  # the verdict of a long judgement is not lost
            raise
    _print(judged, page, as_json=as_json)
    return EXIT_CODES[judged.verdict.validity]


def _print(judged: JudgedFile, page: Path | None, *, as_json: bool) -> None:
    """Print the verdict on a file, and where its page is."""
    if as_json:
        click.echo(verdict_as_json(judged, page))
    else:
        show(judgement_text(judged, page))


def _compare(folder: str, labels: Path, *, as_json: bool) -> int:
    if not os.path.isdir(folder):  # noqa: PTH112 - False, not an error, for whatever can't be a folder
        raise UsageError(
            "--labels needs the folder of the histories",
            got=folder,
            expected="a folder that has the files that the labels name",
            where="DIR",
            next_step="krucible check DIR --labels FILE",
        )
    rows = list(compare(Path(folder), load_labels(labels)))
    if as_json:
        click.echo(comparison_as_json(rows))
    else:
        Console().print(table_of(rows))
        click.echo(summary_of(rows))
    return int(any(row.agrees is False for row in rows))


@click.command(cls=Command)
@click.argument("run", default=LATEST, shell_complete=complete_run)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: the run's folder, its report, its verdict."
)
@runs_option
def report(run: str, *, as_json: bool, runs: Path) -> None:
    """Write a stored RUN's report again and say where it is."""
    folder = find_run(runs, run)
    by = this_krucible()
    history = read_history(folder)
    verdict, identity = judge(history), identity_of(folder)
    with disk_errors_named():
        page = write_report(folder, history, verdict, identity, by)
        document = {"run": str(folder), "report": str(page), "validity": verdict.validity}
        click.echo(json.dumps(document) if as_json else page)
        observed = observe(history)
        measures, circumstances = measure(observed, verdict), Circumstances(history, observed.faults)
        keep_for_ci(folder, verdict, identity, measures, circumstances)
