"""Whether a share group delivers at all once the cluster has recovered.

A record is *due* if a broker acknowledged it after the cluster had recovered, a final read found it, and the
group has begun in its partition, at or below it.  Before the final phase the members of the load leave, so
their locks and sessions end, and no fault begins.  So the group's only member gets the record soon, if it
goes on polling and no poll fails.
"""

from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, GroupPartition, Integers, PartitionName
from checkers.evidence.loading import columns_of
from checkers.history.operations import INVOKE, OK, History, Operation
from checkers.history.phases import PHASE, Phase
from checkers.share_groups.anomalies import STUCK
from checkers.share_groups.loading import ShareGroups
from checkers.share_groups.passing import Passed, listed_offsets
from checkers.verdict.verdict import Anomaly

STUCK_NS = 60_000_000_000
"""After this time every lock, session and rebalance has ended; a coordinator initialises again after 30 s."""


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
    """

    def __init__(self, history: History, groups: ShareGroups) -> None:
        self._history = history
        self._groups = groups
        self._recovered_ns = _recovered_ns(history)
        self._listed = listed_offsets(columns_of(history))

    def stuck(self, passed: Passed) -> Anomaly | None:
        """The records of a share partition that are due and were delivered to no member, as one finding."""
        name = passed.name
        polls = _final_polls(self._history, name)
        if polls is None or polls.length_ns() < STUCK_NS or passed.start < 0:
            return None
        due = self._due(name, polls.began_ns)
        left = np.setdiff1d(due[due >= passed.start], self._delivered(name))
        if not len(left):
            return None
        took_s = polls.length_ns() / 1e9
        return STUCK.found(
            f"{name}@{left[0]} was returned to no member within {took_s:.0f} s, although no poll failed",
            subject=f"{name}@{left[0]}",
            time_ns=polls.ended_ns,
            witness=polls.witness,
            explanation=[
                f"{len(left)} records of {name} that were sent after the recovery were not returned."
            ],
        )

    def _due(self, name: GroupPartition, until_ns: int) -> Integers:
        """Offsets of acknowledged records that were sent between the recovery and a time, and were found."""
        columns, partition = columns_of(self._history), PartitionName(name.topic, name.partition)
        found = self._listed.get(partition)
        if self._recovered_ns is None or found is None or partition not in columns.partitions:
            return np.zeros(0, np.int64)
        sends = columns.sends
        mine = (sends.partition == columns.partitions.index(partition)) & (sends.offset >= 0)
        mine &= (sends.invoked_ns >= self._recovered_ns) & (sends.completed_ns <= until_ns)
        return np.intersect1d(sends.offset[mine], found)

    def _delivered(self, name: GroupPartition) -> Integers:
        places, deliveries = self._groups.places, self._groups.deliveries
        code = places.index(name) if name in places else NONE
        mine: Integers = deliveries.offset[deliveries.place == code]
        return mine


def _recovered_ns(history: History) -> int | None:
    """When the cluster had recovered; None if it had not within its bound, or a fault came later."""
    done = [operation for operation in history.of("recover") if operation.type is OK]
    if not done:
        return None
    last_ns = done[-1].time_ns
    later = (o for f in ("inject", "heal") for o in history.of(f))
    return None if any(operation.time_ns > last_ns for operation in later) else last_ns


def _final_polls(history: History, name: GroupPartition) -> FinalPolls | None:
    """The longest unbroken series of the group's polls of a topic in the final phase; None without any."""
    began = next((o.index for o in history.of(PHASE) if o.key == Phase.FINAL_READ), None)
    if began is None:
        return None
    finals = (o for o in history.of("share-poll") if o.index > began)
    asked: dict[int | str, Operation] = {}
    series: dict[tuple[int | str, int], FinalPolls] = {}
    longest: FinalPolls | None = None
    for operation in finals:
        if (operation.value["group"], operation.key) != (name.group, name.topic):
            continue
        consumer = operation.process, operation.value["consumer"]
        if operation.type is INVOKE:
            asked[operation.process] = operation
        elif operation.type is not OK:
            series.pop(consumer, None)
        elif (poll := asked.get(operation.process)) is not None:
            first = series.get(consumer) or FinalPolls(poll.time_ns, 0, (poll.index, 0))
            series[consumer] = this = first.until(operation)
            longest = max(longest or this, this, key=FinalPolls.length_ns)
    return longest
