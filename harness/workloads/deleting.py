"""A process that deletes the oldest records of a partition at intervals (KIP-107)."""

import random
from collections.abc import Callable

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from checkers.history.operations import OperationType
from checkers.history.polls import Isolation
from harness.clients.bounded import within
from harness.clients.confluent import client_config
from harness.clients.interface import ClientFailedError, ClientKind, LogConsumer, ReadError
from harness.record.journal import Recorder, describe
from harness.vocabulary import Workload
from harness.workloads.context import REQUEST_MS, LogContext, WorkloadContext
from harness.workloads.worker import CLOSE_BOUND_S, Worker

_SHARE = (0.1, 0.4)
"""Bounds of the share of existing records that is deleted, the oldest ones first."""
_OFFSETS_TIMEOUT_S = 2.0
_BOUND_S = 2.5
_ROLE = "deleter"
_ALONE = "deleter-alone"
"""Name of the deleter that a script controls, in addition to the workload's own."""

AnyContext = WorkloadContext[Workload]
Where = tuple[str, int]
"""A partition: its topic and number."""

Delete = Callable[[tuple[str, ...], str, int, int], object]
"""Asks servers to delete the records of a topic's partition below an offset, as `delete_records` does."""


def delete_records(bootstrap: tuple[str, ...], topic: str, partition: int, below: int) -> object:
    """Delete the records of a partition below an offset, and wait for the answer.

    Returns:
        The client, to be let go of once the answer is recorded: its end takes longer than a follower needs
        to catch up with what was answered too early.

    Raises:
        ClientFailedError: it was not acknowledged; it may be done, because the library retries by itself.
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


class _Deletes(Worker):
    """A worker that deletes the oldest records of partitions."""

    def __init__(self, name: str, context: AnyContext, recorder: Recorder, delete: Delete) -> None:
        super().__init__(name)
        self._context = context
        self._recorder = recorder
        self._asking = delete

    def delete(self, topic: str, partition: int, share: float) -> None:
        """Delete a share of the records of a partition, if it has any."""
        first, end = self._offsets(topic, partition)
        below = first + round(share * (end - first))
        if below > first:
            self._ask(topic, partition, below)

    def _ask(self, topic: str, partition: int, below: int) -> None:
        where = [[partition, below]]
        self._recorder.invoke("delete-records", topic, where)
        try:
            client = self._asking(self._context.bootstrap, topic, partition, below)
        except ClientFailedError as error:
            self._recorder.complete(OperationType.INFO, where, str(error))
            return
        self._recorder.complete(OperationType.OK, where)
        self._context.deletions.acknowledged(topic, partition)
        del client

    def _offsets(self, topic: str, partition: int) -> tuple[int, int]:
        """The start and end offset of a partition; equal if no broker reports them."""
        client: LogConsumer | None = None
        try:
            client = self._context.clients.consumer(ClientKind.CONFLUENT, topic, Isolation.READ_UNCOMMITTED)
            return client.offsets([partition], _OFFSETS_TIMEOUT_S)[partition]
        except (ClientFailedError, ReadError):
            return 0, 0
        finally:
            self.dismiss(client)


class DeletingWorker(_Deletes):
    """One process that deletes records of random partitions at irregular times."""

    def __init__(self, context: LogContext, number: int, delete: Delete = delete_records) -> None:
        super().__init__(f"deleting-{number}", context, context.recorder(number, _ROLE), delete)
        self._mean_s = context.workload.deletions_interval_ms / 1000
        self._random = random.Random(number)

    def work(self) -> None:
        """Delete records at irregular times, until stopped."""
        while not self.stopping.wait(self._random.uniform(0.5, 1.5) * self._mean_s):
            self.do_once()

    def do_once(self) -> None:
        """Make one deletion, if any record can be deleted."""
        partition = self._random.choice(self._context.partitions_of(self._context.topic))
        self.delete(self._context.topic, partition, self._random.uniform(*_SHARE))


class OneDeletion(_Deletes):
    """A deletion of some of the oldest records of one partition."""

    bound_s = _OFFSETS_TIMEOUT_S + _BOUND_S + CLOSE_BOUND_S

    def __init__(
        self, context: AnyContext, recorder: Recorder, where: Where, share: float, delete: Delete
    ) -> None:
        super().__init__("one-deletion", context, recorder, delete)
        self._where = where
        self._share = share

    def work(self) -> None:
        """Delete the oldest records of the partition once."""
        self.delete(*self._where, self._share)


class Deletions:
    """Makes single deletions, for one process of the history; one begins after the previous one has ended.

    Args:
        context: context of the run.
        delete: sends the requests.
    """

    def __init__(self, context: AnyContext, delete: Delete = delete_records) -> None:
        self._context = context
        self._delete = delete
        self._recorder: Recorder | None = None

    def one(self, where: Where, share: float) -> OneDeletion:
        """A deletion of a share of the records of a partition, given its topic and number."""
        if self._recorder is None:
            self._recorder = Recorder(self._context.journals.open(_ALONE, _ROLE), _ALONE)
        return OneDeletion(self._context, self._recorder, where, share, self._delete)
