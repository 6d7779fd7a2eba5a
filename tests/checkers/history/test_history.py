"""What a history keeps beside its fields: operations by what they do, and what was computed of it once."""

import copy
import gc
import pickle
import weakref

import msgspec
import pytest

from checkers.history.observed import NODE, NodeSeen, nodes_seen
from checkers.history.operations import History, Operation, OperationType, once


def _completed(index: int, f: str, key: object = None) -> Operation:
    return Operation(index, index, 0, OperationType.OK, f, key)


_OPERATIONS = (
    _completed(0, "setup"),
    _completed(1, "observe", "node"),
    _completed(2, "observe", ["of", "no", "use"]),
    _completed(3, "send", "node"),
    _completed(4, "observe", "node"),
)


def _history() -> History:
    return History("r", "", _OPERATIONS)


class _Answer:
    pass


def test_operations_are_found_by_what_they_do() -> None:
    history = _history()
    assert [operation.index for operation in history.of("observe")] == [1, 2, 4]
    assert not history.of("poll")


def test_observations_are_found_by_what_they_are_of() -> None:
    history = _history()
    assert [operation.index for operation in history.observed("node")] == [1, 4]
    assert not history.observed("quorum")


def test_values_of_observations_are_decoded_once() -> None:
    seen = [msgspec.structs.replace(each, value={"status": "paused"}) for each in _history().observed("node")]
    history = History("r", "", tuple(seen))
    decoded = history.seen(NODE, NodeSeen)
    assert decoded == [(operation, NodeSeen("paused")) for operation in seen]
    assert history.seen(NODE, NodeSeen) is decoded
    assert nodes_seen(history, "n1") == []
    assert history.seen("quorum", NodeSeen) == []


def test_a_value_of_another_shape_is_reported() -> None:
    with pytest.raises(msgspec.ValidationError, match="Expected `object`, got `null`"):
        _history().seen(NODE, NodeSeen)


def test_a_function_is_computed_once_for_each_history() -> None:
    asked = []

    @once
    def answer(history: History) -> None:
        asked.append(history)

    one, other = _history(), _history()
    for history in (one, other, one, other):
        answer(history)
    assert list(map(id, asked)) == [id(one), id(other)]


def test_what_is_raised_is_raised_anew() -> None:
    asked = []

    @once
    def answer(history: History) -> int:
        asked.append(history)
        raise ValueError(len(asked))

    history = _history()
    for count in ("1", "2"):
        with pytest.raises(ValueError, match=count):
            answer(history)


def test_functions_are_distinguished() -> None:
    first, last = (
        once(lambda history: history.operations[0].f),
        once(lambda history: history.operations[-1].f),
    )
    history = _history()
    assert (first(history), last(history), first(history)) == ("setup", "observe", "setup")


def test_what_was_computed_is_no_part_of_the_history() -> None:
    history, fresh = _history(), _history()
    answer = once(lambda _: _Answer())
    found = answer(history)
    history.of("observe")
    assert history == fresh
    assert repr(history) == repr(fresh)
    assert msgspec.json.encode(history) == msgspec.json.encode(fresh)
    assert pickle.dumps(history) == pickle.dumps(fresh)
    assert answer(copy.copy(history)) is not found
    assert answer(msgspec.structs.replace(history, run="another")) is not found


def test_what_was_computed_is_freed_with_the_history() -> None:
    history = _history()
    answer = once(lambda _: _Answer())
    found = weakref.ref(answer(history))
    assert found() is not None
    gc.disable()
    try:
        del history
        assert found() is None
    finally:
        gc.enable()
