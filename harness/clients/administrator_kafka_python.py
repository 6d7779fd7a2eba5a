"""kafka-python's administrator behind the interface; it sends each OffsetCommit once.

It caches coordinators, so it can't be used after an error.  Its requests have time limits, but its calls have
none.
"""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import BrokerResponseError
from kafka.structs import OffsetAndMetadata

from checkers.history.operations import OperationType
from checkers.history.units import MS_PER_S
from harness.clients.administrator import AdminAnswer, AdministratorOptions
from harness.clients.administrator_errors import NOT_FOUND, classify_commit
from harness.clients.bounded import within
from harness.clients.interface import ClientFailedError
from harness.clients.kafka_python_making import made_client
from harness.kafka.answers import kafka_uuid
from harness.record.journal import describe


class KafkaPythonAdministrator:
    """An `Administrator`.

    Attributes:
        spent: whether any call ended without success.

    Raises:
        ClientFailedError: no broker answered.
    """

    def __init__(self, options: AdministratorOptions) -> None:
        self._options = options
        self.spent = False
        self._admin = made_client(
            KafkaAdminClient,
            options.bootstrap,
            request_timeout_ms=options.request_ms,
            bootstrap_timeout_ms=options.connect_ms,
        )

    def commit_offset(self, group: str, topic: str, partition: int, offset: int) -> AdminAnswer:
        """As promised by `Administrator.commit_offset`."""
        place = TopicPartition(topic, partition)
        where = {place: OffsetAndMetadata(offset, "", -1)}
        try:
            told = self._requested(lambda: self._admin.alter_group_offsets(group, where))
        except Exception as error:  # noqa: BLE001 - every error of the library is recorded as the commit's outcome
            if isinstance(error, BrokerResponseError) and error.errno in NOT_FOUND:
                return AdminAnswer(
                    OperationType.FAIL, error=f"{describe(error)} (no coordinator, nothing sent)"
                )
            return AdminAnswer(OperationType.INFO, error=describe(error))
        refused = told.get(place)
        if refused is None:
            self.spent = True
            return AdminAnswer(OperationType.INFO, error="the answer says nothing of that partition")
        if refused.errno == 0:
            return AdminAnswer(OperationType.OK)
        self.spent = True
        outcome, text = classify_commit(refused.errno, refused.__name__, only_attempt=True)
        return AdminAnswer(outcome, error=text)

    def committed_offset(self, group: str, topic: str, partition: int) -> AdminAnswer:
        """See `Administrator.committed_offset`; the library can't request stable offsets."""
        place = TopicPartition(topic, partition)

        def ask() -> int | None:
            offset: int = self._admin.list_group_offsets({group: [place]})[group][place].offset
            return offset if offset >= 0 else None

        return self._answered(ask, OperationType.FAIL)

    def alter_config(self, topic: str, key: str, value: int) -> AdminAnswer:
        """As promised by `Administrator.alter_config`."""
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, {key: str(value)})

        def ask() -> None:
            result = self._admin.alter_configs([resource], raise_on_unknown=False, incremental=True)
            said = result["topic"][topic]
            if said != "OK":
                raise ClientFailedError(said)

        return self._answered(ask)

    def config(self, topic: str, key: str) -> AdminAnswer:
        """See `Administrator.config`; the library chooses the broker."""
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, {key: None})

        def ask() -> int | None:
            said = self._admin.describe_configs([resource], config_filter="all")["topic"][topic][key]
            return int(said["value"]) if said["config_source"] == "DYNAMIC_TOPIC_CONFIG" else None

        return self._answered(ask, OperationType.FAIL)

    def create_topic(self, topic: str, partitions: int, replication_factor: int) -> AdminAnswer:
        """As promised by `Administrator.create_topic`."""
        asked = {topic: {"num_partitions": partitions, "replication_factor": replication_factor}}

        def ask() -> str | None:
            made = self._admin.create_topics(asked, timeout_ms=self._options.request_ms)["topics"][0]
            told = made.get("topic_id")  # a text since 3.0 of the library
            return kafka_uuid(UUID(told)) if told else None

        return self._answered(ask)

    def delete_topic(self, topic: str) -> AdminAnswer:
        """As promised by `Administrator.delete_topic`."""

        def ask() -> None:
            self._admin.delete_topics([topic], timeout_ms=self._options.request_ms)

        return self._answered(ask)

    def close(self, timeout_s: float) -> None:
        """As promised by `Administrator.close`."""
        within(timeout_s, "closing kafka-python's administrator", self._admin.close)

    def _requested(self, ask: Callable[[], Any]) -> Any:
        """Return or raise what the call does; ClientFailedError if it does neither in time."""
        self.spent = True
        returned: list[Any] = []
        try:
            bound_s = self._options.operation_ms / MS_PER_S
            within(bound_s, "the operation", lambda: returned.append(ask()))
        except ClientFailedError as error:
            raise error.__cause__ or error from None
        self.spent = False
        return returned[0]

    def _answered(self, ask: Callable[[], Any], otherwise: OperationType = OperationType.INFO) -> AdminAnswer:
        try:
            return AdminAnswer(OperationType.OK, self._requested(ask))
        except Exception as error:  # noqa: BLE001 - every error of the library is recorded as the request's outcome
            return AdminAnswer(otherwise, error=describe(error))
