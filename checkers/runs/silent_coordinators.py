"""Groups whose offsets could not be fetched for long after recovery, although their partition worked."""

from collections.abc import Iterator
from typing import NamedTuple

from checkers.evidence.coordinators import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, offsets_partition
from checkers.evidence.partition_changes import NOBODY, partition_changes
from checkers.history.operations import INVOKE, OK, History, Operation
from checkers.history.phases import Phase, phase_began_ns
from checkers.history.setup import recorded_setup
from checkers.history.sources import Source, lacking
from checkers.history.units import NS_PER_MS
from checkers.licences.decisions import lost_state
from checkers.licences.internal import may_have_lost

_REGISTER = "offset/"


class Silence(NamedTuple):
    """A group whose committed offsets could not be fetched at the end.

    Attributes:
        group: its id.
        first: the first request after recovery.
        last: the last failed request.
        licence: the reason; None if nothing explains it.
    """

    group: str
    first: Operation
    last: Operation
    licence: str | None

    @property
    def tried_ns(self) -> int:
        """The time during which its offsets were requested."""
        return self.last.time_ns - self.first.time_ns


def silences(history: History, bound_ms: float) -> Iterator[Silence]:
    """Groups whose offsets were requested in the phase final-read for longer than a bound without an answer.

    A group is left out if its partition of ``__consumer_offsets`` has no leader or lacks members of its ISR
    at the end, or if that is unknown.  All groups are left out if no final read of records was completed, or
    if clients' journals are incomplete.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    since_ns = phase_began_ns(history, Phase.FINAL_READ)
    read = any(operation.type is OK for operation in history.of("final-read"))
    if since_ns is None or not read or lacking(history, Source.CLIENTS) is not None:
        return
    for group, operations in sorted(_asked(history, since_ns).items()):
        answers = [operation for operation in operations if operation.type is not INVOKE]
        if not answers or any(operation.type is OK for operation in answers):
            continue
        last = max(answers, key=lambda operation: operation.time_ns)
        silence = Silence(group, operations[0], last, _lost(history, group, last.time_ns))
        if silence.tried_ns > bound_ms * NS_PER_MS and _is_well(history, group, last.time_ns):
            yield silence


def _lost(history: History, group: str, until_ns: int) -> str | None:
    """An event by which a group's offsets, or a transaction that commits some, may have been lost by a time.

    If the end of such a transaction is lost, the group's offsets stay unstable, and are not returned.
    """
    place = offsets_partition(history, group)
    lost = may_have_lost(history, OFFSETS_TOPIC, None if place is None else place.partition, 0, until_ns)
    committing = (o for o in history.of("txn") if o.type is INVOKE and _commits(o, group))
    ids = sorted({str(operation.key) for operation in committing})
    if not lost and group == recorded_setup(history).workload.application:
        # The ids of the transactions of Kafka Streams are not known.
        return may_have_lost(history, TRANSACTIONS_TOPIC, None, 0, until_ns)
    return lost or next(filter(None, (lost_state(history, each, 0, until_ns) for each in ids)), None)


def _commits(operation: Operation, group: str) -> bool:
    mops = (operation.value or {}).get("mops", ())
    return any(mop[0] == "offsets" and mop[1] == group for mop in mops)


def _asked(history: History, since_ns: int) -> dict[str, list[Operation]]:
    """Requests for offsets since a time, and their answers, by group, in the order of time."""
    asked: dict[str, list[Operation]] = {}
    for operation in sorted((*history.of("committed-offsets"), *history.of("read")), key=lambda o: o.index):
        group = _group(operation)
        if group is not None and operation.time_ns >= since_ns:
            asked.setdefault(group, []).append(operation)
    return asked


def _group(operation: Operation) -> str | None:
    key = str(operation.key)
    if operation.f == "committed-offsets":
        return key
    return key.removeprefix(_REGISTER).split("/")[0] if key.startswith(_REGISTER) else None


def _is_well(history: History, group: str, until_ns: int) -> bool:
    """Whether the partition with a group's offsets has a leader and all replicas in sync at the end."""
    partition, changes = offsets_partition(history, group), partition_changes(history)
    if partition is None or not changes.is_complete(partition, until_ns):
        return False
    state = changes.states[partition][-1]
    return state.leader != NOBODY and {*state.isr} >= {*state.replicas}
