"""Creates and closes the clients of kafka-python.

Six problems of version 3.0 are fixed here.  A constructor spends all its time on one random bootstrap server,
even if this is paused, and leaves its sockets open when it fails.  A connection that is not established
leaves its socket to the garbage collector, and so does one that is closed while bytes wait to be sent.
``KafkaProducer.close(timeout)`` raises and leaves its thread running while records wait.  Joining a
consumer's thread has no time limit.
"""

import logging
from collections.abc import Sequence
from socket import socket as Socket
from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener
from kafka.net.compat import KafkaNetClient
from kafka.net.inet import KafkaNetSocket

from harness.clients.bounded import within
from harness.clients.interface import ClientFailedError
from harness.kafka.wire import answers
from harness.record.journal import describe

_PROBE_S = 0.5
_QUICK = {"reconnect_backoff_ms": 50, "reconnect_backoff_max_ms": 1000, "metadata_max_age_ms": 5000}
_SETUP = {"socket_connection_setup_timeout_ms": 2000, "socket_connection_setup_timeout_max_ms": 4000}

logging.getLogger("kafka").setLevel(logging.CRITICAL + 1)  # the history records what failed, stderr need not


class _Sockets:
    """The sockets of one network client, kept until they are closed."""

    def __init__(self) -> None:
        self._open: list[Socket] = []

    def append(self, made: Socket) -> None:
        self._open = [one for one in self._open if one.fileno() >= 0] + [made]

    def close(self) -> None:
        for one in self._open:
            one.close()


class _OwnedSocket(KafkaNetSocket):  # type: ignore[misc]  # the library has no types
    """Connects directly; each socket belongs to the network client that requested it."""

    SCHEMES = ("krucible-direct",)
    """The library selects a class of sockets by the scheme of a proxy's URL."""

    def socket(self, *kind: int) -> Socket:
        """A new socket, remembered."""
        made: Socket = super().socket(*kind)
        self._socket = made
        return made

    async def connect(self, net: Any, *where: object, **options: object) -> Socket:
        """Connect the new socket, or close it."""
        try:
            connected: Socket = await super().connect(net, *where, **options)
        except BaseException:
            self._socket.close()
            raise
        net.krucible_sockets.append(connected)
        return connected


class _Network(KafkaNetClient):  # type: ignore[misc]  # the library has no types
    """Closes every socket when it is closed: the library waits for bytes that will not arrive."""

    def __init__(self, **config: object) -> None:
        super().__init__(**{**config, **_SETUP, "proxy_url": f"{_OwnedSocket.SCHEMES[0]}://"})
        self._net.krucible_sockets = self._sockets = _Sockets()

    def close(self, node_id: object = None) -> None:
        """Close one node's connection, or all connections."""
        try:
            super().close(node_id)
        finally:
            if node_id is None:
                self._sockets.close()


class _Networks:
    """Makes network clients for the library, and closes the last one if its owner could not be made."""

    def __init__(self) -> None:
        self._last: _Network | None = None

    def __call__(self, **config: object) -> _Network:
        self._last = _Network(**config)
        return self._last

    def close(self) -> None:
        if self._last is not None:
            self._last.close()


def made_client(owner: type[Any], bootstrap: Sequence[str], **config: object) -> Any:
    """A client of the library, of the class `owner`.

    Raises:
        ClientFailedError: no broker answered, or the library could not make it.
    """
    networks = _Networks()
    servers = _answering(bootstrap)
    quiet = {"metrics_enabled": False} if "metrics_enabled" in owner.DEFAULT_CONFIG else {}
    try:
        return owner(bootstrap_servers=servers, kafka_client=networks, **quiet, **_QUICK, **config)
    except Exception as error:
        networks.close()
        raise ClientFailedError(describe(error)) from error


def _answering(bootstrap: Sequence[str]) -> list[str]:
    """The servers that are alive, in their order."""
    found = []
    for server in bootstrap:
        host, _, port = server.rpartition(":")
        if answers(host, int(port), _PROBE_S):
            found.append(server)
    if not found:
        raise ClientFailedError(f"none of {', '.join(bootstrap)} answers")
    return found


class EndableProducer(KafkaProducer):  # type: ignore[misc]  # the library has no types
    """A producer that can be closed within a bounded time."""

    def end(self) -> None:
        """Stop at once; waiting records are aborted."""
        sender = getattr(self, "_sender", None)
        if sender is not None:
            sender.force_close()
            sender.join()
        self.close(timeout=0)


def producer_bounds(delivery_ms: int, request_ms: int, connect_ms: int) -> dict[str, object]:
    """A producer's configured time limits; it sends at once and creates no topics."""
    return {
        "linger_ms": 0,
        "delivery_timeout_ms": delivery_ms,
        "request_timeout_ms": request_ms,
        "max_block_ms": request_ms,
        "bootstrap_timeout_ms": connect_ms,
        "allow_auto_create_topics": False,
    }


def subscribe(consumer: KafkaConsumer, topic: str, listener: AsyncConsumerRebalanceListener) -> None:
    """Have a consumer of the library subscribe to a topic.

    Raises:
        ClientFailedError: the library refuses.
    """
    try:
        consumer.subscribe([topic], listener=listener)
    except Exception as error:
        raise ClientFailedError(describe(error)) from error


def end_consumer(consumer: KafkaConsumer, timeout_s: float, what: str) -> None:
    """Close a consumer of the library without committing.

    Raises:
        ClientFailedError: it did not end within `timeout_s`.
    """

    def end() -> None:
        try:
            consumer.close(autocommit=False, timeout_ms=int(timeout_s * 1000))
        finally:
            consumer._client.close()  # noqa: SLF001 - the library skips this where its coordinator raises

    within(timeout_s, f"closing {what}", end)
