"""Log lines about elections: votes that a controller granted, refused or received as a candidate.

Kafka's KafkaRaftClient and QuorumState write them at level INFO.  The names of fields changed with KIP-853
(3.9, directory ids) and KIP-996 (4.0, pre-votes); all versions are read.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from checkers.history.logged import ElectedLogged, VoteLogged, VotesEnd

VOTES_MAX = 50_000
"""Maximum number of entries of one node's log in a history; without pre-votes there are a few per second."""

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
_ENTERED = re.compile(
    r"Completed transition to (?:FollowerState\(fetchTimeoutMs=(?P<timeout>\d+),"
    r".*?(?<= )voters=\[(?P<voters>[\d, ]*)\])?"
)
_ID = re.compile(r"\[RaftManager id=(\d+)\]")
_MILLISECOND = timedelta(milliseconds=1)
_NO_DISK = frozenset({"AAAAAAAAAAAAAAAAAAAAAA", "<undefined>"})


class _Following(NamedTuple):
    """When a node entered the state of a follower, by its log, and its fetch timeout."""

    since: datetime
    timeout_ms: int


def votes(log: str) -> Iterator[VoteLogged | ElectedLogged | VotesEnd]:
    """The first `VOTES_MAX` votes and elections that a log reports, and an end."""
    found = number = 0
    following: _Following | None = None
    for number, line in enumerate(log.splitlines(), start=1):
        if _RAFT not in line:
            continue
        entry = _entry(number, line)
        if entered := _ENTERED.search(line):
            following = _follows(line, entered)
        elif isinstance(entry, VoteLogged) and entry.granted and entry.pre_vote and following is not None:
            entry = _of_follower(entry, following)
        if entry is not None:
            found += 1
            if found <= VOTES_MAX:
                yield entry
    yield VotesEnd(None, number, max(0, found - VOTES_MAX))


def _entry(number: int, line: str) -> VoteLogged | ElectedLogged | None:
    at = _AT.match(line)
    when = at[0] if at else None
    if request := _REQUEST.search(line):
        return _answered(number, when, request)
    if candidate := _CANDIDATE.search(line):
        return _own(number, when, candidate)
    if leader := _LEADER.search(line):
        voters, granting = _counted(leader["by"])
        return ElectedLogged(number, when, int(leader["epoch"]), granting, voters) if voters else None
    return None


def _follows(line: str, entered: re.Match[str]) -> _Following | None:
    """The state that a line reports; None if it is not that of a voter that follows, or has no time.

    One that is not a voter follows its leader without a fetch for as long as it likes
    (``KafkaRaftClient.pollFollowerAsObserver``).
    """
    at, node = _AT.match(line), _ID.search(line)
    if at is None or node is None or entered["timeout"] is None:
        return None
    if node[1] not in entered["voters"].split(", "):
        return None
    return _Following(datetime.fromisoformat(at[0]), int(entered["timeout"]))


def _of_follower(vote: VoteLogged, following: _Following) -> VoteLogged:
    """The pre-vote of a follower, with the time since when it follows its leader."""
    if vote.at is None:
        return vote
    lasted_ms = (datetime.fromisoformat(vote.at) - following.since) // _MILLISECOND
    return msgspec.structs.replace(vote, following_ms=lasted_ms, fetch_timeout_ms=following.timeout_ms)


def _counted(state: str) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """The voters whose votes a state counted, and those that granted theirs; None if not in the line."""
    counted = {int(each["id"]): each["state"] for each in _COUNTED.finditer(state)}
    granting = tuple(voter for voter, state in counted.items() if state == "GRANTED")
    return tuple(counted), None if None in counted.values() else granting


def _own(number: int, when: str | None, candidate: re.Match[str]) -> VoteLogged:
    """A candidate's vote for itself; since KIP-996 it first asks the others for pre-votes."""
    voters, granting = _counted(candidate["by"] or "")
    disk = _disk(candidate["disk"])
    return VoteLogged(
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


def _answered(number: int, when: str | None, request: re.Match[str]) -> VoteLogged:
    asked: dict[str, str] = {each["name"]: each["value"] for each in _ASKED.finditer(request["asked"])}
    return VoteLogged(
        line=number,
        at=when,
        epoch=int(request["epoch"]),
        candidate_id=int(asked.get("replicaId", asked.get("candidateId", "-1"))),
        candidate_directory_id=_disk(asked.get("replicaDirectoryId", asked.get("candidateDirectoryId"))),
        granted=request["how"] == "granted",
        pre_vote=asked.get("preVote") == "true",
        last_epoch=int(asked["lastOffsetEpoch"]) if "lastOffsetEpoch" in asked else None,
        last_offset=int(asked["lastOffset"]) if "lastOffset" in asked else None,
        directory_id=_disk(asked.get("voterDirectoryId")),
    )


def _disk(text: str | None) -> str | None:
    return None if text in _NO_DISK else text
