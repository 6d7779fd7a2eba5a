"""The nemesis: carries out a schedule step by step, and records its actions and observations."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from checkers.history.faults import PlannedFault, Refusal
from checkers.history.operations import OperationType
from checkers.history.units import NS_PER_MS
from harness.cluster.containers import in_parallel
from harness.errors import KrucibleError
from harness.faults.activate import activate
from harness.faults.contract import Bench
from harness.faults.disk_safety import DiskFault, chosen, disk_fault_of
from harness.faults.injecting import Held, TargetedFault, among, heal, inject, plan_of, refuse
from harness.faults.refused_faults import Refused
from harness.faults.reservations import Reservations
from harness.faults.targets import Resolved
from harness.kafka.snapshot import ClusterSnapshot
from harness.plan.schedule import agenda
from harness.record.journal import Clock, Recorder
from harness.record.ledger import FaultPlanned, FaultUndone, Ledger
from harness.vocabulary.faults import Fault, OfDisk
from harness.vocabulary.gambits import Gambit
from harness.vocabulary.scenario import FixedSchedule

_UNTIL_HEALED_NS = 2**63 - 1
Play = Callable[[str, Gambit, int], None]
"""Carries out a gambit, given its name and the time until which it may begin, ns of the run."""


def _unplayable(name: str, _: Gambit, __: int) -> None:
    raise LookupError(f"nothing here carries out the gambit {name}")


class Nemesis:
    """One process of the history; it injects or heals one fault at a time, and several may be in force.

    A gambit's faults are injected and healed in parallel, by helpers that are separate processes of the
    history.

    Args:
        recorder: writes as the process ``nemesis``.
        ledger: gets every fault before it is injected.
        bench: the cluster that is changed.
        look: takes a snapshot of the cluster, to resolve symbolic targets.
        cancelled: set to end the schedule early; `heal_all` then heals faults that are in force.
        new_recorder: makes a recorder for another process, given its name.
        reservations: gets the nodes of faults, so that blinks avoid them.
    """

    def __init__(
        self,
        recorder: Recorder,
        ledger: Ledger,
        bench: Bench,
        look: Callable[[], ClusterSnapshot],
        cancelled: threading.Event,
        *,
        new_recorder: Callable[[str], Recorder] | None = None,
        reservations: Reservations | None = None,
    ) -> None:
        self._recorder = recorder
        self._recorders = [recorder]
        self._new_recorder = new_recorder
        self._lock = threading.Lock()
        self._clock: Clock = recorder.journal.clock
        self._ledger = ledger
        self._bench = bench
        self._look = look
        self._cancelled = cancelled
        self._reservations = reservations or Reservations()
        self._held: list[Held] = []
        self._plans: dict[str, PlannedFault] = {}
        self._disk_faults: list[DiskFault] = []

    def carry_out(self, schedule: FixedSchedule, play: Play = _unplayable) -> None:
        """Inject and heal faults in order of time, then wait until the schedule's duration is over.

        The duration of a fault is counted from the moment when it was proven.  So a slow probe delays later
        faults, and may prolong the schedule.  A fault that must end before another begins is healed first, so
        that the later fault finds its node free.  A fault that lasts longer than the schedule stays in force.
        Returns early if cancelled.

        Args:
            schedule: the schedule.
            play: carries out gambits.
        """
        began_ns = self._clock.now_ns()
        until_ns = began_ns + schedule.duration_ms * NS_PER_MS
        late_ns = 0
        ends_ms: dict[str, int] = {}
        for name, due in agenda(schedule):
            due_ns = began_ns + due.at_ms * NS_PER_MS + late_ns
            self._heal_until(max([due_ns, *self._until(ends_ms, due.at_ms)]))
            if self._cancelled.is_set():
                return
            if isinstance(due, Gambit):
                self._heal_until(max([due_ns, *(held.until_ns for held in self._held)]))
                play(name, due, until_ns)
                # Later steps keep their distance, however long the conditions took.
                late_ns += self._clock.now_ns() - due_ns - due.lasts_ms * NS_PER_MS
                continue
            self.begin(name, due.fault, due.hold_ms)
            ends_ms[name] = due.at_ms + due.hold_ms
        self._heal_until(max([until_ns, *self._until(ends_ms, schedule.duration_ms)]))

    def _until(self, ends_ms: Mapping[str, int], by_ms: int) -> list[int]:
        """Ends of those faults in force that must be over by a time of the schedule; ns of the run."""
        return [held.until_ns for held in self._held if ends_ms.get(held.fault, by_ms + 1) <= by_ms]

    def begin(self, fault: str, spec: Fault, hold_ms: int = 0) -> bool:
        """Inject a fault that lasts until `end` is called with its name; returns whether it was proven.

        Args:
            fault: name of the fault.
            spec: the fault.
            hold_ms: how long it is in force at least, from the moment when it was proven; an earlier call of
                `end` waits.
        """
        plan = self._plans[fault] = plan_of(spec)
        with self._recorder.operation("inject", fault, plan) as outcome:
            snapshot = self._seen(spec)
            resolved = chosen(spec, snapshot, self._disk_faults)
            if isinstance(resolved, Refused):
                refuse(outcome, plan, resolved)
                return False
            active = activate(spec, fault, resolved, self._bench)
            held = Held(fault, spec, active, until_ns=_UNTIL_HEALED_NS)
            self._take(held)
            kind = inject(TargetedFault(held, resolved, snapshot), plan, outcome, lambda: self._over(held))
        if kind is not OperationType.FAIL:
            self._remember(spec, resolved)
        held.until_ns = self._clock.now_ns() + hold_ms * NS_PER_MS
        return kind is OperationType.OK

    def end(self, name: str) -> bool:
        """Heal the fault with this name; returns whether the heal was proven.

        If the fault is no longer in force, or was never injected, it is not healed, and the history records
        this.

        Raises:
            LookupError: no fault with this name was begun.
        """
        held = next((held for held in self._held if held.fault == name), None)
        if held is not None:
            self._await(held.until_ns)
            return self._end(held)
        if name not in self._plans:
            raise LookupError(f"there is no fault called {name!r}")
        plan = self._plans[name]
        with self._recorder.operation("heal", name, plan) as outcome:
            outcome.end(OperationType.FAIL, plan, "it is not in force")
        return False

    def inject_in_parallel(self, gambit: str, faults: Mapping[str, Fault], apart_ms: int = 0) -> bool:
        """Inject faults of a gambit in parallel, without waiting for each other's proof.

        Args:
            gambit: the gambit, which the history records for each fault.
            faults: faults by name, in the order in which they begin.
            apart_ms: time from the beginning of one fault to that of the next, milliseconds.

        Returns:
            Whether all were proven, except those whose target another fault already affected.
        """
        aimed: list[tuple[str, TargetedFault | Refused]] = []
        for name, spec in faults.items():
            self._plans[name] = plan_of(spec, gambit=gambit)
            aimed.append(
                (name, self._aimed(name, spec, [one for _, one in aimed if isinstance(one, TargetedFault)]))
            )
        for _, one in aimed:
            if isinstance(one, TargetedFault):
                self._take(one.held)
        proven = in_parallel(
            lambda number: self._injected(number, aimed[number], number * apart_ms),
            self._staffed(range(len(aimed))),
        )
        for _, one in aimed:
            if isinstance(one, TargetedFault) and one.held in self._held:
                self._remember(one.held.spec, one.resolved)
        return all(proven)

    def heal_in_parallel(self, names: Sequence[str], apart_ms: int = 0) -> bool:
        """Heal faults in parallel; returns whether all heals were proven.

        Args:
            names: names of the faults, in the order in which they end; names not in force are skipped.
            apart_ms: time from the heal of one fault to that of the next, milliseconds.
        """
        found = [held for name in names for held in self._held if held.fault == name]

        def healed(number: int) -> bool:
            self._cancelled.wait(number * apart_ms / 1000)
            return self._end(found[number], self._recorders[number])

        return all(in_parallel(healed, self._staffed(range(len(found)))))

    @property
    def down(self) -> frozenset[str]:
        """Names of nodes whose process a fault has ended or frozen."""
        return frozenset(
            name for held in self._held if held.spec.takes_process for name in held.active.targets
        )

    def heal_all(self) -> None:
        """Heal all faults that are in force, even if their time is not over.

        Raises:
            KrucibleError: the first failure; the other faults are still healed, and so is a fault whose heal
                could not be recorded.
        """
        errors: list[KrucibleError] = []
        for held in sorted(self._held, key=lambda held: held.until_ns):
            try:
                self._end(held)
            except KrucibleError as error:
                errors.append(error)
                self._undo_unrecorded(held)
        if errors:
            raise errors[0]

    def _undo_unrecorded(self, held: Held) -> None:
        """Undo a fault without a record, for example on a full disk; failed steps stay in the ledger."""
        if held in self._held:
            with suppress(KrucibleError):
                held.active.heal()
                self._over(held)

    def _heal_until(self, moment_ns: int) -> None:
        """Heal faults that are due before a moment, and wait for this moment."""
        while not self._cancelled.is_set():
            due = min(self._held, key=lambda held: held.until_ns, default=None)
            if due is None or due.until_ns > moment_ns:
                self._await(moment_ns)
                return
            self._await(due.until_ns)
            if not self._cancelled.is_set():
                self._end(due)

    def _await(self, moment_ns: int) -> None:
        self._cancelled.wait(max(0, moment_ns - self._clock.now_ns()) / 1e9)

    def _staffed(self, numbers: range) -> range:
        """Make sure that there is a process for each fault that acts at the same time."""
        while self._new_recorder is not None and len(self._recorders) < len(numbers):
            self._recorders.append(self._new_recorder(f"nemesis-{len(self._recorders) + 1}"))
        return numbers

    def _aimed(self, fault: str, spec: Fault, before: Sequence[TargetedFault]) -> TargetedFault | Refused:
        """A gambit's fault with its target, given the faults before it; or the reason why it hits no node."""
        snapshot = self._seen(spec)
        if spec.takes_process:
            snapshot = snapshot.holding(
                one.resolved.node.name for one in before if one.held.spec.takes_process
            )
        resolved = chosen(spec, snapshot, self._disk_faults)
        if isinstance(resolved, Refused):
            return resolved
        active = activate(spec, fault, resolved, self._bench)
        return TargetedFault(Held(fault, spec, active, until_ns=0), resolved, snapshot)

    def _injected(self, number: int, named: tuple[str, TargetedFault | Refused], lag_ms: int) -> bool:
        """Inject a fault that has a target, as the process with this number."""
        self._cancelled.wait(lag_ms / 1000)
        fault, aimed = named
        plan = self._plans[fault]
        with self._recorders[number].operation("inject", fault, plan) as outcome:
            if isinstance(aimed, Refused):
                refuse(outcome, plan, aimed)
                return aimed.kind is Refusal.HELD
            return inject(aimed, plan, outcome, lambda: self._over(aimed.held)) is OperationType.OK

    def _take(self, held: Held) -> None:
        """Write a fault to the ledger and reserve its nodes before it is injected."""
        self._reservations.reserve(held.fault, held.active.targets)
        self._ledger.write(FaultPlanned(fault=held.fault, undo=held.active.undo))
        self._held.append(held)

    def _remember(self, spec: Fault, resolved: Resolved) -> None:
        """Remember a lost disk, because it matters for the decision about the next one."""
        if isinstance(spec, OfDisk):
            self._disk_faults.append(disk_fault_of(resolved.node, self._look()))

    def _end(self, held: Held, recorder: Recorder | None = None) -> bool:
        plan = self._plans[held.fault]
        with (recorder or self._recorder).operation("heal", held.fault, plan) as outcome:
            kind = heal(held.active, plan, outcome, lambda: self._undone(held))
        self._reservations.release(held.fault)
        return kind is OperationType.OK

    def _over(self, held: Held) -> None:
        self._undone(held)
        self._reservations.release(held.fault)

    def _undone(self, held: Held) -> None:
        """Remove a fault that is no longer in force; its nodes may still be starting."""
        with self._lock:
            self._held.remove(held)
            self._ledger.write(FaultUndone(fault=held.fault))

    def _seen(self, spec: Fault) -> ClusterSnapshot:
        """A snapshot with the nodes that a fault may hit."""
        snapshot = self._look()
        return among(spec, snapshot.holding(snapshot.down) if spec.takes_process else snapshot)
