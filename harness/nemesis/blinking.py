"""Injects blinks: faults of less than a second, at given times, on nodes that have no other fault.

If another fault affects a blink's nodes, the blink is refused at once.  A blink ends early if a fault of the
schedule begins on its nodes, so no fault waits long for a blink.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from checkers.history.units import NS_PER_MS
from harness.errors import KrucibleError
from harness.faults.activate import activate
from harness.faults.contract import ActiveFault, Bench
from harness.faults.cuts import linked
from harness.faults.disk_safety import chosen
from harness.faults.injecting import Held, TargetedFault, among, heal, inject, plan_of, refuse
from harness.faults.refused_faults import HELD, OVER, Refused
from harness.faults.reservations import Reservations
from harness.faults.targets import Resolved
from harness.kafka.snapshot import ClusterSnapshot
from harness.nemesis.timed import Timed
from harness.plan.blinks import PROVEN_WITHIN_S
from harness.record.journal import Recorder
from harness.record.ledger import FaultPlanned, FaultUndone, Ledger
from harness.vocabulary.faults import Fault, Partition
from harness.vocabulary.scenario import Step


class Blinking(Timed):
    """Injects one blink after the other, in one thread.  A blink that takes long delays later ones.

    Args:
        blinks: blinks with their names, sorted by time.
        recorder: writes as a separate process.
        ledger: gets every blink before it is injected.
        bench: the cluster that is changed.
        look: takes a snapshot of the cluster.
        reservations: records which fault has which node.
        cancelled: set to end early; blinks that were not due by then are not recorded.
    """

    def __init__(
        self,
        blinks: Sequence[tuple[str, Step]],
        recorder: Recorder,
        ledger: Ledger,
        bench: Bench,
        *,
        look: Callable[[], ClusterSnapshot],
        reservations: Reservations,
        cancelled: threading.Event,
    ) -> None:
        super().__init__("blinking", "blinking", "blink", len(blinks))
        self._blinks = blinks
        self._recorder = recorder
        self._ledger = ledger
        self._bench = msgspec.structs.replace(bench, proven_within_s=PROVEN_WITHIN_S)
        self._look = look
        self._reservations = reservations
        self._cancelled = cancelled
        self._in_force: Held | None = None

    def work(self) -> None:
        """Inject each blink at its time, until stopped; the remaining blinks are recorded as refused."""
        clock = self._recorder.journal.clock
        began_ns = clock.now_ns()
        for name, blink in self._blinks:
            due_ns = began_ns + blink.at_ms * NS_PER_MS
            over = self.stopping.wait(max(0, due_ns - clock.now_ns()) / 1e9)
            if self._cancelled.is_set():
                return
            try:
                self._blink(name, blink, over=over)
            finally:
                self._undo_unrecorded()
                self._reservations.give_back()
            self.done += 1

    def hurry(self) -> None:
        """Begin no further blink, and end the current one."""
        super().hurry()
        self._reservations.recall()

    def _blink(self, name: str, blink: Step, *, over: bool) -> None:
        plan = plan_of(blink.fault, blink=True)
        with self._recorder.operation("inject", name, plan) as outcome:
            aimed = OVER if over else self._aimed(name, blink.fault)
            if isinstance(aimed, Refused):
                refuse(outcome, plan, aimed)
                return
            self._ledger.write(FaultPlanned(fault=name, undo=aimed.held.active.undo))
            self._in_force = aimed.held
            inject(aimed, plan, outcome, self._over)
        if self._in_force is not None:
            self._reservations.await_wanted(blink.hold_ms / 1000)
            with self._recorder.operation("heal", name, plan) as outcome:
                heal(aimed.held.active, plan, outcome, self._over)

    def _aimed(self, name: str, spec: Fault) -> TargetedFault | Refused:
        """A blink with its nodes, which are reserved; or the reason why it hits no node."""
        taken = self._reservations.reserved
        snapshot = among(spec, self._look().holding(taken))
        resolved = chosen(spec, snapshot, ())
        if isinstance(resolved, Refused):
            return resolved
        aimed = _between_free(spec, resolved, snapshot)
        if aimed is None:
            return HELD
        active = activate(aimed, name, resolved, self._bench)
        if not self._reservations.borrow(_hit_by(aimed, active)):
            return HELD
        return TargetedFault(Held(name, spec, active, until_ns=0), resolved, snapshot)

    def _over(self) -> None:
        if self._in_force is not None:
            self._ledger.write(FaultUndone(fault=self._in_force.fault))
            self._in_force = None

    def _undo_unrecorded(self) -> None:
        """Undo the blink without a record after an error; a step that can't be undone stays in the ledger."""
        if self._in_force is not None:
            with suppress(KrucibleError):
                self._in_force.active.heal()
                self._over()


def _between_free(spec: Fault, resolved: Resolved, snapshot: ClusterSnapshot) -> Fault | None:
    """A cut of a link whose other end is a free node; None if no node is free."""
    if not isinstance(spec, Partition) or not spec.pattern.of_link:
        return spec
    names = tuple(node.name for node in snapshot.nodes)
    draw = linked(names, resolved.node.name, spec.draw, snapshot.held | snapshot.dead)
    return None if draw is None else msgspec.structs.replace(spec, draw=draw)


def _hit_by(spec: Fault, active: ActiveFault) -> set[str]:
    """Nodes that no other fault may affect meanwhile: the targets, and both ends of a link."""
    ends = active.cut if isinstance(spec, Partition) and spec.pattern.of_link else ()
    return {*active.targets, *(node for pair in ends for node in pair)}
