"""Numbers in the metadata log that only increase: broker epochs and blocks of producer ids.

When a broker registers, its epoch is the offset at which the controller writes next.  If the same process
registers twice, it gets the same epoch again.  A change of a registration contains its epoch.  A record that
violates this can't be replayed.
"""

from collections.abc import Iterator

import msgspec

_REGISTERED = "REGISTER_BROKER_RECORD"
_REGISTRATION_CHANGED = "BROKER_REGISTRATION_CHANGE_RECORD"
_PRODUCER_IDS = "PRODUCER_IDS_RECORD"


class _Registered(msgspec.Struct, frozen=True, rename="camel"):
    broker_id: int
    broker_epoch: int = -1
    incarnation_id: str = ""


class _ProducerIds(msgspec.Struct, frozen=True, rename="camel"):
    next_producer_id: int


class Counters:
    """The numbers after the records that were applied."""

    def __init__(self) -> None:
        self._registered: dict[int, _Registered] = {}
        self._next_producer_id = 0
        self.seen = 0

    def take(self, kind: str, data: object) -> Iterator[tuple[str, str]]:
        """Apply a record, and yield every number that decreases, as its subject and a text.

        Raises:
            msgspec.ValidationError: the record is not as docs/histories.md says.
        """
        if kind in {_REGISTERED, _REGISTRATION_CHANGED}:
            self.seen += 1
            broker = msgspec.convert(data, _Registered)
            known = self._registered.get(broker.broker_id)
            name = f"broker {broker.broker_id}"
            if kind == _REGISTERED:
                yield from ((name, text) for text in _older(broker, known))
                self._registered[broker.broker_id] = broker
            elif known is not None and known.broker_epoch != broker.broker_epoch:
                yield (
                    name,
                    (f"it has epoch {broker.broker_epoch}, but epoch {known.broker_epoch} is registered"),
                )
        elif kind == _PRODUCER_IDS:
            self.seen += 1
            following = msgspec.convert(data, _ProducerIds).next_producer_id
            if following <= self._next_producer_id:
                yield "producer ids", f"{following} is the next one, after {self._next_producer_id}"
            self._next_producer_id = max(following, self._next_producer_id)


def _older(broker: _Registered, known: _Registered | None) -> Iterator[str]:
    """The ways in which a registration is not newer than the previous one."""
    if known is None or broker.broker_epoch > known.broker_epoch:
        return
    if broker.incarnation_id != known.incarnation_id or broker.broker_epoch < known.broker_epoch:
        yield f"it registers with epoch {broker.broker_epoch}, after {known.broker_epoch}"
