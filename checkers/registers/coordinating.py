"""When a group's coordinator may answer with what is old, and against which commits an answer counts anyway.

The leader of a group's partition of the offsets topic coordinates it; every other broker refuses
(NOT_COORDINATOR).  A new leader has read the partition's log before it answers, so an offset that was
committed before it was elected is known to it.  What is old comes from a broker that was deposed and does not
know it yet: while it is paused or cut off, and a while after.  It knows all the same what was committed until
it was deposed.  So an answer may miss only commits that were acknowledged after an election which the old
leader may not have learned of.

How long a broker takes to learn is nowhere promised.  In 36 runs of 4.3.1 and 4.1.1 on a busy machine brokers
told of a new leader at most 5.6 s after the election was certain and the faults of that time were over (1.7 s
in 99 % of 567 times); `MARGIN_NS` is about twice that.  Four of them were runs of the offsets workload: no
read returned an acknowledged commit that another one had replaced, two returned old ones of unknown fate.

Brokers' caches of configs have no coordinator: they may be old at any time, and nothing is said of them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

import msgspec

from checkers.columns import NEVER, PartitionName
from checkers.coordinators import offsets_partition
from checkers.faults import DOWN_KINDS, FaultWindow, fault_windows
from checkers.history import History
from checkers.licences.scene import Scene
from checkers.registers.columns import SHIFT

MARGIN_NS = 10_000_000_000
"""After so long a broker that nothing befalls has learned who coordinates."""
LATE_NS = 3_000_000_000
"""So long after a fault requests may wait that were sent while it was in force; clients wait 2.5 s."""

Span = tuple[int, int]
"""From when until when, both included: nanoseconds, or stamps of operations."""


class Coordination(NamedTuple):
    """When a group's coordinator may be doubted; all in stamps of operations.

    Attributes:
        elections: from when one may have been, until when the old leader may not have learned of it.
        faults: from when a fault may have been in force until a while after; a request that was sent then may
            be carried out late, and twice.
        known: whether the metadata log tells who coordinates.
    """

    elections: tuple[Span, ...]
    faults: tuple[Span, ...]
    known: bool


class _Leading(msgspec.Struct, frozen=True):
    """What a node answered of the quorum."""

    answer: str
    leader_id: int = -1
    leader_epoch: int = -1


def coordinations_of(history: History, groups: Iterable[str]) -> dict[str, Coordination]:
    """Find, of each group, when its coordinator may be doubted.

    Where no metadata log tells of the group's partition, every fault counts as an election.

    Raises:
        KeyError, msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    windows = fault_windows(history)
    faults = [(window.invoked_ns, min(window.end_ns, NEVER - LATE_NS) + LATE_NS) for window in windows]
    near = [(window.invoked_ns, _margin(window.end_ns)) for window in windows]
    times = list(map(attrgetter("time_ns"), history.operations))
    found: dict[str, Coordination] = {}
    for group in groups:
        partition = offsets_partition(history, group)
        elections = near if partition is None else _elections(Scene(history), partition, windows)
        known = partition is not None
        found[group] = Coordination(_stamps(times, elections), _stamps(times, faults), known)
    return found


def _elections(scene: Scene, partition: PartitionName, windows: Sequence[FaultWindow]) -> Iterator[Span]:
    """When elections of a partition may have been unknown to the leaders that they deposed."""
    changes = scene.changes
    if changes.complete_until_ns != NEVER:
        yield changes.complete_until_ns, NEVER
    names = {number: name for name, number in scene.ids.items()}
    quorum = _quorum_leaders(scene.history)
    for before, state in pairwise(changes.states[partition]):
        if before.leader_epoch == state.leader_epoch:
            continue
        span = changes.span(state)
        old = names.get(before.leader, "")
        controllers = {names.get(leader, "") for epoch, leader in quorum if epoch >= state.epoch}
        keeping = [window for window in windows if _keeps(window, old, controllers)]
        yield _lengthened((span.from_ns, _margin(span.to_ns)), keeping)


def _quorum_leaders(history: History) -> set[tuple[int, int]]:
    """Epochs of the quorum and their leaders, as far as any was seen to lead."""
    told = (msgspec.convert(each.value, _Leading) for each in history.observed("quorum"))
    return {(each.leader_epoch, each.leader_id) for each in told if each.answer == "leader"}


def _keeps(window: FaultWindow, old: str, controllers: set[str]) -> bool:
    """Whether a fault may keep an old leader from learning: it is not down, or who tells it is befallen."""
    learns_late = window.kind not in DOWN_KINDS and _befalls(window, old)
    return learns_late or any(_befalls(window, controller) for controller in controllers)


def _befalls(window: FaultWindow, node: str) -> bool:
    return window.concerns(node) or any(node in pair for pair in window.cut)


def _lengthened(span: Span, windows: Iterable[FaultWindow]) -> Span:
    """A time in which an election becomes known, as long as faults may prevent that."""
    begin, end = span
    for window in windows:
        if window.overlaps(begin, end):
            end = max(end, _margin(window.end_ns))
    return begin, end


def _margin(end_ns: int) -> int:
    return min(end_ns, NEVER - MARGIN_NS) + MARGIN_NS


def _stamps(times: Sequence[int], spans: Iterable[Span]) -> tuple[Span, ...]:
    """Spans of stamps: the operations within spans of time."""
    return tuple(
        (bisect_left(times, begin) + SHIFT, bisect_right(times, end) - 1 + SHIFT)
        for begin, end in sorted(spans)
    )
