"""The rows of the tables `cluster_state` (leaders, ISRs) and `faults`."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import msgspec
import pyarrow as pa

from checkers.evidence.faults import fault_windows
from checkers.history.observed import PARTITIONS, PartitionAnswer, PartitionsSeen
from checkers.history.operations import History, Operation
from checkers.history.quorum import QUORUM, LeaderSeen, quorum_seen
from results.pipeline.rows.columnar import Array, assembled, integers, lists, rows, texts
from results.pipeline.schemas import SILENCE_NS

_Answer = TypeVar("_Answer")


class _Place(NamedTuple):
    """A partition; both are None for the quorum."""

    topic: str | None
    partition: int | None


class _State(NamedTuple):
    """What an answer reports about a partition or the quorum."""

    place: _Place
    leader: int | None
    leader_epoch: int | None
    isr: Sequence[int] | None = None
    elr: Sequence[int] | None = None
    replicas: Sequence[int] | None = None
    voters: Sequence[int] | None = None
    high_watermark: int | None = None
    end_offset: int | None = None


@dataclass(slots=True)
class _Row:
    """A row of `cluster_state`; its end, and the number of its answers, are known when its stretch ends."""

    time_ns: int
    view: str | None
    subject: str
    state: _State
    until_ns: int = 0
    answers: int = 0


class _Stretch(NamedTuple):
    """Consecutive equal answers about one partition or the quorum, still in progress.

    Attributes:
        state: the reported state.
        row: the row, without its end.
        answers_before: number of answers of the view before the first of these.
    """

    state: _State
    row: _Row
    answers_before: int


class _View:
    """The answers of one node so far.

    All open stretches end with the last answer, which is kept here instead of in each stretch, because most
    answers change nothing.

    Attributes:
        answer: the last answer.
        until_ns: when the last answer arrived.
        answers: number of answers.
        stretches: open stretches, by topic and partition.
    """

    def __init__(self) -> None:
        self.answer: object = None
        self.until_ns = 0
        self.answers = 0
        self.stretches: dict[_Place, _Stretch] = {}

    def go_on_with(self, stretches: dict[_Place, _Stretch]) -> None:
        """End all stretches except these."""
        for place, stretch in self.stretches.items():
            if stretches.get(place) is not stretch:
                stretch.row.until_ns = self.until_ns
                stretch.row.answers = self.answers - stretch.answers_before
        self.stretches = stretches


class _Stretches:
    """Converts answers about one subject to rows; consecutive equal answers of a view are one row."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._rows: list[_Row] = []
        self._views: defaultdict[str | None, _View] = defaultdict(_View)

    def add(
        self, operation: Operation, answer: _Answer, states: Callable[[_Answer], Iterator[_State]]
    ) -> None:
        """Add the next answer.

        Args:
            operation: the observation with the answer.
            answer: equal to the previous answer if it reports the same.
            states: converts an answer to the state of each of its partitions, or of the quorum.
        """
        view = self._views[operation.node]
        silent = operation.time_ns - view.until_ns > SILENCE_NS
        if silent or answer != view.answer:
            before = {} if silent else view.stretches
            view.go_on_with(self._begun(view, operation, before, states(answer)))
            view.answer = answer
        view.until_ns = operation.time_ns
        view.answers += 1

    def ended(self) -> list[_Row]:
        """The rows, after all answers were added."""
        for view in self._views.values():
            view.go_on_with({})
        return self._rows

    def _begun(
        self, view: _View, operation: Operation, before: dict[_Place, _Stretch], states: Iterator[_State]
    ) -> dict[_Place, _Stretch]:
        stretches: dict[_Place, _Stretch] = {}
        for state in states:
            stretch = before.get(state.place)
            if stretch is None or stretch.state != state:
                row = _Row(operation.time_ns, operation.node, self._subject, state)
                stretch = _Stretch(state, row, view.answers)
                self._rows.append(row)
            stretches[state.place] = stretch
        return stretches


def cluster_state_of(history: History) -> pa.Table:
    """The answers of all nodes, as stretches of equal answers.

    Partitions come first, then the quorum, each in the order in which the stretches began.
    """
    partitions, quorum = _Stretches("partition"), _Stretches("quorum")
    for operation in history.operations:
        if operation.f != "observe":
            continue
        if operation.key == PARTITIONS:
            topics = msgspec.convert(operation.value, PartitionsSeen).topics
            partitions.add(operation, topics, _states)
        elif operation.key == QUORUM:
            quorum.add(operation, _leading(operation), _state)
    return assembled("cluster_state", history.run, _columns([*partitions.ended(), *quorum.ended()]))


def _columns(rows: Sequence[_Row]) -> dict[str, Array]:
    states = [row.state for row in rows]
    return {
        "time_ns": integers(row.time_ns for row in rows),
        "until_ns": integers(row.until_ns for row in rows),
        "answers": integers(row.answers for row in rows),
        "view": texts(row.view for row in rows),
        "subject": texts(row.subject for row in rows),
        "topic": texts(state.place.topic for state in states),
        "partition": integers(state.place.partition for state in states),
        "leader": integers(state.leader for state in states),
        "leader_epoch": integers(state.leader_epoch for state in states),
        "isr": lists(state.isr for state in states),
        "elr": lists(state.elr for state in states),
        "replicas": lists(state.replicas for state in states),
        "voters": lists(state.voters for state in states),
        "high_watermark": integers(state.high_watermark for state in states),
        "end_offset": integers(state.end_offset for state in states),
    }


def faults_of(history: History) -> pa.Table:
    """The faults that were injected, or may have been.

    Raises:
        KeyError, msgspec.ValidationError: a fault does not conform to docs/histories.md.
    """
    return rows(
        "faults",
        history.run,
        [
            {
                "fault": number,
                "id": window.id,
                "kind": window.kind,
                "targets": list(window.targets),
                "asked_ns": window.invoked_ns,
                "in_force_ns": window.effective_ns,
                "heal_asked_ns": window.heal_invoked_ns,
                "healed_ns": window.healed_ns,
                "proven": window.proven,
            }
            for number, window in enumerate(fault_windows(history), start=1)
        ],
    )


def _states(topics: Mapping[str, Sequence[PartitionAnswer]]) -> Iterator[_State]:
    for topic, partitions in topics.items():
        for one in partitions:
            place = _Place(topic, one.partition)
            yield _State(place, _known(one.leader), one.leader_epoch, one.isr, one.elr, one.replicas)


def _state(answer: LeaderSeen | None) -> Iterator[_State]:
    """The state in a leader's answer; an answer of another shape has no row, and its checker reports it."""
    if answer is None:
        return
    yield _State(
        _Place(None, None),
        _known(answer.leader_id),
        answer.leader_epoch,
        voters=[voter.id for voter in answer.voters],
        high_watermark=_known(answer.high_watermark),
        end_offset=_known(answer.end_offset),
    )


def _leading(operation: Operation) -> LeaderSeen | None:
    try:
        seen = quorum_seen(operation.value)
    except msgspec.ValidationError:
        return None
    return seen if isinstance(seen, LeaderSeen) else None


def _known(number: int) -> int | None:
    """Convert Kafka's -1 to None."""
    return None if number < 0 else number
