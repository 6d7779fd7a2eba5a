"""A model of how the controller changes one partition, after Kafka 4.3.0's PartitionChangeBuilder.

It tests whether a reassignment is complete, then elects a leader, and then records what has changed.
"""

from collections.abc import Collection, Sequence
from typing import Any

from tests.checkers.admin_histories import AdminStory

_ELR = "eligibleLeaderReplicas"


class PartitionController:
    """Changes the partition of a story, one record every 10 ms.

    Args:
        story: gets the records.
        eligible: whether eligible leader replicas are used (KIP-966).
        waits_for_all: whether all replicas of a target must be in sync, as from 3.8.0 on, before 4.3.0.

    Attributes:
        held_up: whether a record that elected nobody left a reassignment ongoing that Kafka 4.3.0 would have
            completed.
    """

    def __init__(self, story: AdminStory, *, eligible: bool, waits_for_all: bool = False) -> None:
        self._story, self._eligible, self._waits_for_all = story, eligible, waits_for_all
        self._at_ms = 100.0
        self._leader = 1
        self._elr: list[int] = []
        self._active = {1, 2, 3, 4, 5}
        self._isr, self._replicas = [1, 2, 3], [1, 2, 3]
        self._adding: list[int] = []
        self._removing: list[int] = []
        self.held_up = False
        story.created(self._replicas)

    def reassign(self, target: Sequence[int]) -> None:
        """Carry out a request; what it does not replace of an earlier one stays."""
        removing = [replica for replica in self._replicas if replica not in target]
        adding = [replica for replica in target if replica not in self._replicas]
        self._story.reassign(self._at_ms, self._at_ms + 9, target)
        self._change(replicas=[*target, *removing], adding=adding or None, removing=removing or None)

    def cancel(self) -> None:
        """Put the replicas back, unless this would leave none in sync."""
        isr = [replica for replica in self._isr if replica not in self._adding]
        if (self._adding or self._removing) and isr:
            self._story.reassign(self._at_ms, self._at_ms + 9, None)
            kept = [replica for replica in self._replicas if replica not in self._adding]
            self._change(isr=isr, replicas=kept, adding=[], removing=[])

    def fence(self, broker: int) -> None:
        """A broker is down, so that it can't be in sync or lead."""
        self._active.discard(broker)
        if broker in self._isr:
            self._change(isr=[replica for replica in self._isr if replica != broker])

    def fence_unclean(self, broker: int) -> None:
        """The same, where any replica that is up may be elected."""
        self._active.discard(broker)
        if broker in self._isr:
            self._change(isr=[replica for replica in self._isr if replica != broker], unclean=True)

    def unfence(self, broker: int) -> None:
        """A broker is up again; a partition without a leader may get one."""
        self._active.add(broker)
        if self._leader < 0:
            self._change()

    def join(self, broker: int) -> None:
        """The leader reports that a replica is in sync."""
        if self._leader >= 0 and broker in self._active and broker in self._replicas:
            self._change(isr=[*(r for r in self._isr if r != broker), broker])

    def clear(self, _: int) -> None:
        """Eligible replicas are cleared, as when the minimum of the ISR is changed."""
        self._story.record(self._at_ms, "CLEAR_ELR_RECORD", {"topicName": ""})
        self._at_ms += 10
        self._elr = []

    def _change(
        self,
        isr: list[int] | None = None,
        replicas: list[int] | None = None,
        adding: list[int] | None = None,
        removing: list[int] | None = None,
        *,
        unclean: bool = False,
    ) -> None:
        isr = self._isr if isr is None else isr
        replicas = self._replicas if replicas is None else replicas
        adding = self._adding if adding is None else adding
        removing = self._removing if removing is None else removing
        staying = [replica for replica in isr if replica not in removing]
        target = [replica for replica in replicas if replica not in removing]
        due = _is_complete(adding, removing, staying, target)
        waits = self._waits_for_all and not set(target) <= set(staying)
        if due and not waits:
            isr, replicas, adding, removing = staying, target, [], []
        elr = [r for r in {*self._elr, *self._isr} if r not in isr] if self._eligible and len(isr) < 2 else []
        leader = self._elected(isr, elr, replicas, unclean=unclean)
        if leader >= 0 and leader != self._leader and leader not in isr:
            isr, elr = [leader], [r for r in elr if r != leader] if leader in elr else []
        if not isr and not self._eligible:
            isr = self._isr
        written = self._write(leader, isr=isr, elr=elr, replicas=replicas, adding=adding, removing=removing)
        self.held_up |= due and waits and leader >= 0 and "leader" not in written and bool(written - {_ELR})

    def _elected(self, isr: list[int], elr: list[int], replicas: list[int], *, unclean: bool) -> int:
        may = [r for r in (isr or elr) if r in self._active]
        if self._leader in may:
            return self._leader
        others = [r for r in replicas if r in self._active] if unclean else []
        return next((r for r in [*(r for r in replicas if r in may), *others]), -1)

    def _write(self, leader: int, **now: list[int]) -> set[str]:
        """Record what has changed; returns the names of the fields."""
        names = {"adding": "addingReplicas", "removing": "removingReplicas", "elr": _ELR}
        fields: dict[str, Any] = {
            names.get(name, name): value for name, value in now.items() if value != getattr(self, f"_{name}")
        }
        if leader != self._leader or _lacks(now["replicas"], self._replicas):
            fields["leader"] = leader
        if fields:
            self._story.changed(self._at_ms, **fields)
            self._at_ms += 10
        self._leader = leader
        self._isr, self._elr, self._replicas = now["isr"], now["elr"], now["replicas"]
        self._adding, self._removing = now["adding"], now["removing"]
        return set(fields)


def _is_complete(
    adding: Collection[int], removing: Collection[int], staying: Collection[int], target: Collection[int]
) -> bool:
    """Kafka's test, without that for all replicas of the target."""
    if not adding and not removing:
        return False
    if removing and not (staying and target):
        return False
    if not set(staying) >= set(adding):
        return False
    return len(adding) >= len(removing) or set(staying) >= set(target)


def _lacks(now: Sequence[int], before: Sequence[int]) -> bool:
    return bool(set(before).difference(now))
