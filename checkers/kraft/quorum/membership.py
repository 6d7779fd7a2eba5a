"""Members of the voter set: no broker is a voter, and no controller disappears from the set."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from checkers.evidence.faults import FaultWindow
from checkers.history.observed import nodes_seen
from checkers.history.operations import History
from checkers.history.quorum import QUORUM, quorum_seen
from checkers.history.setup import Setup
from checkers.kraft.quorum.changes import ADD, VoterChange
from checkers.kraft.quorum.views import LeaderClaim
from checkers.kraft.quorum.voter_sets import VoterSet, named
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

BROKER_AS_VOTER = AnomalyKind(
    id="broker-as-voter",
    meaning="A node without the role of a controller became a voter.",
    guarantee="Only controllers are voters of the metadata quorum.",
    source="KIP-853, Add Voter; KAFKA-19021, open in 4.3.1: the broker exits, here and at every start",
)
VOTER_LOST = AnomalyKind(
    id="voter-lost",
    meaning="A reachable controller ran for long and was neither a voter nor an observer for the leader.",
    guarantee="A controller that is not a voter finds the leader and fetches from it as an observer.",
    source="KIP-853, Bootstrap Servers; KAFKA-17030, fixed in 4.1.0",
)
LOST_AFTER_NS = 30_000_000_000
"""Without faults a controller is in the leader's view within this; on 4.1.1 a stale voter took 14.8 s."""
ANSWERED_WITHIN_NS = 5_000_000_000


class _Answer(NamedTuple):
    """When a node was asked, nanoseconds, and whether it answered."""

    time_ns: int
    answered: bool


class _BrokerProof(NamedTuple):
    """Since when a broker is a voter, the operations that show it, and a sentence about them."""

    since_ns: int
    witness: tuple[int, ...]
    text: str


def brokers_as_voters(
    sets: Iterable[VoterSet], changes: Iterable[VoterChange], setup: Setup, history: History
) -> list[Anomaly]:
    """One finding for each broker in a voter set, or acknowledged as added; with its exit, if it died."""
    brokers = {node.id: node.name for node in setup.nodes if "controller" not in node.roles}
    proofs: dict[int, _BrokerProof] = {}
    for change in changes:
        if change.f == ADD and change.acknowledged and change.id in brokers:
            text = f"Its addition was acknowledged at {change.completed_ns / 1e9:.3f} s."
            proofs.setdefault(change.id, _BrokerProof(change.invoked_ns, change.operations, text))
    for voter_set in sorted(sets, key=lambda voter_set: (voter_set.time_ns, voter_set.index)):
        for voter in voter_set.members.keys() & brokers.keys():
            text = f"In epoch {voter_set.epoch} the voters were {named(voter_set.members)}."
            proofs.setdefault(voter, _BrokerProof(voter_set.began_ns, (voter_set.index,), text))
    return [_broker(brokers[voter], voter, proof, history) for voter, proof in sorted(proofs.items())]


def _broker(node: str, voter: int, proof: _BrokerProof, history: History) -> Anomaly:
    since_ns, witness, text = proof
    lives = nodes_seen(history, node)
    ends = [each for each in lives if each.value.exited and each.operation.time_ns >= since_ns][:1]
    return BROKER_AS_VOTER.found(
        f"{node}, a broker, became voter {voter} of the metadata quorum.",
        subject=node,
        time_ns=history.operations[witness[-1]].time_ns,
        witness=(*witness, *(end.index for end, _ in ends)),
        explanation=(
            text,
            *(
                f"At {end.time_ns / 1e9:.3f} s {node} had exited with code {seen.exit_code}."
                for end, seen in ends
            ),
        ),
    )


def lost_voters(
    history: History, claims: Sequence[LeaderClaim], windows: Sequence[FaultWindow], setup: Setup
) -> list[Anomaly]:
    """One finding for each controller that answers, without faults, but is missing for longer than the bound.

    Args:
        history: the history of the run.
        claims: answers of leaders that were up to date.
        windows: the run's faults; a fault counts if it hits that node or a voter, or cuts one of them off
            from any node.
        setup: which nodes are controllers.
    """
    names = setup.controllers
    ordered = sorted(claims, key=lambda claim: (claim.time_ns, claim.index))
    answers: dict[str, list[_Answer]] = {node: [] for node in names.values()}
    for operation in history.observed(QUORUM):
        answered = quorum_seen(operation.value).answer != "error"
        answers.setdefault(operation.node or "", []).append(_Answer(operation.time_ns, answered))
    found = []
    for voter, node in sorted(names.items()):
        missing = _missing(voter, ordered, windows, names, answers[node])
        if missing is not None:
            found.append(_lost(node, *missing))
    return found


def _missing(
    voter: int,
    claims: Iterable[LeaderClaim],
    windows: Sequence[FaultWindow],
    names: dict[int, str],
    answers: Sequence[_Answer],
) -> tuple[LeaderClaim, LeaderClaim] | None:
    """First and last answer of a period longer than the bound without that node, which itself answers."""
    first: LeaderClaim | None = None
    previous_ns = 0
    for claim in claims:
        away = (
            any(other.id == voter for other in (*claim.voters, *claim.observers))
            or _disturbed(voter, claim, previous_ns, windows, names)
            or not _answers(answers, previous_ns, claim.time_ns)
        )
        first = None if away else first or claim
        previous_ns = claim.time_ns
        if first is not None and claim.began_ns - first.time_ns > LOST_AFTER_NS:
            return first, claim
    return None


def _disturbed(
    voter: int, claim: LeaderClaim, since_ns: int, windows: Sequence[FaultWindow], names: dict[int, str]
) -> bool:
    """Whether a fault between that time and the answer concerns the node, or a voter."""
    involved = {names.get(number, "") for number in (voter, *(other.id for other in claim.voters))}
    return any(w.overlaps(since_ns, claim.time_ns) and _touches(w, involved) for w in windows)


def _touches(window: FaultWindow, nodes: set[str]) -> bool:
    return any(window.concerns(node) for node in nodes) or any(nodes & set(pair) for pair in window.cut)


def _answers(answers: Sequence[_Answer], start_ns: int, end_ns: int) -> bool:
    """Whether the node answered recently and has not failed to answer since, which shows that it runs."""
    first = bisect_left(answers, start_ns - ANSWERED_WITHIN_NS, key=lambda o: o.time_ns)
    lately = answers[first : bisect_right(answers, end_ns, key=lambda o: o.time_ns)]
    return bool(lately) and all(o.answered for o in lately)


def _lost(node: str, first: LeaderClaim, last: LeaderClaim) -> Anomaly:
    seconds = (last.began_ns - first.time_ns) / 1e9
    return VOTER_LOST.found(
        f"{node} ran for {seconds:.1f} s and was neither a voter nor an observer of the quorum.",
        subject=node,
        time_ns=last.time_ns,
        witness=(first.index, last.index),
        explanation=tuple(_view(claim) for claim in (first, last)),
    )


def _view(claim: LeaderClaim) -> str:
    return (
        f"At {claim.time_ns / 1e9:.3f} s {claim.node}, leader of epoch {claim.epoch}, had the voters"
        f" {named(voter.id for voter in claim.voters)} and the observers"
        f" {named(observer.id for observer in claim.observers)}."
    )
