"""Voters that nodes act by, and truncations of their metadata logs, as Kafka 3.9 and 4.x word them."""

from checkers.history.logged import MetadataTruncated, QuorumViewLogged
from harness.evidence.quorum_views import quorum_views

AT = "2026-11-26T14:24:4{}.889Z"
LINE = AT + " INFO [kafka-103-raft-io-thread] [RaftManager id=103] {}"
STARTED = (
    "Completed transition to UnattachedState(epoch=0, leaderId=OptionalInt.empty, votedKey=Optional.empty,"
    " voters=[104, 101, 102, 103], electionTimeoutMs=1614, highWatermark=Optional.empty) from null"
    " (org.apache.kafka.raft.QuorumState)"
)
FOLLOWER = (
    "Completed transition to FollowerState(fetchTimeoutMs=2000, epoch={}, leader=102,"
    " leaderEndpoints=Endpoints(endpoints={{ListenerName(CONTROLLER)=10.213.0.12/<unresolved>:9093}}),"
    " votedKey=Optional[ReplicaKey(id=102, directoryId=AA)], voters=[{}],"
    " highWatermark=Optional[LogOffsetMetadata(offset=263, metadata=Optional.empty)]) from"
    " UnattachedState(epoch=1, leaderId=OptionalInt.empty, votedKey=Optional.empty, voters=[7, 8],"
    " electionTimeoutMs=40, highWatermark=Optional.empty) (org.apache.kafka.raft.QuorumState)"
)
LEADER = (
    "Completed transition to Leader(localVoterNode=VoterNode(voterKey=ReplicaKey(id=103, directoryId=AA)),"
    " epoch=1, epochStartOffset=0, highWatermark=Optional.empty, voterStates={}) from"
    " CandidateState(localId=103, epoch=1) (org.apache.kafka.raft.QuorumState)"
)
CUT = "Truncated to offset 263 from Fetch response from leader 102 (org.apache.kafka.raft.KafkaRaftClient)"


def log(*lines: str) -> str:
    return "\n".join(["a line", *(LINE.format(number % 10, line) for number, line in enumerate(lines))])


def at(second: int) -> str:
    return AT.format(second)


def test_voters_of_states_and_truncations_in_the_order_of_lines() -> None:
    text = log(STARTED, FOLLOWER.format(1, "101, 102"), LEADER, CUT, FOLLOWER.format(6, "102"))
    assert list(quorum_views(text)) == [
        QuorumViewLogged(2, at(0), "UnattachedState", 0, (101, 102, 103, 104), started=True),
        QuorumViewLogged(3, at(1), "FollowerState", 1, (101, 102), started=False),
        MetadataTruncated(5, at(3), 263),
        QuorumViewLogged(6, at(4), "FollowerState", 6, (102,), started=False),
    ]


def test_what_repeats_the_state_before_it_is_left_out() -> None:
    same, next_epoch = FOLLOWER.format(1, "101, 102"), FOLLOWER.format(2, "101, 102")
    text = log(same, same, next_epoch, same, CUT, same, STARTED, STARTED)
    assert [entry.line for entry in quorum_views(text)] == [2, 4, 5, 6, 7, 8, 9]


def test_a_cluster_without_voters_in_its_lines_reports_none() -> None:
    assert list(quorum_views(log(LEADER, FOLLOWER.format(1, "")))) == []
    assert list(quorum_views("Completed transition to Nothing(epoch=1, voters=[1]) from null")) == []
