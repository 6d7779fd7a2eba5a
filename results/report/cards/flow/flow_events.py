"""Converts the operations of a witness to rows in the order of time, for a drawing of messages.

A row is a request, an answer, a missing answer, the election of a leader, the start or end of a fault, or the
time at which the guarantee was broken.  If the history does not record which broker a client asked, the row
names the leader of the partition at that time.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np

from checkers.history.operations import OK, History, Operation
from checkers.history.units import NS_PER_S
from checkers.verdict.places import QUORUM
from results.markup.cleaning import clean
from results.report.reading.anomaly_places import context_of
from results.report.reading.calls import NONE, OPEN, CallColumns
from results.report.reading.client_words import RecordContext
from results.report.reading.leadership import LeadershipStart, partition_leaders, quorum_leaders
from results.report.reading.words import (
    answered_text,
    error_text,
    is_answer,
    operation_partition,
    request_text,
)
from results.run.anomaly_partitions import partition_of
from results.run.causes import Cause, Shown
from results.run.observation import FaultSeen, Observed

ARROWS_MAX = 25
LEADERS_MAX = 12
FAULTS_MAX = 24
CLIENTS_MAX = 4
NODES_MAX = 7
OBSERVERS = "observers"
OTHERS = "others"
CLUSTER = "cluster"
"""Lane for requests to an unknown node."""
_TEXT = 190
_NAME = 40
_OF_QUORUM = frozenset(("quorum", "metadata"))
"""Checkers of records that the leaders of the quorum committed."""
Kind = Literal[
    "ask", "ok", "info", "fail", "none", "observed", "leader", "fault", "healed", "passing", "broke"
]


class FlowEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the drawing.

    Attributes:
        time_ns: None for an answer that never came.
        kind: ``ask`` for a request; ``ok``, ``info`` or ``fail`` for its answer; ``none`` if it is missing;
            ``observed`` for the answer to an observer; ``leader``; ``fault``; ``healed``;
            ``passing`` for a fault during which nothing else happened; ``broke``.
        text: the label.
        source: lane where the arrow begins, or lane of the leader; empty if none.
        target: lane where the arrow ends; empty if none.
        call: number of the call, -1 for none.
        fault: id of the fault; empty for none.
    """

    time_ns: int | None
    kind: Kind
    text: str
    source: str = ""
    target: str = ""
    call: int = -1
    fault: str = ""


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """All rows of a drawing, and its lanes.

    Attributes:
        clients: lanes of clients and observers, in the order of their first event.
        nodes: lanes of nodes; the last one may be `CLUSTER`.
        events: in the order of time.
        led: leaders, beginning with the one at the first row; empty if not reported.
        faults: the faults that are drawn.
        left_out: what is not drawn, with numbers.
        guessed: whether the leader was assumed to be the broker of some request.
    """

    clients: tuple[str, ...]
    nodes: tuple[str, ...]
    events: tuple[FlowEvent, ...]
    led: tuple[LeadershipStart, ...]
    faults: tuple[FaultSeen, ...]
    left_out: tuple[str, ...]
    guessed: bool


class Flows:
    """Makes the flows of one run.

    Args:
        history: the run's history.
        calls: the calls of that history.
        observed: the observations of that history.
    """

    def __init__(self, history: History, calls: CallColumns, observed: Observed) -> None:
        self._history, self._calls, self._observed = history, calls, observed
        self._faults = tuple(fault for fault in observed.faults if fault.attempted)
        self._names = _names(observed.setup)
        self._led: dict[str, list[LeadershipStart]] = {}

    def of(self, cause: Cause, witness_max: int) -> Flow | None:
        """The flow of a cause's witness; None if it has neither calls nor observations.

        Args:
            cause: anomalies at one place.
            witness_max: maximum number of operations that are used.
        """
        shown = cause.witness
        rows = [] if shown is None else self._rows(shown.anomaly.witness[:witness_max])
        if shown is None or not rows:
            return None
        near = context_of(shown.anomaly, shown.checker)
        led = self._leaders(QUORUM if shown.checker in _OF_QUORUM else cause.place, shown.checker)
        # Clients ask the leader of the partition, even if the drawing shows the leaders of the quorum.
        answering = self._leaders(cause.place, shown.checker)
        asked = _Calls(self._history, self._calls, near, answering, self._names)
        events: list[FlowEvent] = [
            event for number, row in enumerate(rows) for event in asked.events(number, row)
        ]
        arrows, left = events[:ARROWS_MAX], len(events) - ARROWS_MAX
        times_ns = [event.time_ns for event in arrows if event.time_ns is not None]
        moment_ns = shown.anomaly.time_ns
        from_ns, until_ns = min(times_ns), max([*times_ns, *([] if moment_ns is None else [moment_ns])])
        leaders = [_elected(one) for one in _leading(led, from_ns, until_ns)]
        faults = [fault for fault in self._faults if _overlaps(fault, from_ns, until_ns)]
        drawn = tuple(faults[:FAULTS_MAX])
        broke = [] if moment_ns is None else [_broke(shown, moment_ns)]
        others = [*leaders[:LEADERS_MAX], *_of_faults(drawn, until_ns), *broke]
        ordered = sorted([*arrows, *others], key=_place)
        clients, nodes = self._lanes(arrows, leaders, drawn)
        return Flow(
            clients=clients,
            nodes=nodes,
            events=tuple(_joined(ordered, drawn)),
            led=tuple(_leading(led, from_ns, until_ns)),
            faults=drawn,
            left_out=tuple(_left_out(left, leaders, faults)),
            guessed=asked.guessed,
        )

    def _rows(self, indices: Sequence[int]) -> list[int]:
        """Positions of the calls of these operations, in the order of their start."""
        calls = self._calls
        wanted = np.array([index for index in indices if index >= 0], dtype=np.int64)
        found = np.flatnonzero(np.isin(calls.completed, wanted) | np.isin(calls.invoked, wanted))
        ordered: list[int] = found[np.argsort(calls.began_ns[found], kind="stable")].tolist()
        return ordered

    def _leaders(self, place: str, checker: str) -> list[LeadershipStart]:
        if place not in self._led:
            partition = partition_of(place, checker)
            if partition is not None:
                views = self._observed.views
                self._led[place] = partition_leaders(self._history, views, self._names, partition)
            else:
                self._led[place] = quorum_leaders(self._observed.claims) if place == QUORUM else []
        return self._led[place]

    def _lanes(
        self, arrows: Sequence[FlowEvent], leaders: Sequence[FlowEvent], faults: Sequence[FaultSeen]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Lanes of the clients and of the nodes; if there are few nodes, all of them."""
        ends = [lane for event in arrows for lane in (event.source, event.target) if lane]
        known = set(self._names.values()) | {lane for lane in ends if self._is_node(lane)}
        clients = list(dict.fromkeys(lane for lane in ends if lane not in known and lane != CLUSTER))
        used = {lane for lane in ends if lane in known} | {event.source for event in leaders} - {""}
        used |= {node for fault in faults for node in fault.targets if node in known}
        nodes = sorted(known, key=_natural) if len(known) <= NODES_MAX else sorted(used, key=_natural)
        if CLUSTER in ends or len(nodes) > NODES_MAX:
            nodes = [*nodes[:NODES_MAX], CLUSTER]
        if len(clients) > CLIENTS_MAX:
            clients = [*clients[: CLIENTS_MAX - 1], OTHERS]
        return tuple(clients), tuple(nodes)

    def _is_node(self, lane: str) -> bool:
        return lane in self._observed.statuses or lane in self._observed.claims


class _Calls:
    """Converts calls to rows: the request, and the answer or its absence."""

    def __init__(
        self,
        history: History,
        calls: CallColumns,
        around: RecordContext,
        led: Sequence[LeadershipStart],
        names: Mapping[int, str],
    ) -> None:
        self._operations, self._calls, self._around = history.operations, calls, around
        self._led, self._names = led, names
        self.guessed = False

    def events(self, number: int, row: int) -> Iterator[FlowEvent]:
        """The rows of a call."""
        began, ended = int(self._calls.invoked[row]), int(self._calls.completed[row])
        if began == NONE:
            yield self._observed(number, self._operations[ended])
            return
        asked = self._operations[began]
        answer = None if ended == NONE else self._operations[ended]
        who, node = _who(asked), self._asked_node(asked, answer, asked.time_ns)
        text = f"{who} to {node}: {request_text(asked, self._around, _TEXT)} ({began})"
        yield FlowEvent(time_ns=asked.time_ns, kind="ask", text=text, source=who, target=node, call=number)
        if answer is None or int(self._calls.outcome[row]) == OPEN:
            text = f"{who} got no answer before the history ended"
            yield FlowEvent(time_ns=None, kind="none", text=text, source=node, target=who, call=number)
        else:
            yield self._answer(number, answer, who, self._asked_node(asked, answer, answer.time_ns))

    def _answer(self, number: int, answer: Operation, who: str, node: str) -> FlowEvent:
        kind: Kind
        if answer.type is OK:
            kind, text = "ok", f"{node} to {who}: {answered_text(answer, self._around, _TEXT)}"
        elif is_answer(answer.error or ""):
            kind = "fail" if answer.type.value == "fail" else "info"
            text = f"{node} to {who}: {answer.type.value}, {error_text(answer.error or '')}"
        else:
            kind = "none"
            why = error_text(answer.error or "") or "no error recorded"
            text = f"{who} got no answer, {answer.type.value}: {why}"
        return FlowEvent(
            time_ns=answer.time_ns,
            kind=kind,
            text=clean(f"{text} ({answer.index})", _TEXT + _NAME),
            source=node,
            target=who,
            call=number,
        )

    def _observed(self, number: int, seen: Operation) -> FlowEvent:
        node, who = clean(seen.node or CLUSTER, _NAME), _who(seen)
        text = f"{node} answered {who}: {answered_text(seen, self._around, _TEXT)} ({seen.index})"
        if seen.f != "observe":
            text = f"{who}: {clean(seen.f, _NAME)}, {answered_text(seen, self._around, _TEXT)} ({seen.index})"
        return FlowEvent(
            time_ns=seen.time_ns,
            kind="observed",
            text=text,
            source=node,
            target=who,
            call=number,
        )

    def _asked_node(self, asked: Operation, answer: Operation | None, time_ns: int) -> str:
        """The node that was asked: as recorded, else the leader at that time, else `CLUSTER`."""
        named = asked.node or (answer.node if answer is not None else None)
        if named:
            return clean(named, _NAME)
        if to := self._addressee(asked.value):
            return to
        partition = operation_partition(asked, self._around)
        if partition is None and answer is not None and answer.type is OK:
            partition = operation_partition(answer, self._around)
        here = (self._around.topic, self._around.partition)
        leader = next((one for one in reversed(self._led) if one.time_ns <= time_ns), None)
        if partition != here or leader is None or not leader.node:
            return CLUSTER
        self.guessed = True
        return clean(leader.node, _NAME)

    def _addressee(self, value: object) -> str:
        """The broker to which the request itself says that it goes; empty if it does not say so."""
        to = value.get("to") if isinstance(value, dict) else None
        return self._names.get(to, "") if isinstance(to, int) else ""


def _who(operation: Operation) -> str:
    """The lane of a process."""
    process = operation.process
    if isinstance(process, int):
        return f"client {process}"
    return OBSERVERS if process.startswith("observer") else clean(process, _NAME)


def _elected(one: LeadershipStart) -> FlowEvent:
    node = clean(one.node, _NAME)
    return FlowEvent(time_ns=one.time_ns, kind="leader", text=f"{node} {one.text}".strip(), source=node)


def _leading(led: Sequence[LeadershipStart], from_ns: int, until_ns: int) -> list[LeadershipStart]:
    """The leader at the start of a time span, and the leaders elected during it."""
    nexts = [*(one.time_ns for one in led[1:]), until_ns + 1]
    ends = [
        later_ns if one.until_ns is None else one.until_ns for one, later_ns in zip(led, nexts, strict=False)
    ]
    return [one for one, end in zip(led, ends, strict=True) if one.time_ns <= until_ns and end > from_ns]


def _of_faults(faults: Sequence[FaultSeen], until_ns: int) -> Iterator[FlowEvent]:
    for fault in faults:
        name = fault.label
        yield FlowEvent(time_ns=fault.invoked_ns, kind="fault", text=f"fault {name} begins", fault=fault.id)
        if fault.healed_ns is not None and fault.healed_ns <= until_ns:
            yield FlowEvent(
                time_ns=fault.healed_ns, kind="healed", text=f"fault {name} is healed", fault=fault.id
            )


def _joined(events: Sequence[FlowEvent], faults: Sequence[FaultSeen]) -> Iterator[FlowEvent]:
    """Join the start and end of a fault to one row if no event is between them."""
    healed = {fault.id: fault.healed_ns for fault in faults}
    behind: FlowEvent | None = None
    for event, following in zip(events, [*events[1:], None], strict=True):
        if event.kind == "healed" and behind is not None and behind.fault == event.fault:
            behind = None
            continue
        behind = event
        if event.kind == "fault" and following is not None and following.fault == event.fault:
            until_ns = healed[event.fault] or 0
            text = f"{event.text.removesuffix(' begins')}, healed at {until_ns / NS_PER_S:,.3f} s"
            yield msgspec.structs.replace(event, kind="passing", text=text)
        else:
            yield event


def _broke(shown: Shown, time_ns: int) -> FlowEvent:
    return FlowEvent(time_ns=time_ns, kind="broke", text=clean(f"{shown.anomaly.id} is visible", _TEXT))


def _overlaps(fault: FaultSeen, from_ns: int, until_ns: int) -> bool:
    return fault.invoked_ns <= until_ns and (fault.healed_ns is None or fault.healed_ns >= from_ns)


def _place(event: FlowEvent) -> tuple[bool, int]:
    """Sort key of a row: missing answers come last; at equal times a broken guarantee comes last."""
    if event.time_ns is None:
        return True, 0
    return False, event.time_ns * 2 + (event.kind == "broke")


def _left_out(arrows: int, leaders: Sequence[FlowEvent], faults: Sequence[FaultSeen]) -> Iterator[str]:
    if arrows > 0:
        yield f"{arrows:,} more messages"
    if len(leaders) > LEADERS_MAX:
        yield f"{len(leaders) - LEADERS_MAX:,} later elections"
    if len(faults) > FAULTS_MAX:
        names = ", ".join(fault.label for fault in faults[FAULTS_MAX : 2 * FAULTS_MAX])
        yield f"{len(faults) - FAULTS_MAX:,} later faults ({names})"


def _names(setup: Mapping[str, object]) -> dict[int, str]:
    """Names of nodes by id, if the setup has them."""
    nodes = setup.get("nodes")
    found: dict[int, str] = {}
    for node in nodes if isinstance(nodes, list) else []:
        if isinstance(node, dict) and isinstance(node.get("id"), int):
            found[node["id"]] = clean(str(node.get("name")), _NAME)
    return found


def _natural(name: str) -> tuple[str, int]:
    """Sort key of names such as ``n2`` and ``n10``."""
    letters = name.rstrip("0123456789")
    number = name[len(letters) :]
    return letters, int(number) if number else -1
