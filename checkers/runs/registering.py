"""Controllers that failed to register themselves with the active controller, and never tried again.

Each process of a controller registers itself (KIP-919): its endpoints, and the features that it supports, by
which the active controller decides whether a feature may be raised.  If a request fails, the process logs
this as an error and repeats the request after a time that doubles with each failure.  Up to Kafka 4.2.0 a
process that gave up a request after five seconds waits for its answer for ever (KAFKA-20247).

A process is reported if the metadata log has no registration with its incarnation id, although

* the process was not stopped or frozen after its last failure,
* after the last fault had ended and the process had failed, one leader of the quorum was seen twice, and
  between these observations more time passed than a repetition may take,
* this leader's epoch is that of the last record of the metadata log, and no later epoch was seen,
* the metadata log is complete from its beginning until the evidence was gathered,
* no wiped disk explains that committed records are missing,
* the node's log was recorded completely.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from checkers.evidence.faults import FaultWindow
from checkers.evidence.metadata_log import MetadataLog, append_times, farthest
from checkers.evidence.metadata_whole import opaque_records, thinned_logs
from checkers.evidence.node_logs import REGISTRATION_FAILED, LogLine
from checkers.evidence.processes import not_running
from checkers.history.logged import LOG_LACKING
from checkers.history.operations import History
from checkers.history.phases import Phase, phase_began_ns
from checkers.history.quorum import leaders_seen
from checkers.kraft.metadata.wipes import emptied
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

NOT_REGISTERED = AnomalyKind(
    id="controller-not-registered",
    meaning="A controller whose registration had failed did not register although it ran and the quorum had "
    "a leader.",
    guarantee="A controller repeats its registration until the metadata log has it.",
    source="KIP-919, Controller Registration; Kafka's ControllerRegistrationManager; KAFKA-20247, fixed in "
    "4.2.1",
)
_RECORD = "REGISTER_CONTROLLER_RECORD"
_REQUEST_NS = 15_000_000_000
"""One request takes up to five seconds; the rest is for the answer's way into the log on a busy machine."""
_PAUSE_NS = 100_000_000
_UNLOGGED = 4
"""A pause before a repetition is 100 ms, doubled for each failure (ExponentialBackoff).

Refusals by the active controller are failures too and are not logged as errors, so more are assumed.
"""


class _Registration(msgspec.Struct, frozen=True, rename="camel"):
    controller_id: int
    incarnation_id: str


class _Failed(NamedTuple):
    """A process of a controller whose requests failed: its incarnation id, and the lines that report it."""

    node: str
    incarnation: str
    lines: Sequence[LogLine]

    @property
    def since_ns(self) -> int:
        """When the last request failed."""
        return max(line.time_ns for line in self.lines)

    @property
    def bound_ns(self) -> int:
        """The longest time until a repetition has been answered by a leader that works."""
        return int(_REQUEST_NS + _PAUSE_NS * 2 ** (len(self.lines) + _UNLOGGED))


def find_not_registered(
    history: History, lines: Sequence[LogLine], windows: Sequence[FaultWindow]
) -> Iterator[Anomaly]:
    """One finding for each process that never registered although it should have repeated its request.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        lines: lines of the nodes' logs.
        windows: all faults.

    Raises:
        msgspec.ValidationError: an observation, or the set-up, is not as docs/histories.md says.
        ValueError: a column of a metadata log's batches is not as docs/histories.md says.
    """
    failed = list(_failed(lines))
    log, until_ns = farthest(history), phase_began_ns(history, Phase.EVIDENCE)
    if not failed or log is None or until_ns is None or not _is_whole(history, log, until_ns):
        return
    registered = {
        msgspec.convert(data, _Registration).incarnation_id
        for _, _, kind, data in log.seen.records
        if kind == _RECORD
    }
    calm_ns = max((window.end_ns for window in windows if window.invoked_ns < until_ns), default=0)
    gaps = _nodes_with_gaps(history, lines)
    for process in failed:
        if process.incarnation in registered or process.node in gaps:
            continue
        waited_ns = _led_ns(history, log.epoch, max(calm_ns, process.since_ns), until_ns)
        if waited_ns > process.bound_ns and _stayed(history, process, windows):
            yield _found(process, waited_ns, log)


def _led_ns(history: History, epoch: int, since_ns: int, until_ns: int) -> int:
    """How long the leader of an epoch certainly led between two times; 0 if a later epoch was seen.

    It led from its first answer to its last request: an epoch has one leader, which never leads again after
    it resigned.
    """
    answers = [(seen.leader_epoch, seen.began_ns, o.time_ns) for o, seen in leaders_seen(history)]
    if any(other > epoch for other, _, _ in answers):
        return 0
    own = [each[1:] for each in answers if each[0] == epoch and since_ns <= each[2] <= until_ns]
    if not own:
        return 0
    return max(began_ns for began_ns, _ in own) - min(answered_ns for _, answered_ns in own)


def _nodes_with_gaps(history: History, lines: Sequence[LogLine]) -> set[str | None]:
    """Nodes whose logs are not recorded completely, so that further failures may be missing."""
    lacking = (operation.node for operation in history.observed(LOG_LACKING))
    return {*lacking, *(line.node for line in lines if line.number is None)}


def _failed(lines: Sequence[LogLine]) -> Iterator[_Failed]:
    found: dict[tuple[str, str], list[LogLine]] = {}
    for line in lines:
        match = REGISTRATION_FAILED.search(line.text)
        if match is not None:
            found.setdefault((line.node, match["incarnation"]), []).append(line)
    for (node, incarnation), some in found.items():
        if all(line.logged for line in some):
            yield _Failed(node, incarnation, some)


def _is_whole(history: History, log: MetadataLog, until_ns: int) -> bool:
    """Whether a log has all records from the beginning until a time, decoded, and no wiped disk took any."""
    return (
        log.seen.log_start == 0
        and log.operation.index not in thinned_logs(history)
        and not any(opaque_records(history))
        and append_times(history).complete_until_ns(log) >= until_ns
        and emptied(history, until_ns) is None
    )


def _stayed(history: History, process: _Failed, windows: Sequence[FaultWindow]) -> bool:
    """Whether a process ran all the time after its last failure."""
    ended = any(
        window.ends_processes and window.concerns(process.node) and window.end_ns >= process.since_ns
        for window in windows
    )
    spans = not_running(history).get(process.node, ())
    return not ended and all(to_ns <= process.since_ns for _, to_ns in spans)


def _found(process: _Failed, waited_ns: int, log: MetadataLog) -> Anomaly:
    first, last = process.lines[0], process.lines[-1]
    times = f"failures: {len(process.lines)}"
    return NOT_REGISTERED.found(
        f"{process.node} did not register ({times}), although nothing hindered it for "
        f"{waited_ns / 1e9:.1f} s",
        subject=process.node,
        time_ns=last.time_ns,
        witness=sorted({first.index, last.index, log.operation.index}),
        explanation=[
            f"Its process has the incarnation id {process.incarnation}, which no registration has.",
            f"A repetition takes at most {process.bound_ns / 1e9:.1f} s.",
        ],
    )
