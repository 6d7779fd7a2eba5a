"""Judges leaders' answers: the leader's own log, the logs of its voters, and the high watermark.

A leader computes its answer from the fetches of voters and observers since its election.  One thread stores
these and answers from them, so each answer is consistent in itself and with earlier answers (Kafka's
LeaderState).  There are two exceptions: a voter joined or left, because the high watermark then does not
change, or a disk was lost.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import msgspec

from checkers.evidence.metadata_log import farthest
from checkers.history.operations import History
from checkers.history.quorum import ReplicaState
from checkers.kraft.quorum.views import NONE, LeaderClaim
from checkers.kraft.quorum.voter_sets import VOTERS_RECORD
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.verdict import Anomaly

UNFOUNDED_MARK = AnomalyKind(
    id="high-watermark-unfounded",
    meaning="A leader's high watermark was beyond the end of its log, or beyond what a majority of "
    "the voters had fetched.",
    guarantee="A record is committed only after it is on the disks of a majority of the voters.",
    source="KIP-595, Fetch; KIP-853; Kafka's LeaderState.maybeUpdateHighWatermark",
)
BEYOND_LEADER = AnomalyKind(
    id="follower-beyond-leader",
    meaning="By the leader's own answer, a follower had fetched beyond the end of the leader's log.",
    guarantee="A follower that fetches beyond the end of the leader's log gets the diverging epoch "
    "and truncates its log.",
    source="KIP-595, Fetch; Kafka's KafkaRaftClient.tryCompleteFetchRequest",
)
END_REGRESSION = AnomalyKind(
    id="voter-end-regression",
    meaning="A voter's log ended below committed records that its disk had had.",
    guarantee="A voter flushes its log before it fetches further, and truncates no committed records.",
    source="KIP-595, Fetch and Log Truncation; Raft (Ongaro and Ousterhout 2014), §5.3 and §5.4",
)
UNCOMMITTED_SETS = AnomalyKind(
    id="two-uncommitted-voter-sets",
    meaning="A leader appended a voter set while the one before it was not committed.",
    guarantee="A voter change is refused until the previous one is committed.",
    source="KIP-853, Add Voter, Remove Voter; Ongaro, Consensus: Bridging Theory and Practice (2014), §4.1",
)
ANOMALIES = by_id(UNFOUNDED_MARK, BEYOND_LEADER, END_REGRESSION, UNCOMMITTED_SETS)

Key = tuple[int, str | None]
"""A voter: its ``node.id`` and its directory id."""
DiskHit = Callable[[int, int, int], bool]
"""Whether a fault of its disk may have hit a node, given by id, at some time between two times."""
Licence = Callable[[LeaderClaim], str | None]
"""Why committed records may be lost when a leader answers; None if nothing explains it."""


class Grounds(NamedTuple):
    """The facts that are needed to judge answers, in addition to the answers.

    Attributes:
        steady: whether the set of voters certainly never changed.
        disk_hit: whether a fault hit a node's disk.
        licence: what permits the loss of committed records.
    """

    steady: bool
    disk_hit: DiskHit
    licence: Licence


def judge_answers(claims: Iterable[LeaderClaim], grounds: Grounds, history: History) -> list[Anomaly]:
    """All anomalies in leaders' answers, the first of each kind by leader, epoch and voter.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    ordered = sorted(claims, key=lambda claim: (claim.epoch, claim.node, claim.time_ns, claim.index))
    found = []
    for _, of_leader in groupby(ordered, key=lambda claim: (claim.epoch, claim.node)):
        answers = list(of_leader)
        found += [*_unfounded(answers, grounds)][:1]
        found += _first_by_subject(_beyond(answers))
    return [*found, *_first_by_subject(_forgotten(ordered, grounds)), *_uncommitted(ordered, history)]


def figures(claims: Sequence[LeaderClaim]) -> dict[str, int]:
    """Numbers of the answers and values that were judged."""
    return {
        "answers_judged": len(claims),
        "marks_judged": sum(claim.high_watermark > NONE for claim in claims),
        "voter_ends_judged": sum(voter.log_end_offset > NONE for c in claims for voter in c.voters),
    }


def _first_by_subject(found: Iterable[Anomaly]) -> list[Anomaly]:
    first: dict[str | None, Anomaly] = {}
    for anomaly in found:
        first.setdefault(anomaly.subject, anomaly)
    return list(first.values())


def _key(voter: ReplicaState) -> Key:
    return voter.id, voter.directory_id


def _end(claim: LeaderClaim) -> int:
    """End of the leader's log.

    A leader that is leaving the voters is listed among the observers.
    """
    ends = (v.log_end_offset for v in (*claim.voters, *claim.observers) if v.id == claim.leader_id)
    return max(ends, default=NONE)


def _unfounded(answers: Sequence[LeaderClaim], grounds: Grounds) -> Iterator[Anomaly]:
    """High watermarks that neither the answer's voters nor the voters before a change have reached.

    Records that were committed before a change of the voters need no majority of the later voters.  A delayed
    fetch request sets a voter's end back until the voter's next fetch.  So the next answer must show the
    violation too.
    """
    reached: dict[Key, int] = {}
    voters: set[Key] | None = None
    inherited = NONE
    for claim, after in zip(answers, [*answers[1:], None], strict=True):
        before, voters = voters, {_key(voter) for voter in claim.voters}
        if voters != before and not (before is None and grounds.steady):
            inherited = max(inherited, claim.high_watermark)
        for voter in (*claim.voters, *(() if after is None else after.voters)):
            reached[_key(voter)] = max(reached.get(_key(voter), NONE), voter.log_end_offset)
        mark, end = claim.high_watermark, _end(claim)
        if NONE < end < mark:
            yield _mark(claim, f"its own log ends at {end}")
        elif mark > inherited and after is not None:
            silent = _silent(claim, after)
            having = sum(
                reached[key] >= mark or key in silent or grounds.disk_hit(key[0], 0, after.time_ns)
                for key in voters
            )
            if 2 * having <= len(voters):
                yield _mark(claim, f"{having} of {len(voters)} voters have fetched so far")


def _silent(claim: LeaderClaim, after: LeaderClaim) -> set[Key]:
    """Voters of an answer, other than the leader, that had not fetched again by the next answer."""
    fetched = {_key(voter): voter.last_fetch_ms for voter in after.voters}
    return {
        _key(voter)
        for voter in claim.voters
        if voter.id != claim.leader_id and fetched.get(_key(voter), NONE) <= voter.last_fetch_ms
    }


def _mark(claim: LeaderClaim, why: str) -> Anomaly:
    return UNFOUNDED_MARK.found(
        f"{claim.node}, leader of epoch {claim.epoch}, reported high watermark "
        f"{claim.high_watermark}, but {why}.",
        subject=f"{claim.node}, epoch {claim.epoch}",
        time_ns=claim.time_ns,
        witness=(claim.index,),
        explanation=(_answer_text(claim),),
    )


def _answer_text(claim: LeaderClaim) -> str:
    ends = ", ".join(f"{voter.id} at {voter.log_end_offset}" for voter in claim.voters)
    return (
        f"At {claim.time_ns / 1e9:.3f} s {claim.node} led epoch {claim.epoch}: high watermark "
        f"{claim.high_watermark}, log ends of the voters: {ends}."
    )


def _beyond(answers: Sequence[LeaderClaim]) -> Iterator[Anomaly]:
    for claim in answers:
        end = _end(claim)
        for each in (*claim.voters, *claim.observers):
            if NONE < end < each.log_end_offset:
                yield BEYOND_LEADER.found(
                    f"{each.id} had fetched up to {each.log_end_offset}, but the log of its leader "
                    f"{claim.node} ended at {end}.",
                    subject=f"{each.id}, epoch {claim.epoch}",
                    time_ns=claim.time_ns,
                    witness=(claim.index,),
                    explanation=(_answer_text(claim),),
                )


def _regression(voter: ReplicaState, claim: LeaderClaim, before: LeaderClaim, had: str) -> Anomaly:
    return END_REGRESSION.found(
        f"The log of voter {voter.id} ended at {voter.log_end_offset} in epoch {claim.epoch}, but {had}.",
        subject=f"voter {voter.id}, epoch {claim.epoch}",
        time_ns=max(before.time_ns, claim.time_ns),
        witness=(before.index, claim.index),
        explanation=(_answer_text(before), _answer_text(claim)),
    )


class DurableEnd(NamedTuple):
    """The offset up to which a voter's disk has the committed records, and the answer that reported it."""

    end: int
    claim: LeaderClaim


def _forgotten(ordered: Sequence[LeaderClaim], grounds: Grounds) -> Iterator[Anomaly]:
    """Voters that lack committed records which they had according to an earlier leader.

    If the leader itself lacks them, they are lost, which another rule reports.

    Args:
        ordered: all answers, by epoch.
        grounds: faults that explain it.
    """
    mark = NONE
    kept: dict[Key, DurableEnd] = {}
    for _, of_epoch in groupby(ordered, key=lambda claim: claim.epoch):
        answers = list(of_epoch)
        for claim in answers:
            kept = {key: had for key, had in kept.items() if not NONE < _end(claim) < had.end}
            yield from _lacking(claim, kept, grounds)
        mark = max(mark, *(claim.high_watermark for claim in answers))
        keep(kept, answers, mark)


def keep(kept: dict[Key, DurableEnd], answers: Iterable[LeaderClaim], mark: int) -> None:
    """Record which committed records voters have, up to the high watermark of this or an earlier epoch."""
    for claim in answers:
        for voter in claim.voters:
            end = min(voter.log_end_offset, mark)
            if end > kept.get(_key(voter), DurableEnd(NONE, claim)).end:
                kept[_key(voter)] = DurableEnd(end, claim)


def _lacking(claim: LeaderClaim, kept: Mapping[Key, DurableEnd], grounds: Grounds) -> Iterator[Anomaly]:
    for voter in claim.voters:
        had = kept.get(_key(voter))
        if had is None or not NONE < voter.log_end_offset < had.end:
            continue
        times_ns = (had.claim.began_ns, had.claim.time_ns, claim.began_ns, claim.time_ns)
        if not grounds.disk_hit(voter.id, min(times_ns), max(times_ns)):
            what = f"it had had committed records up to {had.end} in epoch {had.claim.epoch}"
            anomaly = _regression(voter, claim, had.claim, what)
            licence = grounds.licence(claim)
            yield msgspec.structs.replace(anomaly, illegal=licence is None, licence=licence)


def _uncommitted(ordered: Sequence[LeaderClaim], history: History) -> Iterator[Anomaly]:
    """Consecutive voter sets of one epoch, both uncommitted according to an answer of that epoch."""
    log = farthest(history)
    records = [] if log is None else [record for record in log.seen.records if record.kind == VOTERS_RECORD]
    for (before, epoch, *_), (after, later, *_) in pairwise(records):
        both = [c for c in ordered if c.epoch == epoch and c.high_watermark <= before and _end(c) > after]
        if epoch == later and both and log is not None:
            claim = min(both, key=lambda each: each.time_ns)
            yield UNCOMMITTED_SETS.found(
                f"{claim.node} appended voter sets at offsets {before} and {after} of the metadata "
                f"log while only {claim.high_watermark} was committed.",
                subject=f"epoch {epoch}",
                time_ns=claim.time_ns,
                witness=(claim.index, log.operation.index),
                explanation=(_answer_text(claim),),
            )
