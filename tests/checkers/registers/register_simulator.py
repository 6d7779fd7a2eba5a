"""Simulates linearizable registers whose users crash, and weaker ones with known defects.

Every operation takes effect at one moment between its beginning and its end.  A history without a defect is
linearizable, whatever the seed, the failed and the indeterminate operations included.
"""

import random
from typing import Any, NamedTuple

from checkers.history.operations import History, Operation, OperationType
from tests.checkers.registers.register_histories import history_of

Type = OperationType
PROCESSES = 4


class Defects(NamedTuple):
    """What the registers do wrong, each with the probability of one half where it can."""

    stale_reads: bool = False
    lost_writes: bool = False
    failed_writes_happen: bool = False


class _Call:
    """An operation that is going on."""

    def __init__(self, f: str, key: str, value: Any) -> None:
        self.f, self.key, self.value = f, key, value
        self.done = False
        self.fate = Type.OK


class Simulation:
    """Some registers, and the history that their users write."""

    def __init__(self, seed: int, registers: int, steps: int, defects: Defects | None = None) -> None:
        self._random = random.Random(seed)
        self._registers: dict[str, list[Any]] = {f"r{number}": [None] for number in range(registers)}
        self._defects = defects or Defects()
        self._operations: list[Operation] = []
        self._running: dict[int, _Call] = {}
        self._slots = list(range(PROCESSES))
        self._written = 0
        self._steps = steps

    def history(self) -> History:
        """Run the load alone; some operations may never end."""
        for _ in range(self._steps):
            self._step()
        return history_of(self._operations)

    def run(self) -> History:
        """Run as krucible does: set-up, load, healing, recovery, final reads of every register."""
        self._record("setup", None, {"workload": {"kind": "offsets"}})
        self.history()
        for slot, process in enumerate(self._slots):
            if process in self._running:
                self._end(slot, process)
        self._record("phase", "heal", None)
        self._operations.append(Operation(0, 0, "runner", Type.INVOKE, "recover"))
        self._record("recover", None, {})
        self._record("phase", "final-read", None)
        for number, (key, held) in enumerate(self._registers.items()):
            process = 1000 + number
            self._operations.append(Operation(0, 0, process, Type.INVOKE, "read", key))
            self._operations.append(Operation(0, 0, process, Type.OK, "read", key, held[-1]))
        return history_of(self._operations)

    def _record(self, f: str, key: Any, value: Any) -> None:
        self._operations.append(Operation(0, 0, "runner", Type.OK, f, key, value))

    def _step(self) -> None:
        slot = self._random.randrange(PROCESSES)
        process = self._slots[slot]
        call = self._running.get(process)
        if call is None:
            self._begin(process)
        elif not call.done:
            self._take_effect(call)
        else:
            self._end(slot, process)

    def _begin(self, process: int) -> None:
        key = self._random.choice(list(self._registers))
        write = self._random.random() < 1 / 2
        self._written += write
        call = _Call("write" if write else "read", key, self._written if write else None)
        call.fate = self._random.choices((Type.OK, Type.INFO, Type.FAIL), (8, 1, 1))[0]
        self._running[process] = call
        self._operations.append(Operation(0, 0, process, Type.INVOKE, call.f, key, call.value))

    def _take_effect(self, call: _Call) -> None:
        call.done = True
        held = self._registers[call.key]
        odd = self._random.random() < 1 / 2
        if call.f == "read":
            call.value = self._random.choice(held) if self._defects.stale_reads and odd else held[-1]
        elif self._happens(call.fate, odd=odd):
            held.append(call.value)

    def _happens(self, fate: Type, *, odd: bool) -> bool:
        if fate is Type.FAIL:
            return self._defects.failed_writes_happen and odd
        if fate is Type.OK:
            return not (self._defects.lost_writes and odd)
        return odd

    def _end(self, slot: int, process: int) -> None:
        call = self._running.pop(process)
        if not call.done:
            # It never reached the register: only a failure or an unknown fate may say so.
            call.fate = Type.FAIL if call.fate is Type.FAIL else Type.INFO
        answer = call.value if call.f == "write" or call.fate is Type.OK else None
        self._operations.append(Operation(0, 0, process, call.fate, call.f, call.key, answer))
        if call.fate is Type.INFO:
            self._slots[slot] += PROCESSES
