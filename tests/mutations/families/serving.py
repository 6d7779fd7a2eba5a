"""What brokers answer of themselves: as leaders, and where their own logs begin after a deletion."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from checkers.evidence.faults import fault_windows
from checkers.history.operations import OK, Operation
from tests.mutations.edits import Edit
from tests.mutations.looking import SECOND_NS, pairs
from tests.mutations.partitions import own
from tests.mutations.suite import VALID, invalid, mutation

FAMILY = "serving"
FOLLOWERS = ("commits", "strays")
"""Runs in which a follower was left alone long enough."""
LEADERS = ("commits", "strays", "votes")
"""Runs in which a leader was."""
_MARGIN_NS = 3 * SECOND_NS
_LEADS, _REFUSES, _STORAGE_ERROR = 0, 6, 56
_MS = 1_000_000


class Stretch(NamedTuple):
    """A time in which a broker reported the same of a partition, and was left alone."""

    node: str
    topic: str
    entry: list[Any]
    from_ns: int
    to_ns: int


def _stretches(edit: Edit, length_ns: int) -> Iterator[Stretch]:
    """All that are so long; of each partition and broker those in which nothing changed at all."""
    observed = [
        ((view.node or "", topic, entry[0]), entry, view.time_ns)
        for view in edit.original.observed("partitions")
        for topic, rows in view.value["topics"].items()
        if topic in own(edit.original)
        for entry in rows
    ]
    observed.sort(key=lambda one: (one[0], one[2]))
    for (place, _), some in groupby(observed, key=lambda one: (one[0], one[1])):
        same = [*some]
        (node, topic, _), entry = place, same[0][1]
        from_ns, to_ns = same[0][2] + _MARGIN_NS, same[-1][2] - _MARGIN_NS
        if to_ns - from_ns >= length_ns and _is_left_alone(edit, node, from_ns, to_ns):
            yield Stretch(node, topic, entry, from_ns, to_ns)


def _is_left_alone(edit: Edit, node: str, from_ns: int, to_ns: int) -> bool:
    windows = fault_windows(edit.original)
    seen = edit.original.observed("node")
    return not (
        any(w.overlaps(from_ns - _MARGIN_NS, to_ns + _MARGIN_NS) for w in windows)
        or any(o.node == node and from_ns <= o.time_ns <= to_ns + _MARGIN_NS for o in seen)
    )


def _id_of(edit: Edit, node: str) -> int:
    (setup,) = edit.original.of("setup")
    number: int = next(each["id"] for each in setup.value["nodes"] if each["name"] == node)
    return number


def _answers(edit: Edit, stretch: Stretch, seconds: list[tuple[float, int]]) -> None:
    """A broker is asked as a leader some seconds after a stretch began, and answers with a code."""
    partition, leader, epoch, *_ = stretch.entry
    for after_s, error in seconds:
        at_ns = stretch.from_ns + round(after_s * SECOND_NS)
        value = {
            "began_ns": at_ns - 2 * _MS,
            "asked_ns": at_ns - _MS,
            "topics": {stretch.topic: [[partition, leader, epoch, error]]},
        }
        edit.add(_like(edit), at_ns, key="leading", node=stretch.node, value=value)


def _like(edit: Edit) -> Operation:
    return edit.original.observed("partitions")[0]


def _follower(edit: Edit, length_s: float) -> Stretch:
    """A broker that has a copy and names another leader."""
    followed = (
        each
        for each in _stretches(edit, round(length_s * SECOND_NS))
        if each.entry[1] not in {-1, _id_of(edit, each.node)} and _id_of(edit, each.node) in each.entry[3]
    )
    chosen: Stretch = edit.chosen(followed)
    return chosen


def _leader(edit: Edit, length_s: float) -> Stretch:
    led = (
        each
        for each in _stretches(edit, round(length_s * SECOND_NS))
        if each.entry[1] == _id_of(edit, each.node)
    )
    chosen: Stretch = edit.chosen(led)
    return chosen


@mutation(FAMILY, invalid("leadership-kept"), FOLLOWERS, 1)
def a_broker_that_names_another_leader_leads_on(edit: Edit) -> None:
    """A broker answers as the leader for more than ten seconds although its metadata has another one."""
    _answers(edit, _follower(edit, 11), [(0, _LEADS), (10.1, _LEADS), (11, _REFUSES)])


@mutation(FAMILY, VALID, FOLLOWERS, 1)
def a_broker_that_names_another_leader_refuses(edit: Edit) -> None:
    """A broker does not answer as the leader, and its metadata has another one."""
    _answers(edit, _follower(edit, 11), [(0, _LEADS), (1, _REFUSES), (10.1, _REFUSES), (11, _REFUSES)])


@mutation(FAMILY, VALID, FOLLOWERS, 1)
def a_broker_takes_a_while_to_follow(edit: Edit) -> None:
    """A broker answers as the leader for some more seconds, and then no longer."""
    _answers(edit, _follower(edit, 11), [(0, _LEADS), (9, _LEADS), (10.1, _REFUSES), (11, _REFUSES)])


@mutation(FAMILY, invalid("failed-directory-led"), LEADERS, 1)
def a_failed_directory_is_led_on(edit: Edit) -> None:
    """A leader answers for seven seconds that its disk has failed, and no other one is elected."""
    _answers(edit, _leader(edit, 7), [(after, _STORAGE_ERROR) for after in range(8)])


@mutation(FAMILY, VALID, LEADERS, 1)
def a_directory_fails_for_a_moment(edit: Edit) -> None:
    """A leader answers for some seconds that its disk has failed, and then as the leader."""
    errors = [_STORAGE_ERROR] * 4 + [_LEADS] + [_STORAGE_ERROR] * 3
    _answers(edit, _leader(edit, 7), [*enumerate(errors)])


def _deletion(edit: Edit) -> tuple[Operation, Operation, str]:
    """A deletion while nothing happened, of an offset that nobody had asked for before, and a follower."""
    found, stretches = [], [*_stretches(edit, 0)]
    for asked, done in pairs(edit.original, "delete-records"):
        ((partition, below),) = asked.value
        highest = max((o.value[0][1] for o in _asked_before(edit, asked, partition)), default=0)
        around = (asked.time_ns, done.time_ns + SECOND_NS)
        for stretch in stretches if done.type is OK and below > highest else ():
            number = _id_of(edit, stretch.node)
            there = stretch.topic == asked.key and stretch.entry[0] == partition
            follows = number in stretch.entry[4] and stretch.entry[1] != number
            if there and follows and stretch.from_ns <= around[0] and around[1] <= stretch.to_ns:
                found.append((asked, done, stretch.node))
    chosen: tuple[Operation, Operation, str] = edit.chosen(found)
    return chosen


def _asked_before(edit: Edit, asked: Operation, partition: int) -> Iterator[Operation]:
    for other in edit.original.of("delete-records"):
        if other.time_ns < asked.time_ns and other.value[0][0] == partition:
            yield other


def _begins(edit: Edit, asked: Operation, began_ns: int, node: str, offset: int) -> None:
    value = {"began_ns": began_ns, "topics": {asked.key: [[asked.value[0][0], 0, offset]]}}
    edit.add(_like(edit), began_ns + 5 * _MS, key="starts", node=node, value=value)


@mutation(FAMILY, invalid("deleted-before-followers"), ("deletions",), 3)
def a_follower_had_not_moved(edit: Edit) -> None:
    """A follower is asked after the answer to a deletion, and its log begins one record too early."""
    asked, done, node = _deletion(edit)
    _begins(edit, asked, done.time_ns + _MS, node, asked.value[0][1] - 1)


@mutation(FAMILY, VALID, ("deletions",), 2)
def a_follower_had_moved(edit: Edit) -> None:
    """A follower is asked after the answer to a deletion, and its log begins at the offset."""
    asked, done, node = _deletion(edit)
    _begins(edit, asked, done.time_ns + _MS, node, asked.value[0][1])


@mutation(FAMILY, VALID, ("deletions",), 2)
def a_follower_is_asked_before_the_answer(edit: Edit) -> None:
    """A follower is asked before a deletion is answered, and has not moved yet."""
    asked, done, node = _deletion(edit)
    _begins(edit, asked, done.time_ns - 1, node, asked.value[0][1] - 1)
