"""Registrations of brokers in the metadata log: which brokers may be elected, or be in an ISR or ELR.

A broker is fenced when it registers, and is unfenced once it has caught up with the metadata.  A broker that
is fenced, or is about to shut down, joins no ISR and is not elected (KIP-841).  Neither is a broker whose
registration was removed, and it gets no further replicas before it registers again.  A broker that returns
after its process was killed is in no ISR and in no ELR when it is unfenced (KIP-966), because earlier
records remove it from both.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from checkers.evidence.faults import FaultWindow
from checkers.evidence.metadata_log import TimeBounds
from checkers.evidence.partition_changes import CHANGED, PartitionChange
from checkers.evidence.registered import REGISTERED, UNREGISTERED
from checkers.history.replicas import MetadataRecord

REGISTRATION_CHANGED = "BROKER_REGISTRATION_CHANGE_RECORD"
_FEATURE_LEVEL = "FEATURE_LEVEL_RECORD"
_ELR_VERSION = "eligible.leader.replicas.version"
_FENCED, _UNFENCED = 1, -1


class _BrokerRecord(msgspec.Struct, frozen=True, rename="camel"):
    broker_id: int
    incarnation_id: str = ""
    fenced: bool | int = 0
    in_controlled_shutdown: bool | int = 0


class _Feature(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    feature_level: int


class _Process(msgspec.Struct):
    """A process of a broker that has registered.

    Attributes:
        incarnation: its id.
        span: when it had registered.
        fenced: whether it is fenced.
        leaving: whether it is about to shut down.
        killed: id of the fault that killed the previous process; None if that process may have ended cleanly.
    """

    incarnation: str
    span: TimeBounds
    fenced: bool
    leaving: bool
    killed: str | None = None


def written_with(records: Iterable[MetadataRecord]) -> dict[int, int]:
    """Changes of partitions that a controller writes together with the registration that follows them.

    A controller determines them in two passes, over partitions with the broker in the ISR and over those with
    it in the ELR, before it applies any.  So the second pass may repeat changes of the first.

    Returns:
        Offset of each such change to the offset of the first change of the same registration.
    """
    found: dict[int, int] = {}
    run: list[int] = []
    for offset, _, kind, _ in records:
        if kind == CHANGED:
            run.append(offset)
            continue
        if kind == REGISTERED:
            found.update(dict.fromkeys(run, run[0] if run else offset))
        run = []
    return found


class UnfencedBroker(NamedTuple):
    """A broker that is unfenced after its previous process was killed.

    Attributes:
        broker: its id.
        killed_by: id of the fault that killed that process.
    """

    broker: int
    killed_by: str


def unfenced_by(kind: str, data: object) -> int | None:
    """The id of the broker that a record unfences, or None.

    Raises:
        msgspec.ValidationError: the record is not as docs/histories.md says.
    """
    if kind != REGISTRATION_CHANGED:
        return None
    record = msgspec.convert(data, _BrokerRecord)
    return record.broker_id if record.fenced == _UNFENCED else None


class Registrations:
    """The brokers as registered by the records that were applied.

    Args:
        names: the brokers' names by their ids.
        windows: the faults of the run.
        restarted_ns: when scripts restarted nodes.
    """

    def __init__(
        self, names: dict[int, str], windows: Iterable[FaultWindow], restarted_ns: Sequence[int] = ()
    ) -> None:
        self._names = names
        self._windows = [window for window in windows if window.ends_processes]
        self._restarted_ns = tuple(restarted_ns)
        self._processes: dict[int, _Process] = {}
        self._removed: set[int] = set()
        self._eligible = False
        self.judged = 0

    @property
    def eligible(self) -> bool:
        """Whether the cluster keeps eligible leader replicas (KIP-966), by the records that were applied."""
        return self._eligible

    def take(self, kind: str, data: object, span: TimeBounds) -> UnfencedBroker | None:
        """Apply a record.

        Returns the broker that it unfences, if that broker's previous process was killed.

        Raises:
            msgspec.ValidationError: the record is not as docs/histories.md says.
        """
        if kind == REGISTERED:
            self._register(msgspec.convert(data, _BrokerRecord), span)
        elif kind == UNREGISTERED:
            broker = msgspec.convert(data, _BrokerRecord).broker_id
            self._processes.pop(broker, None)
            self._removed.add(broker)
        elif kind == REGISTRATION_CHANGED:
            return self._change(msgspec.convert(data, _BrokerRecord))
        elif kind == _FEATURE_LEVEL:
            feature = msgspec.convert(data, _Feature)
            if feature.name == _ELR_VERSION:
                self._eligible = feature.feature_level > 0
        return None

    def wrongly_chosen(self, step: PartitionChange) -> Iterator[str]:
        """For each broker that a change wrongly adds to the ISR or elects, the reason why it is wrong."""
        before, after = step.before, step.after
        if step.kind != CHANGED or before is None or after is None:
            return
        elected = {after.leader} if after.elected and after.leader != before.leader else set[int]()
        for broker in sorted(({*after.isr} - {*before.isr}) | elected):
            process = self._processes.get(broker)
            if broker in self._removed:
                yield f"broker {broker} is not registered, but is added to the ISR or elected"
            elif process is not None and (process.fenced or process.leaving):
                why = "is fenced" if process.fenced else "is about to shut down"
                yield f"broker {broker} {why}, but is added to the ISR or elected"

    def wrongly_assigned(self, step: PartitionChange) -> Iterator[str]:
        """For each unregistered broker that a record makes a replica, the reason why it is wrong."""
        if step.after is not None:
            before = () if step.before is None else step.before.replicas
            for broker in sorted(({*step.after.replicas} - {*before}) & self._removed):
                yield f"broker {broker} is not registered, but it becomes a replica"

    def _register(self, record: _BrokerRecord, span: TimeBounds) -> None:
        before = self._processes.get(record.broker_id)
        fenced, leaving = bool(record.fenced), bool(record.in_controlled_shutdown)
        process = _Process(record.incarnation_id, span, fenced, leaving)
        if before is not None:
            same = before.incarnation == process.incarnation
            process.killed = before.killed if same else self._killed(record.broker_id, before, span)
            process.span = before.span if same else span
        self._processes[record.broker_id] = process
        self._removed.discard(record.broker_id)

    def _change(self, record: _BrokerRecord) -> UnfencedBroker | None:
        process = self._processes.get(record.broker_id)
        if process is None:
            return None
        process.leaving = process.leaving or bool(record.in_controlled_shutdown)
        process.fenced = record.fenced == _FENCED or (process.fenced and record.fenced != _UNFENCED)
        killed = process.killed if record.fenced == _UNFENCED else None
        if killed is None:
            return None
        process.killed = None
        self.judged += 1
        return UnfencedBroker(record.broker_id, killed)

    def _killed(self, broker: int, before: _Process, span: TimeBounds) -> str | None:
        """The fault that certainly killed a process between its registration and the next one.

        It is the first fault that ended a process of this broker in that time.
        """
        name = self._names.get(broker)
        if name is None or not self._eligible:
            return None
        ended = [w for w in self._windows if w.concerns(name) and w.overlaps(before.span.from_ns, span.to_ns)]
        first = min(ended, key=lambda window: window.invoked_ns, default=None)
        if first is None or not first.kills or first.effective_ns is None:
            return None
        within = before.span.to_ns < first.invoked_ns and first.effective_ns <= span.from_ns
        again = any(before.span.from_ns <= at_ns <= span.to_ns for at_ns in self._restarted_ns)
        return first.id if within and not again else None
