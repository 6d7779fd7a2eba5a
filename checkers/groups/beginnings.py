"""Assignments begin at the committed offset of the group, which is a register for each partition.

A member requests the committed offset while it is assigned its partitions.  The following rules determine the
legal answers:

* A commit counts unless it is known to have failed; one with an unknown outcome may take effect at any later
  time.
* An acknowledged commit is overwritten by another acknowledged one that began after it had ended.  If its
  request was delayed by a fault and sent again, it may be executed a second time as long as the fault lasts,
  unless it is refused: in the classic protocol because its generation is over, in KIP-848's protocol because
  its member no longer has the partition.
* Only commits of earlier generations certainly overwrite: they were appended before the member's generation,
  which the coordinator that assigned it has read.  If the group has a newer generation in the meantime, a
  member may ask a deposed coordinator, and receive an old offset.  This is not an anomaly, because its
  commits are refused.
* A client that is not a member may set the offsets of a group that is empty (`checkers.groups.outsiders`);
  such a commit has no generation.  A group is deleted, if at all, after the last assignment of a run.
* In a group with members of both protocols numbers may begin again (`checkers.groups.restarts`).  If they
  did, no commit certainly overwrites another while the load lasts.  In the phase final-read, after recovery,
  a member receives every commit that was acknowledged before that phase, whatever the numbers.
* The answer that nothing is committed, and so the log's start, is legal as long as no commit of an earlier
  generation was acknowledged.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from checkers.columns.tables import GroupPartition
from checkers.groups.anomalies import OFFSET_LOST
from checkers.groups.loading import Assignment, Groups, OffsetCommit
from checkers.history.operations import FAIL
from checkers.verdict.verdict import Anomaly


class Beginning(NamedTuple):
    """The offset at which an assignment begins at one place, and the commit that contradicts it, if any."""

    place: GroupPartition
    assignment: Assignment
    start: int
    overwriting: OffsetCommit | None
    committed: bool

    @property
    def wrong(self) -> bool:
        """Whether no commit permits this offset, and it is not the log's start."""
        return self.overwriting is not None or not self.committed


class Order(NamedTuple):
    """Which commits are of earlier generations than an assignment.

    Attributes:
        by_number: whether a smaller number means an earlier generation.
        final: position from which on numbers mean nothing; None if there is none.
        recovered: whether from there on every coordinator knows all commits before it.
    """

    by_number: bool = True
    final: int | None = None
    recovered: bool = False

    def earlier(self, commit: OffsetCommit, assignment: Assignment) -> bool:
        """Whether a member's commit was certainly appended before the member of an assignment asked."""
        if commit.membership is None or assignment.membership is None:
            return False
        if self.final is not None and assignment.begin > self.final:
            return self.recovered and commit.end < self.final
        return self.by_number and commit.membership.generation < assignment.membership.generation


class OffsetRegister:
    """The commits of one place, in the order of their invocation.

    Args:
        commits: the commits of the place that are not known to have failed.
        place: the partition that the group reads.
        log_start: start offset of the log at the end of the run.
        order: which commits are of earlier generations than an assignment.
        classic: whether all members use the classic protocol.
    """

    def __init__(
        self,
        commits: Sequence[OffsetCommit],
        place: GroupPartition,
        log_start: int,
        order: Order,
        *,
        classic: bool,
    ) -> None:
        self._place = place
        self._order = order
        self._classic = classic
        self._log_start = log_start
        self._by_value: dict[int, list[OffsetCommit]] = {}
        self._acknowledged: list[OffsetCommit] = []
        for commit in commits:
            self._by_value.setdefault(commit.offsets[place.partition], []).append(commit)
            if commit.acknowledged:
                self._acknowledged.append(commit)

    def begun(self, assignment: Assignment) -> Beginning:
        """Judge where an assignment begins."""
        start = assignment.starts[self._place.partition]
        known = [c for c in self._by_value.get(start, ()) if c.begin < assignment.end]
        # An offset that can't have been committed is the log's start, or unexplained.
        overwriting = [self._overwriting(c, assignment) if c.acknowledged else None for c in known]
        if start <= self._log_start:
            overwriting.append(self._overwriting(None, assignment))
        standing = None in overwriting
        latest = None if standing or not overwriting else overwriting[-1]
        return Beginning(self._place, assignment, start, latest, bool(overwriting))

    def newest(self, assignment: Assignment) -> OffsetCommit | None:
        """The last commit of an earlier generation that had ended before an assignment's poll began."""
        return self._overwriting(None, assignment)

    def in_force(self, lost: OffsetCommit, assignment: Assignment) -> tuple[int, ...]:
        """Offsets that may have been the committed one when an assignment's poll asked for it.

        That is the offset of the commit that was lost, unless another commit replaced it.  This may be one
        that had not ended before, or one with an unknown outcome.
        """
        begun = (each for some in self._by_value.values() for each in some if each.begin < assignment.end)
        later = (each for each in begun if not each.acknowledged or each.end >= lost.begin)
        return tuple(sorted({each.offsets[self._place.partition] for each in later}))

    def _overwriting(self, before: OffsetCommit | None, assignment: Assignment) -> OffsetCommit | None:
        """An acknowledged commit after another one that had ended before the assignment's poll began.

        None if there is none.

        Args:
            before: the other commit, also acknowledged; None if any is after it.
            assignment: the assignment.
        """
        if assignment.membership is None:
            return None
        for commit in reversed(self._acknowledged):
            if before is not None and commit.begin <= before.end:
                return None
            known = commit.end < assignment.begin and self._order.earlier(commit, assignment)
            if known and self._is_last(commit, before):
                return commit
        return None

    def _is_last(self, commit: OffsetCommit, before: OffsetCommit | None) -> bool:
        """Whether a commit that began after another one was acknowledged is certainly executed after it."""
        if before is None or commit.began_ns > before.executed_ns:
            return True
        if commit.membership is None or before.membership is None:
            return False
        (member, generation), (former, earlier) = commit.membership, before.membership
        return generation > earlier if self._classic else member != former


def beginnings(groups: Groups, group: str, order: Order) -> Iterator[tuple[Beginning, OffsetRegister]]:
    """Every partition of every assignment of a group, with the register that it was compared with."""
    registers: dict[GroupPartition, OffsetRegister] = {}
    for assignment in groups.assignments.get(group, ()):
        for partition in assignment.starts:
            place = GroupPartition(group, assignment.topic, partition)
            if place not in registers:
                registers[place] = _register(groups, place, order)
            yield registers[place].begun(assignment), registers[place]


def _register(groups: Groups, place: GroupPartition, order: Order) -> OffsetRegister:
    commits = [
        commit
        for commit in groups.commits.get(place.group, ())
        if commit.topic == place.topic and place.partition in commit.offsets and commit.outcome is not FAIL
    ]
    listed = groups.listed.get((place.topic, place.partition))
    start, classic = 0 if listed is None else listed.start, place.group not in groups.modern
    return OffsetRegister(commits, place, start, order, classic=classic)


def wrong_beginning(beginning: Beginning, by: OffsetCommit | None) -> Anomaly:
    """The anomaly for a wrong beginning, given the commit that was lost, if one is known."""
    place, assignment, start = beginning.place, beginning.assignment, beginning.start
    lines = [
        f"In operation {assignment.end} process {assignment.process} was assigned the start offset {start}."
    ]
    if not beginning.committed:
        lines.append(f"No client can have committed {start} by then.")
    witness = [assignment.begin, assignment.end]
    if by is not None:
        lines.append(
            f"Offset {by.offsets[place.partition]} had been committed and acknowledged "
            f"(operations {by.begin} and {by.end}) in an earlier generation."
        )
        witness = [*by.positions, *witness]
    expected = "something else" if by is None else str(by.offsets[place.partition])
    return OFFSET_LOST.found(
        f"{place} was assigned with the start offset {start}, but {expected} had been committed",
        subject=str(place),
        time_ns=assignment.time_ns,
        witness=witness,
        explanation=lines,
    )
