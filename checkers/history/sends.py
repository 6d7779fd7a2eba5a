"""The types of sent records and of their outcomes, record by record or in runs.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

from typing import Annotated, Any, Literal

import msgspec

from checkers.history.fields import Offset, Partition, RecordValue

SendOutcome = Literal["ok", "fail", "info"]

Sent = list[tuple[Partition, RecordValue]]
Answered = list[tuple[Partition, RecordValue, Offset | None, SendOutcome]]
LARGEST_RUN = 100_000
"""Most records that one operation may send as a run, so that a short line can't exhaust memory."""


class SentRun(msgspec.Struct, frozen=True):
    """A run of `count` consecutive values from `first` on, sent to one partition."""

    partition: Partition
    first: Offset
    count: Annotated[int, msgspec.Meta(ge=1, le=LARGEST_RUN)]


class UnansweredRun(SentRun, frozen=True):
    """A run whose outcome is unknown."""

    offsets: None = None


class AnsweredRun(SentRun, frozen=True):
    """Offsets of a run's records, all acknowledged: first offset and number of each range of offsets."""

    offsets: list[tuple[Offset, Annotated[int, msgspec.Meta(ge=1, le=LARGEST_RUN)]]]


SendRead = list[Any] | dict[str, Any]
"""A decoded value of a send: a list of its records, or a run."""


def is_answered(value: SendRead | None) -> bool:
    """Whether a send's completion has the outcome of each record, and not only the request."""
    if isinstance(value, dict):
        return value.get("offsets") is not None
    if not value:
        return False
    return len(value[0]) == len(("partition", "value", "offset", "outcome"))


def count_of(value: SendRead) -> int:
    """Number of records in a send's value, which is a list or a run."""
    return int(value["count"]) if isinstance(value, dict) else len(value)
