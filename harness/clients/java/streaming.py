"""A member of an application of Kafka Streams, in a process that has a JVM and nothing else.

The processor is written in Python: the library calls it in its own thread.  The store is in memory, so
RocksDB is not needed, and every new task restores its counts from the changelog.
"""

import threading
from collections.abc import Callable
from typing import Any

import msgspec

from checkers.history.streams import Counted
from harness.clients.interface import ClientFailedError
from harness.clients.java.jvm import (
    JavaError,
    detach,
    duration,
    implemented,
    java,
    names,
    properties,
    to_java,
    to_python,
)
from harness.clients.java.producing import client_config, error_text
from harness.clients.streams import NOT_STARTED, StreamsOptions, StreamsStatus

_STREAMS = "org.apache.kafka.streams."
_SERIALIZATION = "org.apache.kafka.common.serialization."
_STORE = "counts"
_COUNTER = "counter"
_COMMIT_MS = 200


class JavaStreams:
    """The other end of a `RemoteStreams`.

    It is made in a thread of its own, because loading its classes takes long on a busy host.
    """

    def __init__(self, options: StreamsOptions) -> None:
        self._processed = 0
        self._error: str | None = None
        self._options = options
        self._streams: Any = None
        self._failure: BaseException | None = None
        threading.Thread(target=self._start, daemon=True).start()

    def status(self) -> StreamsStatus:
        """As promised by `StreamsMember.status`."""
        if self._failure is not None:
            raise RuntimeError("the member failed") from self._failure
        streams = self._streams
        state = NOT_STARTED if streams is None else str(streams.state().name())
        return StreamsStatus(state, self._processed, self._error)

    def close(self, timeout_s: float) -> None:
        """As promised by `StreamsMember.close`, but for its process."""
        if self._streams is not None and not self._streams.close(duration(timeout_s)):
            raise ClientFailedError(f"it did not close within {timeout_s:.1f} s")

    def _start(self) -> None:
        try:
            configured = java(_STREAMS + "StreamsConfig")(properties(_config(self._options)))
            streams = java(_STREAMS + "KafkaStreams")(self._topology(), configured)
            handler = _STREAMS + "errors.StreamsUncaughtExceptionHandler"
            streams.setUncaughtExceptionHandler(implemented(handler, handle=self._replaced))
            streams.start()
            self._streams = streams
        except JavaError as error:
            self._error = error_text(error)
        except BaseException as error:  # noqa: BLE001 - raised by the next call, so that it ends the run
            self._failure = error
        finally:
            detach()

    def _topology(self) -> Any:
        stores = java(_STREAMS + "state.Stores")
        serdes = java(_SERIALIZATION + "Serdes")
        to_bytes, of_bytes = (
            java(f"{_SERIALIZATION}ByteArray{kind}")() for kind in ("Serializer", "Deserializer")
        )
        store = stores.keyValueStoreBuilder(
            stores.inMemoryKeyValueStore(_STORE), serdes.String(), serdes.Long()
        )
        topology = java(_STREAMS + "Topology")()
        topology.addSource("source", of_bytes, of_bytes, names(self._options.source))
        supplier = implemented(
            _STREAMS + "processor.api.ProcessorSupplier", get=self._processor, stores=_nothing
        )
        topology.addProcessor(_COUNTER, supplier, names("source"))
        topology.addStateStore(store, names(_COUNTER))
        partitioner = implemented(_STREAMS + "processor.StreamPartitioner", partitions=_same_partition)
        topology.addSink("sink", self._options.target, to_bytes, to_bytes, partitioner, names(_COUNTER))
        return topology

    def _processor(self) -> Any:
        """A processor of a task; the library asks for a new one whenever it makes a task."""
        counting = _Counting(self._options.member, self._add, self._failed)
        return implemented(
            _STREAMS + "processor.api.Processor",
            init=counting.init,
            process=counting.process,
            close=_nothing,
        )

    def _add(self) -> None:
        self._processed += 1

    def _failed(self, error: Exception) -> None:
        self._failure = error

    def _replaced(self, error: Any) -> Any:
        """What to do after an exception that ended a thread."""
        self._error = f"{error.getClass().getSimpleName()}: {error.getMessage()}"
        response = f"{_STREAMS}errors.StreamsUncaughtExceptionHandler$StreamThreadExceptionResponse"
        return java(response).REPLACE_THREAD


class _Counting:
    """Counts the records of each key in one partition, and forwards each with its count."""

    def __init__(
        self, member: str, processed: Callable[[], None], failed: Callable[[Exception], None]
    ) -> None:
        self._member = member
        self._failed = failed
        self._processed = processed
        self._context: Any = None
        self._store: Any = None

    def init(self, context: Any) -> None:
        """Begin a task, whose store has been restored."""
        self._context = context
        self._store = context.getStateStore(_STORE)

    def process(self, record: Any) -> None:
        """Count one record; an exception that is not Java's is a defect of the harness, and is reported."""
        try:
            self._count(record)
        except JavaError:
            raise
        except Exception as error:
            self._failed(error)
            raise

    def _count(self, record: Any) -> None:
        key = (to_python(record.key()) or b"").decode(errors="replace")
        before = self._store.get(key)
        count = 1 + (0 if before is None else int(before.longValue()))
        self._store.put(key, java("java.lang.Long").valueOf(count))
        where = self._context.recordMetadata().get()
        value = (to_python(record.value()) or b"").decode(errors="replace")
        counted = Counted(self._member, int(where.partition()), int(where.offset()), key, count, value)
        partition = str(counted.partition).encode()
        self._context.forward(
            record.withKey(to_java(partition)).withValue(to_java(msgspec.json.encode(counted)))
        )
        self._processed()


def _same_partition(_topic: Any, key: Any, *_more: Any) -> Any:
    """The partition of the output: that of the input, which is the key.

    4.4 also has a method of this name with the record's headers, and calls that one.
    """
    number = java("java.lang.Integer").valueOf(int(to_python(key) or b"0"))
    return java("java.util.Optional").of(java("java.util.Set").of(number))


def _nothing() -> None:
    """Do nothing, or supply nothing."""


def _config(options: StreamsOptions) -> dict[str, object]:
    return client_config(
        options.bootstrap,
        options.request_ms,
        application_id=options.application,
        client_id=options.member,
        processing_guarantee="exactly_once_v2",
        group_protocol="streams",
        num_stream_threads=1,
        commit_interval_ms=_COMMIT_MS,
        statestore_cache_max_bytes=0,
        replication_factor=3,
        producer_transaction_timeout_ms=options.transaction_timeout_ms,
        main_consumer_auto_offset_reset="earliest",
    )
