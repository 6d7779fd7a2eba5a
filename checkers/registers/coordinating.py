"""When a coordinator may return an old value, and which commits such an answer must include anyway.

The leader of a group's partition of the offsets topic coordinates it; every other broker refuses
(NOT_COORDINATOR).  Old values come from a deposed broker that does not know of the election yet, because it
is or was paused or isolated.  A broker that is down learns of the election before it answers again. A deposed
broker still knows all offsets that were committed until it was deposed.  So an answer may miss only two kinds
of commits: those that were acknowledged after an election of which the old leader may not have learned and,
from Kafka 4.0 on, those that the new leader does not yet know to be committed (`catching_up`).

Kafka does not promise how long a broker takes to learn of an election.  In 36 runs of 4.3.1 and 4.1.1 on a
busy machine, brokers reported a new leader at most 5.6 s after the election was certain and the faults of
that time had ended (1.7 s in 99 % of 567 cases); `MARGIN_NS` is about twice that.  Four of these runs had the
offsets workload.  No read returned an acknowledged commit that another one had replaced, and two reads
returned old commits with an unknown outcome.

Brokers' caches of configs have no coordinator: they may be old at any time, and are not judged here.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple, TypeGuard

from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.coordinators import offsets_partition
from checkers.evidence.faults import FaultWindow, fault_windows
from checkers.evidence.late_requests import delayed_spans
from checkers.evidence.partition_changes import PartitionState
from checkers.history.operations import History
from checkers.history.quorum import leaders_seen
from checkers.licences.facts import Facts
from checkers.registers.catching_up import (
    AS_OF_HIGH_WATERMARK,
    CatchingUp,
    Commits,
    catching_up,
    caught_up,
    commits_of,
)
from checkers.registers.columns import SHIFT, Registers

OFFSETS = "offset/"
"""Prefix of the names of registers that are committed offsets; the group's id and a slash follow."""
MARGIN_NS = 10_000_000_000
"""Within this time a broker without faults has learned which broker is the coordinator."""

Span = tuple[int, int]
"""Start and end of a span, both included: nanoseconds, or stamps of operations."""


class Coordination(NamedTuple):
    """The periods in which a group's coordinator may be outdated; all in stamps of operations.

    Attributes:
        elections: from the earliest time of an election until the old leader certainly has learned of it.
        faults: from the earliest time at which a fault may have been in force until a while after it.  A
            request that was sent in this period may be executed late, and twice.  Requests that a process had
            received are lost when it is killed.
        known: whether the metadata log shows the coordinator.
        catching: coordinators that may not know yet all commits before their election.
    """

    elections: tuple[Span, ...]
    faults: tuple[Span, ...]
    known: bool
    catching: tuple[CatchingUp, ...] = ()


def coordinations_of(history: History, registers: Registers) -> dict[str, Coordination]:
    """Find the periods in which the coordinator of each group among the registers may be outdated.

    If no metadata log has the group's partition, every fault counts as an election.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        registers: all registers of the history.

    Raises:
        KeyError, msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    groups = {str(key): group_of(key) for key in registers.keys if is_offset(key)}
    kept = {group: offsets_partition(history, group) for group in dict.fromkeys(groups.values())}
    places = {key: place for key, group in groups.items() if (place := kept[group]) is not None}
    commits = commits_of(registers, places)
    windows = fault_windows(history)
    near = [(window.invoked_ns, _margin(window.end_ns)) for window in windows]
    times, faults = list(map(attrgetter("time_ns"), history.operations)), delaying(history)
    facts = Facts(history)
    found: dict[str, Coordination] = {}
    for group, place in kept.items():
        elections = near if place is None else _elections(facts, place, windows)
        late = [] if place is None else list(_catching(facts, place, windows, times, commits[place]))
        found[group] = Coordination(_stamps(times, elections), faults, place is not None, tuple(late))
    return found


def delaying(history: History) -> tuple[Span, ...]:
    """The periods in which requests may be delayed, from faults until a while after them; in stamps."""
    return _stamps(list(map(attrgetter("time_ns"), history.operations)), delayed_spans(history))


def is_offset(key: object) -> TypeGuard[str]:
    """Whether a register is a committed offset."""
    return isinstance(key, str) and key.startswith(OFFSETS)


def group_of(key: str) -> str:
    """The group whose committed offset a register is; empty if it is not an offset."""
    return key.removeprefix(OFFSETS).partition("/")[0] if key.startswith(OFFSETS) else ""


def _elections(facts: Facts, partition: PartitionName, windows: Sequence[FaultWindow]) -> Iterator[Span]:
    """The periods in which deposed leaders of a partition may not have known of an election."""
    changes = facts.changes
    if changes.complete_until_ns != NEVER:
        yield changes.complete_until_ns, NEVER
    names = {number: name for name, number in facts.ids.items()}
    quorum = _quorum_leaders(facts.history)
    for before, state in _elected(facts, partition):
        span = changes.span(state)
        old = names.get(before.leader, "")
        controllers = {names.get(leader, "") for epoch, leader in quorum if epoch >= state.epoch}
        keeping = [window for window in windows if _keeps(window, old, controllers)]
        begin, end = _lengthened((span.from_ns, _margin(span.to_ns)), keeping)
        ended = (_down_ns(window, span.from_ns, span.to_ns) for window in windows if old in window.targets)
        end = min(end, *ended, NEVER)
        if begin <= end:
            yield begin, end


def _down_ns(window: FaultWindow, begin_ns: int, elected_ns: int) -> int:
    """Time from which a deposed leader has no process, nanoseconds; `NEVER` if its process continues.

    Its next process knows of the election.
    """
    down_ns, up_ns = window.effective_ns, window.heal_invoked_ns
    if not window.down or down_ns is None:
        return NEVER
    through = down_ns < begin_ns and (up_ns is None or up_ns > elected_ns)
    return down_ns if through or down_ns >= begin_ns else NEVER


def _elected(facts: Facts, partition: PartitionName) -> list[tuple[PartitionState, PartitionState]]:
    """States of a partition before and after each of its elections."""
    states = pairwise(facts.changes.states[partition])
    return [(before, state) for before, state in states if before.leader_epoch != state.leader_epoch]


def _catching(
    facts: Facts,
    partition: PartitionName,
    windows: Sequence[FaultWindow],
    times: Sequence[int],
    commits: Commits,
) -> Iterator[CatchingUp]:
    """Coordinators that may not know yet all commits before their election; in stamps."""
    names = facts.setup.names
    for _, state in _elected(facts, partition):
        span = facts.changes.span(state)
        late = catching_up(span.from_ns, span.to_ns, _margin(span.to_ns), windows)
        newest = facts.versions.newest(late.begin, late.end, [names.get(state.leader, "")])
        if newest and newest < AS_OF_HIGH_WATERMARK:
            continue
        known, begin = (bisect_left(times, time_ns) + SHIFT for time_ns in late[:2])
        elected, end = (bisect_right(times, time_ns) - 1 + SHIFT for time_ns in late[2:])
        yield caught_up(CatchingUp(known, begin, elected, end), commits)


def _quorum_leaders(history: History) -> set[tuple[int, int]]:
    """Epochs of the quorum and their leaders, as far as they were observed."""
    return {(seen.leader_epoch, seen.leader_id) for _, seen in leaders_seen(history)}


def _keeps(window: FaultWindow, old: str, controllers: set[str]) -> bool:
    """Whether a fault may keep an old leader from learning of an election.

    A fault that ends the old leader's process does not.  A fault that hits a controller may.
    """
    learns_late = not window.down and _hits(window, old)
    return learns_late or any(_hits(window, controller) for controller in controllers)


def _hits(window: FaultWindow, node: str) -> bool:
    return window.concerns(node) or any(node in pair for pair in window.cut)


def _lengthened(span: Span, windows: Iterable[FaultWindow]) -> Span:
    """Extend the period in which an election becomes known by faults that may prevent that."""
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
