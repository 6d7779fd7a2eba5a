"""Log lines in which a node reports the voters that it uses, and truncations of its metadata log.

Kafka's QuorumState and KafkaRaftClient write them at level INFO.  Kafka 3.9 and later print the voters of
each state except the leader's, whose votes are in `harness.evidence.votes`.
"""

import re
from collections.abc import Iterator

from checkers.history.logged import MetadataTruncated, QuorumViewLogged

_RAFT = "[RaftManager "
_AT = re.compile(r"\d{4}-\d\d-\d\dT\S+")
_STATE = re.compile(
    r"Completed transition to (?P<state>\w+)\((?P<fields>.*?)\) from (?:(?P<none>null)|[A-Z]\w+\()"
)
_EPOCH = re.compile(r"\bepoch=(\d+)")
_VOTERS = re.compile(r"\bvoters=\[(\d[\d, ]*)\]")
_TRUNCATED = re.compile(r"\] Truncated to offset (?P<end>\d+) from Fetch response")


def quorum_views(log: str) -> Iterator[QuorumViewLogged | MetadataTruncated]:
    """The voters and truncations that a node's log reports, in the order of its lines.

    A state with the same epoch and voters as the previous one is left out, unless the process started or
    truncated its log between them.
    """
    before: tuple[int, tuple[int, ...]] | None = None
    for number, line in enumerate(log.splitlines(), start=1):
        if _RAFT not in line:
            continue
        at = _AT.match(line)
        when = at[0] if at else None
        if cut := _TRUNCATED.search(line):
            before = None
            yield MetadataTruncated(number, when, int(cut["end"]))
        elif state := _STATE.search(line):
            view = _view(number, when, state)
            if view is not None and (view.started or (view.epoch, view.voters) != before):
                before = view.epoch, view.voters
                yield view


def _view(number: int, at: str | None, state: re.Match[str]) -> QuorumViewLogged | None:
    epoch, voters = _EPOCH.search(state["fields"]), _VOTERS.search(state["fields"])
    if epoch is None or voters is None:
        return None
    ids = tuple(sorted(int(voter) for voter in voters[1].split(",")))
    return QuorumViewLogged(number, at, state["state"], int(epoch[1]), ids, started=state["none"] is not None)
