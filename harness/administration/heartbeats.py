"""A broker's heartbeat (KIP-631), sent in its name, as if the network had delayed it."""

from pathlib import Path

import msgspec

from checkers.history.error_codes import ErrorCode
from checkers.history.operations import OperationType
from harness.administration.schemas import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from harness.kafka.metadata.reading import FileReader
from harness.kafka.wire import Connection

_REGISTERED = "REGISTER_BROKER_RECORD"
_REFUSED = frozenset(
    {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.STALE_BROKER_EPOCH,
        ErrorCode.BROKER_ID_NOT_REGISTERED,
    }
)
"""Errors that are checked before anything is written; a deposed controller may have written."""

Address = tuple[str, int]


class _Registered(msgspec.Struct, frozen=True, rename="camel"):
    broker_id: int
    broker_epoch: int


class Heartbeat(msgspec.Struct, frozen=True):
    """The report of a healthy broker: it requests neither fencing nor a shutdown.

    Attributes:
        broker: its id.
        epoch: the broker epoch from its registration.
        metadata_offset: offset up to which it claims to have applied the metadata log.
    """

    broker: int
    epoch: int
    metadata_offset: int


class HeartbeatAnswer(msgspec.Struct, frozen=True):
    """The controller's answer to a heartbeat.

    Attributes:
        code: Kafka's error code, 0 for none.
        is_caught_up: whether the broker has applied the metadata that the controller requires.
        is_fenced: whether the broker is fenced from now on.
        should_shut_down: whether the broker may shut down.
    """

    code: int
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool

    @property
    def outcome(self) -> OperationType:
        """Whether it was accepted (ok), certainly had no effect (fail), or may have had one (info)."""
        if self.code == ErrorCode.NONE:
            return OperationType.OK
        return OperationType.FAIL if self.code in _REFUSED else OperationType.INFO


def registered_epoch(log: Path, broker: int) -> int | None:
    """The epoch of a broker's newest registration in a metadata log; None if there is none.

    Args:
        log: the folder of the log, preferably the active controller's.
        broker: its id.

    Raises:
        OSError: the folder or a file of it can't be read.
    """
    reader = FileReader()
    files = sorted(path for path in log.iterdir() if path.suffix in (".log", ".checkpoint"))
    records = (record for path in files for record in reader.read(path.read_bytes()).journal_records())
    registered = (
        msgspec.convert(content, _Registered) for _, _, kind, content in records if kind == _REGISTERED
    )
    return max((one.broker_epoch for one in registered if one.broker_id == broker), default=None)


def send_heartbeat(address: Address, heartbeat: Heartbeat, timeout_ms: int) -> HeartbeatAnswer:
    """Send one heartbeat to a controller; only the active controller accepts it.

    Raises:
        WireError: no answer, so it may have been accepted; or the node does not support the request.
    """
    request = BrokerHeartbeatRequest(
        broker_id=heartbeat.broker,
        broker_epoch=heartbeat.epoch,
        current_metadata_offset=heartbeat.metadata_offset,
        want_fence=False,
        want_shut_down=False,
        offline_log_dirs=[],
    )
    with Connection(*address, timeout_ms / 1000) as connection:
        answer = connection.ask(request, BrokerHeartbeatResponse)
    return HeartbeatAnswer(answer.error_code, answer.is_caught_up, answer.is_fenced, answer.should_shut_down)
