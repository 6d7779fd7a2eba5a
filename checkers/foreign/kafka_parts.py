"""The micro-operations of Jepsen's kafka workload, checked and typed, one operation after the other."""

from typing import NamedTuple

from checkers.foreign.records import Foreign, ForeignOperation
from checkers.foreign.text_pieces import FilePlace, json_of
from checkers.history.fields import LARGEST
from checkers.history.operations import INVOKE, OK

_PAIR = 2
_SEND_PARTS = 3
_PARTITIONS_MAX = 2**31


class Send(NamedTuple):
    """``[:send k v]`` or ``[:send k [offset v]]``; the offset is None if not reported."""

    key: str
    value: object
    offset: int | None


class Chunk(NamedTuple):
    """Records of one key that a poll returned."""

    key: str
    offsets: list[int]
    values: list[object]


class Poll(NamedTuple):
    """``[:poll]`` or ``[:poll {k [[offset v] …]}]``; None if there was no answer."""

    chunks: tuple[Chunk, ...] | None


Part = Send | Poll


def parts_of(record: ForeignOperation, asked: ForeignOperation, place: FilePlace) -> tuple[Part, ...]:
    """The micro-operations of an operation.

    Args:
        record: the operation.
        asked: its invocation; the operation itself if it is one.
        place: its place in the file, for messages.

    Raises:
        HistoryError: a micro-operation has another shape, or differs from the one that was invoked.
    """
    begun = _listed(asked.value, place)
    completed = begun if record is asked else _listed_or_none(record.value)
    if completed is None or [part[0] for part in completed] != [part[0] for part in begun]:
        if record.type is OK:
            raise place.error(
                "completes with other micro-operations than it was invoked with",
                "the same ones in their order",
            )
        completed = begun
    answered = record.type is not INVOKE
    return tuple(
        _send(one, other, place, answered=answered) if one[0] == "send" else _poll(other, place)
        for one, other in zip(begun, completed, strict=True)
    )


def text_of(key: object) -> str:
    """The text of a key, which is a number in some places and, in JSON, a text in others."""
    return key if isinstance(key, str) else json_of(key)


def partitions_of(keys: list[str]) -> dict[str, int]:
    """A partition for each key: the key's number if all keys are numbers, otherwise numbers from 0.

    Args:
        keys: the keys, in the order of their appearance.
    """
    if all(key.isdecimal() and str(int(key[:10])) == key and int(key) < _PARTITIONS_MAX for key in keys):
        return {key: int(key) for key in keys}
    return {key: number for number, key in enumerate(keys)}


def keys_of(foreign: Foreign, parts: list[tuple[Part, ...]]) -> list[str]:
    """All keys of a history, in the order of their appearance."""
    found: dict[str, None] = {}
    for record, some in zip(foreign.records, parts, strict=True):
        for part in some:
            if isinstance(part, Send):
                found[part.key] = None
            else:
                found.update(dict.fromkeys(chunk.key for chunk in part.chunks or ()))
        if record.f == "assign" and isinstance(record.value, list):
            found.update(dict.fromkeys(map(text_of, record.value)))
    return list(found)


def _listed_or_none(value: object) -> list[list[object]] | None:
    if not isinstance(value, list) or not all(isinstance(p, list) and p and _is_known(p) for p in value):
        return None
    return value


def _is_known(part: list[object]) -> bool:
    if part[0] == "send":
        return len(part) == _SEND_PARTS
    return part[0] == "poll" and len(part) <= _PAIR


def _listed(value: object, place: FilePlace) -> list[list[object]]:
    listed = _listed_or_none(value)
    if listed is None:
        raise place.error("not a list of sends and polls", "[[:send key value] [:poll] …]")
    return listed


def _send(begun: list[object], completed: list[object], place: FilePlace, *, answered: bool) -> Send:
    key, value, answer = text_of(begun[1]), begun[2], completed[2]
    if text_of(completed[1]) != key:
        raise place.error(
            f"answers a send to {text_of(completed[1])}, one to {key} was invoked", f"key {key}"
        )
    if not answered or _same(answer, value):
        return Send(key, value, None)
    if not isinstance(answer, list) or len(answer) != _PAIR or not _same(answer[1], value):
        raise place.error(
            "completes a send with another value than it was invoked with", "[:send key [offset value]]"
        )
    return Send(key, value, None if answer[0] is None else _offset(answer[0], place))


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and bool(one == other)


def _poll(part: list[object], place: FilePlace) -> Poll:
    answer = part[1] if len(part) == _PAIR else None
    if answer is None:
        return Poll(None)
    if not isinstance(answer, dict):
        raise place.error("the answer of a poll is not a map", "[:poll {key [[offset value] …]}]")
    return Poll(tuple(_chunk(key, records, place) for key, records in answer.items()))


def _chunk(key: object, records: object, place: FilePlace) -> Chunk:
    if not isinstance(records, list) or not all(isinstance(r, list) and len(r) == _PAIR for r in records):
        raise place.error(f"the records of key {text_of(key)} are not pairs", "[[offset value] …]")
    return Chunk(text_of(key), [_offset(record[0], place) for record in records], [r[1] for r in records])


def _offset(offset: object, place: FilePlace) -> int:
    if type(offset) is not int or not 0 <= offset <= LARGEST:
        raise place.error(f"{text_of(offset)[:40]} is not an offset", f"a number from 0 to {LARGEST}")
    return offset
