"""Tells histories of topics that come and go in lines of text; the n-th event happens at n ms.

0 create t id1          process 0 creates t, acknowledged with this id; ``-`` where the answer had none
0 delete t              process 0 deletes t, acknowledged
0 list b1 t=id1 u=-     process 0 asks b1, which lists t and u; a bare ``list b1`` lists nothing
0 > create t            only the beginning; also ``0 > delete t`` and ``0 > list b1``
0 ok id1                the end of what process 0 began; also ``0 fail`` and ``0 info``
setup metadata 2        the set-up of a run with that workload and so many brokers
phase final-read
"""

from typing import Any

from checkers.history.operations import History, Operation, OperationType

MS = 1_000_000
_FUNCTIONS = {"create": "create-topic", "delete": "delete-topic", "list": "list-topics"}


def history_of(text: str, *, damage: tuple[str, ...] = ()) -> History:
    """The history of a story."""
    story = _Story()
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if words:
            story.add_line(*words)
    operations = (
        Operation(index, index * MS, o.process, o.type, o.f, o.key, o.value)
        for index, o in enumerate(story.operations)
    )
    return History("run", "2023-11-14T22:13:20Z", tuple(operations), damage)


class _Story:
    """Collects operations, and what each process has outstanding."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._outstanding: dict[int, tuple[str, str]] = {}

    def add_line(self, who: str, what: str, *words: str) -> None:
        if who == "setup":
            nodes = [{"name": f"b{i}", "id": i, "roles": ["broker"]} for i in range(1, int(words[0]) + 1)] + [
                {"name": "c1", "id": 101, "roles": ["controller"]}
            ]
            value = {"workload": {"kind": what}, "nodes": nodes}
            self._add("runner", OperationType.OK, "setup", None, value)
        elif who == "phase":
            self._add("runner", OperationType.OK, "phase", what, None)
        elif what == ">":
            self._begin(int(who), *words)
        elif what in _FUNCTIONS:
            self._begin(int(who), what, words[0])
            self._end(int(who), OperationType.OK, list(words[1:]))
        else:
            self._end(int(who), OperationType(what), list(words))

    def _begin(self, process: int, what: str, key: str) -> None:
        f = _FUNCTIONS[what]
        self._outstanding[process] = (f, key)
        self._add(process, OperationType.INVOKE, f, key, _requested() if what == "create" else None)

    def _end(self, process: int, kind: OperationType, words: list[str]) -> None:
        f, key = self._outstanding.pop(process)
        value: Any = None
        if f == "create-topic":
            value = {**_requested(), "topic_id": _id(words[0]) if words else None}
        elif f == "list-topics" and kind is OperationType.OK:
            value = [[name, _id(topic_id)] for name, topic_id in (word.split("=") for word in words)]
        self._add(process, kind, f, key, value)

    def _add(self, process: int | str, kind: OperationType, f: str, key: Any, value: Any) -> None:
        self.operations.append(Operation(0, 0, process, kind, f, key, value))


def _requested() -> dict[str, Any]:
    return {"partitions": 1, "replication_factor": 2}


def _id(word: str) -> str | None:
    return None if word == "-" else word
