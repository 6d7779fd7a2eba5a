"""The rows of the tables `cluster_state` (leaders, ISRs) and `faults`."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import msgspec
import pyarrow as pa

from checkers.evidence.faults import fault_windows
from checkers.history.observed import PARTITIONS, PartitionAnswer, PartitionsSeen
from checkers.history.operations import History, Operation
from checkers.history.quorum import QUORUM, LeaderSeen, quorum_seen
from results.pipeline.rows.columnar import Array, assembled, integers, lists, rows, texts
from results.pipeline.schemas import SILENCE_NS

_COLUMNS = (
    "time_ns", "until_ns", "answers", "view", "subject", "topic", "partition", "leader", "leader_epoch",
    "isr", "elr", "replicas", "voters", "high_watermark", "end_offset",
)  # fmt: skip
_TEXTS = {"view", "subject", "topic"}
_LISTS = {"isr", "elr", "replicas", "voters"}
_UNTIL, _ANSWERS = _COLUMNS.index("until_ns"), _COLUMNS.index("answers")
_State: TypeAlias = tuple[Any, ...]
"""What an answer reports: topic and partition, then all other columns after `subject`."""
_Row: TypeAlias = list[Any]
_Answer = TypeVar("_Answer")


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
        self.answer: Any = None
        self.until_ns = 0
        self.answers = 0
        self.stretches: dict[_State, _Stretch] = {}

    def go_on_with(self, stretches: dict[_State, _Stretch]) -> None:
        """End all stretches except these."""
        for place, stretch in self.stretches.items():
            if stretches.get(place) is not stretch:
                stretch.row[_UNTIL] = self.until_ns
                stretch.row[_ANSWERS] = self.answers - stretch.answers_before
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
        self, view: _View, operation: Operation, before: dict[_State, _Stretch], states: Iterator[_State]
    ) -> dict[_State, _Stretch]:
        stretches = {}
        for state in states:
            place = state[:2]
            stretch = before.get(place)
            if stretch is None or stretch.state != state:
                row = [operation.time_ns, None, None, operation.node, self._subject, *state]
                stretch = _Stretch(state, row, view.answers)
                self._rows.append(row)
            stretches[place] = stretch
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
    rows = [*partitions.ended(), *quorum.ended()]
    columns = zip(*rows, strict=True) if rows else ((),) * len(_COLUMNS)
    return assembled(
        "cluster_state",
        history.run,
        {name: _array(name, list(values)) for name, values in zip(_COLUMNS, columns, strict=True)},
    )


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


def _array(name: str, values: list[Any]) -> Array:
    if name in _TEXTS:
        return texts(values)
    return lists(values) if name in _LISTS else integers(values)


def _states(topics: Mapping[str, Sequence[PartitionAnswer]]) -> Iterator[_State]:
    for topic, partitions in topics.items():
        for one in partitions:
            known = (one.leader_epoch, one.isr, one.elr, one.replicas)
            yield topic, one.partition, _known(one.leader), *known, None, None, None


def _state(answer: LeaderSeen | None) -> Iterator[_State]:
    """The state in a leader's answer; an answer of another shape has no row, and its checker reports it."""
    if answer is None:
        return
    voters = [voter.id for voter in answer.voters]
    state = (_known(answer.leader_id), answer.leader_epoch, None, None, None, voters)
    yield None, None, *state, _known(answer.high_watermark), _known(answer.end_offset)


def _leading(operation: Operation) -> LeaderSeen | None:
    try:
        seen = quorum_seen(operation.value)
    except msgspec.ValidationError:
        return None
    return seen if isinstance(seen, LeaderSeen) else None


def _known(number: int) -> int | None:
    """Convert Kafka's -1 to None."""
    return None if number < 0 else number
