"""Whether a share group delivers what is available once the cluster has recovered.

Only records are judged that a final read at the group's isolation level found, and that are not below the
start offset of the group.  Two kinds of them are *due*:

* records that a broker acknowledged after the cluster had recovered, and that no member received;
* records that the last member received in the final phase and held until their locks had ended, so that its
  acknowledgement was refused, or that it released.  If they were not delivered as often as the limit allows,
  they are available again (``SharePartition.releaseAcquisitionLockOnTimeout``).

Before the final phase the members of the load leave, so their locks and sessions end, and no fault begins.
So the group's only member gets what is due soon, if it goes on polling and no poll fails.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, GroupPartition, Integers, PartitionName
from checkers.evidence.loading import columns_of
from checkers.history.operations import INVOKE, OK, History, Operation
from checkers.history.phases import PHASE, Phase
from checkers.history.setup import LoadSetup
from checkers.history.shares import is_not_held
from checkers.history.units import NS_PER_MS, NS_PER_S
from checkers.share_groups.anomalies import STUCK
from checkers.share_groups.lives import Life
from checkers.share_groups.loading import RELEASE, ShareGroups, times_of
from checkers.share_groups.passing import ListedFor, Passed
from checkers.verdict.verdict import Anomaly

STUCK_NS = 60 * NS_PER_S
"""Time without a delivery, if locks and sessions are shorter; a coordinator initialises again after 30 s."""


class FinalPolls(NamedTuple):
    """The longest series of polls of one consumer in the final phase of which none failed.

    Attributes:
        began_ns: when the first one began.
        ended_ns: when the last one ended.
        witness: positions of the first invocation and of the last completion.
    """

    began_ns: int
    ended_ns: int
    witness: tuple[int, int]

    def until(self, poll: Operation) -> "FinalPolls":
        """The series with one more poll, given by its completion."""
        return FinalPolls(self.began_ns, poll.time_ns, (self.witness[0], poll.index))

    def length_ns(self) -> int:
        """The time from the first to the last one."""
        return self.ended_ns - self.began_ns


class Settling:
    """Finds records that are due and that a share group does not deliver.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        groups: what members of share groups received.
        workload: the workload, which has the limit of deliveries, and the times of locks and sessions.
    """

    def __init__(self, history: History, groups: ShareGroups, workload: LoadSetup) -> None:
        self._columns = columns_of(history)
        self._groups = groups
        self._recovered_ns = _recovered_ns(history)
        self._listed = ListedFor(self._columns, workload)
        self._polls = final_polls(history)
        self._times_ns = times_of(history)
        self._final_acknowledgements = final_acknowledgements(history)
        self._limit = workload.delivery_limit
        self._stuck_ns = max(STUCK_NS, 2 * (workload.lock_ms + workload.session_ms) * NS_PER_MS)

    def stuck(self, passed: Passed) -> Anomaly | None:
        """The records of a share partition that are due and were delivered to no member, as one finding."""
        name = passed.name
        polls = self._polls.get((name.group, name.topic))
        if polls is None or polls.length_ns() < self._stuck_ns or passed.start < 0:
            return None
        due = self._due(name, polls.began_ns)
        life = self._groups.lives.last(self._place(name))
        left = np.setdiff1d(due[due >= max(passed.start, life.due)], self._delivered(life))
        again = self._available_again(name, polls)
        again = again[again >= passed.start]
        if not len(left) and not len(again):
            return None
        first, text = (left[0], "to no member") if len(left) else (again[0], "to no member again")
        took_s = (polls.length_ns() if len(left) else self._stuck_ns) / NS_PER_S
        return STUCK.found(
            f"{name}@{first} was returned {text} within {took_s:.0f} s, although no poll failed",
            subject=f"{name}@{first}",
            time_ns=polls.ended_ns,
            witness=polls.witness,
            explanation=[
                *_numbers(name, len(left), len(again)),
                f"A member polled from {_s(polls.began_ns)} to {_s(polls.ended_ns)}, and no poll failed.",
                f"The highest start offset that the group reported was {passed.start}.",
            ],
        )

    def _available_again(self, name: GroupPartition, polls: FinalPolls) -> Integers:
        """Offsets that the last member received and gave back, and that were not delivered for long."""
        all_, acks = self._groups.deliveries, self._groups.acknowledgements
        if name not in self._groups.places or not self._limit or self._recovered_ns is None:
            return np.zeros(0, np.int64)
        rows = np.flatnonzero(all_.place == self._groups.places.index(name))
        # Of each record only the last delivery counts; rows are in the order of completion.
        rows = rows[::-1][np.unique(all_.offset[rows[::-1]], return_index=True)[1]]
        answered_ns = self._times_ns[all_.answered[rows]]
        mine = (all_.asked[rows] >= polls.witness[0]) & (all_.count[rows] < self._limit)
        mine &= answered_ns + self._stuck_ns <= polls.ended_ns
        mine &= ~np.isin(rows, acks.delivery[acks.kind != RELEASE])
        listed = self._listed.of(name.group)
        there = listed.get(PartitionName(name.topic, name.partition), np.zeros(0, np.int64))
        found: Integers = np.setdiff1d(np.intersect1d(all_.offset[rows[mine]], there), self._unsure(name))
        return found

    def _unsure(self, name: GroupPartition) -> Integers:
        """Offsets of which an acknowledgement in the final phase has no known effect."""
        found: list[int] = []
        for asked, done in self._final_acknowledgements:
            if (asked.value["group"], asked.key) != (name.group, name.topic):
                continue
            errors = dict(done.value["refused"]) if done is not None and done.type is OK else None
            for partition, offsets, _ in asked.value["acknowledgements"]:
                error = "" if errors is None else errors.get(partition)
                if partition == name.partition and error is not None and not is_not_held(error):
                    found += offsets
        return np.array(found, np.int64)

    def _due(self, name: GroupPartition, until_ns: int) -> Integers:
        """Offsets of acknowledged records that were sent between the recovery and a time, and were found."""
        columns, partition = self._columns, PartitionName(name.topic, name.partition)
        found = self._listed.of(name.group).get(partition)
        if self._recovered_ns is None or found is None or partition not in columns.partitions:
            return np.zeros(0, np.int64)
        sends = columns.sends
        mine = (sends.partition == columns.partitions.index(partition)) & (sends.offset >= 0)
        mine &= (sends.invoked_ns >= self._recovered_ns) & (sends.completed_ns <= until_ns)
        return np.intersect1d(sends.offset[mine], found)

    def _delivered(self, life: Life) -> Integers:
        """Offsets delivered in a life, or in any life of the share partition if it may not have begun."""
        all_ = self._groups.deliveries
        mine: Integers = all_.offset[all_.life == life.code if life.known else all_.place == life.place]
        return mine

    def _place(self, name: GroupPartition) -> int:
        places = self._groups.places
        return places.index(name) if name in places else NONE


def _numbers(name: GroupPartition, left: int, again: int) -> Iterator[str]:
    if left:
        yield f"{left} records of {name} that were sent after the recovery were not returned."
    if again:
        yield f"{again} records of {name} were released, or their locks ended, and were not returned again."


def _s(time_ns: int) -> str:
    return f"{time_ns / NS_PER_S:.3f} s"


def _recovered_ns(history: History) -> int | None:
    """When the cluster had recovered; None if it had not within its bound, or a fault came later."""
    done = [operation for operation in history.of("recover") if operation.type is OK]
    if not done:
        return None
    last_ns = done[-1].time_ns
    later = (o for f in ("inject", "heal") for o in history.of(f))
    return None if any(operation.time_ns > last_ns for operation in later) else last_ns


def final_polls(history: History) -> dict[tuple[str, str], FinalPolls]:
    """By group and topic, the longest unbroken series of polls in the final phase."""
    finals = _in_final_phase(history, "share-poll")
    asked: dict[int | str, Operation] = {}
    series: dict[tuple[int | str, int, tuple[str, str]], FinalPolls] = {}
    longest: dict[tuple[str, str], FinalPolls] = {}
    for operation in finals:
        name = operation.value["group"], str(operation.key)
        consumer = operation.process, operation.value["consumer"], name
        if operation.type is INVOKE:
            asked[operation.process] = operation
        elif operation.type is not OK:
            series.pop(consumer, None)
        elif (poll := asked.get(operation.process)) is not None:
            first = series.get(consumer) or FinalPolls(poll.time_ns, 0, (poll.index, 0))
            series[consumer] = this = first.until(operation)
            longest[name] = max(longest.get(name, this), this, key=FinalPolls.length_ns)
    return longest


def final_acknowledgements(history: History) -> list[tuple[Operation, Operation | None]]:
    """The acknowledgements of the final phase: invocation, and completion if there is one."""
    open_: dict[int | str, Operation] = {}
    found: list[tuple[Operation, Operation | None]] = []
    for operation in _in_final_phase(history, "acknowledge"):
        if operation.type is INVOKE:
            open_[operation.process] = operation
        elif (asked := open_.pop(operation.process, None)) is not None:
            found.append((asked, operation))
    return [*found, *((asked, None) for asked in open_.values())]


def _in_final_phase(history: History, f: str) -> Iterator[Operation]:
    """The operations of one kind in the final phase, in their order; none if there is no such phase."""
    began = next((o.index for o in history.of(PHASE) if o.key == Phase.FINAL_READ), None)
    return (o for o in history.of(f) if began is not None and o.index > began)
