"""The nemesis: carries a schedule out, step by step, and records what it did and what it saw."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from checkers.history import OperationType
from harness.errors import KrucibleError
from harness.faults.activate import activate, as_value, process_fault
from harness.faults.contract import ActiveFault, Bench, NotConfirmedError
from harness.faults.sparing import HELD, Strike, chosen, strike_of
from harness.faults.targets import Sight, roles_of
from harness.journal import Clock, Recorder
from harness.ledger import FaultPlanned, FaultUndone, Ledger
from harness.vocabulary.faults import Among, Fault, OfDisk, Partition
from harness.vocabulary.scenario import FixedSchedule

NS_PER_MS = 1_000_000
_UNTIL_HEALED_NS = 2**63 - 1


class _Held(msgspec.Struct):
    """A fault that is in force."""

    fault: str
    spec: Fault
    active: ActiveFault
    until_ns: int


class Nemesis:
    """One process of the history; one fault is injected or healed at a time, several may be in force.

    Args:
        recorder: writes as the process ``nemesis``.
        ledger: told of every fault before it is injected.
        bench: the cluster it acts on.
        look: the cluster as it is now, to resolve symbolic targets; gets the names of nodes that are down.
        cancelled: set to end the schedule early; what is in force is left to `heal_all`.
    """

    def __init__(
        self,
        recorder: Recorder,
        ledger: Ledger,
        bench: Bench,
        look: Callable[[frozenset[str]], Sight],
        cancelled: threading.Event,
    ) -> None:
        self._recorder = recorder
        self._clock: Clock = recorder.journal.clock
        self._ledger = ledger
        self._bench = bench
        self._look = look
        self._cancelled = cancelled
        self._held: list[_Held] = []
        self._plans: dict[str, dict[str, object]] = {}
        self._strikes: list[Strike] = []

    def carry_out(self, schedule: FixedSchedule) -> None:
        """Inject and heal in the order of time, then wait out the schedule's duration.

        A fault is held for its whole time counted from the moment that it was proven, so a slow probe
        delays what follows, and prolongs the schedule where a fault was to be healed within its duration.
        One that was to outlast the schedule is left in force.  Returns early if cancelled.
        """
        began_ns = self._clock.now_ns()
        steps = sorted(schedule.steps, key=lambda step: step.at_ms)
        within = set()
        for number, step in enumerate(steps, start=1):
            self._heal_until(began_ns + step.at_ms * NS_PER_MS)
            if self._cancelled.is_set():
                return
            self._begin(f"f{number}", step.fault, step.hold_ms)
            if step.at_ms + step.hold_ms <= schedule.duration_ms:
                within.add(f"f{number}")
        late = [held.until_ns for held in self._held if held.fault in within]
        self._heal_until(max([began_ns + schedule.duration_ms * NS_PER_MS, *late]))

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
        """Heal the fault of that name; whether that was proven.

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

    @property
    def down(self) -> frozenset[str]:
        """Names of nodes whose process a fault holds."""
        return frozenset(
            name for held in self._held if process_fault(held.spec) for name in held.active.targets
        )

    def heal_all(self) -> None:
        """Heal everything that is in force, whatever its time.

        Raises:
            KrucibleError: the first that went wrong; the other faults are healed all the same, and so is one
                whose heal could not be recorded.
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

    def _undo_unrecorded(self, held: _Held) -> None:
        """A full disk must not keep a fault in force; what can't be undone stays in the ledger."""
        if held in self._held:
            with suppress(KrucibleError):
                held.active.heal()
                self._held.remove(held)
                self._ledger.write(FaultUndone(fault=held.fault))

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

    def _begin(self, fault: str, spec: Fault, hold_ms: int) -> bool:
        plan = self._plans[fault] = {"kind": as_value(spec)["kind"], "spec": as_value(spec)}
        with self._recorder.operation("inject", fault, plan) as outcome:
            sight = self._seen(spec)
            resolved = chosen(spec, sight, self._strikes)
            if isinstance(resolved, str):
                refused = "held" if resolved == HELD else "withheld"
                outcome.end(OperationType.FAIL, plan | {"refused": refused}, resolved)
                return False
            active = activate(spec, fault, resolved, self._bench)
            self._ledger.write(FaultPlanned(fault=fault, undo=active.undo))
            held = _Held(fault, spec, active, until_ns=_UNTIL_HEALED_NS)
            self._held.append(held)
            active.inject()
            known = plan | {"targets": active.targets, "cut": active.cut, "resolved_by": resolved.by}
            known["roles"] = roles_of(resolved.node, spec.draw, sight)
            kind, probe, error = _probed(active.took_effect)
            outcome.end(kind, known | {"probe": probe}, error)
        if isinstance(spec, OfDisk):
            self._strikes.append(strike_of(resolved.node, self._look(self.down).copies))
        held.until_ns = self._clock.now_ns() + hold_ms * NS_PER_MS
        return kind is OperationType.OK

    def _end(self, held: _Held) -> bool:
        active = held.active
        plan = self._plans[held.fault]
        with self._recorder.operation("heal", held.fault, plan) as outcome:
            active.heal()
            self._held.remove(held)
            self._ledger.write(FaultUndone(fault=held.fault))
            kind, probe, error = _probed(active.healed)
            known = plan | {"targets": active.targets, "cut": active.cut, "probe": probe}
            outcome.end(kind, known, error)
        return kind is OperationType.OK

    def _seen(self, spec: Fault) -> Sight:
        """The nodes that a fault may befall, and what is known of them."""
        sight = self._look(self.down if process_fault(spec) else frozenset())
        if isinstance(spec, Partition) and spec.among is Among.CONTROLLERS:
            controllers = tuple(node for node in sight.nodes if node.is_controller)
            sight = msgspec.structs.replace(sight, nodes=controllers)
        return sight


def _probed(
    probe: Callable[[], dict[str, Any]],
) -> tuple[OperationType, dict[str, Any], str | None]:
    try:
        return OperationType.OK, probe(), None
    except NotConfirmedError as error:
        return OperationType.INFO, {}, str(error)
