"""The write probe: shows that partitions accept writes again."""

import time
from collections.abc import Iterable
from threading import Event

from checkers.history.operations import OperationType
from harness.clients.interface import ClientFailedError, ClientKind, SendResult
from harness.vocabulary import Workload
from harness.workloads.context import WorkloadContext
from harness.workloads.producing import complete_send
from harness.workloads.values import Values
from harness.workloads.worker import CLOSE_BOUND_S

_RETRY_PAUSE_S = 0.2


class WriteProbe:
    """Sends one value after the other to each partition until one is acknowledged.

    Every send is an ordinary operation of a separate process, with acks=all and idempotence, whatever the
    workload's settings are.  Client libraries alternate, so that a defect of one of them does not look like a
    defect of the cluster.
    """

    def __init__(self, context: WorkloadContext[Workload]) -> None:
        self._context = context
        self._values = Values(context.probe)
        self._recorder = context.recorder(context.probe, "probe")
        self._attempts = 0
        self.complaints: list[str] = []

    def write(self, bound_s: float, topic: str, partitions: Iterable[int]) -> dict[int, bool]:
        """Whether each partition of the topic acknowledged a write within the bound.

        The last attempt may exceed the bound by the delivery timeout.
        """
        acked = dict.fromkeys(partitions, False)
        deadline = time.monotonic() + bound_s
        pause = Event()
        while time.monotonic() < deadline and not all(acked.values()):
            for partition in self._attempt(topic, [p for p, done in acked.items() if not done]):
                acked[partition] = True
            if not all(acked.values()):
                pause.wait(_RETRY_PAUSE_S)
        return acked

    def _attempt(self, topic: str, partitions: list[int]) -> list[int]:
        """Those of the partitions that acknowledged."""
        kinds = self._context.libraries
        kind = kinds[self._attempts % len(kinds)]
        self._attempts += 1
        batch = [(partition, self._values.draw()) for partition in partitions]
        self._recorder.invoke("send", topic, [list(pair) for pair in batch])
        sent = self._send(kind, topic, batch)
        complete_send(self._recorder, batch, sent)
        return [
            partition
            for (partition, _), one in zip(batch, sent, strict=True)
            if one.outcome is OperationType.OK
        ]

    def _send(self, kind: ClientKind, topic: str, batch: list[tuple[int, int]]) -> list[SendResult]:
        try:
            client = self._context.clients.producer(kind, topic, durable=True)
        except ClientFailedError as error:
            return [SendResult(OperationType.FAIL, error=f"no client, nothing sent: {error}")] * len(batch)
        try:
            return client.send([self._context.record(partition, value) for partition, value in batch])
        finally:
            try:
                client.close(CLOSE_BOUND_S)
            except ClientFailedError as error:
                self.complaints.append(str(error))
