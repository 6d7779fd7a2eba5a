"""``krucible qualify``: compares a candidate of Kafka with a baseline, and writes a report for a vote."""

import contextlib
import re
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from harness.campaigns.campaign import Campaign
from harness.campaigns.cancelling import cancellable
from harness.campaigns.contents import Contents, require_two
from harness.campaigns.making import run_missing
from harness.campaigns.provisions import require_images
from harness.campaigns.qualifying_runs import GatheredRuns, Stores, gather_planned, gather_stored, on_record
from harness.campaigns.rerunning import QUALIFICATIONS, record_qualification
from harness.campaigns.series import Series, Venue
from harness.cli.options.origins import settled
from harness.cli.options.places import File, Folder
from harness.cli.options.shared import Seeds, WholeNumber, runs_option
from harness.cli.parsing import Command
from harness.clients.java.process import java_missing
from harness.errors import UsageError, disk_errors_named
from harness.plan.kafka_choice import KafkaChoice
from harness.plan.planning import plan_run
from harness.plan.presets import PRESETS
from harness.plan.qualification import SEEDS_A_NIGHT, Build, Job, Matrix, expected_ms, load_ms, matrix, shard
from harness.vocabulary.version import DEFAULT_VERSION, VersionShapeError, parse_version
from results.campaigns.step_summary import append_blocks
from results.markup.markdown import number
from results.qualification import (
    ComparisonQuestion,
    Decision,
    Qualification,
    encode_qualification,
    markdown_blocks,
    qualify,
    render_markdown,
    render_page,
    render_text,
)
from results.store.runs import write_whole

EXIT_CODES = {Decision.QUALIFIED: 0, Decision.NOT_QUALIFIED: 1, Decision.INCONCLUSIVE: 2}
STORED = "none (what the store holds)"
"""The text in place of a preset's name if nothing was planned."""
NIGHTS_MAX = 1_000_000
SHARDS_MAX = 256
_MS_PER_MIN = 60_000


class Shard(click.ParamType[tuple[int, int]]):
    """A value of the form ``I/N``: the I-th of N shards."""

    name = "I/N"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """The numbers I and N of a value."""
        found = re.fullmatch(r"([0-9]{1,3})/([0-9]{1,3})", str(value))
        number_, count = map(int, found.groups()) if found else (0, 0)
        if not 1 <= number_ <= count <= SHARDS_MAX:
            self.fail(f"got {value!r}, expected I/N such as 1/4, N at most {SHARDS_MAX}", param, ctx)
        return number_, count


class _Arguments(NamedTuple):
    """The parsed arguments of the command."""

    candidate: Build
    baseline: Build | None
    preset: str | None
    seeds: range | None
    night: int
    shard: tuple[int, int] | None
    stores: Stores
    reading: bool


@click.command("qualify", cls=Command)
@click.option("--candidate", required=True, metavar="V", help="A version, an image or a release's tarball.")
@click.option(
    "--baseline", metavar="V", help="What the candidate is compared to; without it, nothing is compared."
)
@click.option("--preset", type=click.Choice(list(PRESETS)), help="How much is run; smoke if not given.")
@click.option("--seeds", type=Seeds(), help="Seeds of every scenario, instead of the preset's.")
@click.option(
    "--night",
    type=WholeNumber(0, NIGHTS_MAX),
    default=0,
    metavar="N",
    help=f"Take the preset's seeds from {SEEDS_A_NIGHT} x N on, so that every night has new schedules.",
)
@click.option("--shard", type=Shard(), help="Run one of several shards, and write no report.")
@click.option(
    "--merge",
    type=Folder("a folder that has the shards' runs", exists=True),
    multiple=True,
    help="Report also on the runs of another store, such as a shard's; run nothing. Repeatable.",
)
@click.option(
    "--no-run",
    is_flag=True,
    help="Run nothing; report on stored runs. Without --preset: on all of the store.",
)
@click.option("--plan", "dry", is_flag=True, help="Print what would be run, and how long it would take.")
@click.option("--out", type=Folder(), help="Where the report is written.")
@click.option(
    "--step-summary",
    type=File(),
    help="Append the report to a file, such as $GITHUB_STEP_SUMMARY.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@runs_option
def qualify_command(
    *,
    candidate: str,
    baseline: str | None,
    preset: str | None,
    seeds: range | None,
    night: int,
    shard: tuple[int, int] | None,
    merge: tuple[Path, ...],
    no_run: bool,
    dry: bool,
    out: Path | None,
    step_summary: Path | None,
    as_json: bool,
    runs: Path,
) -> int:
    """Qualify a candidate of Kafka: run it and a baseline, compare, decide by a rule, report.

    Runs in the store are not repeated; the output of runs goes to stderr. Exit codes: 0 QUALIFIED,
    1 NOT QUALIFIED, 2 INCONCLUSIVE.  With --shard: 0 if all its runs have a verdict, otherwise 2.
    """
    asked = _Arguments(
        build_of(candidate),
        None if baseline is None else build_of(baseline),
        preset if no_run and not merge else preset or "smoke",
        seeds,
        night,
        shard,
        Stores((runs, *merge)),
        no_run or bool(merge),
    )
    _require_two(asked)
    _require_seeds_of_a_night(asked)
    planned = Matrix((), ()) if asked.preset is None else _matrix(asked, asked.preset)
    if dry:
        click.echo(_plan_json(planned) if as_json else _plan_text(planned), nl=False)
        return 0
    with cancellable() as cancelled, contextlib.redirect_stdout(sys.stderr):
        if not asked.reading:
            _run_all(planned.jobs, _folder_name(asked), runs, cancelled, asked.stores.contents)
    if shard is not None:
        return _print_shard(planned.jobs, asked.stores)
    result = _report(asked, planned)
    written = _write(result, out or runs / QUALIFICATIONS / _folder_name(asked), asked.stores)
    _print_report(result, written, step_summary, as_json=as_json)
    return EXIT_CODES[result.decision]


def _print_report(result: Qualification, written: Path, step_summary: Path | None, *, as_json: bool) -> None:
    click.echo(encode_qualification(result).decode() if as_json else render_text(result), nl=False)
    if not as_json:
        click.echo(f"report  {written}")
    if step_summary is not None:
        with disk_errors_named():
            append_blocks(markdown_blocks(result), step_summary, "`qualification.md` of the report")


def build_of(text: str) -> Build:
    """Return the build of Kafka that an argument names: a tarball's path, an image's reference, or a version.

    Raises:
        UsageError: if it is none of them, or the version of Kafka is unknown.
    """
    if text.endswith((".tgz", ".tar.gz")):
        given = KafkaChoice(kafka_tarball=str(_tarball(text)))
    elif "/" in text or (":" in text and "@" not in text):
        given = KafkaChoice(kafka_image=text)
    else:
        given = KafkaChoice(kafka_version=text)
    kafka = settled(given)
    version = kafka.kafka_version or ""
    try:
        parse_version(version)
    except VersionShapeError as error:
        raise UsageError(
            "that does not name a build of Kafka",
            got=repr(text),
            expected=f"a version such as {DEFAULT_VERSION}, an image's reference, or a release's tarball",
            next_step="krucible qualify --help",
        ) from error
    return Build(Path(text).name if given.kafka_tarball else text, version, kafka)


def _tarball(text: str) -> Path:
    path = Path(text).resolve()
    if not path.is_file():
        raise UsageError(
            "there is no such tarball",
            got=text,
            expected="a release's tarball such as kafka_2.13-4.5.0.tgz",
            where=str(path),
            next_step="krucible qualify --help",
        )
    return path


def _matrix(asked: _Arguments, preset: str) -> Matrix:
    whole = matrix(
        PRESETS[preset],
        asked.candidate,
        asked.baseline,
        asked.seeds,
        asked.night,
        java_missing=java_missing(),
    )
    if asked.shard is None:
        return whole
    return whole._replace(jobs=shard(whole.jobs, *asked.shard))


def _require_two(asked: _Arguments) -> None:
    """Raise `UsageError` if both names mean the same build."""
    if asked.baseline is not None:
        contents = asked.stores.contents
        require_two(*(contents.of(build.kafka, build.version) for build in (asked.candidate, asked.baseline)))


def _require_seeds_of_a_night(asked: _Arguments) -> None:
    """Refuse ``--night`` if the seeds are not those of a preset.

    Raises:
        UsageError: if it was given with ``--seeds``, or without a preset.
    """
    if asked.night and (asked.seeds is not None or asked.preset is None):
        other = "--seeds" if asked.seeds is not None else "--no-run without --preset"
        raise UsageError(
            f"--night and {other} exclude each other",
            expected="a night moves the seeds of a preset on",
            next_step="drop one of them",
        )


def _run_all(
    jobs: Sequence[Job], name: str, runs: Path, cancelled: threading.Event, contents: Contents
) -> None:
    """Make the missing runs in order, until they are cancelled. Each run is a campaign of its own.

    All runs are planned, and their images are looked up, before the first run starts. Options that do not fit
    and images that are not available are therefore reported at once.
    """
    plans = [(job, plan_run(job.options)) for job in jobs]
    stores = Stores((runs,), contents)
    missing = [(job, plan) for job, plan in plans if stores.folder_of(plan) is None]
    click.echo(f"{len(plans) - len(missing)} of {number(len(plans), 'run')} are done already")
    require_images(plan for _job, plan in missing)
    record_qualification(runs, name, (plan for _job, plan in plans), contents)
    following = [*(plan for _job, plan in missing[1:]), None]
    with Series(runs, cancelled) as series:
        for place, ((job, plan), then) in enumerate(zip(missing, following, strict=False), start=1):
            if cancelled.is_set():
                break
            click.echo(f"=== {place} of {len(missing)}, {job.role}: {plan.reproduce}")
            seeds = {plan.options.seed: plan}
            campaign = Campaign(runs, plan.options.scenario, seeds, keep_complete=True, contents=contents)
            run_missing(campaign, seeds, Venue(runs, series=series, following=then), cancelled)


def _report(asked: _Arguments, planned: Matrix) -> Qualification:
    stores = asked.stores
    found: GatheredRuns
    if asked.preset is None:
        found = gather_stored(asked.candidate, asked.baseline, stores)
        required: tuple[str, ...] = ()
    else:
        found = gather_planned(planned.jobs, stores)
        required = PRESETS[asked.preset].required
    question = ComparisonQuestion(
        preset=asked.preset or STORED,
        candidate=asked.candidate.name,
        baseline=asked.baseline.name if asked.baseline else None,
        required=required,
        withheld=planned.withheld,
    )
    known = tuple(on_record(asked.candidate))
    return qualify(question, found.runs, found.controls, found.elsewhere, known)


def _folder_name(asked: _Arguments) -> str:
    builds = [asked.candidate.name, *([asked.baseline.name] if asked.baseline else [])]
    night = (f"night-{asked.night}",) if asked.night else ()
    part = ("shard-{}-of-{}".format(*asked.shard),) if asked.shard else ()
    words = [*("-against-".join(builds).split()), asked.preset or "stored", *night, *part]
    return re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(words))


def _write(result: Qualification, folder: Path, stores: Stores) -> Path:
    """Write the report in all four forms. Return the path of the HTML page, which links to runs' reports."""
    page = render_page(result, stores.reports_from(folder))
    forms = {
        "qualification.json": encode_qualification(result),
        "qualification.md": render_markdown(result).encode("utf-8", "backslashreplace"),
        "qualification.txt": render_text(result).encode("utf-8", "backslashreplace"),
        "qualification.html": page.encode("utf-8", "backslashreplace"),
    }
    with disk_errors_named():
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in forms.items():
            write_whole(folder / name, data)
    return folder / "qualification.html"


def _print_shard(jobs: Sequence[Job], stores: Stores) -> int:
    done = sum(stores.folder_of(plan_run(job.options)) is not None for job in jobs)
    click.echo(f"{done} of {number(len(jobs), 'run')} of this shard came to a verdict")
    click.echo("next  the same command without --shard, with --merge STORE for each shard's store")
    return 0 if done == len(jobs) else 2


class _PlanLine(msgspec.Struct, frozen=True):
    """One line of a plan: runs of one scenario, mode and role, and their duration."""

    role: str
    scenario: str
    mode: str
    version: str
    runs: int
    expected_ms: int
    load_ms: int


def _plan_lines(planned: Matrix) -> list[_PlanLine]:
    groups: dict[tuple[str, str, str, str], list[Job]] = {}
    for job in planned.jobs:
        options = plan_run(job.options)
        key = (
            job.role.value,
            job.options.scenario,
            options.scenario.topology.mode.value,
            options.version,
        )
        groups.setdefault(key, []).append(job)
    return [
        _PlanLine(*key, len(jobs), sum(map(expected_ms, jobs)), sum(map(load_ms, jobs)))
        for key, jobs in groups.items()
    ]


def _plan_json(planned: Matrix) -> str:
    document = {"lines": _plan_lines(planned), "withheld": planned.withheld}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _plan_text(planned: Matrix) -> str:
    lines = _plan_lines(planned)
    rows = [
        f"{line.role:<10}{line.version:<10}{line.mode:<10}{line.runs:>4} x {line.scenario:<44}"
        f"{line.expected_ms / _MS_PER_MIN:>7.1f} min"
        for line in lines
    ]
    whole = sum(line.expected_ms for line in lines)
    idle = 1 - sum(line.load_ms for line in lines) / whole if whole else 0.0
    rows += [f"left out: {text}" for text in planned.withheld]
    rows.append(
        f"{number(len(planned.jobs), 'run')}, about {whole / _MS_PER_MIN:.0f} min on two quiet cores, "
        f"{100 * idle:.0f} % of it outside loads and faults"
    )
    return "\n".join(rows) + "\n"
