"""The types of what members of an application of Kafka Streams report, and of the output that they wrote.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

from typing import Annotated, Literal

import msgspec

from checkers.history.fields import LARGEST, Offset, Partition

Count = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]


class Counted(msgspec.Struct, frozen=True):
    """The content of a record of the output.

    Attributes:
        member: name of the member that wrote it.
        partition: number of the partition of the input.
        offset: offset of the record of the input.
        key: key of that record.
        count: how many records of the partition up to this one had the key.
        value: value of that record, as the workload encodes it.
    """

    member: str
    partition: Partition
    offset: Offset
    key: str
    count: Count
    value: str


class StreamsMember(msgspec.Struct, frozen=True):
    """A member of an application.

    Attributes:
        member: its name in the output.
        last: whether it is the member that works after all faults and all others.
    """

    member: str
    last: bool


class StreamsReported(StreamsMember, frozen=True):
    """What a member reports about itself.

    Attributes:
        state: its state, as Kafka Streams names it.
        processed: number of records that it processed, also in transactions that were aborted.
        exception: the last exception that ended one of its threads; None if there is none.
    """

    state: str
    processed: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
    exception: str | None = None


class StreamsEnding(StreamsMember, frozen=True):
    """The end of a member, by a request to close, or by SIGKILL."""

    how: Literal["close", "kill"]


class OutputRequested(msgspec.Struct, frozen=True):
    """A read of a partition of the output by a read_committed reader, once the last member has ended."""

    partition: Partition


class PartitionEnd(OutputRequested, frozen=True):
    """The first offset and the high watermark of a partition that final readers leave out, at the end."""

    start: Offset
    end: Offset


OutputRow = tuple[Offset, str, Partition, Offset, str, Count, int | str]
"""Offset in the output, then the fields of `Counted`; the value is decoded."""


class OutputRead(OutputRequested, frozen=True):
    """The records of the partition.

    Attributes:
        start: the first offset.
        end: the last stable offset, up to which it was read; the high watermark was not above it.
        records: the records.
        foreign: offsets of records that the application did not write, each with a text.
    """

    start: Offset
    end: Offset
    records: list[OutputRow]
    foreign: list[tuple[Offset, str]]
