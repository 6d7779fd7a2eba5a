"""A search problem: calls encoded as numbers, so that the search only has to compare and count.

Time is the order of invocations and completions.  Calls that certainly happened have *slots*: bits that are
reused once the call has completed.  So a set of linearized calls needs as many bits as calls were open at the
same time, independent of the length of the history.  Calls that may have happened never complete.  Equal
calls among them are interchangeable, so only the number of calls that took effect matters: each *kind* has a
counter.
"""

import heapq
from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from checkers.registers.linearizability.calls import ObjectCall
from checkers.registers.linearizability.contract import Action, Model

_COMPLETION_BYTES = 60
_OPEN_BYTES = 8

Option = tuple[int, int, int, bool]
"""An open call that certainly happened: the bit of its slot, the index of its action, the index of the call,
and whether its action only reads."""


@dataclass(frozen=True, slots=True)
class CallGroup:
    """Calls that may have happened and have the same action.

    Attributes:
        action: number of the action.
        shift: where the counter begins.
        field: the counter's bits, not shifted.
        since: for each call, in order, the number of certain calls that had completed before its invocation.
        calls: the numbers of the calls.
    """

    action: int
    shift: int
    field: int
    since: tuple[int, ...]
    calls: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """The input of the search.

    Attributes:
        actions: the distinct actions.
        options: for each completion of a certain call, in order: the certain calls that are open until then,
            ordered by completion, so the first one is the call that completes.
        kinds: the calls that may have happened, in the order of invocation.
        guards: a bit above each counter of `kinds`, with which all counters are compared at once.
        size_bytes: estimated memory.
    """

    actions: tuple[Action, ...]
    options: tuple[tuple[Option, ...], ...]
    kinds: tuple[CallGroup, ...]
    guards: int

    size_bytes: int


class TooLargeError(Exception):
    """The problem itself does not fit into the memory limit of a check."""


def problem_of(
    model: Model, calls: Sequence[ObjectCall], bytes_max: int, known: Sequence[Action] = ()
) -> Problem:
    """The problem of a group of calls; each call is identified by its position in `calls`.

    Actions are numbered as in `known`, and new actions after them, so that problems can share transitions.

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


class _Moment(NamedTuple):
    """The beginning of a call, or its completion."""

    position: int
    call: int
    completes: bool


def _moments(calls: Sequence[ObjectCall]) -> Iterable[_Moment]:
    for number, call in enumerate(calls):
        yield _Moment(call.since, number, completes=False)
        if call.certain:
            yield _Moment(call.end, number, completes=True)


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
