"""Log lines about elections: votes that a controller granted, refused or received as a candidate.

The words are those of Kafka's KafkaRaftClient and QuorumState at level INFO.  The fields' names changed with
KIP-853 (3.9, directory ids) and KIP-996 (4.0, pre-votes); all of them are read.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

VOTES_MAX = 2_000
"""Entries that one node's log may have in a history; an election without pre-votes takes a few a second."""

_RAFT = "[RaftManager "
_AT = re.compile(r"\d{4}-\d\d-\d\dT\S+")
_REQUEST = re.compile(
    r"Vote request VoteRequestData\((?P<asked>.*)\) with epoch (?P<epoch>\d+) is (?P<how>\w+)"
)
_ASKED = re.compile(
    r"(?P<name>candidateId|replicaId|candidateDirectoryId|replicaDirectoryId|voterDirectoryId|lastOffsetEpoch"
    r"|lastOffset|preVote)=(?P<value>[\w-]+)"
)
_CANDIDATE = re.compile(
    r"Completed transition to CandidateState\(localId=(?P<id>\d+), ?(?:localDirectoryId=(?P<disk>[^,]+), ?)?"
    r"epoch=(?P<epoch>\d+)(?:.* from ProspectiveState\((?P<by>.*))?"
)
_LEADER = re.compile(
    r"Completed transition to Leader\(.*? epoch=(?P<epoch>\d+), epochStartOffset.*"
    r" from CandidateState\((?P<by>.*)"
)
_COUNTED = re.compile(
    r"(?P<id>\d+)=(?:(?:VoterState\(replicaKey=ReplicaKey\([^)]*\), state=)?"
    r"(?P<state>GRANTED|REJECTED|UNRECORDED)|[\w.$]+VoterState@)"
)
_NO_DISK = frozenset({"AAAAAAAAAAAAAAAAAAAAAA", "<undefined>"})


class Vote(msgspec.Struct, frozen=True, omit_defaults=True):
    """A vote that a node granted or refused; its own, where it became a candidate.

    Attributes:
        line: number of the line, from 1.
        at: wall-clock time of the line.
        epoch: for which it was asked.
        candidate_id: who asked.
        candidate_directory_id: on which disk; None where that is not told.
        granted: whether it was granted.
        pre_vote: whether it was asked for a pre-vote, which binds nobody.
        last_epoch: epoch of the last record of the candidate's log; None of its own vote.
        last_offset: end of the candidate's log; None of its own vote.
        directory_id: the voter's disk; None where that is not told.
        pre_voters: of its own vote the voters that it knew; None where no pre-votes came before it.
        pre_granting: those of them that had granted it their pre-votes, itself among them.
    """

    line: int
    at: str | None
    epoch: int
    candidate_id: int
    candidate_directory_id: str | None
    granted: bool
    pre_vote: bool
    last_epoch: int | None
    last_offset: int | None
    directory_id: str | None
    pre_voters: list[int] | None = None
    pre_granting: list[int] | None = None


class Elected(msgspec.Struct, frozen=True):
    """A node that became the leader: by whose votes, and who the voters were for it.

    Kafka 3.9.0 does not print whose votes it had; `granting` is None then.
    """

    line: int
    at: str | None
    epoch: int
    granting: list[int] | None
    voters: list[int]


class Ending(msgspec.Struct, frozen=True):
    """Stands at the end: how many lines the log has, and how many further entries were left out."""

    line: None
    lines: int
    further: int


def votes(log: str) -> Iterator[Vote | Elected | Ending]:
    """Votes and elections that a log tells of, the first `VOTES_MAX`, and an ending."""
    found = number = 0
    for number, line in enumerate(log.splitlines(), start=1):
        entry = _entry(number, line) if _RAFT in line else None
        if entry is not None:
            found += 1
            if found <= VOTES_MAX:
                yield entry
    yield Ending(None, number, max(0, found - VOTES_MAX))


def _entry(number: int, line: str) -> Vote | Elected | None:
    at = _AT.match(line)
    when = at[0] if at else None
    if request := _REQUEST.search(line):
        return _answered(number, when, request)
    if candidate := _CANDIDATE.search(line):
        return _own(number, when, candidate)
    if leader := _LEADER.search(line):
        voters, granting = _counted(leader["by"])
        return Elected(number, when, int(leader["epoch"]), granting, voters) if voters else None
    return None


def _counted(state: str) -> tuple[list[int], list[int] | None]:
    """The voters that a state counted votes of, and those that had granted them, None where it isn't told."""
    counted = {int(each["id"]): each["state"] for each in _COUNTED.finditer(state)}
    granting = [voter for voter, state in counted.items() if state == "GRANTED"]
    return list(counted), None if None in counted.values() else granting


def _own(number: int, when: str | None, candidate: re.Match[str]) -> Vote:
    """A candidate votes for itself; since KIP-996 after it asked others whether they would, too."""
    voters, granting = _counted(candidate["by"] or "")
    disk = _disk(candidate["disk"])
    return Vote(
        line=number,
        at=when,
        epoch=int(candidate["epoch"]),
        candidate_id=int(candidate["id"]),
        candidate_directory_id=disk,
        granted=True,
        pre_vote=False,
        last_epoch=None,
        last_offset=None,
        directory_id=disk,
        pre_voters=voters or None,
        pre_granting=granting if voters else None,
    )


def _answered(number: int, when: str | None, request: re.Match[str]) -> Vote:
    asked: dict[str, Any] = {each["name"]: each["value"] for each in _ASKED.finditer(request["asked"])}
    return Vote(
        line=number,
        at=when,
        epoch=int(request["epoch"]),
        candidate_id=int(asked.get("replicaId", asked.get("candidateId", -1))),
        candidate_directory_id=_disk(asked.get("replicaDirectoryId", asked.get("candidateDirectoryId"))),
        granted=request["how"] == "granted",
        pre_vote=asked.get("preVote") == "true",
        last_epoch=int(asked["lastOffsetEpoch"]) if "lastOffsetEpoch" in asked else None,
        last_offset=int(asked["lastOffset"]) if "lastOffset" in asked else None,
        directory_id=_disk(asked.get("voterDirectoryId")),
    )


def _disk(text: str | None) -> str | None:
    return None if text in _NO_DISK else text
