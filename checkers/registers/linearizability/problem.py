"""A search problem: calls encoded as numbers, so that the search only compares and counts.

Time is the order of invocations and completions.  Calls that certainly happened have *slots*: bits that are
free again once the call has completed.  So a set of linearized calls takes as many bits as calls were open at
once, independent of the length of the history.  Calls that may have happened never complete.  Equal ones
among them are interchangeable, so only the number of those that took effect matters: each *kind* of them has
a counter.
"""

import heapq
from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from checkers.registers.linearizability.calls import ObjectCall
from checkers.registers.linearizability.contract import Action, Model

_COMPLETION_BYTES = 60
_OPEN_BYTES = 8

Option = tuple[int, int, int, bool]
"""A certain call that is open: the bit of its slot, the number of its action, its own number, and whether it
only observes."""


@dataclass(frozen=True, slots=True)
class CallGroup:
    """Calls that may have happened and have one action.

    Attributes:
        action: number of the action.
        shift: where the counter begins.
        field: the counter's bits, not shifted.
        since: for each call, in order, how many certain calls had completed before its invocation.
        calls: their numbers.
    """

    action: int
    shift: int
    field: int
    since: tuple[int, ...]
    calls: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """What the search needs.

    Attributes:
        actions: the distinct actions.
        options: per completion of a certain call, in order: the certain calls that are open until then, the
            next to complete first; so the first is the one that completes.
        kinds: the calls that may have happened, the first to be invoked first.
        guards: a bit above each counter of `kinds`, by which counters are compared all at once.
        size_bytes: about how much memory it takes.
    """

    actions: tuple[Action, ...]
    options: tuple[tuple[Option, ...], ...]
    kinds: tuple[CallGroup, ...]
    guards: int

    size_bytes: int


class TooLargeError(Exception):
    """The problem itself does not fit into the memory that a check may take."""


def problem_of(
    model: Model, calls: Sequence[ObjectCall], bytes_max: int, known: Sequence[Action] = ()
) -> Problem:
    """The problem of a group of calls; each is known by its position in `calls`.

    Actions are numbered as in `known`, new ones after them, so that problems can share transitions.

    Raises:
        TooLargeError: so many calls are open for so long that the problem takes more than `bytes_max`.
    """
    numbers = {action: number for number, action in enumerate(known)}
    actions = [numbers.setdefault(call.action, len(numbers)) for call in calls]
    options: list[tuple[Option, ...]] = []
    since = [0] * len(calls)
    free: list[int] = []
    slots = size_bytes = 0
    still_open: list[tuple[int, Option]] = []
    for _, number, completes in sorted(_moments(calls)):
        if completes:
            options.append(tuple(option for _, option in still_open))
            size_bytes += _COMPLETION_BYTES + _OPEN_BYTES * len(still_open)
            if size_bytes > bytes_max:
                raise TooLargeError
            heapq.heappush(free, still_open.pop(0)[1][0])
            continue
        since[number] = len(options)
        call = calls[number]
        if call.certain:
            if not free:
                free.append(1 << slots)
                slots += 1
            option = (heapq.heappop(free), actions[number], number, model.observes(call.action))
            insort(still_open, (call.end, option))
    return Problem(tuple(numbers), tuple(options), *_kinds(calls, actions, since), size_bytes)


def _moments(calls: Sequence[ObjectCall]) -> Iterable[tuple[int, int, bool]]:
    """When, which call, and whether it completes there."""
    for number, call in enumerate(calls):
        yield call.since, number, False
        if call.certain:
            yield call.end, number, True


def _kinds(
    calls: Sequence[ObjectCall], actions: Sequence[int], since: Sequence[int]
) -> tuple[tuple[CallGroup, ...], int]:
    members: dict[int, list[int]] = {}
    for number, call in enumerate(calls):
        if not call.certain:
            members.setdefault(actions[number], []).append(number)
    kinds, shift, guards = [], 0, 0
    for action, some in members.items():
        some.sort(key=lambda number: since[number])
        width = len(some).bit_length()
        kinds.append(CallGroup(action, shift, (1 << width) - 1, tuple(since[n] for n in some), tuple(some)))
        guards |= 1 << (shift + width)
        shift += width + 1
    return tuple(sorted(kinds, key=lambda kind: kind.since[0])), guards
