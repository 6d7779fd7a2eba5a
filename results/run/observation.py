"""Sorts the operations of a run's history for drawings, counts and lists.

A history may be truncated or hand-made.  An operation whose value has an unexpected shape is counted as a
misfit and left out; nothing here raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from checkers.history.faults import FaultRecorded, PlannedFault
from checkers.history.logged import NODE_LOG, FindingLogged
from checkers.history.observed import NODE, PARTITIONS, NodeSeen, PartitionsSeen
from checkers.history.operations import History, Operation, OperationType
from checkers.history.phases import PHASE
from checkers.history.quorum import QUORUM, LeaderSeen, quorum_seen
from checkers.history.runner import OBSERVATIONS, OPENED, START
from checkers.history.units import NS_PER_MS
from results.markup.cleaning import clean
from results.run.gambits import GambitSeen, GambitsSeen
from results.run.load_results import LOADS, OUTCOMES, Deliveries, answer, requested_records

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Numbers = npt.NDArray[np.int64]
PartitionName = tuple[str, int]
_COUNTED_ELSEWHERE = frozenset(
    ("send", "assign", "poll", "final-read", "inject", "heal", "recover", *OBSERVATIONS)
)
_BEFORE_ALL = frozenset(("setup", START, OPENED))
"""Records of the runner before the first request to the cluster."""
_LATEST_NS = 2**62
_MISFITS = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)


class FaultSeen(msgspec.Struct, kw_only=True):
    """A fault as the nemesis recorded it; a time (ns) is None if the event did not happen.

    Attributes:
        id: e.g. ``f1``.
        kind: ``partition``, ``kill``, ``pause`` or ``stop``.
        spec: the planned fault with its symbolic target.
        targets: names of the nodes to which the target was resolved.
        cut: pairs (sender, receiver) of nodes between which packets were dropped or disturbed.
        attempted: False if the nemesis decided not to inject it.
        invoked_ns: when the injection began.
        effective_ns: when the probe confirmed the fault.
        heal_invoked_ns: when the heal began.
        healed_ns: when the probe confirmed the heal.
        error: error of an unconfirmed injection or heal.
        glyph: its shape from the history, unchecked.
    """

    id: str
    kind: str
    invoked_ns: int
    spec: dict[str, object] = {}
    targets: tuple[str, ...] = ()
    cut: tuple[tuple[str, str], ...] = ()
    attempted: bool = True
    effective_ns: int | None = None
    heal_invoked_ns: int | None = None
    healed_ns: int | None = None
    error: str | None = None
    glyph: str | None = None

    @property
    def label(self) -> str:
        """Id, kind and targets, e.g. ``f1 partition n1``; cleaned and shortened."""
        return clean(" ".join((self.id, self.kind, ", ".join(self.targets) or "(target not known)")), 60)

    @property
    def held_ms(self) -> int | None:
        """How long it was proven to be in force; None without a proof or a heal."""
        if self.effective_ns is None or self.heal_invoked_ns is None:
            return None
        return (self.heal_invoked_ns - self.effective_ns) // NS_PER_MS


class Claim(NamedTuple):
    """A controller's answer: the epoch that it leads; None if it does not lead or did not answer."""

    time_ns: int
    epoch: int | None


class PartitionView(NamedTuple):
    """A partition as a broker reported it; leader -1 for none."""

    time_ns: int
    node: str
    partition: PartitionName
    leader: int
    epoch: int
    isr: int


class NotableLine(NamedTuple):
    """A notable line of a node's log; without a line number it summarises further lines."""

    node: str
    line: int | None
    at: str
    level: str
    text: str


class ClusterRecovery(NamedTuple):
    """Recovery of the cluster after the heal."""

    recovered: bool
    took_ms: int
    bound_ms: int


class CompletedCalls(NamedTuple):
    """Completed sends or polls: start (ns), duration (ns), position of the outcome in `OUTCOMES`."""

    began_ns: Numbers
    took_ns: Numbers
    outcome: Numbers


class Acks(NamedTuple):
    """Acknowledged records: time (ns), position of the partition in `partitions`, number."""

    time_ns: Numbers
    partition: Numbers
    records: Numbers
    partitions: tuple[PartitionName, ...]


class Polls(NamedTuple):
    """Polls that returned records: time (ns), number."""

    time_ns: Numbers
    records: Numbers


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A history by kinds of operations.

    Attributes:
        begin_ns: time of the first operation after the setup, 0 without one.
        end_ns: time of the last operation, later than the first.
        operations: number of operations in the history.
        setup: value of the setup operation; empty if missing.
        phases: name and start of each phase, in order.
        sends: completed sends.
        loads: the functions of these sends, sorted; a transaction or a write to a register counts as a send.
        deliveries: polls that returned records, also those of share groups.
        records: number of sent records by outcome; unanswered ones count as info.
        acks: acknowledged records.
        others: other operations of clients: numbers of ok, info and fail by f.
        polls: polls with records.
        records_final: number of records that the final read returned.
        faults: in the order of injection.
        gambits: in order.
        statuses: for each node, the changes of its container's status, with times.
        claims: for each controller, its answers.
        views: reported partitions, in the order of time.
        logs: lines of node logs.
        recovery: None if the run did not reach it.
        misfits: number of operations that were left out because of their shape.
    """

    begin_ns: int
    end_ns: int
    operations: int
    setup: dict[str, Any]
    phases: tuple[tuple[str, int], ...]
    sends: CompletedCalls
    loads: tuple[str, ...] = ()
    deliveries: CompletedCalls
    records: dict[str, int]
    acks: Acks
    others: dict[str, dict[str, int]]
    polls: Polls
    records_final: int
    faults: tuple[FaultSeen, ...]
    gambits: tuple[GambitSeen, ...] = ()
    statuses: dict[str, list[tuple[int, str]]]
    claims: dict[str, list[Claim]]
    views: list[PartitionView]
    logs: list[NotableLine]
    recovery: ClusterRecovery | None
    misfits: int


def observe(history: History) -> Observed:
    """Sort the operations of a history."""
    collector = _Collector()
    for operation in history.operations:
        collector.take(operation)
    return collector.observed(len(history.operations))


class _Collector:
    """Collects operations in their order, with a method for each function."""

    def __init__(self) -> None:
        self._begin_ns: int | None = None
        self._end_ns = 1
        self._misfits = 0
        self._setup: dict[str, Any] = {}
        self._phases: list[tuple[str, int]] = []
        self._outstanding: dict[int | str, tuple[int, int]] = {}
        self._sends: list[tuple[int, int, int]] = []
        self._loads: set[str] = set()
        self._deliveries = Deliveries()
        self._records = dict.fromkeys(OUTCOMES, 0)
        self._acks: list[tuple[int, int, int]] = []
        self._others: dict[str, dict[str, int]] = {}
        self._partitions: dict[PartitionName, int] = {}
        self._polls: list[tuple[int, int]] = []
        self._records_final = 0
        self._faults: dict[str, FaultSeen] = {}
        self._gambits = GambitsSeen()
        self._statuses: dict[str, list[tuple[int, str]]] = {}
        self._claims: dict[str, list[Claim]] = {}
        self._views: list[PartitionView] = []
        self._logs: list[NotableLine] = []
        self._recovery: ClusterRecovery | None = None
        self._takers: dict[str, Callable[[Operation, int], None]] = {
            **dict.fromkeys(LOADS, self._load),
            "poll": self._poll,
            "share-poll": self._deliveries.take,
            "final-read": self._final_read,
            "inject": self._inject,
            "heal": self._heal,
            "choose": self._gambits.choose,
            "gambit": self._gambits.end,
            "setup": self._set_up,
            PHASE: self._phase,
            "recover": self._recover,
            "observe": self._observe,
        }
        self._observers: dict[str, Callable[[str, object, int], None]] = {
            QUORUM: self._quorum,
            PARTITIONS: self._partition_views,
            NODE: self._node,
            NODE_LOG: self._node_log,
        }

    def take(self, operation: Operation) -> None:
        """Add an operation to the lists and counts that concern it."""
        time_ns = min(max(operation.time_ns, 0), _LATEST_NS)
        self._end_ns = max(self._end_ns, time_ns)
        if self._begin_ns is None and operation.f not in _BEFORE_ALL:
            self._begin_ns = time_ns
        if operation.type is not OperationType.INVOKE and operation.f not in _COUNTED_ELSEWHERE:
            counts = self._others.setdefault(operation.f, dict.fromkeys(OUTCOMES, 0))
            counts[operation.type] += 1
        taker = self._takers.get(operation.f)
        if taker is None:
            return
        try:
            taker(operation, time_ns)
        except _MISFITS:
            self._misfits += 1

    def observed(self, operations: int) -> Observed:
        """Everything collected so far."""
        begin_ns = self._begin_ns or 0
        self._records["info"] += sum(count for _, count in self._outstanding.values())
        acked_ns, partitions, acked = _columns(self._acks, 3)
        return Observed(
            begin_ns=begin_ns,
            end_ns=max(self._end_ns, begin_ns + 1),
            operations=operations,
            setup=self._setup,
            phases=tuple(self._phases),
            sends=CompletedCalls(*_columns(self._sends, 3)),
            loads=tuple(sorted(self._loads)),
            deliveries=CompletedCalls(*_columns(self._deliveries.rows, 3)),
            records=self._records,
            acks=Acks(acked_ns, partitions, acked, tuple(self._partitions)),
            others=self._others,
            polls=Polls(*_columns(self._polls, 2)),
            records_final=self._records_final,
            faults=tuple(self._faults.values()),
            gambits=self._gambits.all(),
            statuses=self._statuses,
            claims=self._claims,
            views=self._views,
            logs=self._logs,
            recovery=self._recovery,
            misfits=self._misfits,
        )

    def _load(self, operation: Operation, time_ns: int) -> None:
        if operation.type is OperationType.INVOKE:
            self._outstanding[operation.process] = (time_ns, requested_records(operation))
            return
        began_ns, count = self._outstanding.pop(operation.process, (time_ns, 0))
        self._loads.add(operation.f)
        self._sends.append((began_ns, time_ns - began_ns, OUTCOMES.index(operation.type)))
        answered = answer(operation)
        for outcome, records in answered.outcomes.items():
            self._records[outcome] += records
        for topic, number, records in answered.acks:
            partition = self._partitions.setdefault((topic, number), len(self._partitions))
            self._acks.append((time_ns, partition, records))
        self._records[operation.type] += max(0, count - sum(answered.outcomes.values()))

    def _poll(self, operation: Operation, time_ns: int) -> None:
        self._deliveries.take(operation, time_ns)
        if operation.type is OperationType.OK and operation.value["records"]:
            self._polls.append((time_ns, _count(operation)))

    def _final_read(self, operation: Operation, _: int) -> None:
        if operation.type is not OperationType.INVOKE and "records" in operation.value:
            self._records_final += _count(operation)

    def _set_up(self, operation: Operation, _: int) -> None:
        self._setup = msgspec.convert(operation.value, dict[str, Any])

    def _phase(self, operation: Operation, time_ns: int) -> None:
        self._phases.append((str(operation.key), time_ns))

    def _recover(self, operation: Operation, _: int) -> None:
        if operation.type is not OperationType.INVOKE:
            value = operation.value
            recovered = operation.type is OperationType.OK
            self._recovery = ClusterRecovery(
                recovered, int(value.get("took_ms", 0)), int(value.get("bound_ms", 0))
            )

    def _inject(self, operation: Operation, time_ns: int) -> None:
        name = str(operation.key)
        if operation.type is OperationType.INVOKE:
            plan = msgspec.convert(operation.value, PlannedFault)
            self._faults[name] = FaultSeen(
                id=name,
                kind=plan.kind,
                invoked_ns=time_ns,
                spec=plan.spec if isinstance(plan.spec, dict) else {},
                glyph=plan.glyph if isinstance(plan.glyph, str) else None,
            )
            return
        fault = self._faults[name]
        fault.attempted = operation.type is not OperationType.FAIL
        fault.error = operation.error
        recorded = msgspec.convert(operation.value, FaultRecorded)
        fault.targets, fault.cut = recorded.targets, recorded.cut
        if operation.type is OperationType.OK:
            fault.effective_ns = time_ns

    def _heal(self, operation: Operation, time_ns: int) -> None:
        fault = self._faults[str(operation.key)]
        if operation.type is OperationType.INVOKE:
            # A second heal fails, because the fault is not in force any more.
            fault.heal_invoked_ns = fault.heal_invoked_ns or time_ns
        elif operation.type is OperationType.OK:
            fault.healed_ns = time_ns
        else:
            fault.error = operation.error

    def _observe(self, operation: Operation, time_ns: int) -> None:
        observer = self._observers.get(operation.key)
        if observer is not None:
            observer(operation.node or "?", operation.value, time_ns)

    def _quorum(self, node: str, value: object, time_ns: int) -> None:
        seen = quorum_seen(value)
        epoch = seen.leader_epoch if isinstance(seen, LeaderSeen) else None
        self._claims.setdefault(node, []).append(Claim(time_ns, epoch))

    def _partition_views(self, node: str, value: object, time_ns: int) -> None:
        for topic, states in msgspec.convert(value, PartitionsSeen).topics.items():
            for state in states:
                of = (topic, state.partition)
                view = PartitionView(time_ns, node, of, state.leader, state.leader_epoch, len(state.isr))
                self._views.append(view)

    def _node(self, node: str, value: object, time_ns: int) -> None:
        status = msgspec.convert(value, NodeSeen).status
        self._statuses.setdefault(node, []).append((time_ns, status))

    def _node_log(self, node: str, value: object, _: int) -> None:
        found = msgspec.convert(value, FindingLogged)
        self._logs.append(NotableLine(node, found.line, found.at or "", found.level, found.text))


def _count(operation: Operation) -> int:
    return sum(len(values) for _, _, values in operation.value["records"])


def _columns(rows: Sequence[tuple[int, ...]], width: int) -> Numbers:
    """Rows as an array of columns."""
    return np.array(rows, dtype=np.int64).reshape(-1, width).T
