"""Producers of the log workload: batches of unique values at a constant rate."""

import random
import time
from threading import Event

from checkers.history.operations import OperationType
from harness.clients.interface import ClientFailedError, ClientKind, LogProducer, SendResult
from harness.record.journal import Recorder
from harness.workloads.context import LogContext
from harness.workloads.values import Values
from harness.workloads.worker import Worker

HOME_SHARE = 0.75
"""Share of batches to the worker's own partitions; otherwise one stuck partition soon blocks all workers."""
_REMAKE_PAUSE_S = 0.25
_CATCH_UP = 5
_ERRORS_RECORDED_MAX = 3


class Pace:
    """Times of sends at a fixed interval; a few of the missed sends are made up for.

    Args:
        interval_s: time between two sends.
        offset_s: time until the first send, so that workers do not send at the same time.
    """

    def __init__(self, interval_s: float, offset_s: float = 0.0) -> None:
        self._interval_s = interval_s
        self._next_s = time.monotonic() + offset_s

    def turn(self, stopping: Event) -> bool:
        """Wait until the next send is due; False if the worker was stopped."""
        now_s = time.monotonic()
        stopped = stopping.wait(max(0.0, self._next_s - now_s))
        self._next_s = max(self._next_s, now_s - _CATCH_UP * self._interval_s) + self._interval_s
        return not stopped


class ProducerWorker(Worker):
    """Sends as one process; after a send that did not succeed, with a new client and as a new process."""

    def __init__(self, context: LogContext, number: int) -> None:
        super().__init__(f"producer-{number}")
        workload = context.workload
        self._context = context
        kinds = context.libraries
        self._kind = ClientKind.CONFLUENT if workload.pipelined else kinds[number % len(kinds)]
        self._eager = number % (2 * len(kinds)) < len(kinds)
        self._values = Values(number, workload.is_resting)
        self._random = random.Random(number)
        self._pace = Pace(workload.producers / workload.rate, number / workload.rate)
        self._recorder = context.recorder(number, "producer")
        self._client: LogProducer | None = None
        self._number = number
        self._everywhere: tuple[int, ...] = ()
        self._home: tuple[int, ...] = ()

    def work(self) -> None:
        """Send whenever a send is due, until stopped."""
        try:
            while self._pace.turn(self.stopping):
                if not self.send_once():
                    self.dismiss(self._client)
                    self._client = None
        finally:
            self.dismiss(self._client)

    def send_once(self) -> bool:
        """One send operation, from invocation to completion; returns whether all of it was acknowledged."""
        self._take_up()
        batch = self._draw()
        self._recorder.invoke("send", self._context.topic, [list(pair) for pair in batch])
        try:
            if self._client is None:
                self._client = self._context.clients.producer(self._kind, self._context.topic)
        except ClientFailedError as error:
            sent = [SendResult(OperationType.FAIL, error=f"no client, nothing sent: {error}")] * len(batch)
            complete_send(self._recorder, batch, sent)
            self.stopping.wait(_REMAKE_PAUSE_S)
            return False
        sent = self._client.send([self._context.record(p, value) for p, value in batch])
        return complete_send(self._recorder, batch, sent) is OperationType.OK

    def _take_up(self) -> None:
        """Write to added partitions, with a new client whose metadata includes them.

        A replaced client ends its process, because a new client does not continue its sequence numbers.  Half
        of the workers, as many of each library, make a new client at once; the others keep theirs, with its
        sequence numbers, as long as it works.
        """
        everything = self._context.partitions_of(self._context.topic)
        if len(everything) == len(self._everywhere):
            return
        if self._client is not None:
            if not self._eager:
                return
            self.dismiss(self._client)
            self._client = None
            self._recorder.retire()
        producers, count = self._context.workload.producers, len(everything)
        self._everywhere = tuple(everything)
        self._home = tuple(p for p in everything if p % producers == self._number) or (self._number % count,)

    def _draw(self) -> list[tuple[int, int]]:
        where = self._home if self._random.random() < HOME_SHARE else self._everywhere
        if self._context.workload.pipelined:
            where = (self._random.choice(where),)
        return [
            (self._random.choice(where), self._values.draw()) for _ in range(self._context.workload.batch)
        ]


def complete_send(recorder: Recorder, batch: list[tuple[int, int]], sent: list[SendResult]) -> OperationType:
    """Record the outcome of a batch: that of its records if all have the same one, else info."""
    outcomes = {one.outcome for one in sent}
    kind = outcomes.pop() if len(outcomes) == 1 else OperationType.INFO
    errors = list(dict.fromkeys(one.error for one in sent if one.error))
    value = [
        [partition, value, one.offset, one.outcome]
        for (partition, value), one in zip(batch, sent, strict=True)
    ]
    recorder.complete(kind, value, "; ".join(errors[:_ERRORS_RECORDED_MAX]) or None)
    return kind
