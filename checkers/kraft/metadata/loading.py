"""Loads creations, deletions and lists of topics from the operations of docs/histories.md."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from checkers.history.changing_topics import TopicCreated
from checkers.history.operations import FAIL, INVOKE, OK, Operation
from checkers.history.phases import PHASE, Phase

_T = TypeVar("_T")
Listed = tuple[str, str | None]
"""A topic's name and id; the id is None if the broker reports none."""


class MetadataShapeError(Exception):
    """An operation is not as docs/histories.md says."""


@dataclass(slots=True)
class Change:
    """One creation or deletion; `end` is None if it has no completion."""

    begin: Operation
    end: Operation | None = None

    @property
    def acknowledged(self) -> bool:
        """Whether it certainly happened."""
        return self.end is not None and self.end.type is OK

    @property
    def failed(self) -> bool:
        """Whether it certainly did not happen."""
        return self.end is not None and self.end.type is FAIL

    @property
    def last(self) -> Operation:
        """Its completion, or its invocation if it has none."""
        return self.end or self.begin


@dataclass(slots=True)
class TopicListing:
    """The topics that one broker listed."""

    listener: str
    begin: Operation
    end: Operation
    topics: dict[str, str | None]


@dataclass(slots=True)
class Metadata:
    """All operations on topics that are created and deleted.

    Attributes:
        created: name to its creations, in the order of their invocations.
        deleted: name to its deletions, in the order of their invocations.
        listings: the lists, in the order of their completions.
        final: index of the operation that begins the phase final-read, None if there is none.
    """

    created: dict[str, list[Change]] = field(default_factory=dict)
    deleted: dict[str, list[Change]] = field(default_factory=dict)
    listings: list[TopicListing] = field(default_factory=list)
    final: int | None = None

    def final_listings(self) -> list[TopicListing]:
        """The last list of each broker that was requested in the final phase, by listener."""
        final = self.final
        if final is None:
            return []
        last = {each.listener: each for each in self.listings if each.begin.index > final}
        return [last[listener] for listener in sorted(last)]


def acknowledged_id(change: Change) -> str | None:
    """The id that the acknowledgement of a creation reported; None if it reported none."""
    if not change.acknowledged:
        return None
    return converted(change.last, TopicCreated).topic_id


def metadata_of(operations: Iterable[Operation]) -> Metadata:
    """Collect all operations on topics that are created and deleted.

    Raises:
        MetadataShapeError: an operation is not as docs/histories.md says.
    """
    found = Metadata()
    outstanding: dict[int | str, Operation] = {}
    changes: dict[int, Change] = {}
    for operation in operations:
        if operation.f == PHASE and operation.key == Phase.FINAL_READ and found.final is None:
            found.final = operation.index
        if operation.f not in _FUNCTIONS:
            continue
        if operation.type is INVOKE:
            if outstanding.setdefault(operation.process, operation) is not operation:
                raise MetadataShapeError(f"operation {operation.index} begins while another is outstanding")
            if operation.f != "list-topics":
                changes[operation.index] = _begun(found, operation)
            continue
        begin = outstanding.pop(operation.process, None)
        if begin is None or (begin.f, begin.key) != (operation.f, operation.key):
            raise MetadataShapeError(f"operation {operation.index} completes what was not begun")
        if begin.index in changes:
            changes[begin.index].end = operation
        elif operation.type is OK:
            found.listings.append(
                TopicListing(operation.key, begin, operation, dict(converted(operation, list[Listed])))
            )
    return found


_FUNCTIONS = frozenset({"create-topic", "delete-topic", "list-topics"})


def _begun(found: Metadata, operation: Operation) -> Change:
    change = Change(operation)
    name = operation.key
    if not isinstance(name, str):
        raise MetadataShapeError(f"operation {operation.index}: the name of a topic is a text")
    changes = found.deleted if operation.f == "delete-topic" else found.created
    changes.setdefault(name, []).append(change)
    return change


def converted(operation: Operation, shape: type[_T]) -> _T:
    """Return the value of an operation, converted to a shape.

    Raises:
        MetadataShapeError: it is not as docs/histories.md says.
    """
    try:
        return msgspec.convert(operation.value, shape)
    except msgspec.ValidationError as error:
        raise MetadataShapeError(f"operation {operation.index}: {error}") from error
