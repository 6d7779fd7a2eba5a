"""``krucible replay``: repeats a recorded schedule, and reports how often its anomalies return."""

import contextlib
import secrets
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec
from msgspec.structs import replace

from checkers.history.reading import HistoryError, read_journals
from harness.campaigns.campaign import Campaign
from harness.campaigns.cancelling import cancellable
from harness.campaigns.contents import Contents
from harness.campaigns.making import run_one
from harness.campaigns.rejudging import verdict_of
from harness.campaigns.series import Series, Venue
from harness.cli.options.completion import complete_run
from harness.cli.options.origins import image_options, settled
from harness.cli.options.shared import WholeNumber, runs_option
from harness.cli.parsing import Command
from harness.cli.runs.run import print_kept
from harness.errors import KrucibleError, UsageError
from harness.plan.kafka_choice import KafkaChoice
from harness.plan.replaying import differences
from harness.plan.replaying_plan import (
    INJECTING,
    OtherKafka,
    RecordedActions,
    Replay,
    is_rerun,
    is_resolved,
    journals_of,
    load_recorded,
    plan_replay,
    replay_line,
)
from results.failures.reproduction import (
    Attempt,
    Reproduction,
    Signature,
    came_back,
    reproduction_of,
    signature_of,
)
from results.markup.cleaning import clean
from results.store.commands import store_option
from results.store.runs import (
    StoreError,
    find_original,
    find_run,
    load_identity,
    load_verdict,
)

EXIT_BACK, EXIT_NEVER, EXIT_UNKNOWN, EXIT_FAILED = 0, 1, 2, 3
BISECT_GOOD, BISECT_BAD, BISECT_SKIP, BISECT_ABORT = 0, 1, 125, 128
"""Exit codes by their meaning for ``git bisect run``."""
_TIMES_MAX = 1_000
_TEXT_MAX = 300


class _Bisectable(Command):
    """A command whose usage errors stop ``git bisect run`` instead of marking a commit as bad."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the command line. With ``--bisect``, exit with 128 instead of 64 if it is wrong.

        Raises:
            click.exceptions.Exit: the bisection can't continue.
        """
        words = tuple(args)  # parsing removes them from the list
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            if "--bisect" not in words:
                raise
            error.show()
            raise click.exceptions.Exit(BISECT_ABORT) from error


@click.command(cls=_Bisectable)
@click.argument("run", shell_complete=complete_run)
@click.option(
    "--times",
    type=WholeNumber(1, _TIMES_MAX),
    default=1,
    show_default=True,
    help="How many runs; after an interruption the same command continues.",
)
@click.option(
    "--symbolic",
    is_flag=True,
    help="Choose the targets by role again, such as the active controller, at the planned times.",
)
@click.option("--kafka-version", metavar="V", help="Run another version of Kafka.")
@image_options
@click.option(
    "--bisect",
    is_flag=True,
    help="Stop when the anomalies return, with an exit code for git bisect run.",
)
@click.option("--keep", is_flag=True, help="Leave the cluster up when the run is over.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; the output of the runs goes to stderr.")
@runs_option
def replay(
    kafka: KafkaChoice,
    *,
    run: str,
    times: int,
    symbolic: bool,
    bisect: bool,
    keep: bool,
    as_json: bool,
    runs: Path,
) -> int:
    """Repeat the recorded schedule of RUN, and report how often its anomalies return.

    The same faults hit the same nodes at the same times, whatever roles they have now.  Roles that differ
    are reported.  RUN is the run's folder, seed or time, or latest, or a scenario's name.  The last two mean
    the newest run that is not a replay, so that the same command means the same run again.

    Exit codes: 0 all its anomalies returned in a run, 1 never, 2 no run decided it, 3 the harness failed.
    With --bisect: 1 (bad) they returned, 0 (good) they never did, 125 (skip) undecided, 128 (abort) wrong
    command.
    """
    if keep and times > 1:
        raise UsageError("--keep is for a single run", next_step="drop it, or --times")
    asked = _Arguments(run, times, kafka, symbolic, Venue(runs, keep=keep), bisect, as_json)
    if not bisect:
        return _exit_code(_reproduce(asked))
    try:
        return _bisect_code(_reproduce(asked))
    except _InterruptedError:
        return BISECT_ABORT
    except (UsageError, StoreError) as error:
        click.echo(f"krucible: {error}", err=True)
        return BISECT_ABORT
    except (KrucibleError, HistoryError, OSError) as error:
        click.echo(f"krucible: {error}", err=True)
        return BISECT_SKIP


class _InterruptedError(Exception):
    """A bisection was interrupted, so the result of this step is unknown."""


class _Arguments(NamedTuple):
    """The parsed arguments of the command."""

    run: str
    times: int
    kafka: KafkaChoice
    symbolic: bool
    venue: Venue
    bisect: bool
    as_json: bool


def _reproduce(asked: _Arguments) -> Reproduction:
    with cancellable() as cancelled, _run_output(to_stderr=asked.as_json):
        recorded = load_recorded(find_run(asked.venue.runs, asked.run, originals=True))
        wanted = signature_of(verdict_of(recorded.folder))
        planned = _planned(recorded, asked.venue.runs, _instead(asked.kafka), symbolic=asked.symbolic)
        click.echo(f"replaying  {clean(str(recorded.folder), _TEXT_MAX)}: {wanted.text()}")
        for note in planned.notes:
            click.echo(f"note       {clean(note, _TEXT_MAX)}")
        campaign = _campaign(planned, asked)
        _run_missing(planned, campaign, wanted, asked, cancelled)
        found = reproduction_of(wanted, _attempts(campaign, recorded, planned, asked.times))
    click.echo(
        _as_json(found, recorded, planned) if asked.as_json else _as_text(found, planned, asked.venue.runs)
    )
    if asked.bisect and cancelled.is_set():
        raise _InterruptedError
    return found


def _planned(recorded: RecordedActions, runs: Path, instead: OtherKafka, *, symbolic: bool) -> Replay:
    """Plan the replay. If the recorded run is itself a replay, a note says so and names the original run.

    Raises:
        UsageError: if roles are to be resolved again but the run has none, or the run can't be replayed.
    """
    replay_of = recorded.identity.replay_of
    if not replay_of or is_rerun(recorded.identity):
        return plan_replay(recorded, instead, symbolic=symbolic)
    original = find_original(runs, recorded.identity)
    if symbolic and is_resolved(recorded.identity):
        again = replay_line(original, instead, symbolic=True) if original else "name that run's folder"
        raise UsageError(
            "there are no roles to resolve again: that run is a replay, whose schedule names nodes",
            got=f"a replay of run {clean(replay_of, _TEXT_MAX)}",
            expected=f"the run that it goes back to, {original or f'which is not below {runs}'}",
            where=str(recorded.folder),
            next_step=again,
        )
    planned = plan_replay(recorded, instead, symbolic=symbolic)
    source = original or f"run {replay_of}"
    note = f"that run is itself a replay, of {source}; this command looks for what the replay found"
    return planned._replace(notes=(note, *planned.notes))


@contextlib.contextmanager
def _run_output(*, to_stderr: bool) -> Iterator[None]:
    with contextlib.redirect_stdout(sys.stderr) if to_stderr else contextlib.nullcontext():
        yield


def _instead(kafka: KafkaChoice) -> OtherKafka:
    chosen = settled(kafka)
    return OtherKafka(
        kafka_version=chosen.kafka_version,
        kafka_tarball=chosen.kafka_tarball,
        kafka_image=chosen.kafka_image,
        image_source=None if chosen.image_source == "auto" else chosen.image_source,
    )


def _campaign(planned: Replay, asked: _Arguments) -> Campaign:
    """Return the campaign with the earlier runs of this command. A rebuilt tarball starts another campaign.

    Every step of a bisection is a new campaign: anything may have changed, including krucible.
    """
    plan = planned.plan
    name = f"{plan.replay_of} {plan.reproduce}"
    contents = Contents()
    if content := contents.of_plan(plan).key:
        name += f" of {content}"
    if asked.bisect:
        name += f" step {secrets.token_hex(8)}"
    plans = dict.fromkeys(range(1, asked.times + 1), plan)
    return Campaign(asked.venue.runs, plan.options.scenario, plans, asked=name, each="run", contents=contents)


def _run_missing(
    planned: Replay, campaign: Campaign, wanted: Signature, asked: _Arguments, cancelled: threading.Event
) -> None:
    """Make the missing runs, until they are cancelled or the result of a bisection step is known."""
    missing = campaign.missing()
    with Series(asked.venue.runs, cancelled) as series:
        for number in missing:
            if cancelled.is_set():
                return
            click.echo(f"--- run {number} of {asked.times}")
            then = None if number == missing[-1] else planned.plan
            venue = replace(asked.venue, series=series, following=then)
            found = _run(number, planned, campaign, venue, cancelled)
            if found is None:
                continue
            back = came_back(wanted, found)
            click.echo(
                f"replayed   run {number} of {asked.times}: {'it came back' if back else 'it did not'}"
            )
            if back and asked.bisect:
                return


def _run(
    number: int, planned: Replay, campaign: Campaign, venue: Venue, cancelled: threading.Event
) -> Signature | None:
    """Make one run and return its result; None if the harness failed or was interrupted."""
    try:
        folder, verdict = run_one(planned.plan, venue, cancelled)
    except (HistoryError, KrucibleError) as error:
        campaign.record_failure(number, str(error))
        click.echo(f"krucible: run {number} failed: {error}", err=True)
        return None
    if venue.keep:
        print_kept(folder)
    if cancelled.is_set():
        return None
    campaign.record(number, folder)
    return signature_of(verdict)


def _attempts(campaign: Campaign, recorded: RecordedActions, planned: Replay, times: int) -> list[Attempt]:
    done = [
        _attempt(number, folder, recorded, planned)
        for number, folder in sorted(campaign.done.items())
        if number <= times
    ]
    failed = [Attempt(number=number, failure=why) for number, why in sorted(campaign.failed.items())]
    return done + [attempt for attempt in failed if attempt.number <= times]


def _attempt(number: int, folder: Path, recorded: RecordedActions, planned: Replay) -> Attempt:
    try:
        history = read_journals(journals_of(folder, INJECTING))
        otherwise = (*_image_differs(recorded, folder), *differences(planned.roles, history.operations))
        found = signature_of(load_verdict(folder))
    except (HistoryError, StoreError) as error:
        return Attempt(number=number, folder=str(folder), failure=str(error))
    return Attempt(number=number, folder=str(folder), found=found, differences=otherwise)


def _image_differs(recorded: RecordedActions, folder: Path) -> tuple[str, ...]:
    """Report a difference if the image of the same version has other jars."""
    then, now = recorded.identity, load_identity(folder)
    if then.image is None or now.image is None or then.kafka_version != now.kafka_version:
        return ()
    if then.image.checksums.get("jars") == now.image.checksums.get("jars"):
        return ()
    return (f"the image holds other jars: {now.image.reference}, then {then.image.reference}",)


def _as_text(found: Reproduction, planned: Replay, runs: Path) -> str:
    ticket = planned.plan.scenario.ticket
    counts = ", ".join(f"{count} {name}" for name, count in found.counts.items() if count) or "none"
    came = f"came back in {found.rate.text()}" if found.rate.of else "was not looked for: no run was judged"
    lines = [f"{f'{ticket}: ' if ticket else ''}{found.wanted.text()} {came}"]
    lines.append(f"runs       {counts}")
    if found.rate.count and found.wanted.summary:
        lines.append(f"alike      in {found.same_summary} the first sentence is the same")
    for attempt in found.attempts:
        lines.append(f"  {attempt.number:>4}  {_attempt_text(attempt, found.wanted)}")
        lines += [f"        {clean(each, _TEXT_MAX)}" for each in attempt.differences]
    if any(attempt.differences for attempt in found.attempts) and planned.roles:
        lines.append("next       --symbolic resolves the roles again")
    lines.append(f"reproduce  {clean(planned.plan.reproduce, _TEXT_MAX * 4)}{store_option(runs)}")
    return "\n".join(lines)


def _attempt_text(attempt: Attempt, wanted: Signature) -> str:
    if attempt.found is None:
        return f"failed   {clean(attempt.failure.splitlines()[0], _TEXT_MAX)}"
    back = "came back" if came_back(wanted, attempt.found) else attempt.found.text()
    return f"{attempt.found.validity:<8} {back}  {attempt.folder}"


def _as_json(found: Reproduction, recorded: RecordedActions, planned: Replay) -> str:
    value: dict[str, Any] = {
        "run": str(recorded.folder),
        "scenario": recorded.identity.scenario,
        "kafka_version": planned.plan.version,
        "ticket": planned.plan.scenario.ticket,
        "reproduce": planned.plan.reproduce,
        "notes": planned.notes,
        **msgspec.to_builtins(found),
        "exit_code": _exit_code(found),
    }
    for attempt, attempt_value in zip(found.attempts, value["attempts"], strict=True):
        attempt_value["came_back"] = attempt.found is not None and came_back(found.wanted, attempt.found)
    return msgspec.json.encode(value).decode()


def _exit_code(found: Reproduction) -> int:
    if found.rate.count:
        return EXIT_BACK
    if found.counts["failed"]:
        return EXIT_FAILED
    return EXIT_NEVER if found.rate.of else EXIT_UNKNOWN


def _bisect_code(found: Reproduction) -> int:
    return {EXIT_BACK: BISECT_BAD, EXIT_NEVER: BISECT_GOOD}.get(_exit_code(found), BISECT_SKIP)
