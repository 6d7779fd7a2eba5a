"""Tasks that Spark runs on a host: a run in its own process, and the removal of leftovers."""

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import chain, count
from pathlib import Path

import msgspec

from harness.campaigns.apart.aftermath import judge_left
from harness.campaigns.hosting.hand_over import clear
from harness.campaigns.hosting.identity import host_name, machine
from harness.campaigns.hosting.orders import Order, Report, ReportFolder, Site, decode, encode
from harness.campaigns.hosting.slots import slot
from harness.campaigns.keeping import identity_of
from harness.errors import KrucibleError
from harness.record.deaths import death_text
from results.run.text import closing_text
from results.store.judges import load_judge

CARRY_OUT = f"{__name__}:carry_out"
CLEAR_SLOTS = f"{__name__}:clear_slots"


class Clearing(msgspec.Struct, frozen=True):
    """An order to remove leftovers from a host.

    Attributes:
        site: the places on the host.
        patience_s: how long to wait for a slot that is in use.
    """

    site: Site
    patience_s: float


def carry_out(data: bytes) -> bytes:
    """Carry out an order in a separate process, which ends by itself when this one is gone.

    Args:
        data: the `Order`.

    Returns:
        The `Report`.
    """
    order = decode(data, Order)
    if machine() not in order.machines:
        lacking = f"a run was lost, and its next host, {host_name()}, lacks what runs need"
        return encode(Report(host_name(), failure=lacking))
    desk = ReportFolder(order.place)
    report = desk.report(order.number)
    if report is None:
        code = _in_process(data, desk, order.number)
        if desk.report(order.number) is None and not desk.stopped:
            _take_up(order, desk, code)
        # Without a report the process was stopped while it waited, or was killed.
        ended = "" if desk.stopped else f"its process ended with {code}; see {desk.log(order.number)}"
        report = desk.report(order.number) or Report(host_name(), failure=ended, interrupted=desk.stopped)
    return encode(report)


def _in_process(order: bytes, desk: ReportFolder, number: int) -> int:
    command = [sys.executable, "-m", "harness.campaigns.hosting.child"]
    with desk.log(number).open("ab") as log:
        # A separate session gets no signal that ends an executor; it only notices that stdin is closed.
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
        )
        if process.stdin is None:
            raise AssertionError("stdin must be a pipe")
        # A process that ends before it has read its order breaks the pipe.  Its exit code is still reported.
        with suppress(BrokenPipeError), process.stdin:
            process.stdin.write(order + b"\n")
            process.stdin.flush()
            process.wait()
        return process.wait()


def _take_up(order: Order, desk: ReportFolder, code: int) -> None:
    """Clean up after a dead process, and judge the run that it had begun, if any."""
    left = [folder for number in order.site.slot_numbers for folder in _cleared(order.site, number, [])]
    begun = [Path(note.folder).name for note in desk.begun(order.number) if note.host == host_name()]
    folder = next((folder for folder in left if begun and folder.name.startswith(begun[-1])), None)
    if folder is None:
        return
    lines = desk.log(order.number).read_text(encoding="utf-8", errors="replace").splitlines()
    try:
        with desk.log(order.number).open("ab") as log:
            verdict = judge_left(folder, death_text(code, lines), log)
    except KrucibleError as error:
        desk.end(order.number, Report(host_name(), failure=str(error)))
        return
    text = closing_text(folder, verdict, identity_of(folder), by=load_judge(folder))
    place = str(folder.relative_to(order.site.store))
    desk.end(order.number, Report(host_name(), folder=place, text=text))


def clear_slots(data: bytes) -> bytes:
    """Remove the leftovers of lost runs on this host, and move their folders to the store.

    Args:
        data: a `Clearing`.

    Returns:
        Lines of text, one for each thing that was found or could not be cleared.
    """
    asked = decode(data, Clearing)
    messages: list[str] = []
    until = time.monotonic() + asked.patience_s
    for number in asked.site.slot_numbers:
        left = _cleared(asked.site, number, messages, until)
        messages += [f"a run was cut short; its files are in {folder}" for folder in left]
    return "\n".join(messages).encode()


def _once_late(until: float) -> Callable[[], bool]:
    """A function that returns whether the time is over; its first call returns False, for one attempt."""
    answers = chain([False], (time.monotonic() > until for _ in count()))
    return lambda: next(answers)


def _cleared(site: Site, number: int, messages: list[str], until: float = 0.0) -> list[Path]:
    """Clear a slot; returns the folders of its runs, and adds a failure to the messages."""
    with slot((number,), _once_late(until)) as held:
        if held is None:
            messages.append("a run is still under way there; krucible heal there removes what it leaves")
            return []
        try:
            return clear(site, number, messages.append)
        except KrucibleError as error:
            messages.append(str(error))
            return []
