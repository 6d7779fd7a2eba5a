"""Values of control records as Kafka writes them."""

from harness.administration.voters import directory_uuid
from tests.harness.fakes.control_schemas import KRaftVersionRecord, LeaderChangeMessage, VotersRecord

ONE, TWO = "pl2yURLxReyXmuf8pnFOsg", "-_2yURLxReyXmuf8pnFOsg"
"""Directory ids: of voters in leader changes, and of those in sets of voters."""


def change(leader: int, *voters: int, version: int = 0) -> bytes:
    """A leader's first record in its epoch; the first voter has granted."""
    voter = LeaderChangeMessage.Voter
    keys = [voter(voter_id=each, voter_directory_id=directory_uuid(ONE)) for each in voters]
    message = LeaderChangeMessage(
        record_version=version, leader_id=leader, voters=keys, granting_voters=keys[:1]
    )
    return bytes(message.encode(version=version, header=False))


def kraft_version(level: int) -> bytes:
    """A KRaftVersion record with a finalized kraft.version."""
    return bytes(KRaftVersionRecord(record_version=0, k_raft_version=level).encode(version=0, header=False))


def voters(*ids: int) -> bytes:
    """The set of voters, each at its own host."""
    voter = VotersRecord.Voter
    made = [
        voter(
            voter_id=each,
            voter_directory_id=directory_uuid(TWO),
            endpoints=[voter.Endpoint(name="CONTROLLER", host=f"h{each}", port=9093)],
            k_raft_version_feature=voter.KRaftVersionFeature(
                min_supported_version=0, max_supported_version=1
            ),
        )
        for each in ids
    ]
    return bytes(VotersRecord(record_version=0, voters=made).encode(version=0, header=False))
