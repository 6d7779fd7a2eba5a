"""The types that keys and values of operations have, and what checkers ask of values of several types.

The fields are those of docs/histories.md.  Fields that no checker reads are not asked for, and unknown ones
are passed over, so that a newer journal of the same format version stays readable.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType


class Isolation(StrEnum):
    """Values of Kafka's property ``isolation.level``."""

    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


_T = TypeVar("_T")


def written(default: _T) -> _T:
    """The default of a field that is written in any case: msgspec omits only defaults that it can compare."""
    made: _T = msgspec.field(default_factory=lambda: default)
    return made


LARGEST = 2**62
"""Largest time, offset or position that is believed, so that sums of two still fit 64 bits."""

Offset = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Partition = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
SendOutcome = Literal["ok", "fail", "info"]

# Values of records are Any and not object: msgspec asks each whether it is an object, which takes longer.
Sent = list[tuple[Partition, Any]]
Answered = list[tuple[Partition, Any, Offset | None, SendOutcome]]
Records = list[tuple[Partition, list[Offset], list[Any]]]
LARGEST_RUN = 100_000
"""Most records that one operation may send as a run, so that a short line can't ask for all memory."""


class SentRun(msgspec.Struct, frozen=True):
    """Consecutive values from `first`, `count` of them, sent to one partition."""

    partition: Partition
    first: Offset
    count: Annotated[int, msgspec.Meta(ge=1, le=LARGEST_RUN)]


class UnansweredRun(SentRun, frozen=True):
    """A run of which nothing is known."""

    offsets: None = None


class AnsweredRun(SentRun, frozen=True):
    """Where the records of a run, all acknowledged, stand: first offset and number of each stretch."""

    offsets: list[tuple[Offset, Annotated[int, msgspec.Meta(ge=1, le=LARGEST_RUN)]]]


class GroupAsked(msgspec.Struct, frozen=True):
    """Which topic a group's offsets are asked for."""

    topic: str


class GroupFound(GroupAsked, frozen=True):
    """Where a group is to go on; None where it committed nothing."""

    offsets: list[tuple[Partition, Offset | None]]


class DeathSeen(msgspec.Struct, frozen=True):
    """A node that ended during a start, and the line by which it said so."""

    node: str
    exit_code: int
    said: str


class StartSeen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a start came to; fields as in docs/histories.md.

    Attributes:
        died: nodes that ended during a start that did not become ready; None where it did.
    """

    ready: bool
    waited_for: str | None = None
    took_s: float
    load_per_cpu: float | None = None
    sentences: tuple[str, ...] = ()
    died: tuple[DeathSeen, ...] | None = None


Membership = tuple[str, Annotated[int, msgspec.Meta(ge=0, lt=2**31)]]
"""Id of a group's member, and the group's generation."""


class PollAsked(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who polls, and at which isolation."""

    client: str
    isolation: Isolation


class GroupPollAsked(PollAsked, frozen=True):
    """And for which group, if any."""

    group: str | None = None


class Polled(GroupPollAsked, frozen=True, kw_only=True):
    """What a poll returned.

    Attributes:
        records: by stretches of one partition, in the order in which they were returned.
        assigned: where the consumer was to begin if its group assigned it anew.
        membership: of the member, where the group told; None where it told that there is none.
    """

    records: Records
    assigned: list[tuple[Partition, Offset]] | None = None
    membership: Membership | UnsetType | None = UNSET


class Committing(msgspec.Struct, frozen=True, kw_only=True):
    """Where a group is to go on, by a member or, as an outsider, by somebody who is none.

    A member's commit does not tell of `outsider`.
    """

    client: str | UnsetType = UNSET
    topic: str
    offsets: list[tuple[Partition, Offset]]
    membership: Membership | None = None
    outsider: bool | UnsetType = UNSET


class FinalReadAsked(PollAsked, frozen=True):
    """Who reads which partition to its end."""

    partition: Partition


class FinalReadPart(FinalReadAsked, frozen=True):
    """What a final read returned before it gave up; without a position it told nothing."""

    start: Offset | None = None
    end: Offset | None = None
    position: Offset | None = None
    records: Records = written([])


class FinalRead(FinalReadAsked, frozen=True):
    """What a whole final read returned."""

    start: Offset
    end: Offset
    position: Offset
    records: Records


class PlannedFault(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fault that is about to be injected or healed: what is planned, and what it does to its targets.

    Attributes:
        kind: such as ``partition`` or ``kill``.
        spec: the planned fault with its symbolic target, unchecked.
        ends_processes: whether it ends one process of its targets; None where the history does not tell.
        silences: whether its targets can't answer anybody until the heal, in the same way.
        ends_cleanly: whether a process that it ends writes down that it ended cleanly; None: nobody knows.
        tears_writes: whether its targets' logs may end with half a batch; None where nothing tells.
        loses_unsynced: whether its targets' disks may lack what was not synced, in the same way.
        wipes: whether it removes what its targets' disks had, in the same way.
        glyph: its shape in the report, unchecked.
        gambit: id of the gambit that it is a part of.
        blink: whether it is a short fault beside all others.
    """

    kind: str
    spec: Any = None
    ends_processes: bool | None = None
    silences: bool | None = None
    ends_cleanly: bool | None = None
    tears_writes: bool | None = None
    loses_unsynced: bool | None = None
    wipes: bool | None = None
    glyph: object = None
    gambit: str | None = None
    blink: bool = False


class FaultAimed(PlannedFault, frozen=True):
    """A fault that was attempted.

    Attributes:
        targets: names of the nodes that it was resolved to.
        cut: directed pairs of nodes, sender first, that are cut.
    """

    targets: tuple[str, ...] = written(())
    cut: tuple[tuple[str, str], ...] = written(())


class FaultProbed(FaultAimed, frozen=True, kw_only=True):
    """A fault that was healed, or held a connection, and what a probe saw of that; nothing where none did."""

    probe: Mapping[str, object]


class FaultInjected(FaultAimed, frozen=True, kw_only=True):
    """A fault that was injected.

    Attributes:
        resolved_by: how its target was found: ``name``, ``role``, or ``fallback``.
        roles: those that the target had at that moment.
        probe: what a probe saw of it; nothing where none did.
    """

    resolved_by: str
    roles: tuple[str, ...]
    probe: Mapping[str, object]


class FaultRefused(PlannedFault, frozen=True, kw_only=True):
    """A fault that hit nobody, and why: ``held``, ``dead``, ``over`` or ``withheld``."""

    refused: str


class GambitBegan(msgspec.Struct, frozen=True):
    """Of which kind a gambit is."""

    kind: str


class GambitEnded(GambitBegan, frozen=True):
    """How far a gambit came, and which faults it tried."""

    planned: int
    made: int
    faults: tuple[str, ...]


class JournalOpened(msgspec.Struct, frozen=True):
    """What a journal is that the run begins; None where nobody said."""

    role: str | None = None


class HarnessFailed(msgspec.Struct, frozen=True):
    """What hit the harness itself, as one line."""

    error: str


class JournalEnded(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many lines a journal has, the first and this last one among them.

    Attributes:
        lines: of this journal.
        journals: in the runner's: name, role and number of lines of every other one; None where that is not
            known, because another OS process writes it or its writer was given up.
    """

    lines: int
    journals: tuple[tuple[str, str | None, int | None], ...] = ()


END = "end"
"""Function of a journal's last line."""
OPENED = "journal"
"""Function by which the runner tells that a journal begins."""
START = "start"
"""Function by which the runner tells what a start of the cluster came to."""
FAILURE = "harness-failure"
"""Function by which the runner tells what hit the harness itself."""
LASTED = "harness-lasted"
"""The assumption that nothing did."""
OBSERVATIONS = frozenset({"observe", "setup", "phase", OPENED, END, START, FAILURE})
"""Functions whose operations stand alone, without an invocation."""


SendRead = list[Any] | dict[str, Any]
"""A send's value as it is decoded: a list of its records, or a run."""


def is_answered(value: SendRead | None) -> bool:
    """Whether a send's completion tells the outcome of each record, not only what had been asked."""
    if isinstance(value, dict):
        return value.get("offsets") is not None
    if not value:
        return False
    return len(value[0]) == len(("partition", "value", "offset", "outcome"))


def count_of(value: SendRead) -> int:
    """How many records a send's value is about, whether it lists them or tells a run."""
    return int(value["count"]) if isinstance(value, dict) else len(value)
