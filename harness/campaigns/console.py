"""Output of a run in progress: a live panel on a terminal, one line per event elsewhere."""

import os
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple, Protocol, Self, TextIO

import msgspec
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from checkers.history.faults import FaultRecorded
from checkers.history.observed import NODE, PARTITIONS, NodeSeen, PartitionAnswer, PartitionsSeen
from checkers.history.operations import Operation, OperationType
from checkers.history.quorum import QUORUM, LeaderSeen, quorum_seen
from harness.campaigns.admin_lines import admin_line
from harness.record.events import (
    Event,
    PhaseBegan,
    Recorded,
    RecordsAcknowledged,
    RunBegan,
    RunEnded,
    StaticMemberSeen,
)

REFRESH_PER_SECOND = 4
_COUNTED = (
    "send",
    "txn",
    "write",
    "read",
    "poll",
    "share-poll",
    "acknowledge",
    "commit",
    "create-topic",
    "delete-topic",
    "list-topics",
    "delete-records",
    "append-record",
    "fetch-records",
    "final-read",
)
"""Functions of which only the number of completions is shown."""
_OBSERVED = frozenset({QUORUM, PARTITIONS, NODE})
"""Keys of the observations that the console shows."""
_MS_PER_S = 1_000
_WORDS = {"inject": "inject", "heal": "heal", "recover": "recover"}


class RunConsole(Protocol):
    """A listener that shows a run; it has a beginning and an end."""

    def hear(self, event: Event) -> None:
        """Receive an event, from any thread."""

    def __enter__(self) -> Self:
        """Begin to show the run."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop drawing the panel."""


def console_for(stream: TextIO, planned_ms: Mapping[str, int] | None = None) -> RunConsole:
    """A live panel on a terminal, plain lines in CI and pipes.

    Args:
        stream: where it is shown.
        planned_ms: how long each fault is planned to last, by its name, milliseconds.
    """
    live = stream.isatty() and not os.environ.get("CI")
    return LiveConsole(Console(file=stream), planned_ms) if live else LineConsole(stream)


class LineConsole:
    """One line per event: phases, faults, leaders, nodes, but not single operations."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._board = Board()
        self._lock = threading.Lock()

    def hear(self, event: Event) -> None:
        """Print a line for the event, if it is news."""
        with self._lock:
            self._board.take(event)
            text = self._board.news(event)
            if text:
                # The reader may be gone, or a log's disk may be full; neither must end the run.
                with suppress(OSError):
                    print(f"{self._board.elapsed_s():7.1f} s  {text}", file=self._stream, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class LiveConsole:
    """A panel that is redrawn several times a second; lines about events scroll above it."""

    def __init__(self, console: Console, planned_ms: Mapping[str, int] | None = None) -> None:
        self._console = console
        self._board = Board(planned_ms)
        self._lock = threading.Lock()
        self._live = Live(
            get_renderable=self._render,
            console=console,
            refresh_per_second=REFRESH_PER_SECOND,
            transient=True,
        )

    def hear(self, event: Event) -> None:
        """Update the panel; print a line above it for an important event."""
        with self._lock:
            self._board.take(event)
            text = self._board.news(event)
        if text:
            at = f"[dim]{self._board.elapsed_s():7.1f} s[/dim]"
            with suppress(OSError):
                self._console.print(f"{at}  {escape(text)}", highlight=False)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def _render(self) -> Table:
        with self._lock:
            table = Table.grid(padding=(0, 2))
            for label, text in self._board.rows():
                table.add_row(f"[bold]{label}[/bold]", escape(text))
            return table


class _ActiveFault(NamedTuple):
    """A fault in force, and when it was injected: seconds of the monotonic clock."""

    text: str
    began_s: float


class Board:
    """The state of the run so far, updated by events; pure.

    Args:
        planned_ms: how long each fault is planned to last, by its name, milliseconds. Other faults last until
            something else happens.
    """

    def __init__(self, planned_ms: Mapping[str, int] | None = None) -> None:
        self._planned_ms = planned_ms or {}
        self._began = time.monotonic()
        self._phase = ""
        self._phase_began = self._began
        self._limit_s: float | None = None
        self._counts: Counter[tuple[str, str]] = Counter()
        self._records = 0
        self._faults: dict[str, _ActiveFault] = {}
        self._controller: tuple[int, int] | None = None
        self._leaders: dict[str, str] = {}
        self._seen_news: dict[str, str] = {}

    def elapsed_s(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began

    def take(self, event: Event) -> None:
        """Update from an event."""
        if isinstance(event, PhaseBegan):
            self._phase, self._limit_s = event.phase, event.limit_s
            self._phase_began = time.monotonic()
        elif isinstance(event, RecordsAcknowledged):
            self._records += event.records
        elif isinstance(event, Recorded):
            written = event.written
            if written.type is not OperationType.INVOKE:
                self._counts[written.f, written.type.value] += 1
            if _concerns(written):
                self._take_operation(event.operation)

    def rows(self) -> list[tuple[str, str]]:
        """Label and text of each row of the panel."""
        phase_s = time.monotonic() - self._phase_began
        limit = f" of {self._limit_s:.0f} s" if self._limit_s else " s"
        rows = [("phase", f"{self._phase}  {phase_s:.0f}{limit}  ({self.elapsed_s():.0f} s in total)")]
        for kind in _COUNTED:
            counts = {name: self._counts[kind, name] for name in ("ok", "fail", "info")}
            if any(counts.values()):
                rate = counts["ok"] / max(self.elapsed_s(), 1)
                counted = "  ".join(f"{name} {count}" for name, count in counts.items())
                rows.append((kind, f"{counted}  ({rate:.0f} ok/s)"))
        if self._records:
            rate = self._records / max(self.elapsed_s(), 1)
            rows.append(("records", f"{self._records} acknowledged  ({rate:.0f} a second)"))
        if self._controller is not None:
            rows.append(("controller", "node {1} in epoch {0}".format(*self._controller)))
        rows += [("leaders", text) for text in self._leaders.values()]
        rows.append(("faults", "; ".join(map(self._countdown, self._faults)) or "none"))
        return rows

    def news(self, event: Event) -> str | None:
        """The line to print for an event, if any."""
        match event:
            case RunBegan():
                return (
                    f"{event.scenario} on Kafka {event.kafka_version}, seed {event.seed}, in {event.folder}"
                )
            case PhaseBegan():
                return f"{event.phase}{': ' if event.detail else ''}{event.detail}"
            case Recorded(written):
                return self._operation_news(event.operation) if _concerns(written) else None
            case RunEnded() | RecordsAcknowledged() | StaticMemberSeen():
                return None

    def _countdown(self, name: str) -> str:
        """A fault in force with the time that is left, or without a planned end the time that has passed."""
        fault = self._faults[name]
        passed_s = time.monotonic() - fault.began_s
        if name not in self._planned_ms:
            return f"{fault.text}, for {passed_s:.0f} s"
        left_s = self._planned_ms[name] / _MS_PER_S - passed_s
        return f"{fault.text}, {left_s:.0f} s left" if left_s >= 0 else f"{fault.text}, about to be healed"

    def _take_operation(self, operation: Operation) -> None:
        if operation.f == "inject" and operation.type in {OperationType.OK, OperationType.INFO}:
            self._faults[operation.key] = _ActiveFault(_fault_text(operation), time.monotonic())
        if operation.f == "heal":
            self._faults.pop(operation.key, None)
        if operation.f == "observe" and operation.key == QUORUM:
            answer = quorum_seen(operation.value)
            if isinstance(answer, LeaderSeen):
                seen = (answer.leader_epoch, answer.leader_id)
                self._controller = max(self._controller or seen, seen)
        if operation.f == "observe" and operation.key == PARTITIONS:
            topics = msgspec.convert(operation.value, PartitionsSeen).topics
            self._leaders = {name: _leader_text(name, states) for name, states in topics.items()}

    def _operation_news(self, operation: Operation) -> str | None:
        if operation.f in _WORDS and operation.type is not OperationType.INVOKE:
            text = _fault_text(operation) if operation.f != "recover" else _recovery_text(operation)
            return f"{_WORDS[operation.f]} {text}: {_outcome_text(operation)}"
        if operation.f != "observe":
            return admin_line(operation)
        if operation.key == QUORUM and self._controller is not None:
            return self._once("controller", "controller is node {1} in epoch {0}".format(*self._controller))
        if operation.key == NODE:
            seen = msgspec.convert(operation.value, NodeSeen)
            ended = f" with {seen.exit_code}" if seen.exited else ""
            return self._once(f"node {operation.node}", f"node {operation.node} {seen.status}{ended}")
        return None

    def _once(self, subject: str, text: str) -> str | None:
        if self._seen_news.get(subject) == text:
            return None
        self._seen_news[subject] = text
        return text


def _concerns(written: Operation) -> bool:
    """Whether the console shows more of an operation than its outcome."""
    if written.f == "observe":
        return written.key in _OBSERVED
    return written.f not in _COUNTED


def _fault_text(operation: Operation) -> str:
    fault = msgspec.convert(operation.value, FaultRecorded)
    pattern = fault.planned.pattern
    return (
        f"{operation.key} {fault.kind}{f' {pattern}' if pattern else ''} {', '.join(fault.targets)}".rstrip()
    )


def _recovery_text(operation: Operation) -> str:
    return f"within {operation.value.get('took_ms', 0) / 1000:.1f} s"


def _outcome_text(operation: Operation) -> str:
    words = {OperationType.OK: "proven", OperationType.INFO: "not confirmed", OperationType.FAIL: "not done"}
    if operation.f == "recover":
        words = words | {OperationType.OK: "every partition", OperationType.INFO: "not all"}
    word = words[operation.type]
    return f"{word} ({operation.error})" if operation.error else word


def _leader_text(topic: str, states: Sequence[PartitionAnswer]) -> str:
    parts = (f"{state.partition}→{state.leader} isr {len(state.isr)}" for state in states)
    return f"{topic}  " + "  ".join(parts)
