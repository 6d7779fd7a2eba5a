"""Lives of share partitions: a new one begins whenever an administrator sets or deletes the start offset.

A group then begins again at that offset, whatever was delivered and acknowledged before.  So rules about
records that are delivered again, or about start offsets, compare only what is in the same life.

Kafka accepts a change only from a group without members, so no poll of the group should overlap it.  A
delivery whose poll does has no certain life.

A request without a known outcome may have been carried out, and may still be carried out later: the group's
coordinator repeats what it asks of the share coordinator.  The share coordinator refuses a change with an
older epoch of the group (FENCED_STATE_EPOCH), and that epoch increases when members join and leave.  So no
rule that compares deliveries applies until a change is accepted in a later break, after a delivery to the
group: without one, perhaps no member has joined.  A deletion has no epoch, so after one without a known
outcome none applies.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers


class Change(NamedTuple):
    """A request to set or delete a start offset that was not refused.

    Attributes:
        begin: the requested start offset; 0 if the start offset is deleted.
        turn: number of the break in which it was sent; breaks without a delivery in between have one number.
        accepted: whether the coordinator confirmed it.
        deletes: whether it deletes the start offset.
        asked: position of the invocation in the history.
        ended: position of the completion; the end of the history if there is none.
    """

    begin: int
    turn: int
    accepted: bool
    deletes: bool
    asked: int
    ended: int


class Life(NamedTuple):
    """A time in which the start offset of a share partition is not set.

    Attributes:
        code: its place among all lives.
        place: code of the share partition.
        begin: the offset at which the group begins, if the change was carried out.
        due: the highest offset at which the group may begin by this change, or by an earlier one that may
            still be carried out; so all records from there on are due.
        known: whether it was carried out; the first life begins at 0 and is known.
        settled: whether certainly no other change is carried out in this life.
        asked: position of the change's invocation; `NONE` in the first life.
        ended: position of its completion; `NONE` in the first life.
    """

    code: int
    place: int
    begin: int
    due: int
    known: bool
    settled: bool
    asked: int
    ended: int


FIRST = Life(NONE, NONE, 0, 0, known=True, settled=True, asked=NONE, ended=NONE)
"""The life before the first change."""


class Lives:
    """The lives of all share partitions.

    Args:
        changes: for each share partition, by code, the changes in their order.

    Attributes:
        all: the lives by code; those of a share partition follow one another.
    """

    def __init__(self, changes: Sequence[Sequence[Change]]) -> None:
        self.all: list[Life] = []
        self._of: list[list[Life]] = []
        for place, mine in enumerate(changes):
            self._of.append(list(_lives_of(place, len(self.all), mine)))
            self.all += self._of[-1]

    def last(self, place: int) -> Life:
        """The last life of a share partition; if `place` is `NONE`, one without deliveries."""
        return FIRST if place == NONE else self._of[place][-1]

    def between(self, place: Integers, asked: Integers, answered: Integers) -> tuple[Integers, Booleans]:
        """The life in which each operation of a share partition ended, and whether no change overlaps it.

        Args:
            place: shape (n,), codes of share partitions.
            asked: shape (n,), positions of the invocations.
            answered: shape (n,), positions of the completions.
        """
        life, apart = np.zeros(len(place), np.int64), np.ones(len(place), np.bool_)
        for code in np.unique(place).tolist():
            here, mine = place == code, self._of[code]
            number = np.searchsorted([one.asked for one in mine[1:]], answered[here])
            apart[here] = number == np.searchsorted([one.ended for one in mine[1:]], asked[here])
            life[here] = mine[0].code + number
        return life, apart

    def settled(self, life: Integers) -> Booleans:
        """Whether each life is settled; shape (n,), as the codes of the lives."""
        settled: Booleans = np.array([one.settled for one in self.all], np.bool_)[life]
        return settled


def _lives_of(place: int, code: int, changes: Sequence[Change]) -> Iterator[Life]:
    """The first life of a share partition, and those that begin with changes; codes count from `code`."""
    yield FIRST._replace(code=code, place=place)
    unknown: list[Change] = []
    for number, one in enumerate(changes, start=code + 1):
        late = [earlier.begin for earlier in unknown if earlier.deletes or earlier.turn == one.turn]
        due, settled = max([one.begin, *late]), one.accepted and not late
        yield Life(number, place, one.begin, due, one.accepted, settled, one.asked, one.ended)
        if not one.accepted:
            unknown.append(one)
