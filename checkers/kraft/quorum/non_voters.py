"""Controllers that ask for votes with a disk that was never a voter's.

In a dynamic quorum a voter is a node with one directory id.  A disk that was formatted during the run has a
new id, so the first set of voters does not have it.  Its node is an observer until a request adds that disk.
Only a voter, by the last set in its own log, becomes a candidate or asks for pre-votes.  A set that has the
disk may be uncommitted, or lost later, but it follows a request to add the disk.  The time of a line is
uncertain by `SLACK_NS`, so a request shortly after it counts too.

A node that was started with ``controller.quorum.voters`` is a voter by its id alone while its log is empty,
also after an upgrade to a dynamic quorum.  So only clusters with ``kraft.version`` 1 from the start count.
"""

from collections.abc import Iterable, Iterator, Sequence

from checkers.evidence.faults import recorded_faults
from checkers.evidence.features import KRAFT_VERSION
from checkers.evidence.kafka_versions import KafkaVersions
from checkers.history.operations import History
from checkers.history.setup import Setup
from checkers.kraft.quorum.changes import ADD, VoterChange
from checkers.kraft.quorum.explaining import joins_by_itself
from checkers.kraft.quorum.views import StateFile
from checkers.kraft.quorum.voter_sets import VoterSet
from checkers.kraft.quorum.votes import SLACK_NS, Vote
from checkers.kraft.quorum.wipes import Wipe
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

CANDIDATE_NOT_VOTER = AnomalyKind(
    id="candidate-not-voter",
    meaning="A controller asked for votes with a disk that was in no set of voters.",
    guarantee="A voter is a node with one directory id. With a new disk it is an observer until it is added.",
    source="KIP-853, Replica Directory Id; KIP-595, Leader Election",
)
DYNAMIC = "dynamic"
"""A quorum whose nodes have no ``controller.quorum.voters``."""


def new_disks(history: History, wipes: Iterable[Wipe], files: Iterable[StateFile]) -> dict[str, Wipe]:
    """The fault that each directory id came from, for ids that no disk had before that fault.

    Args:
        history: the history of the run.
        wipes: faults that removed metadata logs.
        files: readings of quorum-state files, with the ids of their disks.

    Raises:
        msgspec.ValidationError: a fault is not as docs/histories.md says.
    """
    read = tuple(files)
    found: dict[str, Wipe] = {}
    seen: set[str] = set()
    for wipe in sorted(wipes, key=lambda wipe: wipe.window.operations):
        probes = [each.of_disk for each in recorded_faults(history, wipe.window)]
        began_ns = wipe.window.invoked_ns
        seen |= {probe.directory_id_before for probe in probes if probe.directory_id_before}
        seen |= {file.directory_id for file in read if file.directory_id and file.began_ns < began_ns}
        after = {probe.directory_id_after for probe in probes if probe.directory_id_after}
        found |= dict.fromkeys(after - seen, wipe)
        seen |= after
    return found


def candidates_not_voters(
    asked: Iterable[Vote],
    disks: dict[str, Wipe],
    sets: Iterable[VoterSet],
    changes: Sequence[VoterChange],
    versions: KafkaVersions,
) -> Iterator[Anomaly]:
    """One finding for each new disk whose node asked for votes, at the first line about it.

    Args:
        asked: lines about votes, granted or not, and about pre-votes.
        disks: ids of new disks, see `new_disks`.
        sets: all sets of voters that leaders reported or that are in a log; a disk that is in one, although
            no request asked to add it, is left to `VOTER_UNEXPLAINED`.
        changes: all requests to change the voters, whatever their outcome.
        versions: the quorum at the start, and which nodes become voters by themselves.
    """
    setup = versions.setup
    if setup.quorum != DYNAMIC or not setup.features.get(KRAFT_VERSION, 0):
        return
    adds = [change for change in changes if change.f == ADD]
    unexplained = {directory for each in sets for directory in each.members.values()}
    unexplained -= {change.directory_id for change in adds}
    found: set[str] = set()
    for vote in sorted(asked, key=lambda vote: (vote.time_ns, vote.index)):
        disk = vote.line.candidate_directory_id
        if disk is None or disk not in disks or disk in found or disk in unexplained:
            continue
        alone = joins_by_itself(versions, vote.line.candidate_id, vote.time_ns + SLACK_NS)
        if not alone and not _may_be_voter(vote, disk, adds):
            found.add(disk)
            yield _finding(vote, disk, disks[disk], setup)


def _may_be_voter(vote: Vote, disk: str, adds: Iterable[VoterChange]) -> bool:
    """Whether a request to add a candidate may have preceded the line; its outcome does not matter."""
    latest_ns = vote.time_ns + SLACK_NS
    return any(
        change.concerns(vote.line.candidate_id, disk) and change.invoked_ns <= latest_ns for change in adds
    )


def _finding(vote: Vote, disk: str, wipe: Wipe, setup: Setup) -> Anomaly:
    entry, window = vote.line, wipe.window
    node = setup.controllers.get(entry.candidate_id, str(entry.candidate_id))
    what = "a pre-vote" if entry.pre_vote else "its vote"
    return CANDIDATE_NOT_VOTER.found(
        f"{node} asked for votes in epoch {entry.epoch} with the disk {disk}, which nobody had added.",
        subject=f"{node}, disk {disk}",
        time_ns=vote.time_ns,
        witness=(*window.operations, vote.index),
        explanation=(
            f"The fault at {window.invoked_ns / 1e9:.3f} s emptied the disk; its new id is {disk}.",
            f"Line {entry.line} of {vote.node}'s log, at {entry.at}: {node} asks for {what}.",
            "No request before that asked to add a voter with this disk.",
        ),
    )
