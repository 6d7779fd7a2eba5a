"""Requests to one node over one socket, each with a deadline.

Clients hide facts that an observer needs: they ask another node, retry and cache.  Here one request goes to
the given node, and the caller gets its answer or a `WireError`.  Kafka-python's protocol classes encode and
decode.  Versions are negotiated by ApiVersions once per connection, so a node that was restarted with another
version is asked again.
"""

import socket
import struct
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self, TypeVar

from kafka.protocol.metadata import (
    ApiVersionsRequest,
    ApiVersionsResponse,
)

API_VERSIONS_VERSION = 3
"""Every broker from 3.6 on supports it, and it is the first version that reports finalized features."""
METADATA_TOPIC = "__cluster_metadata"
FRAME_BYTES_MAX = 64 * 1024 * 1024
CLIENT_ID = "krucible-observer"

T = TypeVar("T")


class WireError(Exception):
    """The node refused, did not answer in time, closed the connection, or sent an unreadable answer."""


class UnsupportedError(WireError):
    """The node does not know the request in any version that this harness knows, so it was not sent."""


class RequestType(Protocol):
    """The part of kafka-python's classes of requests that negotiation uses."""

    API_KEY: int
    max_version: int


class Request(Protocol):
    """The part of kafka-python's requests that sending uses; a request is encoded in its `API_VERSION`."""

    API_KEY: ClassVar[int]
    max_version: ClassVar[int]
    API_VERSION: int

    @property
    def name(self) -> str:
        """The name of the API."""

    def with_header(self, *, correlation_id: int, client_id: str) -> object:
        """Set the header."""

    def encode(self, *, framed: bool, header: bool) -> bytes:
        """The bytes of the request."""


class ResponseType(Protocol):
    """The part of kafka-python's classes of answers that receiving uses.

    The library publishes no types of its answers, whose fields depend on the version.
    """

    def decode(self, data: bytes, *, version: int, header: bool) -> Any:
        """Read an answer."""


class Connection:
    """One socket to one node; requests go one at a time.

    Args:
        host: address of the listener.
        port: its port.
        timeout_s: for connecting, and again for every request.

    Raises:
        WireError: it can't be connected, or does not answer ApiVersions.
    """

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._allowed_until: float | None = None
        self._correlation = 0
        self._deadline = time.monotonic() + timeout_s
        try:
            self._socket = socket.create_connection((host, port), timeout_s)
        except OSError as error:
            raise WireError(f"{host}:{port}: {error}") from error
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._hello()
        except (WireError, OSError):
            self.close()
            raise

    def _hello(self) -> None:
        request = ApiVersionsRequest(client_software_name="krucible", client_software_version="1")
        answer = self._exchange(request, ApiVersionsResponse, API_VERSIONS_VERSION)
        if answer.error_code:
            raise WireError(f"ApiVersions answered error {answer.error_code}")
        self.versions: dict[int, tuple[int, int]] = {
            api.api_key: (api.min_version, api.max_version) for api in answer.api_keys
        }
        self.features: dict[str, int] = {
            feature.name: feature.max_version_level for feature in answer.finalized_features or ()
        }

    def supports(self, request_type: RequestType) -> bool:
        """Whether node and library have a version of this request in common."""
        return self._common_version(request_type) is not None

    @property
    def source_port(self) -> int:
        """The local port of the connection."""
        port: int = self._socket.getsockname()[1]
        return port

    def ask(self, request: Request, response_type: ResponseType, at_most: int | None = None) -> Any:
        """Send one request in the newest common version and wait for its answer.

        Args:
            request: the request.
            response_type: the type that decodes its answer.
            at_most: highest version to use, to act as an older client.

        Raises:
            UnsupportedError: no common version.
            WireError: no answer within the timeout.
        """
        version = self._common_version(type(request), at_most)
        if version is None:
            raise UnsupportedError(f"{request.name}: no version in common, node has {self.versions}")
        self._deadline = self._allowed_until or time.monotonic() + self._timeout_s
        return self._exchange(request, response_type, version)

    def allow_until(self, deadline_s: float) -> None:
        """Set the time of the monotonic clock by which all further requests together must end."""
        self._allowed_until = deadline_s

    def close(self) -> None:
        """Close the socket; a request that waits for its answer in another thread ends with a `WireError`."""
        with suppress(OSError):  # the other side has closed it before
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _common_version(self, request_type: RequestType, at_most: int | None = None) -> int | None:
        lowest, highest = self.versions.get(request_type.API_KEY, (0, -1))
        version: int = min(highest, request_type.max_version)
        version = version if at_most is None else min(version, at_most)
        return version if version >= lowest else None

    def _exchange(self, request: Request, response_type: ResponseType, version: int) -> Any:
        self._correlation += 1
        request.API_VERSION = version
        request.with_header(correlation_id=self._correlation, client_id=CLIENT_ID)
        try:
            self._limit()
            self._socket.sendall(request.encode(framed=True, header=True))
            (size,) = struct.unpack(">i", self._receive(4))
            if not 0 < size <= FRAME_BYTES_MAX:
                raise WireError(f"a frame of {size} bytes")
            answer = response_type.decode(self._receive(size), version=version, header=True)
        except OSError as error:
            raise WireError(f"{request.name}: {error}") from error
        except (ValueError, IndexError, TypeError, struct.error) as error:
            raise WireError(f"{request.name}: an answer that can't be decoded: {error!r}") from error
        if answer.header.correlation_id != self._correlation:
            raise WireError(f"answer {answer.header.correlation_id} to request {self._correlation}")
        return answer

    def _limit(self) -> None:
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        self._socket.settimeout(left_s)

    def _receive(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            self._limit()
            part = self._socket.recv(min(size - len(parts), 1 << 18))
            if not part:
                raise WireError(f"the node closed the connection after {len(parts)} of {size} bytes")
            parts += part
        return bytes(parts)


def answers(host: str, port: int, timeout_s: float) -> bool:
    """Whether a node is alive: it accepts and answers ApiVersions (a paused one only accepts)."""
    try:
        Connection(host, port, timeout_s).close()
    except WireError:
        return False
    return True
