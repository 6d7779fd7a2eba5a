"""Tells histories of registers in lines of text; the n-th event happens at n ms.

    0 w x 1          process 0 writes 1 to x, and it is acknowledged
    0 r x 1          process 0 reads x and gets 1
    0 > w x 1        only the beginning; also ``0 > r x`` and ``0 > cas x 1 2``
    0 ok             the end of what process 0 began; a read returns a value: ``0 ok 1``
    0 fail           also ``0 info``
    setup offsets    the set-up of a run with that workload
    phase heal
    recover began    also ``recover ok`` and ``recover info``

Values are JSON, such as ``null`` and ``"a"``; what is no JSON is a text.
"""

import json
from typing import Any

from checkers.history.operations import History, Operation, OperationType

MS = 1_000_000
Type = OperationType
_FUNCTIONS = {"w": "write", "r": "read", "cas": "cas"}


def history_from(text: str, *, damage: tuple[str, ...] = ()) -> History:
    """The history of a story."""
    story = _Story()
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if words:
            story.add_line(*words)
    return history_of(story.operations, damage)


def history_of(operations: list[Operation], damage: tuple[str, ...] = ()) -> History:
    """A history of operations in their order, indexed anew."""
    ordered = (
        Operation(index, index * MS, o.process, o.type, o.f, o.key, o.value)
        for index, o in enumerate(operations)
    )
    return History("run", "2023-11-14T22:13:20Z", tuple(ordered), damage)


class _Story:
    """Collects operations, and what each process has outstanding."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._outstanding: dict[int | str, tuple[str, Any, Any]] = {}

    def add_line(self, who: str, what: str, *words: str) -> None:
        if who == "setup":
            self._add("runner", Type.OK, "setup", None, {"workload": {"kind": what}})
        elif who == "phase":
            self._add("runner", Type.OK, "phase", what, None)
        elif who == "recover":
            self._add("runner", Type.INVOKE if what == "began" else Type(what), "recover", None, {})
        else:
            self._client(int(who), what, list(words))

    def _client(self, process: int, what: str, words: list[str]) -> None:
        if what in _FUNCTIONS:
            self._begin(process, [what, *(words if what == "w" else words[:1])])
            self._end(process, Type.OK, words[1:])
        elif what == ">":
            self._begin(process, words)
        else:
            self._end(process, Type(what), words)

    def _begin(self, process: int, words: list[str]) -> None:
        f, key, *arguments = _FUNCTIONS[words[0]], *map(_json, words[1:])
        value = None if f == "read" else arguments if f == "cas" else arguments[0]
        self._outstanding[process] = (f, key, value)
        self._add(process, Type.INVOKE, f, key, value)

    def _end(self, process: int, kind: Type, words: list[str]) -> None:
        f, key, value = self._outstanding.pop(process)
        answered = _json(words[0]) if f == "read" and words else value
        self._add(process, kind, f, key, answered)

    def _add(self, process: int | str, kind: Type, f: str, key: Any, value: Any) -> None:
        self.operations.append(Operation(0, 0, process, kind, f, key, value))


def _json(word: str) -> Any:
    try:
        return json.loads(word)
    except json.JSONDecodeError:
        return word
