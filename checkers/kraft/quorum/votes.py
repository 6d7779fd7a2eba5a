"""Votes that controllers logged: one in each epoch, none for a stale candidate, a majority for a leader.

Logs are limited evidence: events that are not in them are unknown.  So only contradictions are illegal:
between two lines, between a line and the voter's metadata log, or between a vote that a candidate counted and
the voter's complete log that lacks this vote.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from checkers.evidence.faults import FaultWindow
from checkers.evidence.metadata_log import farthest
from checkers.evidence.node_logs import logged_at_ns
from checkers.history.logged import ELECTED, VOTE, ElectedLogged, VoteLogged, VotesEnd, vote_logged
from checkers.history.operations import History
from checkers.history.setup import Setup
from checkers.kraft.quorum.leader_answers import DurableEnd, Key, keep
from checkers.kraft.quorum.rules import DOUBLE_VOTE
from checkers.kraft.quorum.views import NONE, LeaderClaim
from checkers.kraft.quorum.wipes import Wipes
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

STALE_VOTE = AnomalyKind(
    id="stale-vote",
    meaning="A voter granted its vote to a candidate whose log lacks committed records that the voter has.",
    guarantee="A voter grants its vote only to a candidate whose log is at least as up to date as its own.",
    source="KIP-595, Vote; Raft (Ongaro and Ousterhout 2014), §5.4.1",
)
LEADER_WITHOUT_MAJORITY = AnomalyKind(
    id="leader-without-majority",
    meaning="A controller became leader without the votes of a majority.",
    guarantee="A candidate becomes leader only if a majority of the voters granted it their votes.",
    source="KIP-595, Leader Election; Raft (Ongaro and Ousterhout 2014), §5.2",
)
SLACK_NS = 2_000_000_000
"""Largest difference between a line's time and the history's clock, whose start is known in whole seconds."""


class Vote(msgspec.Struct, frozen=True):
    """A line that reports a vote; fields are named as in docs/histories.md.

    Attributes:
        index: the observation's place in the history.
        node: name of the node whose log has it.
        time_ns: when it was logged, on the history's clock; uncertain by `SLACK_NS`.
        line: the decoded line.
    """

    index: int
    node: str
    time_ns: int
    line: VoteLogged


class Elected(NamedTuple):
    """A line by which a node became a leader, and the index of its observation."""

    node: str
    op: int
    time_ns: int
    line: ElectedLogged


class Logs(msgspec.Struct, frozen=True):
    """The reports of all logs about votes.

    Attributes:
        votes: binding votes, without pre-votes, in the order of the history.
        asked: all lines about votes, granted or not, and about pre-votes, in the same order.
        elected: the lines by which nodes became leaders.
        whole: nodes whose logs were read to the end without omissions, with the lowest epoch in each, because
            the beginning of a log may be missing.
        further: number of entries that were left out, by node.
    """

    votes: tuple[Vote, ...]
    asked: tuple[Vote, ...]
    elected: tuple[Elected, ...]
    whole: dict[str, int]
    further: dict[str, int]


def logs_of(history: History) -> Logs:
    """Read the reports of nodes' logs about votes.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """

    def time_ns(at: str | None, otherwise_ns: int) -> int:
        logged_ns = logged_at_ns(history, at)
        return otherwise_ns if logged_ns is None else logged_ns

    votes: list[Vote] = []
    further: dict[str, int] = {}
    for o in history.observed(VOTE):
        entry = vote_logged(o.value)
        if isinstance(entry, VotesEnd):
            further[o.node or ""] = entry.further
        else:
            votes.append(Vote(o.index, o.node or "", time_ns(entry.at, o.time_ns), entry))
    leaders = ((o, msgspec.convert(o.value, ElectedLogged)) for o in history.observed(ELECTED))
    elected = tuple(Elected(o.node or "", o.index, time_ns(who.at, o.time_ns), who) for o, who in leaders)
    first: dict[str, int] = {}
    for vote in votes:
        if not further.get(vote.node, 1):
            first[vote.node] = min(first.get(vote.node, vote.line.epoch), vote.line.epoch)
    left_out = {node: number for node, number in further.items() if number}
    binding = tuple(vote for vote in votes if vote.line.binds)
    return Logs(binding, tuple(votes), elected, first, left_out)


def _alike(one: VoteLogged, other: VoteLogged) -> bool:
    """Whether two votes are for the same candidate; an unknown disk may be any disk."""
    same_disk = _same(one.candidate_directory_id, other.candidate_directory_id)
    return one.candidate_id == other.candidate_id and same_disk


def _same(one: str | None, other: str | None) -> bool:
    return one == other or None in (one, other)


def granted_twice(logs: Logs, wipes: Iterable[FaultWindow]) -> Iterator[Anomaly]:
    """The first vote for another candidate than the one before, for every node, disk and epoch.

    A disk that was emptied in between does not have the earlier vote.
    """
    hits = tuple(wipes)
    last: dict[tuple[str, int], Vote] = {}
    found: set[tuple[str, int]] = set()
    for vote in logs.votes:
        place = (vote.node, vote.line.epoch)
        before = last.get(place)
        last[place] = vote
        if before is None or _alike(before.line, vote.line) or place in found:
            continue
        same_disk = _same(before.line.directory_id, vote.line.directory_id)
        from_ns, to_ns = before.time_ns - SLACK_NS, vote.time_ns + SLACK_NS
        if same_disk and not any(w.concerns(vote.node) and w.overlaps(from_ns, to_ns) for w in hits):
            found.add(place)
            yield _twice(before, vote)


def _twice(before: Vote, vote: Vote) -> Anomaly:
    names = f"{before.line.candidate_id} and {vote.line.candidate_id}"
    return DOUBLE_VOTE.found(
        f"{vote.node} voted for {names} in epoch {vote.line.epoch}, according to its own log.",
        subject=f"{vote.node}, epoch {vote.line.epoch}",
        time_ns=vote.time_ns,
        witness=(before.index, vote.index),
        explanation=(_vote_text(before), _vote_text(vote)),
    )


def _vote_text(vote: Vote) -> str:
    entry = vote.line
    disk = "" if entry.candidate_directory_id is None else f" on disk {entry.candidate_directory_id}"
    return (
        f"Line {entry.line} of {vote.node}'s log, at {entry.at}: it votes in epoch {entry.epoch} for "
        f"{entry.candidate_id}{disk}."
    )


class BoundedVote(NamedTuple):
    """A vote, and the least that the voter's log contained when the voter was asked for it.

    Attributes:
        vote: the vote.
        known: the committed end of the voter's log, with the answer that reports it.
        last_epoch: the epoch of the last record before that end.
    """

    vote: Vote
    known: DurableEnd
    last_epoch: int


class VoterLogBounds(msgspec.Struct, frozen=True):
    """The votes for which the voter's log and the candidate's are known."""

    votes: tuple[BoundedVote, ...]


def bounds_of(logs: Logs, claims: Sequence[LeaderClaim], setup: Setup, history: History) -> VoterLogBounds:
    """Bounds of the candidate's and the voter's log, for each vote for which both are known.

    A leader of an earlier epoch had reported the voter's log.  Its committed records are kept.
    """
    asked = [vote for vote in logs.votes if vote.line.last_epoch is not None]
    epoch_at = _epochs(history)
    ids = {name: voter for voter, name in setup.controllers.items()}
    kept: dict[Key, DurableEnd] = {}
    found = []
    waiting = sorted(claims, key=lambda claim: (claim.epoch, claim.time_ns))
    mark = NONE
    for vote in sorted(asked, key=lambda vote: vote.line.epoch):
        while waiting and waiting[0].epoch < vote.line.epoch:
            epoch = waiting[0].epoch
            of_epoch = [claim for claim in waiting if claim.epoch == epoch]
            waiting = waiting[len(of_epoch) :]
            mark = max(mark, *(claim.high_watermark for claim in of_epoch))
            keep(kept, of_epoch, mark)
        had = [
            known
            for (voter, disk), known in kept.items()
            if voter == ids.get(vote.node) and _same(disk, vote.line.directory_id)
        ]
        best = max(had, key=lambda known: known.end, default=None)
        last_epoch = None if best is None else epoch_at(best.end - 1)
        if best is not None and last_epoch is not None:
            found.append(BoundedVote(vote, best, last_epoch))
    return VoterLogBounds(tuple(found))


def _epochs(history: History) -> Callable[[int], int | None]:
    """Return a function that maps an offset to the epoch of its record in the farthest metadata log."""
    log = farthest(history)
    records = [] if log is None else log.seen.records
    begun = [(record.offset, record.epoch) for record in records if record.kind == "LEADER_CHANGE"]

    def epoch_at(offset: int) -> int | None:
        place = bisect_right(begun, (offset, 1 << 62)) - 1
        return begun[place][1] if place >= 0 and log is not None and offset < log.end else None

    return epoch_at


def stale_votes(bounds: VoterLogBounds, wipes: Wipes) -> Iterator[Anomaly]:
    """Votes for candidates whose logs end below the committed records on the voter's disk.

    If a disk was emptied, its records may be lost legally.
    """
    if wipes.wipes:
        return
    for vote, known, last_epoch in bounds.votes:
        entry, end = vote.line, known.end
        if (entry.last_epoch, entry.last_offset) < (last_epoch, end):
            yield STALE_VOTE.found(
                f"{vote.node} voted for {entry.candidate_id} in epoch {entry.epoch}, whose log ended at"
                f" {entry.last_offset} in epoch {entry.last_epoch}; its own had {end} in epoch {last_epoch}.",
                subject=f"{vote.node}, epoch {entry.epoch}",
                time_ns=vote.time_ns,
                witness=(known.claim.index, vote.index),
                explanation=(_had(vote, known), _vote_text(vote)),
            )


def _had(vote: Vote, known: DurableEnd) -> str:
    claim = known.claim
    return (
        f"At {claim.time_ns / 1e9:.3f} s {claim.node} led epoch {claim.epoch}: {vote.node} had "
        f"fetched all records below {known.end}, and they were committed."
    )


def without_majority(logs: Logs, setup: Setup) -> Iterator[Anomaly]:
    """Leaders with too few votes, by the line of their election or by the logs of the voters.

    A log counts if it has an earlier epoch and reaches the end, because it then has all lines in between.
    """
    granted = {(v.node, v.line.epoch, v.line.candidate_id) for v in logs.votes}
    ids = {name: voter for voter, name in setup.controllers.items()}
    for node, index, time_ns, elected in logs.elected:
        denied = [
            voter
            for voter in elected.counted
            if logs.whole.get(name := setup.controllers.get(voter, ""), elected.epoch) < elected.epoch
            and (name, elected.epoch, ids.get(node)) not in granted
        ]
        had = len(elected.counted) - len(denied)
        if elected.voters and 2 * had <= len(elected.voters):
            by = "not logged" if elected.granting is None else str(list(elected.granting))
            yield LEADER_WITHOUT_MAJORITY.found(
                f"{node} led epoch {elected.epoch} with the votes of only {had} of "
                f"{len(elected.voters)} voters.",
                subject=f"{node}, epoch {elected.epoch}",
                time_ns=time_ns,
                witness=(index,),
                explanation=(
                    f"Line {elected.line} of its log: the voters are {list(elected.voters)}; votes of: {by}.",
                    *(
                        f"The complete log of {setup.controllers[voter]} has no such vote."
                        for voter in denied
                    ),
                ),
            )


def figures(logs: Logs, bounds: VoterLogBounds) -> dict[str, int]:
    """Numbers of the votes that were judged."""
    return {
        "votes_judged": len(logs.votes),
        "votes_with_known_bounds": len(bounds.votes),
        "elections_judged": len(logs.elected),
        "vote_lines_left_out": sum(logs.further.values()),
    }
