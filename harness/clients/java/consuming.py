"""The consumer of kafka-clients, in the process that has the JVM."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.clients.interface import ConsumerOptions, Message, ReadError, carried
from harness.clients.java.jvm import JavaError, duration, java, listed, to_python
from harness.clients.java.producing import client_config, close, error_text, made

_DESERIALIZER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"


class JavaConsumer:
    """A `LogConsumer`; made without asking any broker."""

    def __init__(self, options: ConsumerOptions) -> None:
        self._options = options
        self._consumer = made(
            "org.apache.kafka.clients.consumer.KafkaConsumer",
            client_config(
                options.bootstrap,
                options.request_ms,
                key_deserializer=_DESERIALIZER,
                value_deserializer=_DESERIALIZER,
                enable_auto_commit=False,
                auto_offset_reset="none",
                isolation_level=options.isolation.value,
                default_api_timeout_ms=options.request_ms,
                fetch_max_wait_ms=min(250, options.request_ms - 1),
                max_poll_records=options.poll_records_max,
                allow_auto_create_topics=False,
            ),
        )

    def assign(self, positions: Mapping[int, int]) -> None:
        """As promised by `LogConsumer.assign`."""
        try:
            self._consumer.assign(listed(self._places(positions)))
            for partition, offset in positions.items():
                self._consumer.seek(self._place(partition), offset)
        except JavaError as error:
            raise _read_error(error) from None

    def poll(self, max_wait_s: float) -> list[Message]:
        """As promised by `LogConsumer.poll`."""
        try:
            returned = self._consumer.poll(duration(max_wait_s))
        except JavaError as error:
            raise _read_error(error) from None
        return [
            Message(int(one.partition()), int(one.offset()), carried(to_python(one.value()), _headers(one)))
            for one in returned
        ]

    def position(self, partition: int) -> int | None:
        """As promised by `LogConsumer.position`."""
        try:
            return int(
                self._consumer.position(self._place(partition), duration(self._options.request_ms / 1000))
            )
        except JavaError as error:
            raise _read_error(error) from None

    def offsets(self, partitions: Sequence[int], timeout_s: float) -> dict[int, tuple[int, int]]:
        """As promised by `LogConsumer.offsets`."""
        places = self._places(partitions)
        wanted, patience = listed(places), duration(timeout_s / 2)
        try:
            first = self._consumer.beginningOffsets(wanted, patience)
            end = self._consumer.endOffsets(wanted, patience)
        except JavaError as error:
            raise _read_error(error) from None
        found = zip(partitions, places, strict=True)
        return {partition: (int(first.get(place)), int(end.get(place))) for partition, place in found}

    def close(self, timeout_s: float) -> None:
        """As promised by `LogConsumer.close`."""
        del timeout_s
        close(self._consumer)

    def _place(self, partition: int) -> Any:
        return java("org.apache.kafka.common.TopicPartition")(self._options.topic, partition)

    def _places(self, partitions: Iterable[int]) -> list[Any]:
        return [self._place(partition) for partition in partitions]


def _headers(record: Any) -> list[tuple[str, bytes | None]]:
    """The headers of a tombstone; nothing else has its value there."""
    if record.value() is not None:
        return []
    return [(str(header.key()), to_python(header.value())) for header in record.headers()]


def _read_error(error: Any) -> ReadError:
    """An error of a read, with the partitions whose position is gone."""
    gone = isinstance(error, java("org.apache.kafka.clients.consumer.InvalidOffsetException"))
    return ReadError(error_text(error), [int(p.partition()) for p in error.partitions()] if gone else ())
