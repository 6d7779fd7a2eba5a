"""confluent-kafka's (librdkafka's) administrator behind the interface.

It retries requests by itself, so no answer proves that a change was not made.  Offsets are committed and
fetched by consumers, one for each group, that never subscribe.  The library's administrative calls for
offsets ended the whole process (SIGSEGV, librdkafka 2.16.0) while coordinators still answered
NOT_COORDINATOR.
"""

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource, ConfigSource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from checkers.history.operations import OperationType
from checkers.history.units import MS_PER_S
from harness.clients.administrator import AdminAnswer, AdministratorOptions
from harness.clients.bounded import within
from harness.clients.confluent import client_config, error_text

_GRACE_S = 0.5
_POLL_S = 0.05


class ConfluentAdministrator:
    """An `Administrator`; made without asking any broker.

    Attributes:
        spent: whether a call about configs or topics failed.  Until the next refresh of its metadata, the
            library only uses the broker that it considers the controller, and two of its threads spin while
            this broker is down.  Consumers find new coordinators by themselves.
    """

    def __init__(self, options: AdministratorOptions) -> None:
        self._options = options
        self.spent = False
        self._groups: dict[str, _Group] = {}
        self._admin: AdminClient | None = None
        self._wait_s = options.operation_ms / MS_PER_S
        self._timeouts = {"request_timeout": self._wait_s - _GRACE_S}

    def commit_offset(self, group: str, topic: str, partition: int, offset: int) -> AdminAnswer:
        """As promised by `Administrator.commit_offset`."""
        where = TopicPartition(topic, partition, offset)
        return _answered(lambda: self._group(group).commit(where, self._wait_s))

    def committed_offset(self, group: str, topic: str, partition: int) -> AdminAnswer:
        """See `Administrator.committed_offset`; a stable one (KIP-447)."""
        where = TopicPartition(topic, partition)
        return _answered(
            lambda: self._group(group).committed(where, self._wait_s - _GRACE_S), OperationType.FAIL
        )

    def alter_config(self, topic: str, key: str, value: int) -> AdminAnswer:
        """As promised by `Administrator.alter_config`."""
        change = ConfigEntry(key, str(value), incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
        return self._requested(lambda admin: admin.incremental_alter_configs([resource], **self._timeouts))

    def config(self, topic: str, key: str) -> AdminAnswer:
        """See `Administrator.config`; the library chooses the broker."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        described = self._requested(
            lambda admin: admin.describe_configs([resource], **self._timeouts), OperationType.FAIL
        )
        if described.outcome is not OperationType.OK:
            return described
        return _answered(lambda: _own_number(described.value[key]), OperationType.FAIL)

    def create_topic(self, topic: str, partitions: int, replication_factor: int) -> AdminAnswer:
        """See `Administrator.create_topic`; the library does not report the id."""
        asked = [NewTopic(topic, num_partitions=partitions, replication_factor=replication_factor)]
        return self._requested(
            lambda admin: admin.create_topics(
                asked, operation_timeout=self._wait_s - _GRACE_S, **self._timeouts
            )
        )

    def delete_topic(self, topic: str) -> AdminAnswer:
        """As promised by `Administrator.delete_topic`."""
        return self._requested(
            lambda admin: admin.delete_topics(
                [topic], operation_timeout=self._wait_s - _GRACE_S, **self._timeouts
            )
        )

    def close(self, timeout_s: float) -> None:
        """See `Administrator.close`; librdkafka ends an admin client when the last reference is gone."""

        def end() -> None:
            self._admin = None
            while self._groups:
                self._groups.popitem()[1].close()

        within(timeout_s, "closing confluent-kafka's administrator", end)

    def _group(self, group: str) -> "_Group":
        if group not in self._groups:
            self._groups[group] = _Group(self._options, group)
        return self._groups[group]

    def _requested(
        self, ask: Callable[[AdminClient], dict[Any, Any]], otherwise: OperationType = OperationType.INFO
    ) -> AdminAnswer:
        """Result of the only future that a call returns."""

        def result() -> Any:
            if self._admin is None:
                self._admin = AdminClient(client_config(self._options.bootstrap, self._options.request_ms))
            (future,) = ask(self._admin).values()
            return future.result(timeout=self._wait_s)

        answer = _answered(result, otherwise)
        self.spent = answer.outcome is not OperationType.OK
        return answer


class _Group:
    """One group's offsets, by a consumer that is not a member of it."""

    def __init__(self, options: AdministratorOptions, group: str) -> None:
        self._ended: dict[int, KafkaError | None] = {}
        config = client_config(
            options.bootstrap,
            options.request_ms,
            group_id=group,
            enable_auto_commit=False,
            isolation_level="read_committed",
            # This is how long a commit waits until a coordinator is found.
            session_timeout_ms=options.operation_ms,
            heartbeat_interval_ms=options.operation_ms // 2,
        )
        self._consumer = Consumer({**config, "on_commit": self._keep})

    def commit(self, where: TopicPartition, timeout_s: float) -> None:
        """Commit, and wait for the outcome.

        Raises:
            KafkaException: it was not acknowledged.
            TimeoutError: no outcome in time.
        """
        deadline = time.monotonic() + timeout_s
        # The outcome of an abandoned commit may arrive while a later one is awaited; offsets distinguish
        # them.
        self._consumer.commit(offsets=[where], asynchronous=True)
        while where.offset not in self._ended:
            if time.monotonic() >= deadline:
                raise TimeoutError(f"no answer to OffsetCommit within {timeout_s:.1f} s")
            self._consumer.poll(_POLL_S)
        error = self._ended.pop(where.offset)
        if error is not None:
            raise KafkaException(error)

    def committed(self, where: TopicPartition, timeout_s: float) -> int | None:
        """The committed offset; None if there is none.

        Raises:
            KafkaException: it was not returned.
        """
        (found,) = self._consumer.committed([where], timeout=timeout_s)
        if found.error is not None:
            raise KafkaException(found.error)
        offset: int = found.offset
        return offset if offset >= 0 else None

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def _keep(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            self._ended[partition.offset] = error or partition.error


def _own_number(entry: Any) -> int | None:
    """The topic's own value as a number; None if it has none."""
    own = entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return int(entry.value) if own else None


def _answered(ask: Callable[[], Any], otherwise: OperationType = OperationType.INFO) -> AdminAnswer:
    try:
        return AdminAnswer(OperationType.OK, ask())
    except Exception as error:  # noqa: BLE001 - every error of the library is recorded as the request's outcome
        return AdminAnswer(otherwise, error=error_text(error))
