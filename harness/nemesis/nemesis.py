"""The nemesis: carries out a schedule step by step, and records what it did and saw."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from checkers.history.faults import PlannedFault
from checkers.history.operations import OperationType
from checkers.history.units import NS_PER_MS
from harness.cluster.containers import in_parallel
from harness.errors import KrucibleError
from harness.faults.activate import activate
from harness.faults.contract import Bench
from harness.faults.injecting import Aimed, Held, among, heal, inject, plan_of, refuse
from harness.faults.sparing import HELD, DiskFault, chosen, strike_of
from harness.faults.taking import Taking
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
"""Carries out a gambit, given its name and the time until which one may begin, ns of the run."""


def _unplayable(name: str, _: Gambit, __: int) -> None:
    raise LookupError(f"nothing here plays the gambit {name}")


class Nemesis:
    """One process of the history; one fault is injected or healed at a time, several may be in force.

    A gambit's faults are injected and healed in parallel, by helpers that are separate processes of the
    history.

    Args:
        recorder: writes as the process ``nemesis``.
        ledger: gets every fault before it is injected.
        bench: the cluster it acts on.
        look: takes a snapshot of the cluster, to resolve symbolic targets.
        cancelled: set to end the schedule early; `heal_all` heals faults that are in force.
        new_recorder: makes the recorder of another process of that name.
        taking: gets the nodes that faults have, so that blinks avoid them.
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
        taking: Taking | None = None,
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
        self._taking = taking or Taking()
        self._held: list[Held] = []
        self._plans: dict[str, PlannedFault] = {}
        self._strikes: list[DiskFault] = []

    def carry_out(self, schedule: FixedSchedule, play: Play = _unplayable) -> None:
        """Inject and heal in the order of time, then wait out the schedule's duration.

        A fault is held for its whole time counted from the moment that it was proven, so a slow probe
        delays what follows, and prolongs the schedule where a fault was to be healed within its duration.
        What was to be over before a fault begins is over then, so that none finds its node held which was
        not to be.  One that was to outlast the schedule is left in force.  Returns early if cancelled.

        Args:
            schedule: what to do.
            play: for gambits.
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
                # What comes later keeps its distance, however long the conditions took.
                late_ns += self._clock.now_ns() - due_ns - due.lasts_ms * NS_PER_MS
                continue
            self._begin(name, due.fault, due.hold_ms)
            ends_ms[name] = due.at_ms + due.hold_ms
        self._heal_until(max([until_ns, *self._until(ends_ms, schedule.duration_ms)]))

    def _until(self, ends_ms: Mapping[str, int], by_ms: int) -> list[int]:
        """Until when faults are in force that were to be over by a time of the schedule; ns of the run."""
        return [held.until_ns for held in self._held if ends_ms.get(held.fault, by_ms + 1) <= by_ms]

    def begin(self, name: str, fault: Fault, least_ms: int = 0) -> bool:
        """Inject a fault that is held until it is healed by its name; whether it was proven.

        Args:
            name: what it is called.
            fault: what it is.
            least_ms: it is in force for so long at least, from the moment that it was proven; who asks for
                its end earlier waits.
        """
        return self._begin(name, fault, least_ms)

    def end(self, name: str) -> bool:
        """Heal the fault of that name; returns whether the heal was proven.

        One that is not in force any more, or never was because its injection was not attempted, is not
        healed, and the history says so.

        Raises:
            LookupError: no fault of that name was ever to be injected.
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

    def strike(self, gambit: str, faults: Mapping[str, Fault], apart_ms: int = 0) -> bool:
        """Inject faults of a gambit in parallel, without waiting for each other's proof.

        Args:
            gambit: the gambit, which the history records for each fault.
            faults: by name, in the order in which they begin.
            apart_ms: time from the beginning of one to that of the next, milliseconds.

        Returns:
            Whether all were proven, except those whose target was held already.
        """
        aimed: list[tuple[str, Aimed | str]] = []
        for name, spec in faults.items():
            self._plans[name] = plan_of(spec, gambit=gambit)
            aimed.append((name, self._aimed(name, spec, [one for _, one in aimed if isinstance(one, Aimed)])))
        for _, one in aimed:
            if isinstance(one, Aimed):
                self._take(one.held)
        struck = in_parallel(
            lambda number: self._struck(number, aimed[number], number * apart_ms),
            self._staffed(range(len(aimed))),
        )
        for _, one in aimed:
            if isinstance(one, Aimed) and one.held in self._held:
                self._remember(one.held.spec, one.resolved)
        return all(struck)

    def mend(self, names: Sequence[str], apart_ms: int = 0) -> bool:
        """Heal faults that are in force side by side; whether all were seen to be over.

        Args:
            names: of the faults, in the order in which they end; those that are not in force are passed over.
            apart_ms: from the end of one to that of the next.
        """
        found = [held for name in names for held in self._held if held.fault == name]

        def healed(number: int) -> bool:
            self._cancelled.wait(number * apart_ms / 1000)
            return self._end(found[number], self._recorders[number])

        return all(in_parallel(healed, self._staffed(range(len(found)))))

    @property
    def down(self) -> frozenset[str]:
        """Names of nodes whose process a fault holds."""
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
        """A full disk must not keep a fault in force; what can't be undone stays in the ledger."""
        if held in self._held:
            with suppress(KrucibleError):
                held.active.heal()
                self._over(held)

    def _heal_until(self, moment_ns: int) -> None:
        """Heal what falls due until a moment, which is then awaited."""
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
        """As many processes as are to act at once."""
        while self._new_recorder is not None and len(self._recorders) < len(numbers):
            self._recorders.append(self._new_recorder(f"nemesis-{len(self._recorders) + 1}"))
        return numbers

    def _aimed(self, fault: str, spec: Fault, before: Sequence[Aimed]) -> Aimed | str:
        """A gambit's fault with its target, given those that begin with it; why it hits none."""
        snapshot = self._seen(spec)
        if spec.takes_process:
            snapshot = snapshot.holding(
                one.resolved.node.name for one in before if one.held.spec.takes_process
            )
        resolved = chosen(spec, snapshot, self._strikes)
        if isinstance(resolved, str):
            return resolved
        active = activate(spec, fault, resolved, self._bench)
        return Aimed(Held(fault, spec, active, until_ns=0), resolved, snapshot)

    def _struck(self, number: int, named: tuple[str, Aimed | str], lag_ms: int) -> bool:
        """Inject a fault that is aimed already, as the process of that number."""
        self._cancelled.wait(lag_ms / 1000)
        fault, aimed = named
        plan = self._plans[fault]
        with self._recorders[number].operation("inject", fault, plan) as outcome:
            if isinstance(aimed, str):
                refuse(outcome, plan, aimed)
                return aimed == HELD
            return inject(aimed, plan, outcome, lambda: self._over(aimed.held)) is OperationType.OK

    def _begin(self, fault: str, spec: Fault, hold_ms: int) -> bool:
        plan = self._plans[fault] = plan_of(spec)
        with self._recorder.operation("inject", fault, plan) as outcome:
            snapshot = self._seen(spec)
            resolved = chosen(spec, snapshot, self._strikes)
            if isinstance(resolved, str):
                refuse(outcome, plan, resolved)
                return False
            active = activate(spec, fault, resolved, self._bench)
            held = Held(fault, spec, active, until_ns=_UNTIL_HEALED_NS)
            self._take(held)
            kind = inject(Aimed(held, resolved, snapshot), plan, outcome, lambda: self._over(held))
        if kind is not OperationType.FAIL:
            self._remember(spec, resolved)
        held.until_ns = self._clock.now_ns() + hold_ms * NS_PER_MS
        return kind is OperationType.OK

    def _take(self, held: Held) -> None:
        """Write a fault to the ledger and reserve its nodes before it is injected."""
        self._taking.take(held.fault, held.active.targets)
        self._ledger.write(FaultPlanned(fault=held.fault, undo=held.active.undo))
        self._held.append(held)

    def _remember(self, spec: Fault, resolved: Resolved) -> None:
        """A disk that was lost is weighed before the next one goes."""
        if isinstance(spec, OfDisk):
            self._strikes.append(strike_of(resolved.node, self._look()))

    def _end(self, held: Held, recorder: Recorder | None = None) -> bool:
        plan = self._plans[held.fault]
        with (recorder or self._recorder).operation("heal", held.fault, plan) as outcome:
            kind = heal(held.active, plan, outcome, lambda: self._undone(held))
        self._taking.let_go(held.fault)
        return kind is OperationType.OK

    def _over(self, held: Held) -> None:
        self._undone(held)
        self._taking.let_go(held.fault)

    def _undone(self, held: Held) -> None:
        """It is in force no more; its nodes may be starting yet."""
        with self._lock:
            self._held.remove(held)
            self._ledger.write(FaultUndone(fault=held.fault))

    def _seen(self, spec: Fault) -> ClusterSnapshot:
        """A snapshot with the nodes that a fault may hit."""
        snapshot = self._look()
        return among(spec, snapshot.holding(snapshot.down) if spec.takes_process else snapshot)
