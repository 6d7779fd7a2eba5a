"""The meaning of lines in nodes' logs: fatal and uncaught errors, stopped fetchers, dead threads."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec

from checkers.evidence.faults import FaultWindow
from checkers.history.logged import NODE_LOG, FindingLogged
from checkers.history.operations import History, Operation
from checkers.history.units import NS_PER_US
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

EXCERPT_CHARACTERS = 300
"""The length to which a summary shortens a line."""
_CAUSE_CHARACTERS = 200
_BEFORE_DEATH_NS = 10_000_000_000
_AFTER_DEATH_NS = 1_000_000_000
"""Nodes and harness share a clock.  A node's death may be observed a little later."""
_HEAD = re.compile(r"^\S+ [A-Z]+ +(?:\[[^\]]*\] +)*")
"""Time, level and thread at the start of a line."""
_STAMP = re.compile(r"^\d{4}-\d\d-\d\dT\S+ +")
"""The time at the start of a line; a finding has the history's time instead."""
_EXCEPTION = re.compile(r"^(?:Caused by: )?[\w.$]+(?:Exception|Error|Throwable)\b.*$", re.MULTILINE)
"""The start of a Java exception: it is printed below the line that logs it, without indentation."""


def _seen(identity: str, meaning: str, guarantee: str, whose: str) -> AnomalyKind:
    source = f"Kafka's {whose}; reported, but not a broken guarantee by itself"
    return AnomalyKind(identity, meaning, guarantee, source, illegal=False)


FATAL_LINE = _seen(
    "node-log-fatal",
    "A node logged an error that it called fatal.",
    "Faults outside a node cause no fatal error in it.",
    "Kafka.main and ProcessTerminatingFaultHandler",
)
UNCAUGHT_EXCEPTION = _seen(
    "uncaught-exception",
    "An exception reached the top of a thread or task without being handled.",
    "A node handles the errors that faults outside it cause.",
    "KafkaThread and KafkaScheduler",
)
THREAD_DIED = _seen(
    "thread-died",
    "A thread of a node ended with an error and is not restarted.",
    "A node's threads run until it shuts down.",
    "ShutdownableThread",
)
MARKER_SKIPPED = _seen(
    "marker-skipped",
    "A transaction coordinator wrote no marker in a partition, because it took the partition for deleted.",
    "Every partition of a transaction gets a marker, unless it was deleted (KIP-98).",
    "TransactionMarkerChannelManager, KAFKA-20734",
)


FETCHER_STOPPED = AnomalyKind(
    "fetcher-stopped",
    "A follower stopped fetching a partition because of an error that it did not expect.",
    "A follower fetches from its leader as long as both run and reach each other.",
    "Kafka's AbstractFetcherThread, processFetchRequest and doTruncate: the partition is set aside until its "
    "next leader epoch",
)


_FETCHED = re.compile(
    r"(?:leaderId=(?P<leader>\d+)[^\n]*?)?Unexpected error occurred "
    r"(?:while processing data for partition|during truncation for) "
    r"(?P<topic>\S+)-(?P<partition>\d+)(?: at offset (?P<offset>\d+))?"
)
"""The text with which a fetcher sets a partition aside (AbstractFetcherThread)."""


class _Pattern(NamedTuple):
    text: re.Pattern[str]
    reason: str


HARMLESS = (
    _Pattern(
        re.compile(r"Graceful shutdown of RaftClient failed"),
        "a node that stops while the quorum has no majority waits 5 s for it, logs this, and stops "
        "nevertheless (KafkaRaftClientDriver.initiateShutdown)",
    ),
)
"""Lines that look like errors but are harmless, each with its reason; only their numbers are reported."""

REFUSED = re.compile(
    r"Out of order sequence number for producer (?P<producer>\d+) at offset \d+ in partition"
    r" (?P<topic>\S+)-(?P<partition>\d+): (?P<incoming>\d+) \(incoming seq\. number\), (?P<end>\d+)"
    r" \(current end sequence number\)"
)
"""The text with which a broker refuses a batch as out of order (ProducerAppendInfo)."""
REGISTRATION_FAILED = re.compile(
    r"\[ControllerRegistrationManager id=\d+ incarnation=(?P<incarnation>[\w-]+)\] "
    r"RegistrationResponseHandler: "
    r"(channel manager timed out|authentication error|unsupported API version|unknown error|invalid response)"
)
"""The text that a controller logs when it fails to register itself (ControllerRegistrationManager)."""
SKIPPED = "Couldn't find leader endpoint for partitions"
"""The text a coordinator logs, at INFO, when it skips markers (TransactionMarkerChannelManager)."""
LETTER_FAILED = "Failed to write to DLQ, proceeding to ARCHIVED regardless"
"""The text that a leader logs when it could not write a dead letter (SharePartition)."""
_MEANINGS = (
    (
        FETCHER_STOPPED,
        re.compile(r"Unexpected error occurred (while processing data for partition|during truncation for) "),
    ),
    (MARKER_SKIPPED, re.compile(re.escape(SKIPPED))),
    (
        UNCAUGHT_EXCEPTION,
        re.compile(r"Uncaught exception in (thread|scheduled task)|^Exception in thread ", re.MULTILINE),
    ),
    (THREAD_DIED, re.compile(r"\]:? (Error due to|Stopped due to fatal error with exit code)")),
    (FATAL_LINE, re.compile(r"Encountered fatal fault:|Exiting Kafka due to fatal exception")),
)
"""Kinds of entries that the level alone does not identify, by text; the first match counts.

The texts are those of Kafka's AbstractFetcherThread, TransactionMarkerChannelManager, KafkaThread,
KafkaScheduler, ShutdownableThread, ProcessTerminatingFaultHandler and Kafka.main, and of the JVM's own
handler.
"""


class LogLine(msgspec.Struct, frozen=True):
    """A line of a node's log.

    Attributes:
        index: the observation's place in the history.
        node: name of the node whose log has it.
        time_ns: when it was written, on the history's clock; when it was gathered if that can't be
            determined.
        number: the line's number in the log; None for the last entry of a log that was not kept completely.
        level: INFO, WARN, ERROR or FATAL; empty if the entry is not a line.
        text: the line, with the following lines that belong to it.
        logged: whether `time_ns` is when it was written.
        unjudged: for an entry without a number, whether no rule reads any of the lines that it counts.
    """

    index: int
    node: str
    time_ns: int
    number: int | None
    level: str
    text: str
    logged: bool = False
    unjudged: bool = False


def log_lines(history: History) -> list[LogLine]:
    """All lines that were gathered from nodes' logs.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    return [_log_line(history, operation) for operation in history.observed(NODE_LOG)]


def _log_line(history: History, operation: Operation) -> LogLine:
    observed = msgspec.convert(operation.value, FindingLogged)
    logged_ns = logged_at_ns(history, observed.at)
    return LogLine(
        index=operation.index,
        node=operation.node or "",
        time_ns=operation.time_ns if logged_ns is None else logged_ns,
        number=observed.line,
        level=observed.level,
        text=observed.text,
        logged=logged_ns is not None,
        unjudged=observed.unjudged,
    )


def logged_at_ns(history: History, at: str | None) -> int | None:
    """When a line was written, in ns on the history's clock; None if the line or the history has no time.

    Args:
        history: the history that has the line.
        at: the time in the line, as `moment` reads it.
    """
    began_at, written_at = moment(history.began_at), moment(at or "")
    return None if began_at is None or written_at is None else ns_between(began_at, written_at)


def moment(text: str) -> datetime | None:
    """Parse a time in ISO 8601 or in log4j's form; UTC if it has no zone; None if it is neither."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def ns_between(earlier: datetime, later: datetime) -> int:
    """Nanoseconds from one time to another."""
    return (later - earlier) // timedelta(microseconds=1) * NS_PER_US


def is_judged(level: str, text: str) -> bool:
    """Whether a rule reads the line.

    These are refusals, skipped markers, failed registrations, dead letters that were not written, fatal or
    uncaught errors, and dead threads.
    """
    failure = REFUSED.search(text) or REGISTRATION_FAILED.search(text)
    return failure is not None or LETTER_FAILED in text or _meaning(level, text) is not None


def harmless_reason(line: LogLine) -> str | None:
    """The reason why a line is harmless; None if no reason is known."""
    return next((pattern.reason for pattern in HARMLESS if pattern.text.search(line.text)), None)


def findings(lines: Sequence[LogLine], windows: Sequence[FaultWindow]) -> Iterator[Anomaly]:
    """One finding for every line that has a meaning, except refusals, which other rules judge.

    A fetcher that stops while its node may have been stopping is left out.
    """
    for line in lines:
        kind = _meaning(line.level, line.text)
        if kind is FETCHER_STOPPED and _is_ending(line, windows):
            continue
        if kind is FETCHER_STOPPED and (fetched := _FETCHED.search(line.text)):
            yield _stopped(line, fetched, windows)
        elif kind is not None and harmless_reason(line) is None:
            yield kind.found(
                _logged(line),
                subject=line.node,
                time_ns=line.time_ns,
                witness=(line.index,),
                explanation=(_context(line, windows),),
            )


def _stopped(line: LogLine, fetched: re.Match[str], windows: Sequence[FaultWindow]) -> Anomaly:
    """A follower that set a partition aside, at the place in its log where it did."""
    name, offset = f"{fetched['topic']}/{fetched['partition']}", fetched["offset"]
    leader = f" from broker {fetched['leader']}" if fetched["leader"] else ""
    at = f" at offset {offset}" if offset else ""
    error = _EXCEPTION.search(line.text)
    cause = _on_one_line(error[0])[:_CAUSE_CHARACTERS] if error else "it logged no exception"
    return FETCHER_STOPPED.found(
        f"{line.node} stopped fetching {name}{leader}{at}: {cause}",
        subject=f"{name}@{offset}" if offset else name,
        time_ns=line.time_ns,
        witness=(line.index,),
        explanation=(_logged(line), _context(line, windows)),
    )


def _logged(line: LogLine) -> str:
    """What a node logged, on one line, with the history's time."""
    text = _on_one_line(_STAMP.sub("", line.text))
    return f"{line.node} at {line.time_ns / 1e9:.1f} s: {text[:EXCERPT_CHARACTERS]}"


def cause_of_death(lines: Sequence[LogLine], node: str, time_ns: int) -> LogLine | None:
    """The last fatal line that a node logged shortly before it was found dead; None if there is none.

    Args:
        lines: the lines of all nodes.
        node: name of the dead node.
        time_ns: when it was found dead.
    """
    since_ns, until_ns = time_ns - _BEFORE_DEATH_NS, time_ns + _AFTER_DEATH_NS
    near = [
        line
        for line in lines
        if line.node == node
        and since_ns <= line.time_ns <= until_ns
        and _meaning(line.level, line.text) is FATAL_LINE
    ]
    return max(near, key=lambda line: line.time_ns, default=None)


def excerpt(line: LogLine) -> str:
    """The exception that a line reports, or the line itself if it reports none; shortened."""
    exception = _EXCEPTION.search(line.text)
    text = exception[0] if exception else _HEAD.sub("", line.text)
    return _on_one_line(text)[:_CAUSE_CHARACTERS]


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _meaning(level: str, text: str) -> AnomalyKind | None:
    meant = next((kind for kind, pattern in _MEANINGS if pattern.search(text)), None)
    return FATAL_LINE if meant is None and level == "FATAL" else meant


def _is_ending(line: LogLine, windows: Iterable[FaultWindow]) -> bool:
    """Whether the node may have been stopping when it wrote the line.  A killed node writes nothing."""
    stops = [window for window in windows if window.concerns(line.node) and _may_stop(window)]
    return any(not line.logged or _stopping(window, line.time_ns) for window in stops)


def _may_stop(window: FaultWindow) -> bool:
    """Whether a fault may stop a node.  A wipe may follow a stop or a kill, and leaves no trace of either."""
    return window.ends_processes and (window.wipes or not window.kills)


def _stopping(window: FaultWindow, time_ns: int) -> bool:
    """Whether the process that the fault ends may still have run, and the heal's process had not started."""
    healing_ns = window.heal_invoked_ns if window.down else None
    end_ns = window.end_ns if healing_ns is None else healing_ns
    return window.invoked_ns <= time_ns <= end_ns


def _context(line: LogLine, windows: Iterable[FaultWindow]) -> str:
    going_on = [
        f"{window.id} ({window.kind} of {', '.join(window.targets) or 'unknown'})"
        for window in windows
        if window.overlaps(line.time_ns, line.time_ns)
    ]
    return f"Line {line.number} of its log. Faults at that time: {', '.join(going_on) or 'none'}."
