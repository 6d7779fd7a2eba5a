"""What controllers of several versions log of votes and elections."""

import pytest

from checkers.history.logged import ElectedLogged, VoteLogged, VotesEnd
from harness.evidence.votes import VOTES_MAX, votes

HEAD = "2026-11-22T20:32:00.127Z INFO [kafka-1-raft-io-thread] [RaftManager id=1] "
ASKED = (
    "Vote request VoteRequestData(clusterId='x', voterId=1, topics=[TopicData(topicName='__cluster_metadata',"
    " partitions=[PartitionData(partitionIndex=0, {})])]) with epoch {} is {} (o.a.k.raft.KafkaRaftClient)"
)
NEWER = (
    "replicaEpoch={0}, replicaId=3, replicaDirectoryId=d-3_A, voterDirectoryId=d1, lastOffsetEpoch=1,"
    " lastOffset=319, preVote={1}"
)
KIP_853 = (
    "candidateEpoch=2, candidateId=3, candidateDirectoryId=d3, voterDirectoryId=d1, lastOffsetEpoch=1,"
    " lastOffset=319"
)
OLDEST = "candidateEpoch=2, candidateId=3, lastOffsetEpoch=1, lastOffset=319"


def only(line: str) -> VoteLogged | ElectedLogged | VotesEnd:
    """The only entry of a log of one line."""
    entry, ending = votes(HEAD + line)
    assert ending == VotesEnd(None, 1, 0)
    return entry


@pytest.mark.parametrize(
    ("line", "granted", "pre_vote", "disks"),
    [
        (ASKED.format(NEWER.format(2, "true"), 2, "granted"), True, True, ("d-3_A", "d1")),
        (ASKED.format(NEWER.format(2, "false"), 2, "rejected"), False, False, ("d-3_A", "d1")),
        (ASKED.format(KIP_853, 2, "granted"), True, False, ("d3", "d1")),
        (ASKED.format(OLDEST, 2, "granted"), True, False, (None, None)),
    ],
)
def test_a_vote_that_was_asked_for(
    line: str, disks: tuple[str | None, str | None], *, granted: bool, pre_vote: bool
) -> None:
    vote = only(line)
    assert isinstance(vote, VoteLogged)
    assert (vote.line, vote.at) == (1, "2026-11-22T20:32:00.127Z")
    assert (vote.epoch, vote.candidate_id, vote.granted, vote.pre_vote) == (2, 3, granted, pre_vote)
    assert (vote.candidate_directory_id, vote.directory_id) == disks
    assert (vote.last_epoch, vote.last_offset) == (1, 319)


@pytest.mark.parametrize(
    ("state", "disk"),
    [
        ("CandidateState(localId=1, localDirectoryId=d1, epoch=2, epochElection=EpochElection[…])", "d1"),
        ("CandidateState(localId=1, localDirectoryId=d1,epoch=2, retries=1, voteStates={…})", "d1"),
        ("CandidateState(localId=1, localDirectoryId=AAAAAAAAAAAAAAAAAAAAAA, epoch=2, retries=1)", None),
        ("CandidateState(localId=1, epoch=2, retries=1, voteStates={1=GRANTED})", None),
    ],
)
def test_a_candidate_votes_for_itself(state: str, disk: str | None) -> None:
    line = f"Completed transition to {state} from Unattached(epoch=1, voters=[1])"
    assert only(line) == VoteLogged(1, "2026-11-22T20:32:00.127Z", 2, 1, disk, True, False, None, None, disk)  # noqa: FBT003


PROSPECTIVE = (
    "Completed transition to CandidateState(localId=1, localDirectoryId=d1, epoch=2,"
    " epochElection=EpochElection[voterStates={1=VoterState(replicaKey=ReplicaKey(id=1, directoryId=d1),"
    " state=GRANTED)}]) from ProspectiveState(epoch=1, epochElection=EpochElection[voterStates={"
    "1=VoterState(replicaKey=ReplicaKey(id=1, directoryId=d1), state=GRANTED),"
    " 2=VoterState(replicaKey=ReplicaKey(id=2, directoryId=<undefined>), state=GRANTED),"
    " 3=VoterState(replicaKey=ReplicaKey(id=3, directoryId=d3), state=REJECTED)}], electionTimeoutMs=1436)"
)


def test_a_candidate_logs_who_would_vote_for_it() -> None:
    vote = only(PROSPECTIVE)
    assert isinstance(vote, VoteLogged)
    assert (vote.epoch, vote.candidate_id, vote.pre_voters, vote.pre_granting) == (2, 1, (1, 2, 3), (1, 2))


FOLLOWER = (
    "Completed transition to FollowerState(fetchTimeoutMs=2000, epoch=2, leader=2, leaderEndpoints=…,"
    " votedKey=Optional.empty, voters=[1, 2, 3], highWatermark=Optional.empty) from"
    " UnattachedState(epoch=2, leaderId=OptionalInt.empty, voters=[1, 2, 3])"
)
OBSERVER = FOLLOWER.replace("voters=[1, 2, 3]", "voters=[11, 2, 3]", 1)
PRE_VOTE = ASKED.format(NEWER.format(2, "true"), 2, "granted")
AT = "2026-11-22T20:32:{}Z INFO [kafka-1-raft-io-thread] [RaftManager id=1] "


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([AT.format("00.127") + FOLLOWER, AT.format("05.250") + PRE_VOTE], (5123, 2000)),
        ([AT.format("00.127") + FOLLOWER, "2026-11-22 other", AT.format("00.127") + PRE_VOTE], (0, 2000)),
        ([AT.format("00.127") + FOLLOWER, AT.format("01.000") + PROSPECTIVE, HEAD + PRE_VOTE], (None, None)),
        ([AT.format("00.127") + OBSERVER, AT.format("05.250") + PRE_VOTE], (None, None)),
        ([HEAD + PRE_VOTE], (None, None)),
        ([HEAD + FOLLOWER, HEAD + PRE_VOTE.replace("granted", "rejected")], (None, None)),
        ([HEAD + FOLLOWER, HEAD + PRE_VOTE.replace("preVote=true", "preVote=false")], (None, None)),
        (["[RaftManager id=1] " + FOLLOWER, HEAD + PRE_VOTE], (None, None)),
        ([HEAD + FOLLOWER, "[RaftManager id=1] " + PRE_VOTE], (None, None)),
    ],
)
def test_a_pre_vote_of_a_follower(lines: list[str], expected: tuple[int | None, int | None]) -> None:
    *_, vote, _ = votes("\n".join(lines))
    assert isinstance(vote, VoteLogged)
    assert (vote.following_ms, vote.fetch_timeout_ms) == expected


OLD_LEADER = (
    "Completed transition to Leader(localId=1, epoch=7, epochStartOffset=28, highWatermark=Optional.empty,"
    " voterStates={1=ReplicaState(nodeId=1, endOffset=Optional.empty)}) from CandidateState(localId=1,"
    " epoch=7, retries=1, voteStates={1=GRANTED, 2=UNRECORDED, 3=REJECTED}, highWatermark=Optional.empty)"
)
NEW_LEADER = (
    "Completed transition to Leader(localVoterNode=VoterNode(voterKey=ReplicaKey(id=1, directoryId=d1),"
    " supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:1]), epoch=7,"
    " epochStartOffset=0, highWatermark=Optional.empty,"
    " voterStates={1=ReplicaState(replicaKey=ReplicaKey(id=1, directoryId=d1),"
    " lastFetchTimestamp=-1)}) from CandidateState(localId=1, localDirectoryId=d1, epoch=7,"
    " epochElection=EpochElection[voterStates={1=VoterState(replicaKey=ReplicaKey(id=1, directoryId=d1),"
    " state=GRANTED), 2=VoterState(replicaKey=ReplicaKey(id=2, directoryId=<undefined>), state=GRANTED),"
    " 3=VoterState(replicaKey=ReplicaKey(id=3, directoryId=d3), state=UNRECORDED)}])"
)


WITHOUT_STATES = OLD_LEADER.replace(
    "1=GRANTED, 2=UNRECORDED, 3=REJECTED", "1=a.B$VoterState@54a4, 2=a.B$VoterState@6, 3=a.B$VoterState@7"
)


@pytest.mark.parametrize(
    ("line", "granting"), [(OLD_LEADER, (1,)), (NEW_LEADER, (1, 2)), (WITHOUT_STATES, None)]
)
def test_a_leader_by_whose_votes(line: str, granting: tuple[int, ...] | None) -> None:
    assert only(line) == ElectedLogged(1, "2026-11-22T20:32:00.127Z", 7, granting, (1, 2, 3))


@pytest.mark.parametrize(
    "line",
    [
        HEAD + OLD_LEADER.replace("voteStates={1=GRANTED, 2=UNRECORDED, 3=REJECTED}", "votes={}"),
        HEAD + "Completed transition to FollowerState(fetchTimeoutMs=2000, epoch=1, leader=2)",
        "2026-11-22T20:32:00.127Z INFO [main] " + ASKED.format(OLDEST, 2, "granted"),
        "",
    ],
)
def test_other_lines_say_nothing(line: str) -> None:
    assert list(votes(line + "\n")) == [VotesEnd(None, 1, 0)]


def test_a_line_without_a_time_and_a_flood() -> None:
    line = "[RaftManager id=1] " + ASKED.format(OLDEST, 2, "granted") + "\n"
    found = list(votes(line * (VOTES_MAX + 3)))
    assert isinstance(found[0], VoteLogged)
    assert found[0].at is None
    assert len(found) == VOTES_MAX + 1
    assert found[-1] == VotesEnd(None, VOTES_MAX + 3, 3)
