"""Describes the request and the answer of an operation as text instead of JSON.

The partition and the offset come first, if known.  In a value that is too long, sizes replace lists and
objects, so that no text ends in the middle of a structure.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sized
from itertools import chain

from checkers.history.error_codes import ErrorCode, named_code
from checkers.history.operations import OK, Operation
from results.markup.cleaning import clean, clean_value
from results.report.reading.client_words import ANSWERS, REQUESTS, RecordContext
from results.report.reading.fields import fields_text, size_text

_TEXT = 40
_ERROR = 200
_NEAR = 1
"""Number of returned records that a text lists before and after the relevant offset."""
_NUMBERED = re.compile(r"\[Error (-?\d{1,5})\] ?\w*")
_NAMED = re.compile(r"(?<![\w.])[A-Z][A-Z]+(?:_[A-Z]+)+(?![\w.])")
_MISFITS = (KeyError, TypeError, ValueError, IndexError, AttributeError)
_CODES = {code.value for code in ErrorCode}
_TextOf = Callable[[Operation, RecordContext], str | None]


def value_text(value: object, limit: int) -> str:
    """A JSON value in one line; if it is too long, with the sizes of lists and objects.

    Args:
        value: as the history has it.
        limit: maximum number of characters, approximately.
    """
    if value is None or isinstance(value, str):
        return clean_value(value, limit)
    text = ""
    for depth, entries in ((6, 8), (4, 4), (3, 3), (2, 2), (1, 2)):
        text = _dumped(_shortened(value, depth, entries))
        if len(text) <= limit:
            return clean(text, limit)
    if isinstance(value, dict):
        return clean(_few_fields(value, limit), limit)
    return _counted(value) if isinstance(value, list) else clean(text, limit)


def _few_fields(value: Mapping[str, object], limit: int) -> str:
    """The first fields that fit, with the sizes of objects and lists, and the number of other fields."""
    parts: list[str] = []
    for name, each in value.items():
        field = f"{_dumped(str(name)[:_TEXT])}: {_dumped(_shortened(each, 0, 0))}"
        if sum(map(len, parts)) + 2 * len(parts) + len(field) + 16 > limit:
            break
        parts.append(field)
    left = len(value) - len(parts)
    return "{" + ", ".join([*parts, f"… {left:,} more"]) + "}" if parts else _counted(value)


def error_text(error: str) -> str:
    """An error with Kafka's name and code instead of the text of kafka-python."""
    return clean(_NUMBERED.sub(lambda found: named_code(int(found[1])), error[:_ERROR]), _ERROR)


def is_answer(error: str) -> bool:
    """Whether the error is an answer of Kafka; else the client gave up."""
    if found := _NUMBERED.search(error):
        return int(found[1]) in _CODES
    return any(name in ErrorCode.__members__ for name in _NAMED.findall(error))


def request_text(operation: Operation, around: RecordContext, limit: int) -> str:
    """The request of an operation, such as ``send 205 to log-0/3``."""
    return _text_by(_request, operation, around, limit)


def answered_text(operation: Operation, around: RecordContext, limit: int) -> str:
    """The answer to an operation, such as ``205 at offset 205``."""
    return _text_by(_answered, operation, around, limit)


def operation_partition(operation: Operation, around: RecordContext) -> tuple[str, int] | None:
    """The partition of an operation; if it has several, the relevant one."""
    try:
        named = list(_partitions(operation))
    except _MISFITS:
        return None
    if (around.topic, around.partition) in named:
        return around.topic, around.partition  # type: ignore[return-value]  # `named` has no None
    return named[0] if named else None


def _text_by(text_of: _TextOf, operation: Operation, around: RecordContext, limit: int) -> str:
    try:
        text = text_of(operation, around)
    except _MISFITS:
        text = None
    if not text and isinstance(operation.value, dict):
        text = fields_text(operation.value, limit)
    return clean(text, limit) if text else value_text(operation.value, limit)


def _partitions(operation: Operation) -> Iterator[tuple[str, int]]:
    topic, value = str(operation.key), operation.value
    if operation.f == "send":
        numbers = [value["partition"]] if isinstance(value, dict) else [entry[0] for entry in value]
        yield from ((topic, number) for number in numbers)
    elif operation.f == "final-read":
        yield topic, value["partition"]
    elif operation.f in {"poll", "share-poll"}:
        yield from ((topic, number) for number, *_ in value.get("records", ()))
    elif operation.f == "txn":
        yield from ((mop[1], mop[2]) for mop in value["mops"] if mop[0] == "send")


def _request(operation: Operation, around: RecordContext) -> str | None:
    value, topic = operation.value, operation.key
    if operation.f == "send":
        if isinstance(value, dict):
            last = value["first"] + value["count"] - 1
            return f"send {value['first']} to {last} to {topic}/{value['partition']}"
        here = [entry for entry in value if entry[0] == around.partition] or value
        several = f" and {len(value) - 1} more" if len(value) > 1 else ""
        return f"send {here[0][1]} to {topic}/{here[0][0]}{several}"
    if operation.f == "final-read":
        return f"read {topic}/{value['partition']} to its end, {value['isolation']}"
    if operation.f == "poll":
        return f"poll {topic}, {value['isolation']}"
    if text_of := REQUESTS.get(operation.f):
        return text_of(operation, around)
    return f"{operation.f} {value_text(topic, _TEXT)}".strip() + _of(value)


def _answered(operation: Operation, around: RecordContext) -> str | None:
    value = operation.value
    if operation.f == "send" and isinstance(value, list):
        here = [e for e in value if e[0] == around.partition and around.offset in {None, e[2]}] or value
        place, number = here[0][2], here[0][1]
        outcome = f"{number} {'at offset ' + format(place, ',') if place is not None else here[0][3]}"
        return outcome + (f", and {len(value) - 1:,} more" if len(value) > 1 else "")
    if operation.f in {"final-read", "poll", "share-poll"} and "records" in value:
        return _read(operation, around)
    if text_of := ANSWERS.get(operation.f):
        return text_of(operation, around)
    if operation.f == "observe":
        observed = _OBSERVATIONS.get(str(operation.key))
        text = observed(operation, around) if observed is not None else None
        return text or f"{operation.key}{_of(value)}"
    if operation.f == "recover":
        done = "has recovered" if operation.type is OK else "had not recovered"
        return f"the cluster {done} after {value['took_ms']:,} ms"
    return None


def _quorum(operation: Operation, _: RecordContext) -> str | None:
    value = operation.value
    if value["answer"] != "leader":
        return f"quorum: {value['answer']}"
    text = f"quorum: leader of epoch {value['leader_epoch']:,}, high watermark {value['high_watermark']:,}"
    voters = ", ".join(str(voter[0]) for voter in value.get("voters", ()))
    return f"{text}, voters {voters}" if voters else text


def _log(operation: Operation, _: RecordContext) -> str | None:
    value = operation.value
    name = f"log of {value['topic']}/{value['partition']}"
    if value.get("error"):
        return f"{name} could not be read: {value['error']}"
    return (
        f"{name} on disk: offsets from {value['log_start']:,} to {value['end']:,}, {value['count']:,} batches"
    )


def _views(operation: Operation, around: RecordContext) -> str | None:
    value = operation.value
    for number, leader, epoch, replicas, isr, *_ in value["topics"].get(around.topic, ()):
        if number == around.partition:
            return f"{around.topic}/{number}: leader {leader}, epoch {epoch}, replicas {replicas}, ISR {isr}"
    return None


def _listed(operation: Operation, around: RecordContext) -> str | None:
    value = operation.value
    for number, epoch, offset, *_ in value["topics"].get(around.topic, ()):
        if number == around.partition:
            return f"offset {value['what']} of {around.topic}/{number}: {offset:,}, epoch {epoch}"
    return None


def _noted(operation: Operation, _: RecordContext) -> str | None:
    value = operation.value
    starts = ", ".join(f"{epoch} at {start:,}" for epoch, start in value["entries"][-8:])
    return f"leader epochs of {value['topic']}/{value['partition']} start: {starts}"


def _aborted(operation: Operation, _: RecordContext) -> str | None:
    value = operation.value
    name = f"index of aborted transactions of {value['topic']}/{value['partition']}"
    if value.get("error"):
        return f"{name} could not be read: {value['error']}"
    number = sum(len(entries) for _, entries, *_ in value["segments"])
    return f"{name}: {number:,} entr{'y' if number == 1 else 'ies'}"


def _states(operation: Operation, _: RecordContext) -> str | None:
    value = operation.value
    name = f"states of transactions in __transaction_state/{value['partition']}"
    if value.get("error"):
        return f"{name} could not be read: {value['error']}"
    return f"{name}: {value['count']:,} records of {len(value['ids']):,} transactional ids"


def _share_states(operation: Operation, _: RecordContext) -> str | None:
    value = operation.value
    name = f"states of share groups in __share_group_state/{value['partition']}"
    if value.get("error"):
        return f"{name} could not be read: {value['error']}"
    return f"{name}: {value['count']:,} records of {len(value['places']):,} share partitions"


def _ends(operation: Operation, around: RecordContext) -> str | None:
    value = operation.value
    ends = [
        f"{node} {end:,}"
        for node, topics in value["nodes"].items()
        for number, end in topics.get(around.topic, ())
        if number == around.partition
    ]
    return f"ends of {around.topic}/{around.partition} on disk: {', '.join(ends)}" if ends else None


def _vote(operation: Operation, _: RecordContext) -> str | None:
    value = operation.value
    asked = "pre-vote" if value.get("pre_vote") else "vote"
    given = "gave its" if value["granted"] else "refused a"
    return f"{given} {asked} to {value['candidate_id']} in epoch {value['epoch']:,}"


def _elected(operation: Operation, _: RecordContext) -> str | None:
    value = operation.value
    votes = ", ".join(map(str, value["granting"]))
    return f"became leader of epoch {value['epoch']:,} by votes of {votes}"


def _logged(operation: Operation, _: RecordContext) -> str | None:
    value = operation.value
    return f"line {value['line']:,} of its log: {value['text']}"


_OBSERVATIONS: dict[str, _TextOf] = {
    "quorum": _quorum,
    "replica": _log,
    "metadata-log": _log,
    "partitions": _views,
    "offsets": _listed,
    "leader-epochs": _noted,
    "aborted-transactions": _aborted,
    "transaction-states": _states,
    "share-states": _share_states,
    "ends": _ends,
    "vote": _vote,
    "elected": _elected,
    "node-log": _logged,
}
"""Functions for observations with these keys."""


def _of(value: object) -> str:
    text = fields_text(value, _ERROR) if isinstance(value, dict) else value_text(value, _ERROR)
    return f": {text}" if text and value != [] else ""


def _read(operation: Operation, around: RecordContext) -> str:
    """The number of records that a reader returned, and the record at the relevant offset."""
    chunks = operation.value["records"]
    number = sum(len(offsets) for _, offsets, *_ in chunks)
    text = f"{number:,} record{'' if number == 1 else 's'}"
    if "end" in operation.value:
        text += f", from offset {operation.value['start']:,} to {operation.value['position']:,}"
    if around.offset is None or str(operation.key) != around.topic:
        return text
    here = sorted(
        chain.from_iterable(
            zip(offsets, values, strict=True)
            for place, offsets, values, *_ in chunks
            if place == around.partition
        )
    )
    at = [value for offset, value in here if offset == around.offset]
    if at:
        return f"{text}; at {around.offset:,}: {clean_value(at[0], _TEXT)}"
    below = [offset for offset, _ in here if offset < around.offset][-_NEAR:]
    above = [offset for offset, _ in here if offset > around.offset][:_NEAR]
    sides = " and ".join(f"{offset:,}" for offset in (*below, *above))
    return f"{text}; nothing at {around.offset:,}" + (f", next to it {sides}" if sides else "")


def _shortened(value: object, depth: int, entries: int) -> object:
    """The value with fewer entries and less depth; numbers replace what is left out."""
    if isinstance(value, str):
        return value if len(value) <= _TEXT else f"{value[:_TEXT]}…"
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        return _Bare(_counted(value))
    if isinstance(value, dict):
        kept = {
            str(name)[:_TEXT]: _shortened(item, depth - 1, entries) for name, item in [*value.items()][:12]
        }
        return kept if len(value) <= len(kept) else {**kept, "…": _Bare(f"{len(value) - len(kept):,} more")}
    some = [_shortened(each, depth - 1, entries) for each in value[:entries]]
    return some if len(value) <= entries else [*some, _Bare(f"… {len(value) - entries:,} more")]


class _Bare(str):
    """A remark of krucible within a value; it is printed without quotes."""

    __slots__ = ()


def _counted(value: Sized) -> str:
    text = size_text(value) if value else ""
    return f"{{{text}}}" if isinstance(value, dict) else f"[{text}]"


def _dumped(value: object) -> str:
    """Compact JSON, with remarks without quotes."""
    if isinstance(value, _Bare):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_dumped(name)}: {_dumped(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_dumped, value)) + "]"
    return json.dumps(value, ensure_ascii=False, default=repr)
