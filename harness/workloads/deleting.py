"""A process that asks for the oldest records of a partition to be deleted, now and then (KIP-107)."""

import random
from collections.abc import Callable

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from checkers.history import OperationType
from harness.clients.bounded import within
from harness.clients.confluent import client_config
from harness.clients.interface import ClientFailedError, ClientKind, Isolation, LogConsumer, ReadError
from harness.journal import describe
from harness.workloads.context import REQUEST_MS, LogContext
from harness.workloads.worker import Worker

_SHARE = (0.1, 0.4)
"""Of the records that there are, so many of the oldest go."""
_OFFSETS_TIMEOUT_S = 2.0
_BOUND_S = 2.5
_CLOSE_S = 2.0

Delete = Callable[[tuple[str, ...], str, int, int], object]
"""Asks servers to delete the records of a topic's partition below an offset, as `delete_records` does."""


def delete_records(bootstrap: tuple[str, ...], topic: str, partition: int, below: int) -> object:
    """Delete the records of a partition below an offset, and wait for the answer.

    Returns:
        The client, to be let go of once the answer is recorded: its end takes longer than a follower needs
        to catch up with what was answered too early.

    Raises:
        ClientFailedError: it was not acknowledged; the library asks again by itself, so that it may be done.
    """
    clients: list[AdminClient] = []

    def ask() -> None:
        admin = AdminClient(client_config(bootstrap, REQUEST_MS))
        clients.append(admin)
        where = TopicPartition(topic, partition, below)
        admin.delete_records([where], request_timeout=_BOUND_S - 0.5)[where].result()

    try:
        within(_BOUND_S, "deleting records", ask)
    except ClientFailedError as error:
        if isinstance(error.__cause__, KafkaException):
            raise ClientFailedError(describe(error.__cause__)) from error
        raise
    return clients


class DeletingWorker(Worker):
    """One process, which deletes from a partition drawn at random at irregular times."""

    def __init__(self, context: LogContext, number: int, delete: Delete = delete_records) -> None:
        super().__init__(f"deleting-{number}")
        self._context = context
        self._asking = delete
        self._random = random.Random(number)
        self._recorder = context.recorder(number, "deleter")

    def work(self) -> None:
        """Delete until told to stop."""
        mean_s = self._context.workload.deletions_interval_ms / 1000
        while not self.stopping.wait(self._random.uniform(0.5, 1.5) * mean_s):
            self.do_once()

    def do_once(self) -> None:
        """One deletion, where any record can be deleted."""
        partition = self._random.choice(self._context.partitions_of(self._context.topic))
        share = self._random.uniform(*_SHARE)
        first, end = self._offsets(partition)
        below = first + round(share * (end - first))
        if below > first:
            self._ask(partition, below)

    def _ask(self, partition: int, below: int) -> None:
        topic, where = self._context.topic, [[partition, below]]
        self._recorder.invoke("delete-records", topic, where)
        try:
            client = self._asking(self._context.bootstrap, topic, partition, below)
        except ClientFailedError as error:
            self._recorder.complete(OperationType.INFO, where, str(error))
            return
        self._recorder.complete(OperationType.OK, where)
        self._context.deletions.acknowledged(topic, partition)
        del client

    def _offsets(self, partition: int) -> tuple[int, int]:
        """Where a partition begins and ends; nothing where no broker tells."""
        client: LogConsumer | None = None
        try:
            client = self._context.clients.consumer(
                ClientKind.CONFLUENT, self._context.topic, Isolation.READ_UNCOMMITTED
            )
            return client.offsets([partition], _OFFSETS_TIMEOUT_S)[partition]
        except (ClientFailedError, ReadError):
            return 0, 0
        finally:
            self.dismiss(client)
