"""Cordoned log directories in the metadata log: which brokers may get new replicas (KIP-1066, since 4.3).

A broker registers with its log directories, and reports later which of them are cordoned.  A broker whose
directories are all cordoned keeps its replicas, and gets no other one: Kafka places none on it, and must
refuse assignments and reassignments that add one.  4.3.0 and 4.3.1 do not refuse them (KAFKA-20832).  4.4.0
also refuses a target that only keeps a cordoned broker, which this rule does not require.  A controller
decides by all records that it has appended, so the order of the log is exact.
"""

from collections.abc import Iterator

import msgspec

from checkers.evidence.partition_changes import PartitionChange
from checkers.evidence.registered import REGISTERED, UNREGISTERED
from checkers.logs.partitions.registrations import REGISTRATION_CHANGED


class _Directories(msgspec.Struct, frozen=True, rename="camel"):
    """Fields of a registration, or of its change; None if the record does not change the field."""

    broker_id: int
    log_dirs: tuple[str, ...] | None = None
    cordoned_log_dirs: tuple[str, ...] | None = None


class Cordons:
    """The brokers' directories after the records that were applied."""

    def __init__(self) -> None:
        self._registered: dict[int, _Directories] = {}

    def take(self, kind: str, data: object) -> None:
        """Apply a record.

        Raises:
            msgspec.ValidationError: the record is not as docs/histories.md says.
        """
        if kind == REGISTERED:
            record = msgspec.convert(data, _Directories)
            self._registered[record.broker_id] = record
        elif kind == UNREGISTERED:
            self._registered.pop(msgspec.convert(data, _Directories).broker_id, None)
        elif kind == REGISTRATION_CHANGED:
            self._change(msgspec.convert(data, _Directories))

    def wrongly_assigned(self, step: PartitionChange) -> Iterator[str]:
        """For each broker that a record wrongly makes a replica, the reason why it is wrong."""
        if step.after is None:
            return
        before = () if step.before is None else step.before.replicas
        for broker in sorted({*step.after.replicas} - {*before}):
            if self._is_cordoned(broker):
                yield f"all log directories of broker {broker} are cordoned, but it becomes a replica"

    def _change(self, record: _Directories) -> None:
        before = self._registered.get(record.broker_id)
        if before is not None:
            cordoned = record.cordoned_log_dirs
            self._registered[record.broker_id] = _Directories(
                record.broker_id,
                record.log_dirs or before.log_dirs,
                before.cordoned_log_dirs if cordoned is None else cordoned,
            )

    def _is_cordoned(self, broker: int) -> bool:
        """Whether a broker has directories, and has reported that all of them are cordoned."""
        record = self._registered.get(broker)
        if record is None or not record.log_dirs or record.cordoned_log_dirs is None:
            return False
        return {*record.log_dirs} <= {*record.cordoned_log_dirs}
