"""Actions of a voter around its vote: pre-votes that it requests and grants, and its vote on disk.

Since KIP-996, a voter without contact to a leader asks the others whether they would vote for it.  It becomes
a candidate, which raises the epoch, only if a majority would.  Its own log lists those voters.

A follower grants no pre-vote once it has fetched from its leader (Kafka's ``FollowerState.canGrantVote``).
If no fetch succeeds within its fetch timeout, it ceases to be a follower, and logs that.  So one that is
still a follower later has fetched.  Time in which its process is frozen does not count.  A controller that
was no voter when it began to follow is not judged: it stays a follower without fetches.

A vote is on the voter's disk before it is logged.  So every later reading of the voter's quorum-state file
has that epoch or a later one, and in that epoch the vote or the elected leader.
"""

from collections.abc import Callable, Iterator, Sequence

from checkers.evidence.faults import FaultWindow
from checkers.evidence.kafka_versions import KafkaVersions
from checkers.history.units import MS_PER_S, NS_PER_MS
from checkers.kraft.quorum.run_away import all_ask_first
from checkers.kraft.quorum.views import NONE, StateFile
from checkers.kraft.quorum.votes import SLACK_NS, Logs, Vote
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.verdict import Anomaly

CANDIDATE_UNASKED = AnomalyKind(
    id="candidate-without-majority",
    meaning="A controller became a candidate without pre-votes of a majority of the voters.",
    guarantee="A voter becomes a candidate, and raises the epoch, only if a majority would vote for it.",
    source="KIP-996, Pre-Vote, since 4.0.0",
)
VOTE_UNKEPT = AnomalyKind(
    id="vote-not-kept",
    meaning="A controller had granted its vote, and its quorum-state file had no vote in that epoch.",
    guarantee="A voter writes the epoch and its vote to disk before it answers.",
    source="KIP-595, Quorum State and Vote; Raft (Ongaro and Ousterhout 2014), §5.2, persistent state",
)
PRE_VOTE_OF_FOLLOWER = AnomalyKind(
    id="pre-vote-of-follower",
    meaning="A controller granted a pre-vote although it followed a leader from which it had fetched.",
    guarantee="A follower that has fetched from its leader refuses pre-votes until it loses contact with it.",
    source="KIP-996, Pre-Vote, since 4.0.0; Kafka's FollowerState.canGrantVote",
)
LATE_MS = 2_000
"""How much later than its fetch timeout a follower on a busy host may notice that it has ended.

Of 59 followers in stored runs that granted a pre-vote, which they may do before their first fetch, none did
so more than 1,991 ms after it had become one; the timeout was 2,000 ms.
"""
ANOMALIES = by_id(CANDIDATE_UNASKED, VOTE_UNKEPT, PRE_VOTE_OF_FOLLOWER)

DiskHit = Callable[[str, int, int], bool]
"""Whether a fault of its disk may have hit a node, given by name, at some time between two times."""


def candidates_without_pre_votes(logs: Logs, versions: KafkaVersions) -> Iterator[Anomaly]:
    """Candidates whose own log shows that too few voters granted a pre-vote.

    Voters whose version does not support pre-votes at that time need not be asked.
    """
    for vote in logs.votes:
        voters, granting = vote.line.pre_voters, vote.line.pre_granting
        judged = all_ask_first(versions, vote.time_ns - SLACK_NS, vote.time_ns + SLACK_NS)
        if judged and voters and granting is not None and 2 * len(granting) <= len(voters):
            entry = vote.line
            yield CANDIDATE_UNASKED.found(
                f"{vote.node} became a candidate in epoch {entry.epoch} with the pre-votes of only "
                f"{len(granting)} of {len(voters)} voters.",
                subject=f"{vote.node}, epoch {entry.epoch}",
                time_ns=vote.time_ns,
                witness=(vote.index,),
                explanation=(
                    f"Line {entry.line} of its log: pre-votes of {list(granting)} among {list(voters)}.",
                ),
            )


def pre_votes_of_followers(logs: Logs, freezes: Sequence[FaultWindow]) -> Iterator[Anomaly]:
    """Pre-votes of followers that must have fetched from their leaders.

    Args:
        logs: votes and pre-votes that nodes logged.
        freezes: faults that suspend processes; the time that they take does not count.
    """
    for vote in logs.asked:
        entry = vote.line
        if entry.following_ms is None or entry.fetch_timeout_ms is None:
            continue
        since_ns = vote.time_ns - entry.following_ms * NS_PER_MS
        frozen = (
            each.end_ns - each.invoked_ns
            for each in freezes
            if each.concerns(vote.node) and each.overlaps(since_ns - SLACK_NS, vote.time_ns + SLACK_NS)
        )
        if entry.following_ms - sum(frozen) / NS_PER_MS >= entry.fetch_timeout_ms + LATE_MS:
            yield PRE_VOTE_OF_FOLLOWER.found(
                f"{vote.node} granted its pre-vote to {entry.candidate_id} in epoch {entry.epoch}, although "
                f"it had followed a leader for {entry.following_ms / MS_PER_S:.1f} s.",
                subject=f"{vote.node}, epoch {entry.epoch}",
                time_ns=vote.time_ns,
                witness=(vote.index,),
                explanation=[
                    f"Line {entry.line} of its log has the vote.",
                    f"Without a fetch, it follows a leader for {entry.fetch_timeout_ms / MS_PER_S:.1f} s.",
                ],
            )


def votes_unkept(logs: Logs, files: Sequence[StateFile], disk_hit: DiskHit) -> Iterator[Anomaly]:
    """For each node, the first vote that its next quorum-state file lacks.

    Args:
        logs: votes that nodes logged.
        files: readings of quorum-state files.
        disk_hit: whether a fault hit a node's disk, whose content may then be lost.
    """
    found: set[str] = set()
    for vote in logs.votes:
        read_from_ns = vote.time_ns + SLACK_NS
        later = (file for file in files if file.node == vote.node and file.began_ns > read_from_ns)
        file = min(later, key=lambda each: (each.began_ns, each.index), default=None)
        if file is None or vote.node in found or _kept(vote, file):
            continue
        if not disk_hit(vote.node, vote.time_ns - SLACK_NS, file.time_ns):
            found.add(vote.node)
            yield _unkept(vote, file)


def _kept(vote: Vote, file: StateFile) -> bool:
    decided = file.voted_id > NONE or file.leader_id > NONE
    return file.epoch > vote.line.epoch or (file.epoch == vote.line.epoch and decided)


def _unkept(vote: Vote, file: StateFile) -> Anomaly:
    entry = vote.line
    in_it = f"epoch {file.epoch}, vote {file.voted_id}, leader {file.leader_id}"
    return VOTE_UNKEPT.found(
        f"{vote.node} voted for {entry.candidate_id} in epoch {entry.epoch}, but its quorum-state "
        f"file did not have this vote: {in_it}.",
        subject=f"{vote.node}, epoch {entry.epoch}",
        time_ns=file.time_ns,
        witness=(vote.index, file.index),
        explanation=(
            f"Line {entry.line} of {vote.node}'s log, at {entry.at}, reports the vote.",
            f"Read from {file.began_ns / 1e9:.3f} s on, its file has {in_it}.",
        ),
    )
