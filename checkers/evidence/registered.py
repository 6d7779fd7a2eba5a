"""Brokers without a registration at the end of the metadata log, because an operator removed it."""

import msgspec

from checkers.evidence.metadata_log import farthest
from checkers.history.operations import History, once

REGISTERED, UNREGISTERED = "REGISTER_BROKER_RECORD", "UNREGISTER_BROKER_RECORD"


class _BrokerRecord(msgspec.Struct, frozen=True, rename="camel"):
    broker_id: int


@once
def unregistered(history: History) -> frozenset[int]:
    """Ids of brokers that were unregistered and have not registered again.

    A broker registers when it starts.  One that is unregistered while it runs only gets errors for its
    heartbeats (Kafka's BrokerLifecycleManager), so its replicas stay out of sync until its next start.

    Raises:
        msgspec.ValidationError: an observation, or a record of the log, is not as docs/histories.md says.
    """
    log = farthest(history) if any(history.of("unregister-broker")) else None
    last = {
        msgspec.convert(data, _BrokerRecord).broker_id: kind
        for _, _, kind, data in (log.seen.records if log is not None else ())
        if kind in {REGISTERED, UNREGISTERED}
    }
    return frozenset(broker for broker, kind in last.items() if kind == UNREGISTERED)
