"""Brokers without a registration at the end of the metadata log, because an operator removed it."""

import msgspec

from checkers.evidence.administration import requests_of
from checkers.evidence.faults import fault_windows
from checkers.evidence.metadata_log import farthest
from checkers.history.operations import History, once
from checkers.history.setup import recorded_setup
from checkers.history.sources import Source, lacking

_REQUEST = "unregister-broker"

REGISTERED, UNREGISTERED = "REGISTER_BROKER_RECORD", "UNREGISTER_BROKER_RECORD"


class _BrokerRecord(msgspec.Struct, frozen=True, rename="camel"):
    broker_id: int


@once
def unregistered(history: History) -> frozenset[int]:
    """Ids of brokers that were unregistered, have not registered again, and need not have.

    A broker registers when it starts.  One that is unregistered while it runs only gets errors for its
    heartbeats (Kafka's BrokerLifecycleManager), so its replicas stay out of sync until its next start.  A
    broker that was started after the last request for it must register.  If requests may be missing in the
    history, the record in the log is enough.

    Raises:
        msgspec.ValidationError: an observation, or a record of the log, is not as docs/histories.md says.
    """
    log = farthest(history)
    last = {
        msgspec.convert(data, _BrokerRecord).broker_id: kind
        for _, _, kind, data in (log.seen.records if log is not None else ())
        if kind in {REGISTERED, UNREGISTERED}
    }
    gone = (broker for broker, kind in last.items() if kind == UNREGISTERED)
    return frozenset(broker for broker in gone if _may_be_away(history, broker))


def _may_be_away(history: History, broker: int) -> bool:
    """Whether an operator may have removed a broker's registration since the broker's last start."""
    mine = (each for each in requests_of(history, _REQUEST) if str(each.began.key) == str(broker))
    removed_ns = max((each.to_ns for each in mine if not each.failed), default=None)
    if removed_ns is None:
        return lacking(history, Source.ADMIN, Source.MOVES) is not None
    name = recorded_setup(history).names.get(broker)
    return not any(
        window.down and name in window.targets and (window.heal_invoked_ns or 0) >= removed_ns
        for window in fault_windows(history)
    )
