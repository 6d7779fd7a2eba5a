"""Processes that write and read registers that Kafka stores, with unique values."""

import random
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from checkers.history.operations import OperationType
from harness.clients.administrator import AdminAnswer, Administrator, AdministratorOptions
from harness.clients.administrator_opening import Make
from harness.clients.interface import ClientFailedError, ClientKind
from harness.vocabulary import Workload
from harness.workloads.context import WorkloadContext
from harness.workloads.producing import Pace
from harness.workloads.values import Values
from harness.workloads.worker import Worker

WRITE_SHARE = 0.65
HOME_SHARE = 0.7
"""Share of operations on the worker's own registers; otherwise one stuck coordinator soon blocks all."""
_REMAKE_PAUSE_S = 0.25
_AGAIN_PAUSE_S = 0.2

AnyContext = WorkloadContext[Workload]


class Register(NamedTuple):
    """One register: its name in the history, and how it is written and read."""

    name: str
    write: Callable[[Administrator, int], AdminAnswer]
    read: Callable[[Administrator], AdminAnswer]


class ReconnectingClient:
    """A client that is made when it is needed, and replaced when it can no longer be used."""

    def __init__(self, worker: Worker, context: AnyContext, kind: ClientKind, make: Make) -> None:
        self._worker = worker
        self._options = AdministratorOptions(context.bootstrap)
        self._kind = kind
        self._make = make
        self._client: Administrator | None = None

    def ask(self, question: Callable[[Administrator], AdminAnswer]) -> AdminAnswer:
        """The client's answer; if no client can be made, the answer reports this instead."""
        try:
            if self._client is None:
                self._client = self._make(self._kind, self._options)
        except ClientFailedError as error:
            self._worker.stopping.wait(_REMAKE_PAUSE_S)
            return AdminAnswer(OperationType.FAIL, error=f"no client, nothing sent: {error}")
        answer = question(self._client)
        if self._client.spent:
            self.dismiss()
        return answer

    def dismiss(self) -> None:
        """Close the client, if there is one."""
        client, self._client = self._client, None
        self._worker.dismiss(client)


class RegisterWorker(Worker):
    """One process that writes and reads registers in turns of a steady pace.

    Args:
        context: context of the run.
        number: number of the process among all `clients`.
        clients: number of such processes.
        registers: all registers.
        make: makes clients.
    """

    def __init__(
        self, context: AnyContext, number: int, clients: int, registers: Sequence[Register], make: Make
    ) -> None:
        super().__init__(f"register-client-{number}")
        rate = context.workload.rate
        self._pace = Pace(clients / rate, number / rate)
        self._recorder = context.recorder(number, "register client")
        self._random = random.Random(number)
        self._values = Values(number)
        kinds = context.libraries
        self._client = ReconnectingClient(self, context, kinds[number % len(kinds)], make)
        self._everywhere = tuple(registers)
        homes = max(clients // len(kinds), 1)
        # One client of each library shares a home, so that all of them write the same registers.
        self._home = tuple(registers[number // len(kinds) % homes :: homes]) or self._everywhere

    def work(self) -> None:
        """Write or read at every turn."""
        try:
            while self._pace.turn(self.stopping):
                self.do_once()
        finally:
            self._client.dismiss()

    def do_once(self) -> None:
        """One operation, from invocation to completion."""
        where = self._home if self._random.random() < HOME_SHARE else self._everywhere
        register = self._random.choice(where)
        if self._random.random() < WRITE_SHARE:
            value = self._values.draw()
            self._recorder.invoke("write", register.name, value)
            answer = self._client.ask(lambda client: register.write(client, value))
            self._recorder.complete(answer.outcome, value, answer.error)
        else:
            self._recorder.invoke("read", register.name)
            answer = self._client.ask(register.read)
            self._recorder.complete(answer.outcome, answer.value, answer.error)


class FinalRegisterReader(Worker):
    """Reads every register until each was answered, and once more if an answer may be old.

    Args:
        context: context of the run.
        index: index among the workload's final workers.
        registers: all registers.
        deadline: time of the monotonic clock by which it ends.
        make: makes clients.
        lag_ns: how long an answering broker may lag behind acknowledged writes, nanoseconds.
    """

    def __init__(
        self,
        context: AnyContext,
        index: int,
        registers: Sequence[Register],
        deadline: float,
        make: Make,
        *,
        lag_ns: int = 0,
    ) -> None:
        super().__init__(f"final-register-reader-{index}")
        self._recorder = context.recorder(context.first_final_worker + index, "final reader")
        kinds = context.libraries
        self._client = ReconnectingClient(self, context, kinds[index % len(kinds)], make)
        self._registers = tuple(registers)
        self._deadline = deadline
        self._lag_s = lag_ns / 1e9

    def work(self) -> None:
        """Read until all were answered, or no time is left."""
        settled = time.monotonic() + self._lag_s
        try:
            self._read_all()
            if self._lag_s:
                # No condition shows that a broker's cache has caught up; only a time is promised.
                self.stopping.wait(min(settled, self._deadline) - time.monotonic())
                self._read_all()
        finally:
            self._client.dismiss()

    def _read_all(self) -> None:
        left = list(self._registers)
        while left and time.monotonic() < self._deadline:
            left = [register for register in left if not self._answered(register)]
            if left:
                self.stopping.wait(_AGAIN_PAUSE_S)

    def _answered(self, register: Register) -> bool:
        if time.monotonic() >= self._deadline:
            return False
        self._recorder.invoke("read", register.name)
        answer = self._client.ask(register.read)
        self._recorder.complete(answer.outcome, answer.value, answer.error)
        return answer.outcome is OperationType.OK
