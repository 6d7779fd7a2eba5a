"""Tiny histories in lines of text, atomic objects that make histories, and an oracle that tries every order.

A line is a process, what happens and the value in JSON:

    1 write 2        invoked and completed at once
    1 > write 2      invoked only
    1 ok write 2     its completion; also ``fail`` and ``info``
    x/1 write 2      the same on the key x
"""

import itertools
import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from checkers.history.operations import History, Operation, OperationType
from checkers.registers.linearizability import INCONSISTENT, Model
from checkers.registers.linearizability.calls import ObjectCall, groups_of

_WORDS = {
    ">": OperationType.INVOKE,
    "ok": OperationType.OK,
    "fail": OperationType.FAIL,
    "info": OperationType.INFO,
}


def history_of(text: str, *, damage: tuple[str, ...] = ()) -> History:
    """The history that a text describes."""
    rows = [row for line in text.splitlines() if line.strip() for row in _rows(line.split(maxsplit=3))]
    return history(rows, damage=damage)


def history(rows: list[tuple[Any, Any, str, str, Any]], *, damage: tuple[str, ...] = ()) -> History:
    """A history of rows of key, process, type, name and value."""
    operations = (
        Operation(index, index * 1000, process, OperationType(kind), f, key, value)
        for index, (key, process, kind, f, value) in enumerate(rows)
    )
    return History("tiny", "2026-01-01T00:00:00Z", tuple(operations), damage)


def _rows(words: list[str]) -> Iterator[tuple[Any, Any, str, str, Any]]:
    key, _, name = words[0].rpartition("/")
    who = (key or None, int(name) if name.isdigit() else name)
    if words[1] in _WORDS:
        yield (*who, _WORDS[words[1]], words[2], _value(words[3:]))
        return
    value = _value([" ".join(words[2:])] if words[2:] else [])
    asks = words[1] in ("read", "dequeue")
    yield (*who, OperationType.INVOKE, words[1], None if asks else value)
    yield (*who, OperationType.OK, words[1], value)


def _value(words: list[str]) -> Any:
    return json.loads(words[0]) if words else None


def oracle(story: History, model: Model) -> bool:
    """Whether some order of what happened, and of some of what may have happened, fits: tries all."""
    return all(fits(model, group.calls) for group in groups_of(story, model))


def fits(model: Model, calls: Sequence[ObjectCall]) -> bool:
    """Whether some order of the certain calls and of some of the others is possible."""
    certain = [call for call in calls if call.certain]
    others = [call for call in calls if not call.certain]
    for size in range(len(others) + 1):
        for some in itertools.combinations(others, size):
            if any(_legal(model, order) for order in itertools.permutations([*certain, *some])):
                return True
    return False


def _legal(model: Model, order: tuple[ObjectCall, ...]) -> bool:
    for place, call in enumerate(order):
        if any(later.certain and later.end < call.since for later in order[place + 1 :]):
            return False
    state = model.initial
    for call in order:
        state = model.step(state, call.action)
        if state is INCONSISTENT:
            return False
    return True


Do = Callable[[Any], tuple[str, Any]]
"""Acts on an object's state in place: the type of its completion and the value."""


def simulated(
    invocations: list[tuple[Any, str, Any]],
    obj: "Atomic",
    seed: int,
    *,
    processes: int = 4,
    crashes: float = 0.2,
) -> History:
    """Runs invocations (key, name, value) at an atomic object, at random moments; some of them crash.

    A crashed operation is info, or is never completed; it may take effect at any time after its invocation,
    or never.
    """
    chance = random.Random(seed)
    free, retired = list(range(processes)), processes
    rows: list[tuple[Any, Any, str, str, Any]] = []
    waiting = list(reversed(invocations))
    open_ones: list[dict[str, Any]] = []
    lost: list[dict[str, Any]] = []
    while waiting or open_ones:
        if waiting and free and (not open_ones or chance.random() < 0.4):
            key, f, value = waiting.pop()
            process = free.pop(chance.randrange(len(free)))
            open_ones.append({"who": (key, process), "f": f, "value": value, "done": None})
            rows.append((key, process, "invoke", f, value))
            continue
        some = chance.choice(open_ones + lost)
        if some["done"] is None:
            if some in lost or chance.random() >= crashes:
                some["done"] = obj.act(some["who"][0], some["f"], some["value"])
                continue
            open_ones.remove(some)
            lost.append(some)
            if chance.random() < 0.5:
                rows.append((*some["who"], "info", some["f"], some["value"]))
            free.append(retired)
            retired += 1
        elif some in open_ones:
            kind, value = some["done"]
            open_ones.remove(some)
            rows.append((*some["who"], kind, some["f"], value))
            free.append(some["who"][1])
    return history(rows)


class Atomic:
    """An object per key on which one operation takes effect at a time, written again without the models."""

    def __init__(self, kind: str, initial: Any = None) -> None:
        self._kind = kind
        self._initial = initial
        self._states: dict[Any, dict[str, Any]] = {}

    def act(self, key: Any, f: str, value: Any) -> tuple[str, Any]:
        state = self._states.setdefault(key, {"value": self._initial, "items": [], "names": {}})
        method = getattr(self, f"_{f}_{self._kind}".replace("-", "_"))
        done: tuple[str, Any] = method(state, value)
        return done

    def _read_register(self, state: dict[str, Any], _: Any) -> tuple[str, Any]:
        return "ok", state["value"]

    def _write_register(self, state: dict[str, Any], value: Any) -> tuple[str, Any]:
        state["value"] = value
        return "ok", value

    _read_cas_register = _read_register
    _write_cas_register = _write_register

    def _cas_cas_register(self, state: dict[str, Any], value: Any) -> tuple[str, Any]:
        if state["value"] != value[0]:
            return "fail", value
        state["value"] = value[1]
        return "ok", value

    def _acquire_mutex(self, state: dict[str, Any], _: Any) -> tuple[str, Any]:
        if state["value"]:
            return "fail", None
        state["value"] = True
        return "ok", None

    def _release_mutex(self, state: dict[str, Any], _: Any) -> tuple[str, Any]:
        if not state["value"]:
            return "fail", None
        state["value"] = False
        return "ok", None

    def _add_set(self, state: dict[str, Any], value: Any) -> tuple[str, Any]:
        if value not in state["items"]:
            state["items"].append(value)
        return "ok", value

    def _read_set(self, state: dict[str, Any], _: Any) -> tuple[str, Any]:
        return "ok", list(state["items"])

    def _contains_set(self, state: dict[str, Any], value: Any) -> tuple[str, Any]:
        return "ok", [value, value in state["items"]]

    def _enqueue_fifo_queue(self, state: dict[str, Any], value: Any) -> tuple[str, Any]:
        state["items"].append(value)
        return "ok", value

    def _dequeue_fifo_queue(self, state: dict[str, Any], _: Any) -> tuple[str, Any]:
        return "ok", state["items"].pop(0) if state["items"] else None

    def _txn_multi_register(self, state: dict[str, Any], value: Any) -> tuple[str, Any]:
        names = state["names"]
        result = []
        for f, name, new in value:
            if f in ("w", "write"):
                names[name] = new
            result.append([f, name, names.get(name)])
        return "ok", result
