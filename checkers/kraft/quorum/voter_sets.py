"""Voter sets, from leaders' reports and from the metadata log, and their changes.

A leader uses a voter set from the time when it appends its record (KIP-853), so its answers may show a set
that is never committed.  The log at the end shows every committed set.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import msgspec

from checkers.evidence.metadata_log import farthest
from checkers.history.operations import History
from checkers.history.replicas import MetadataLogSeen, MetadataRecord
from checkers.kraft.quorum.views import LeaderClaim

VOTERS_RECORD = "KRAFT_VOTERS"
Members = dict[int, str | None]
"""Voters by ``node.id``, which is unique in a set, with their disks; None if the disk does not matter."""


class VoterSet(msgspec.Struct, frozen=True):
    """The voters in one leader's answer, or in one record of the log.

    Attributes:
        members: the voters.
        epoch: the epoch of the leader that reported or appended it.
        index: the observation's place in the history.
        began_ns: the earliest time at which it was true, 0 for a record.
        time_ns: the latest time at which it was true.
    """

    members: Members
    epoch: int
    index: int
    began_ns: int
    time_ns: int


class Flip(msgspec.Struct, frozen=True):
    """One voter that joined or left between two sets.

    Attributes:
        id: ``node.id`` of the voter.
        directory_id: directory id of the voter's disk.
        joined: whether the voter joined; otherwise it left.
        before: the last set before the change.
        after: the first set after the change.
        from_ns: the time before which it had certainly not happened; 0 if unknown.
        may_be_undone: whether the earlier set may never have been committed.
    """

    id: int
    directory_id: str | None
    joined: bool
    before: VoterSet
    after: VoterSet
    from_ns: int
    may_be_undone: bool


def reported_sets(claims: Iterable[LeaderClaim], dynamic_since_ns: int) -> list[VoterSet]:
    """The voter sets that leaders reported, in the order of epochs, and of time within each epoch."""
    ordered = sorted(claims, key=lambda claim: (claim.epoch, claim.began_ns, claim.index))
    return [
        VoterSet(
            {v.id: v.directory_id if claim.time_ns >= dynamic_since_ns else None for v in claim.voters},
            claim.epoch,
            claim.index,
            claim.began_ns,
            claim.time_ns,
        )
        for claim in ordered
    ]


def logged_sets(history: History) -> list[VoterSet]:
    """The voter sets of the most advanced metadata log, in order; none if no log reports voters.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    log = farthest(history)
    return (
        [
            VoterSet(voters_in(content), epoch, log.operation.index, 0, log.operation.time_ns)
            for _, epoch, kind, content in _records(log.seen)
            if kind == VOTERS_RECORD
        ]
        if log is not None
        else []
    )


def _records(seen: MetadataLogSeen) -> Iterator[MetadataRecord]:
    """The log's records, after those of the newest snapshot if the log begins above it."""
    if seen.checkpoint is not None and seen.records:
        name, records = seen.checkpoint
        if int(name.partition("-")[0]) <= seen.records[0].offset:
            yield from records
    yield from seen.records


class _LoggedVoter(msgspec.Struct, frozen=True, rename="camel"):
    voter_id: int
    voter_directory_id: str


class _Logged(msgspec.Struct, frozen=True):
    voters: tuple[_LoggedVoter, ...]


def voters_in(content: object) -> Members:
    """The voters in a record's content, with their disks.

    Raises:
        msgspec.ValidationError: it is not the content of a voter record.
    """
    return {v.voter_id: v.voter_directory_id for v in msgspec.convert(content, _Logged).voters}


def reported_flips(sets: Sequence[VoterSet]) -> list[Flip]:
    """The changes between answers; there may be several between two answers."""
    found = []
    for before, after in pairwise(sets):
        later_epoch = after.epoch > before.epoch
        found += _flips(before, after, 0 if later_epoch else before.began_ns, undone=later_epoch)
    return found


def flips_logged(sets: Sequence[VoterSet]) -> list[list[Flip]]:
    """The changes from each record to the next; records without a change are left out."""
    return [flips for pair in pairwise(sets) if (flips := _flips(*pair, 0, undone=False))]


def _flips(before: VoterSet, after: VoterSet, from_ns: int, *, undone: bool) -> list[Flip]:
    """Voters that left, then those that joined; a voter with another disk has left and joined."""
    found: list[Flip] = []
    if before.members == after.members:
        return found
    for earlier, later, joined in ((before, after, False), (after, before, True)):
        for voter, directory in sorted(earlier.members.items()):
            if not _has(later.members, voter, directory):
                found.append(Flip(voter, directory, joined, before, after, from_ns, undone))
    return found


def _has(members: Members, voter: int, directory: str | None) -> bool:
    return voter in members and (members[voter] == directory or None in (members[voter], directory))


def named(members: Iterable[int]) -> str:
    """Return voters as text."""
    return ", ".join(str(voter) for voter in sorted(members)) or "none"


def count_sets(sets: Sequence[VoterSet]) -> int:
    """How often the voter set changed, counting the first set."""
    return bool(sets) + sum(bool(_flips(before, after, 0, undone=False)) for before, after in pairwise(sets))
