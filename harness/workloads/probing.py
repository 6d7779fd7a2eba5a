"""The write probe: proof that every partition takes writes again."""

import time
from collections.abc import Iterable
from threading import Event

from checkers.history import OperationType
from harness.clients.interface import ClientFailedError, ClientKind, Record, Sent
from harness.journal import Recorder
from harness.workloads.context import LogContext
from harness.workloads.producing import complete_send
from harness.workloads.values import Values
from harness.workloads.worker import CLOSE_BOUND_S

_RETRY_PAUSE_S = 0.2


class WriteProbe:
    """Sends one value after the other to each partition until one is acknowledged.

    Every send is an ordinary operation of a process of its own; clients alternate, so that a fault of one
    library is not taken for the cluster's.
    """

    def __init__(self, context: LogContext) -> None:
        self._context = context
        self._values = Values(context.probe)
        self._recorder = Recorder(context.journals.open("write-probe"), context.probe, context.workers)
        self._attempts = 0
        self.complaints: list[str] = []

    def write(self, bound_s: float, partitions: Iterable[int] | None = None) -> dict[int, bool]:
        """Whether each partition acknowledged a write (acks=all) within the bound; all of them by default.

        The last attempt may exceed the bound by the delivery timeout.
        """
        everything = range(self._context.workload.partitions) if partitions is None else partitions
        acked = dict.fromkeys(everything, False)
        deadline = time.monotonic() + bound_s
        pause = Event()
        while time.monotonic() < deadline and not all(acked.values()):
            for partition in self._attempt([p for p, done in acked.items() if not done]):
                acked[partition] = True
            if not all(acked.values()):
                pause.wait(_RETRY_PAUSE_S)
        return acked

    def _attempt(self, partitions: list[int]) -> list[int]:
        """Those of the partitions that acknowledged."""
        kind = tuple(ClientKind)[self._attempts % len(ClientKind)]
        self._attempts += 1
        batch = [(partition, self._values.draw()) for partition in partitions]
        self._recorder.invoke("send", self._context.topic, [list(pair) for pair in batch])
        sent = self._send(kind, batch)
        complete_send(self._recorder, batch, sent)
        return [
            partition
            for (partition, _), one in zip(batch, sent, strict=True)
            if one.outcome is OperationType.OK
        ]

    def _send(self, kind: ClientKind, batch: list[tuple[int, int]]) -> list[Sent]:
        codec = self._context.codec
        try:
            client = self._context.clients.producer(kind, durable=True)
        except ClientFailedError as error:
            return [Sent(OperationType.FAIL, error=f"no client, nothing sent: {error}")] * len(batch)
        try:
            return client.send([Record(partition, codec.encode(value)) for partition, value in batch])
        finally:
            try:
                client.close(CLOSE_BOUND_S)
            except ClientFailedError as error:
                self.complaints.append(str(error))
