"""The offset from which a log may have been truncated by an election of a replica that lacks records.

The elected replica's log ended where its epoch starts.  Records at or above that offset may be lost.  Records
below it were on that replica and must still exist (KIP-101, KIP-704).  Only the entry in that replica's own
leader-epoch checkpoint counts.  Other replicas may have stored another offset; that difference is judged
separately (`checkers.logs.replicas`).  There are three special cases:

1. Its entry may be missing: its disk was wiped, no record was appended in the epoch, or the log now starts
   above it.  The broker logged the same offset when it started the epoch.  Without that line, the entries of
   the other replicas count if they agree, because they come from the leader's batches.  If no replica has the
   epoch, the next epoch started at the same offset, provided that all elections since were clean, or that the
   same replica was elected.
2.  A replica that was out of sync may have records that an earlier leader never had.  Epochs that it missed
    may have started below its log's end; records that were appended in them were truncated there (KIP-279).
    If its entries of earlier epochs are missing, it may have missed each epoch that another broker led after
    the last epoch that it led itself, or in which it joined the ISR.  It had all records that were committed
    while it was in the ISR.  An epoch whose leader never began it has no records: the controller may elect
    a broker and replace it before that broker applies the record of its election.
3.  It may have led before, and may have overwritten records that another replica kept.  If that other replica
    is elected uncleanly in between, these records return, and may be lost again.

With acks=1, a replica in the ISR may lack records as well, so every election counts as an unclean one does.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from checkers.columns.tables import PartitionName
from checkers.evidence.leader_epochs import Starts
from checkers.evidence.partition_changes import NOBODY, PartitionState
from checkers.history.observed import Entries
from checkers.licences.disks import copy_faults_of
from checkers.licences.facts import Facts
from checkers.licences.permits import LicenceEvent


class Bound(NamedTuple):
    """Which part of a log an event may have removed.

    Attributes:
        text: the bound as a text.
        above: records below this offset must still exist; None if no record must.
        doubt: why the bound is uncertain.
        known_from_ns: it covers only records that were known to exist at this time, or later.
    """

    text: str
    above: int | None
    doubt: str | None = None
    known_from_ns: int = 0

    def limits(self, event: LicenceEvent) -> LicenceEvent:
        """Limit an event to this bound, and append the bound's text to the event's."""
        return event._replace(
            text=f"{event.text}; {self.text}",
            above=self.above,
            doubt=self.doubt,
            known_from_ns=self.known_from_ns,
        )


def bounds_of(facts: Facts, partition: PartitionName, state: PartitionState) -> Iterator[Bound]:
    """Return the bounds of an unclean election in the metadata log.  Each permits the loss that it covers."""
    entries = _own_entries(facts, partition, state)
    begun = _begun(facts, partition, state)
    own = dict(entries).get(state.leader_epoch)
    cut = own is not None and own > 0 and entries[0][0] == state.leader_epoch
    if begun is not None and (own is None or (cut and begun <= own)):
        yield certain(state.leader_epoch, begun)
        yield from _of_possibly_missed(facts, partition, state, begun)
        yield from _of_revived(facts, partition, state, begun)
    elif own is None:
        yield from _by_others(facts, partition, state)
    else:
        yield certain(state.leader_epoch, own)
        if cut:
            out_ns = _out_of_sync_since(facts, facts.changes.states[partition], state)
            yield _unknown_bound(partition)._replace(known_from_ns=out_ns)
        before = [epoch for epoch, _ in entries if epoch < state.leader_epoch]
        if before:
            yield from _of_missed(facts, partition, state, (before[-1], own))
            yield from _of_revived(facts, partition, state, own)


def bound_at(facts: Facts, partition: PartitionName, epoch: int | None) -> Bound:
    """The bound of an event that ended with an epoch, or with the first later one that had a leader."""
    if epoch is None:
        return _unknown_bound(partition)
    later = (state for state in facts.changes.states.get(partition, ()) if state.leader_epoch >= epoch)
    state = next((state for state in later if state.leader != NOBODY), None)
    own = _own_start(facts, partition, state) if state is not None else None
    if state is not None and own is not None:
        return certain(state.leader_epoch, own)
    starts = facts.epochs.starts(partition, epoch)
    if starts is None:
        return _unknown_bound(partition)
    return certain(epoch, starts.offsets[0]) if len(starts.offsets) == 1 else _disputed(partition, starts)


def certain(epoch: int, start: int) -> Bound:
    """Return a bound without doubt."""
    return Bound(
        f"leader epoch {epoch} begins at offset {start}, and records below it must still be there", start
    )


def _own_entries(facts: Facts, partition: PartitionName, state: PartitionState) -> Entries:
    """The entries of the leader of a state, or none if its disk was wiped since, as others restored them."""
    since_ns = facts.changes.span(state).from_ns
    faults = copy_faults_of(facts, partition, wiping=True)
    if any(fault.replica == state.leader and fault.window.end_ns >= since_ns for fault in faults):
        return []
    return facts.epochs.of(partition, _name(facts, state.leader))


def _begun(facts: Facts, partition: PartitionName, state: PartitionState) -> int | None:
    """Where the leader of a state started its epoch, according to the line it logged at that time."""
    return facts.epochs.begun_by(partition, _name(facts, state.leader)).get(state.leader_epoch)


def _own_start(facts: Facts, partition: PartitionName, state: PartitionState) -> int | None:
    """Where the leader of a state started its epoch, by its entry, or else by its broker's log.

    If the entry is the first one and is above the logged offset, the logged offset counts: the entry may have
    moved with the start of the log.
    """
    entries, begun = _own_entries(facts, partition, state), _begun(facts, partition, state)
    noted = dict(entries).get(state.leader_epoch)
    if noted is None or (begun is not None and entries[0][0] == state.leader_epoch and begun < noted):
        return begun
    return noted


def _start(facts: Facts, partition: PartitionName, state: PartitionState) -> int | None:
    """Where an epoch started: by its leader, or else by the entries of other replicas.

    Another replica's first entry does not count, because it may have moved with the start of the log.
    """
    own = _own_start(facts, partition, state)
    if own is not None:
        return own
    noted = {
        start
        for entries in facts.epochs.noted.get(partition, {}).values()
        for epoch, start in entries[1:]
        if epoch == state.leader_epoch
    }
    return noted.pop() if len(noted) == 1 else None


def _name(facts: Facts, number: int) -> str:
    return next((name for name, each in facts.ids.items() if each == number), "")


def _by_others(facts: Facts, partition: PartitionName, state: PartitionState) -> Iterator[Bound]:
    """Return bounds for the case that the elected replica's entry is missing."""
    starts = facts.epochs.starts(partition, state.leader_epoch)
    if starts is None:
        yield _unknown_bound(partition)
        return
    end = starts.offsets[-1]
    yield certain(state.leader_epoch, end)
    yield from _of_possibly_missed(facts, partition, state, end)
    yield from _of_revived(facts, partition, state, end)
    if len(starts.offsets) > 1:
        yield _disputed(partition, starts)
    elif starts.epoch > state.leader_epoch and not _same_start(facts, partition, state, starts.epoch):
        yield _unknown_bound(partition)


def _same_start(facts: Facts, partition: PartitionName, state: PartitionState, epoch: int) -> bool:
    """Whether an epoch that no replica recorded started no lower than the next recorded epoch."""
    later = [
        each
        for each in facts.changes.states[partition]
        if each.elected and state.leader_epoch < each.leader_epoch <= epoch
    ]
    return not any(_may_remove(facts, each) for each in later) or later[-1].leader == state.leader


def _may_remove(facts: Facts, state: PartitionState) -> bool:
    """Whether the leader of a state may lack acknowledged records: acks=1, or an unclean election."""
    return state.unclean or facts.leader_acknowledges_alone


def _of_missed(
    facts: Facts, partition: PartitionName, state: PartitionState, known: tuple[int, int]
) -> Iterator[Bound]:
    """Bounds for records of epochs that the elected replica never had.

    ``known`` is the replica's last epoch and the end of its log.
    """
    last, end = known
    for missed, start in _begun_of(facts, partition, _missed(facts.changes.states[partition], last, state)):
        since_ns = facts.changes.span(missed).from_ns
        if start is None:
            yield _unknown_bound(partition)._replace(known_from_ns=since_ns)
        elif start < end:
            yield certain(missed.leader_epoch, start)._replace(known_from_ns=since_ns)


def _of_possibly_missed(
    facts: Facts, partition: PartitionName, state: PartitionState, end: int
) -> Iterator[Bound]:
    """Bounds for records of epochs that the elected replica may not have had.

    ``end`` is the end of its log.
    """
    states = facts.changes.states[partition]
    out_ns = _out_of_sync_since(facts, states, state)
    for missed, start in _begun_of(facts, partition, _missed(states, _followed(states, state), state)):
        if start is None or start < end:
            since_ns = max(out_ns, facts.changes.span(missed).from_ns)
            yield _possible(partition, missed.leader_epoch, start)._replace(known_from_ns=since_ns)


def _of_revived(facts: Facts, partition: PartitionName, state: PartitionState, end: int) -> Iterator[Bound]:
    """Bounds for older records that the elected replica had overwritten, and that another replica restored.

    The other replica was elected uncleanly in between, and may not have had an epoch that the elected replica
    led.
    """
    states = facts.changes.states[partition]
    for between in _missed(states, -1, state):
        if _may_remove(facts, between):
            known_ns = facts.changes.span(between).from_ns
            followed = _followed(states, between)
            led_here = _led(states, state.leader, followed, between.leader_epoch)
            for led, start in _begun_of(facts, partition, led_here):
                if start is None or start < end:
                    yield _possible(partition, led.leader_epoch, start)._replace(known_from_ns=known_ns)


def _begun_of(
    facts: Facts, partition: PartitionName, states: Iterable[PartitionState]
) -> Iterator[tuple[PartitionState, int | None]]:
    """States whose leader may have appended records in their epoch, each with the epoch's start if known."""
    for state in states:
        start = _start(facts, partition, state)
        epochs, leader = facts.epochs, _name(facts, state.leader)
        if start is not None or not epochs.never_begun(partition, leader, state.leader_epoch):
            yield state, start


def _led(states: Sequence[PartitionState], leader: int, last: int, until: int) -> Iterator[PartitionState]:
    """The first state of each epoch that a broker led, between two epochs."""
    for state in states:
        if last < state.leader_epoch < until and state.leader == leader:
            last = state.leader_epoch
            yield state


def _out_of_sync_since(facts: Facts, states: Sequence[PartitionState], until: PartitionState) -> int:
    """The time since which records may have been committed without the leader of a state, before it led.

    Returns:
        Nanoseconds of the history's clock; 0 if it never was in the ISR, or need not have had records that
        were acknowledged while it was (acks=1).
    """
    if facts.leader_acknowledges_alone:
        return 0
    before = [state for state in states if state.leader_epoch <= until.leader_epoch]
    left = [
        after
        for state, after in pairwise(before)
        if state.leader_epoch < until.leader_epoch and until.leader in state.isr
    ]
    return facts.changes.span(left[-1]).from_ns if left else 0


def _followed(states: Sequence[PartitionState], until: PartitionState) -> int:
    """The last epoch in which the leader of a state certainly had all records that were appended before.

    That is the partition's first epoch, an epoch that it led, or an epoch in which it joined the ISR, because
    it had then fetched up to the high watermark (KIP-101).  A replica that was in the ISR for the whole epoch
    may never have fetched in it.
    """
    epoch = states[0].leader_epoch
    for state, following in pairwise(each for each in states if each.leader_epoch < until.leader_epoch):
        joined = until.leader in following.isr and until.leader not in state.isr
        if following.leader == until.leader or (joined and state.leader_epoch == following.leader_epoch):
            epoch = following.leader_epoch
    return epoch


def _missed(states: Sequence[PartitionState], last: int, until: PartitionState) -> Iterator[PartitionState]:
    """The first state of each epoch that another broker led, between two epochs."""
    for state in states:
        if last < state.leader_epoch < until.leader_epoch and state.leader not in {NOBODY, until.leader}:
            last = state.leader_epoch
            yield state


def _unknown_bound(partition: PartitionName) -> Bound:
    doubt = f"records of {partition} may have been truncated legally, from an unknown offset on"
    return Bound("from an unknown offset on", None, doubt)


def _possible(partition: PartitionName, epoch: int, start: int | None) -> Bound:
    if start is None:
        return _unknown_bound(partition)
    text = (
        f"from offset {start} on, where leader epoch {epoch} begins, if the elected replica has not seen it"
    )
    return Bound(text, start, f"records of {partition} may have been truncated legally, {text}")


def _disputed(partition: PartitionName, starts: Starts) -> Bound:
    offsets = " or ".join(map(str, starts.offsets))
    text = f"replicas disagree whether leader epoch {starts.epoch} begins at offset {offsets}"
    doubt = f"records of {partition} may have been truncated legally, and {text}"
    return Bound(text, starts.offsets[0], doubt)
