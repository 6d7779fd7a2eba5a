"""Whether every change of the voter set was requested, and changed one voter."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from checkers.evidence.faults import FOREVER_NS
from checkers.evidence.kafka_versions import KafkaVersions
from checkers.history.operations import INFO
from checkers.kraft.quorum.changes import ADD, REMOVE, VoterChange
from checkers.kraft.quorum.views import StateFile
from checkers.kraft.quorum.voter_sets import Flip, named
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

VOTER_UNEXPLAINED = AnomalyKind(
    id="voter-unexplained",
    meaning="The voter set changed, or a change of it was lost, and no request explains that.",
    guarantee="The voters change only on request, and an acknowledged change is kept.",
    source="KIP-853, Add Voter and Remove Voter; since 4.2 controller.quorum.auto.join.enable excepted",
)
VOTER_CHANGE_NOT_SINGLE = AnomalyKind(
    id="voter-change-not-single",
    meaning="A voter set in the metadata log differs from the previous one by more than one voter.",
    guarantee="Voters are added and removed one at a time, so that majorities of successive sets overlap.",
    source="KIP-853, Voter Changes; Ongaro, Consensus: Bridging Theory and Practice (2014), §4.1",
)
AUTO_JOIN = "controller.quorum.auto.join.enable"
AUTO_JOIN_SINCE = (4, 2)

Automatic = Callable[[Flip], bool]
"""Whether a controller may have caused a change by itself."""


def automatic(versions: KafkaVersions, files: Iterable[StateFile]) -> Automatic:
    """The changes that controllers with auto-join make: they join, and remove their old disk's voter."""
    disks: dict[str, set[str | None]] = {}
    controllers = versions.setup.controllers
    for file in files:
        disks.setdefault(file.node, set()).add(file.directory_id)

    def may_be(flip: Flip) -> bool:
        return joins_by_itself(versions, flip.id, flip.after.time_ns) and (
            flip.joined or bool(disks.get(controllers[flip.id], set()) - {flip.directory_id})
        )

    return may_be


def joins_by_itself(versions: KafkaVersions, voter: int, until_ns: int = FOREVER_NS) -> bool:
    """Whether a node may have become a voter without a request by a time."""
    node = versions.setup.controllers.get(voter)
    if node is None or not versions.setup.is_set(AUTO_JOIN, node):
        return False
    return versions.newest(0, until_ns, [node]) >= AUTO_JOIN_SINCE


class Explained(msgspec.Struct, frozen=True):
    """The result of assigning flips to requests.

    Attributes:
        unexplained: flips that no request explains.
        unused: requests that may have been performed and explain no flip.
    """

    unexplained: tuple[Flip, ...]
    unused: tuple[VoterChange, ...]


_OTHERS = (
    "None of these requests explains it: each failed, asked for the opposite, was done at another time, or "
    "explains another change."
)


def explain(flips: Iterable[Flip], changes: Iterable[VoterChange], may_be_automatic: Automatic) -> Explained:
    """Assign every flip to a request, preferring the request that had to be performed soonest.

    A change that was never acknowledged may be lost with its leader, and return with a later leader that has
    its record.  Then its request may explain another flip.
    """
    free = [change for change in changes if change.possible]
    causes: dict[tuple[int, str | None], VoterChange | None] = {}
    unexplained = []
    for flip in flips:
        voter = (flip.id, flip.directory_id)
        if flip.may_be_undone and voter in causes and _uncommitted(causes[voter], flip):
            undone = causes.pop(voter)
            free += [] if undone is None else [undone]
        elif may_be_automatic(flip):
            causes[voter] = None
        elif (cause := _cause(flip, free)) is not None:
            free.remove(cause)
            causes[voter] = cause
        else:
            causes.pop(voter, None)
            unexplained.append(flip)
    return Explained(tuple(unexplained), tuple(free))


def _uncommitted(cause: VoterChange | None, flip: Flip) -> bool:
    """Whether the change that caused the voter set may never have been committed."""
    return cause is None or not cause.acknowledged or cause.completed_ns >= flip.after.began_ns


def _cause(flip: Flip, free: Iterable[VoterChange]) -> VoterChange | None:
    fitting = [
        change
        for change in free
        if change.f == (ADD if flip.joined else REMOVE)
        and change.concerns(flip.id, flip.directory_id)
        and change.invoked_ns <= flip.after.time_ns
        and change.done_by_ns >= flip.from_ns
    ]
    return min(fitting, key=lambda change: (change.done_by_ns, change.operations), default=None)


def unexplained_voters(flips: Iterable[Flip], changes: Sequence[VoterChange]) -> list[Anomaly]:
    """The first finding for each voter and direction."""
    found: dict[tuple[int, bool], Anomaly] = {}
    for flip in flips:
        found.setdefault((flip.id, flip.joined), _unexplained(flip, changes))
    return list(found.values())


def _unexplained(flip: Flip, changes: Sequence[VoterChange]) -> Anomaly:
    how = "became a voter" if flip.joined else "stopped being a voter"
    related = [change for change in changes if change.id == flip.id]
    requests = [_requested(change) for change in related]
    sets = (
        f"At {_s(flip.before.time_ns)}, in epoch {flip.before.epoch}, the voters were "
        f"{named(flip.before.members)}; at {_s(flip.after.time_ns)}, in epoch {flip.after.epoch}, they were "
        f"{named(flip.after.members)}."
    )
    return VOTER_UNEXPLAINED.found(
        f"Voter {flip.id} ({flip.directory_id or 'disk unknown'}) {how}, but no request explains it.",
        subject=f"voter {flip.id}",
        time_ns=flip.after.time_ns,
        witness=dict.fromkeys((flip.before.index, flip.after.index)),
        explanation=(
            sets,
            *(requests or ["No request asked for a change of that voter."]),
            *([_OTHERS] if requests else []),
        ),
    )


def _requested(change: VoterChange) -> str:
    verb = "add" if change.f == ADD else "remove"
    voter = f"voter {change.id} ({change.directory_id})"
    return f"A request at {_s(change.invoked_ns)} to {verb} {voter}: {change.outcome}."


def _s(time_ns: int) -> str:
    return f"{time_ns / 1e9:.3f} s"


def changes_not_single(logged: Iterable[Sequence[Flip]]) -> list[Anomaly]:
    """One finding for every voter record that changes more than one voter."""
    return [_not_single(flips) for flips in logged if len(flips) > 1]


def _not_single(flips: Sequence[Flip]) -> Anomaly:
    before, after = flips[0].before, flips[0].after
    changed = ", ".join(f"{'+' if flip.joined else '-'}{flip.id} ({flip.directory_id})" for flip in flips)
    return VOTER_CHANGE_NOT_SINGLE.found(
        f"One record of epoch {after.epoch} changed {len(flips)} voters: {changed}.",
        subject=f"epoch {after.epoch}",
        time_ns=after.time_ns,
        witness=(after.index,),
        explanation=(f"The voters were {named(before.members)}, then {named(after.members)}.",),
    )


def resolved(changes: Iterable[VoterChange], logged: Explained, *, has_log: bool) -> dict[str, int]:
    """The outcomes of requests with an unknown outcome, by the log.

    They are happened or not, and open if there is no log.
    """
    doubtful = [change for change in changes if change.outcome is INFO]
    if not has_log:
        return {"open": len(doubtful)} if doubtful else {}
    absent = sum(change in logged.unused for change in doubtful)
    counts = {"happened": len(doubtful) - absent, "not": absent}
    return {name: count for name, count in counts.items() if count}
