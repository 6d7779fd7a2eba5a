"""Members and administrators of share groups of kafka-clients, in the process that has the JVM."""

from collections.abc import Mapping, Sequence
from typing import Any

from checkers.history.units import MS_PER_S
from harness.clients.interface import ClientFailedError, ReadError
from harness.clients.java.jvm import JavaError, cause_of, duration, java, listed, properties, to_python
from harness.clients.java.producing import client_config, close, error_text, made
from harness.clients.share import Acknowledgement, ShareAdminOptions, SharedRecord, ShareOptions

_DESERIALIZER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"


class JavaShareConsumer:
    """A `ShareConsumer`; made without asking any broker."""

    def __init__(self, options: ShareOptions) -> None:
        self._options = options
        self._records: dict[tuple[int, int], Any] = {}
        self._consumer = made(
            "org.apache.kafka.clients.consumer.KafkaShareConsumer",
            client_config(
                options.bootstrap,
                options.request_ms,
                key_deserializer=_DESERIALIZER,
                value_deserializer=_DESERIALIZER,
                group_id=options.group,
                share_acknowledgement_mode="explicit",
                share_acquire_mode="record_limit",
                max_poll_records=options.poll_records_max,
                default_api_timeout_ms=options.request_ms,
                fetch_max_wait_ms=min(250, options.request_ms - 1),
            ),
        )
        self._consumer.subscribe(listed([options.topic]))

    def poll(self, max_wait_s: float) -> list[SharedRecord]:
        """As promised by `ShareConsumer.poll`."""
        try:
            returned = self._consumer.poll(duration(max_wait_s))
        except JavaError as error:
            raise ReadError(error_text(error)) from None
        held, self._records = (
            self._records,
            {(int(one.partition()), int(one.offset())): one for one in returned},
        )
        # The client returns the same object again if its lock was renewed; a broker's record is another one.
        return [
            SharedRecord(
                *place, to_python(one.value()), int(one.deliveryCount().get()), renewed=held.get(place) == one
            )
            for place, one in self._records.items()
        ]

    def acknowledge(self, acknowledgements: Sequence[Acknowledgement]) -> dict[int, str]:
        """As promised by `ShareConsumer.acknowledge`; a partition without an answer is not confirmed."""
        types = java("org.apache.kafka.clients.consumer.AcknowledgeType")
        unconfirmed = {partition: "no answer" for partition, _, _ in acknowledgements}
        try:
            for partition, offset, kind in acknowledgements:
                self._consumer.acknowledge(self._records[partition, offset], types.valueOf(kind.upper()))
            answers = self._consumer.commitSync(duration(self._options.request_ms / MS_PER_S))
        except JavaError as error:
            raise ReadError(error_text(error)) from None
        for answer in answers.entrySet():
            partition, failure = int(answer.getKey().partition()), answer.getValue()
            unconfirmed.pop(partition, None)
            if failure.isPresent():
                unconfirmed[partition] = error_text(failure.get())
        return unconfirmed

    def close(self, timeout_s: float) -> None:
        """As promised by `ShareConsumer.close`; it asks no broker for long."""
        del timeout_s
        close(self._consumer)


class JavaShareAdmin:
    """A `ShareAdmin`; made without asking any broker."""

    def __init__(self, options: ShareAdminOptions) -> None:
        self._options = options
        config = client_config(
            options.bootstrap, options.request_ms, default_api_timeout_ms=options.request_ms
        )
        try:
            self._admin = java("org.apache.kafka.clients.admin.Admin").create(properties(config))
        except JavaError as error:
            raise ClientFailedError(error_text(error)) from None

    def configure(self, group: str, configs: Mapping[str, str]) -> None:
        """As promised by `ShareAdmin.configure`."""
        of_group = java("org.apache.kafka.common.config.ConfigResource$Type").GROUP
        resource = java("org.apache.kafka.common.config.ConfigResource")(of_group, group)
        operation = java("org.apache.kafka.clients.admin.AlterConfigOp")
        entry = java("org.apache.kafka.clients.admin.ConfigEntry")
        changes = java("java.util.HashMap")()
        changes.put(
            resource,
            listed([operation(entry(name, value), operation.OpType.SET) for name, value in configs.items()]),
        )
        self._answer(self._admin.incrementalAlterConfigs(changes).all())

    def starts(self, group: str, topic: str, partitions: Sequence[int]) -> dict[int, int | None]:
        """As promised by `ShareAdmin.starts`."""
        place = java("org.apache.kafka.common.TopicPartition")
        places = {partition: place(topic, partition) for partition in partitions}
        spec = java("org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec")()
        wanted = java("java.util.HashMap")()
        wanted.put(group, spec.topicPartitions(listed(list(places.values()))))
        future = self._admin.listShareGroupOffsets(wanted).partitionsToOffsetInfo(group)
        infos = self._answer(future)
        found = {partition: infos.get(one) for partition, one in places.items()}
        return {p: None if one is None else int(one.startOffset()) for p, one in found.items()}

    def close(self, timeout_s: float) -> None:
        """As promised by `ShareAdmin.close`."""
        del timeout_s
        close(self._admin)

    def _answer(self, future: Any) -> Any:
        unit = java("java.util.concurrent.TimeUnit").MILLISECONDS
        try:
            return future.get(self._options.request_ms, unit)
        except JavaError as error:
            raise ReadError(error_text(cause_of(error))) from None
