"""The administrator of kafka-clients, in the process that has the JVM.

It retries requests by itself, so no answer proves that a change was not made.  As with confluent-kafka,
offsets are committed and fetched by consumers, one for each group, that never subscribe.  A consumer whose
call failed is replaced: the library answers the next fetch of the same offsets with the answer to the last
one that is still under way (``ConsumerCoordinator.pendingCommittedOffsetRequest``), which may be too old.
"""

from collections.abc import Callable
from typing import Any

from checkers.history.operations import OperationType
from checkers.history.units import MS_PER_S
from harness.clients.administrator import AdminAnswer, AdministratorOptions
from harness.clients.interface import ClientFailedError
from harness.clients.java.jvm import JavaError, cause_of, duration, java, listed, properties
from harness.clients.java.producing import client_config, close, error_text, made

_ADMIN = "org.apache.kafka.clients.admin."
_CONSUMER = "org.apache.kafka.clients.consumer."
_DESERIALIZER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
_OF_TOPIC = "DYNAMIC_TOPIC_CONFIG"
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The id of a topic if the broker reports none."""


class JavaAdministrator:
    """The other end of a `RemoteAdministrator`; made without asking any broker."""

    def __init__(self, options: AdministratorOptions) -> None:
        self._options = options
        self._groups: dict[str, Any] = {}
        self._admin: Any = None

    def commit_offset(self, group: str, topic: str, partition: int, offset: int) -> AdminAnswer:
        """As promised by `Administrator.commit_offset`."""
        where = java("java.util.HashMap")()
        where.put(_place(topic, partition), java(_CONSUMER + "OffsetAndMetadata")(offset))
        return self._by_consumer(group, lambda consumer: consumer.commitSync(where, self._patience()))

    def committed_offset(self, group: str, topic: str, partition: int) -> AdminAnswer:
        """See `Administrator.committed_offset`; a stable one (KIP-447)."""
        place = _place(topic, partition)

        def asked(consumer: Any) -> int | None:
            wanted = java("java.util.HashSet")(listed([place]))
            found = consumer.committed(wanted, self._patience()).get(place)
            return None if found is None else int(found.offset())

        return self._by_consumer(group, asked, OperationType.FAIL)

    def alter_config(self, topic: str, key: str, value: int) -> AdminAnswer:
        """As promised by `Administrator.alter_config`."""

        def asked(admin: Any) -> None:
            operation, changes = java(_ADMIN + "AlterConfigOp"), java("java.util.HashMap")()
            entry = java(_ADMIN + "ConfigEntry")(key, str(value))
            changes.put(_resource(topic), listed([operation(entry, operation.OpType.SET)]))
            self._result(admin.incrementalAlterConfigs(changes).all())

        return self._by_admin(asked)

    def config(self, topic: str, key: str) -> AdminAnswer:
        """See `Administrator.config`; the library chooses the broker."""

        def asked(admin: Any) -> int | None:
            resource = _resource(topic)
            described = self._result(admin.describeConfigs(listed([resource])).all())
            entry = described.get(resource).get(key)
            return int(str(entry.value())) if str(entry.source().name()) == _OF_TOPIC else None

        return self._by_admin(asked, OperationType.FAIL)

    def create_topic(self, topic: str, partitions: int, replication_factor: int) -> AdminAnswer:
        """As promised by `Administrator.create_topic`."""

        def asked(admin: Any) -> str | None:
            new = java(_ADMIN + "NewTopic")(topic, partitions, replication_factor)
            given = str(self._result(admin.createTopics(listed([new])).topicId(topic)))
            return None if given == _NO_ID else given

        return self._by_admin(asked)

    def delete_topic(self, topic: str) -> AdminAnswer:
        """As promised by `Administrator.delete_topic`."""

        def asked(admin: Any) -> None:
            self._result(admin.deleteTopics(listed([topic])).all())

        return self._by_admin(asked)

    def close(self, timeout_s: float) -> None:
        """As promised by `Administrator.close`; it asks no broker for long."""
        del timeout_s
        while self._groups:
            close(self._groups.popitem()[1])
        if self._admin is not None:
            close(self._admin)

    def _by_consumer(
        self, group: str, ask: Callable[[Any], Any], otherwise: OperationType = OperationType.INFO
    ) -> AdminAnswer:
        """What a group's consumer answers; after an error it is closed."""
        try:
            if group not in self._groups:
                self._groups[group] = made(_CONSUMER + "KafkaConsumer", _of_group(self._options, group))
            return AdminAnswer(OperationType.OK, ask(self._groups[group]))
        except ClientFailedError as error:
            return AdminAnswer(OperationType.FAIL, error=f"no client, nothing sent: {error}")
        except JavaError as error:
            answer = _failed(error, otherwise)
        try:
            close(self._groups.pop(group))
        except ClientFailedError as error:
            return answer._replace(error=f"{answer.error}; {error}")
        return answer

    def _by_admin(
        self, ask: Callable[[Any], Any], otherwise: OperationType = OperationType.INFO
    ) -> AdminAnswer:
        options = self._options
        config = client_config(
            options.bootstrap, options.request_ms, default_api_timeout_ms=options.operation_ms
        )
        try:
            if self._admin is None:
                self._admin = java(_ADMIN + "Admin").create(properties(config))
            return AdminAnswer(OperationType.OK, ask(self._admin))
        except JavaError as error:
            return _failed(cause_of(error), otherwise)

    def _result(self, future: Any) -> Any:
        return future.get(self._options.operation_ms, java("java.util.concurrent.TimeUnit").MILLISECONDS)

    def _patience(self) -> Any:
        return duration(self._options.operation_ms / MS_PER_S)


def _failed(error: BaseException, otherwise: OperationType) -> AdminAnswer:
    """A change may have been made by an earlier attempt, whatever the error; a read returned nothing."""
    if otherwise is OperationType.FAIL:
        return AdminAnswer(otherwise, error=error_text(error))
    return AdminAnswer(otherwise, error=f"{error_text(error)} (an earlier attempt may have been carried out)")


def _place(topic: str, partition: int) -> Any:
    return java("org.apache.kafka.common.TopicPartition")(topic, partition)


def _resource(topic: str) -> Any:
    of_topic = java("org.apache.kafka.common.config.ConfigResource$Type").TOPIC
    return java("org.apache.kafka.common.config.ConfigResource")(of_topic, topic)


def _of_group(options: AdministratorOptions, group: str) -> dict[str, object]:
    return client_config(
        options.bootstrap,
        options.request_ms,
        key_deserializer=_DESERIALIZER,
        value_deserializer=_DESERIALIZER,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="none",
        isolation_level="read_committed",
        default_api_timeout_ms=options.operation_ms,
        allow_auto_create_topics=False,
    )
