"""Prints the progress of a reassignment as lines, as JSON, or as bars on a terminal."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Protocol, Self, TextIO

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from harness.administration.requests import PartitionStatus, ReassignmentState, Received, Request


class StatusDisplay(Protocol):
    """Shows statuses while they change."""

    def show(self, request: Request, statuses: Sequence[PartitionStatus]) -> None:
        """Show the latest statuses of a request."""

    def __enter__(self) -> Self:
        """Begin to show statuses; a display with bars draws them until `__exit__`."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop drawing the bars."""


def view_for(stream: TextIO, *, as_json: bool) -> StatusDisplay:
    """Return bars for a terminal, and lines of text or JSON for CI and pipes."""
    if stream.isatty() and not as_json and not os.environ.get("CI"):
        return BarView(Console(file=stream))
    return LineView(stream, as_json=as_json)


class LineView:
    """Prints statuses when they have changed."""

    def __init__(self, stream: TextIO, *, as_json: bool) -> None:
        self._stream = stream
        self._as_json = as_json
        self._shown: Sequence[PartitionStatus] | None = None

    def show(self, request: Request, statuses: Sequence[PartitionStatus]) -> None:
        """Print the statuses, unless they are unchanged."""
        if statuses == self._shown:
            return
        self._shown = statuses
        text = as_json(request, statuses) if self._as_json else "\n".join(lines(request, statuses))
        click.echo(text, file=self._stream)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class BarView:
    """One bar for each partition and each broker that receives it."""

    def __init__(self, console: Console) -> None:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[shown]}"),
        )
        self._progress = Progress(*columns, console=console)
        self._bars: dict[tuple[str, int, int | None], TaskID] = {}

    def show(self, request: Request, statuses: Sequence[PartitionStatus]) -> None:
        """Update one bar for each replica that is copied."""
        del request
        for status in statuses:
            for one in status.receiving or (None,):
                self._move(status, one)

    def _move(self, status: PartitionStatus, one: Received | None) -> None:
        bar = (status.topic, status.partition, one.broker if one else None)
        done = 100.0 if status.state is ReassignmentState.COMPLETE else one.percentage if one else None
        shown = f"{status.state}  {_bytes(one)}" if one else f"{status.state}  {status.detail}"
        if bar not in self._bars:
            to = f" to broker {one.broker}" if one else ""
            self._bars[bar] = self._progress.add_task(
                f"{status.topic}/{status.partition}{to}", total=None, shown=shown
            )
        # Without a total, the bar only shows that the copy is in progress, because its size is unknown.
        total = None if done is None and status.state is ReassignmentState.ONGOING else 100.0
        self._progress.update(self._bars[bar], total=total, completed=done or 0.0, shown=shown.rstrip())

    def __enter__(self) -> Self:
        self._progress.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.__exit__(kind, error, trace)


def lines(request: Request, statuses: Sequence[PartitionStatus]) -> list[str]:
    """A line for the request, and one for each partition and each broker that receives it."""
    complete = sum(status.state is ReassignmentState.COMPLETE for status in statuses)
    texts = [f"request {request.id}, asked {requested_at(request)}: {complete} of {len(statuses)} complete"]
    for status in statuses:
        place = f"  {status.topic}/{status.partition}  {status.state}"
        texts.append(f"{place}  {status.detail}".rstrip())
        texts += [f"    broker {one.broker}: {_bytes(one)}" for one in status.receiving]
    return texts


def as_json(request: Request, statuses: Sequence[PartitionStatus]) -> str:
    """One JSON object; unknown numbers are null."""
    partitions = [
        {
            "topic": status.topic,
            "partition": status.partition,
            "state": status.state,
            "detail": status.detail,
            "wanted": asked.wanted,
            "before": asked.before,
            "receiving": [
                {**msgspec.structs.asdict(one), "percentage": one.percentage} for one in status.receiving
            ],
        }
        for asked, status in zip(request.partitions, statuses, strict=True)
    ]
    document = {"request": request.id, "asked_at": requested_at(request), "partitions": partitions}
    return msgspec.json.encode(document).decode()


def requested_at(request: Request) -> str:
    """The time of the request, in UTC."""
    return datetime.fromtimestamp(request.asked_at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _bytes(one: Received) -> str:
    has = "unknown" if one.numerator is None else str(one.numerator)
    of = "unknown" if one.denominator is None else str(one.denominator)
    share = "" if one.percentage is None else f", {one.percentage:.1f} %"
    return f"{has} of {of} bytes{share}"
