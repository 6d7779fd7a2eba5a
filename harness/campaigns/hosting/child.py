"""The process of one run on a host: reads its order from stdin, and ends when stdin is closed.

The process that started it holds the other end.  When that process is gone, the run is lost and does not
count.  It is healed and cleaned up here, because no other process does that.
"""

import faulthandler
import os
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import click

from checkers.history.reading import HistoryError
from checkers.verdict.verdict import Validity
from harness.campaigns.cancelling import cancellable
from harness.campaigns.console import LineConsole
from harness.campaigns.hosting.hand_over import clear, hand_over
from harness.campaigns.hosting.identity import host_name
from harness.campaigns.hosting.orders import Begun, Order, Report, ReportFolder, decode
from harness.campaigns.hosting.slots import slot
from harness.campaigns.keeping import keep
from harness.errors import KrucibleError
from harness.plan.planning import plan_run
from harness.record.events import Event, RunBegan
from harness.run.own_identity import this_krucible
from harness.run.run_host import Host
from harness.run.runner import execute
from harness.seeded_bugs.reach import reach_text, read_traces
from results.store.runs import StoreError

_POLL_S = 0.5
_BLOCK_BYTES = 65_536


def main() -> None:
    """Make the run that stdin orders; the result goes to the command's folder, progress to stdout."""
    faulthandler.enable(all_threads=False)  # see `harness.campaigns.apart.child`
    stdin = sys.stdin.fileno()
    order = decode(_line(stdin), Order)
    with cancellable() as cancelled:
        lost = threading.Event()
        threading.Thread(target=_watch_stdin, args=(stdin, lost, cancelled), daemon=True).start()
        desk = ReportFolder(order.place)
        threading.Thread(target=_watch_desk, args=(desk, cancelled), daemon=True).start()
        with slot(order.site.slot_numbers, cancelled.is_set) as number:
            if number is not None and desk.report(order.number) is None:
                _carry_out(order, desk, number, cancelled, lost)


def _carry_out(
    order: Order, desk: ReportFolder, number: int, cancelled: threading.Event, lost: threading.Event
) -> None:
    try:
        for left in clear(order.site, number):
            click.echo(f"an earlier run on this host was cut short; its files are in {left}")
        if cancelled.is_set():
            return
        report = _run(order, desk, order.site.scratch_of(number), cancelled)
    except (HistoryError, KrucibleError, StoreError) as error:
        report = Report(host_name(), failure=str(error), interrupted=cancelled.is_set())
        click.echo(f"krucible: {error}", err=True)
    if not (report.interrupted and lost.is_set()) and not desk.end(order.number, report):
        click.echo("another host has already done this run; this one does not count")


def _run(order: Order, desk: ReportFolder, scratch: Path, cancelled: threading.Event) -> Report:
    """Make the run, hand it over, judge it and store the results, as `krucible run` does."""
    plan = plan_run(order.options)
    console = LineConsole(sys.stdout)
    ended = execute(plan, Host(runs=scratch), _noting(console.hear, desk, order.number), cancelled)
    failure = ended.failure  # reading it also waits until the cluster is removed
    interrupted = cancelled.is_set()
    folder = hand_over(ended.folder, scratch, order.site.store)
    text = keep(folder, ended.history, ended.verdict, this_krucible())
    if bug := plan.options.seeded_bug:
        text += f"\nseeded     {reach_text(bug, read_traces(folder, bug))}"
    counts = failure is None or ended.verdict.validity is Validity.INVALID
    return Report(
        host_name(),
        folder=str(folder.relative_to(order.site.store)),
        text=text,
        failure="" if counts else str(failure),
        interrupted=interrupted,
    )


def _noting(hear: Callable[[Event], None], desk: ReportFolder, number: int) -> Callable[[Event], None]:
    def note(event: Event) -> None:
        if isinstance(event, RunBegan):
            desk.begin(number, Begun(host_name(), event.folder, datetime.now(UTC).isoformat()))
        hear(event)

    return note


def _line(handle: int) -> bytes:
    """Read the first line without a buffer; a buffer would block the thread that waits for the rest."""
    data = b""
    while not data.endswith(b"\n"):
        block = os.read(handle, _BLOCK_BYTES)
        if not block:
            break
        data += block
    return data


def _watch_stdin(handle: int, lost: threading.Event, cancelled: threading.Event) -> None:
    while os.read(handle, _BLOCK_BYTES):
        pass
    lost.set()
    cancelled.set()


def _watch_desk(desk: ReportFolder, cancelled: threading.Event) -> None:
    while not cancelled.wait(_POLL_S):
        try:
            if desk.stopped:
                cancelled.set()
        except OSError as error:  # a short failure of the store must not end the run
            click.echo(f"krucible: {desk.place} can't be read: {error.strerror}", err=True)


if __name__ == "__main__":
    main()
