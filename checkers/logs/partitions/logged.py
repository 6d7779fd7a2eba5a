"""Whether the log of ``__consumer_offsets`` has every acknowledged commit of a group.

Compaction soon removes most of them, so this is judged by the records that were read while the log was
written (`checkers.evidence.offsets_log`).  A commit is compared with a *witness*, which is a commit
that was requested after the first one had been acknowledged.  The log up to the witness's record must have
the first commit. Reasons why a correct Kafka causes no finding:

- *Part of the log was not read*: all of it must have been read, from offset 0 up to the witness, batch by
  batch, before compaction removed anything.
- *A deposed leader appends the witness* and lacks commits that others acknowledged: the leader epoch of the
  witness's record must not be older than any epoch that may have existed when the commit was acknowledged.
  The leader of such an epoch has all commits that were acknowledged before, in that epoch and in earlier
  ones.
- *The same is committed twice*, so a record of the witness may be older than the commit: a commit is a
  witness only if no other request, acknowledged or not, repeats it.
- *A client repeats a request*: any record of the commit is sufficient.
- *Commits of transactions* are judged if the transaction's commit was acknowledged, and only if records
  within transactions were reported and could be read.
- *A permitted unclean election, or disk faults that hit all in-sync copies*: the finding is licensed
  (`checkers.licences.internal`) if they may have come between the commit and the witness.
- *Brokers acknowledge before followers have a commit*, which a config allowed before 4.0: nothing is judged.

The last commits of a partition have no witness and are not judged here; the records that are left are read at
the end.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec

from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.coordinators import OFFSETS_TOPIC, offsets_partition
from checkers.evidence.offsets_log import RecordPlace, Written, has_all_records, written_of
from checkers.history.operations import History
from checkers.history.units import NS_PER_S
from checkers.licences.facts import Facts
from checkers.licences.internal import Loss, losses
from checkers.logs.partitions.anomalies import COMMIT_IN_NO_LOG
from checkers.logs.partitions.commits import (
    RequestedCommit,
    acknowledged_early,
    commits_of_transactions,
    requested_commits,
)
from checkers.logs.partitions.copies import Violations
from checkers.verdict.verdict import Anomaly


class _Witness(NamedTuple):
    """A commit that only one request made, and its last record, up to which the whole log was read."""

    commit: RequestedCommit
    row: RecordPlace


class LoggedCommits:
    """Acknowledged commits, and those that no log has.

    Args:
        facts: the history.
        end_ns: the time until which the metadata log is complete, nanoseconds.

    Attributes:
        figures: number of commits that were searched for.

    Raises:
        msgspec.ValidationError: an operation, or an observation, is not as docs/histories.md says.
    """

    def __init__(self, facts: Facts, end_ns: int) -> None:
        self.figures: dict[str, int] = {}
        self._facts = facts
        self._end_ns = end_ns
        self._looked_for = 0
        self._found: list[Anomaly] = []
        written = written_of(facts.history)
        if not written or acknowledged_early(facts):
            return
        for partition, commits in _by_partition(facts.history).items():
            part = written.get(partition.partition)
            if part is not None:
                self._found += self._lacking(partition, part, commits)
        self.figures = {"commits_looked_for": self._looked_for}

    def lacking(self) -> Iterator[Violations]:
        """The violations of the rule."""
        if self._found:
            yield Violations(COMMIT_IN_NO_LOG, len(self._found), self._found)

    def _lacking(
        self, partition: PartitionName, part: Written, commits: Sequence[RequestedCommit]
    ) -> Iterator[Anomaly]:
        witnesses = _Witnesses(part, commits)
        lost = losses(self._facts.history, OFFSETS_TOPIC, partition.partition)
        transacted = has_all_records(self._facts.history) and not part.unreadable
        for commit in commits:
            if commit.acknowledged_ns <= self._end_ns and (transacted or not commit.transacted):
                states = self._facts.changes.possible(
                    partition, commit.acknowledged_ns, commit.acknowledged_ns
                )
                epochs = (state.leader_epoch for state in states)
                witness = witnesses.after(commit, max(epochs, default=NEVER))
                if witness is not None:
                    self._looked_for += 1
                    if not witnesses.logs(witness, commit):
                        yield _found(partition, commit, witness, lost)


class _Witnesses:
    """Commits with which other commits of a partition are compared."""

    def __init__(self, part: Written, commits: Sequence[RequestedCommit]) -> None:
        self._part = part
        self._of_epoch: dict[int, list[_Witness]] = defaultdict(list)
        times = Counter(commit.where for commit in commits)
        for commit in sorted(commits, key=lambda one: one.sent_ns):
            rows = part.places.get(commit.where, ()) if times[commit.where] == 1 else ()
            for row in rows:
                if part.reaches(row):
                    self._of_epoch[row.epoch].append(_Witness(commit, row))

    def after(self, commit: RequestedCommit, epoch: int) -> _Witness | None:
        """The first witness requested after a commit's acknowledgement, appended in an epoch or later."""
        found: list[_Witness] = []
        for number, some in self._of_epoch.items():
            place = bisect_right(some, commit.acknowledged_ns, key=lambda one: one.commit.sent_ns)
            if number >= epoch and place < len(some):
                found.append(some[place])
        return min(found, key=lambda one: one.commit.sent_ns, default=None)

    def logs(self, witness: _Witness, commit: RequestedCommit) -> bool:
        """Whether the log up to a witness has a commit."""
        log = self._part.chain(witness.row)
        return log is not None and any(log.has(row) for row in self._part.places.get(commit.where, ()))


def _by_partition(history: History) -> Mapping[PartitionName, Sequence[RequestedCommit]]:
    """All requested commits, by the partition of the offsets topic that stores them."""
    found: dict[PartitionName, list[RequestedCommit]] = defaultdict(list)
    for commit in chain(requested_commits(history), commits_of_transactions(history)):
        partition = offsets_partition(history, commit.where.group)
        if partition is not None:
            found[partition].append(commit)
    return found


def _found(
    partition: PartitionName, commit: RequestedCommit, witness: _Witness, lost: Sequence[Loss]
) -> Anomaly:
    where, later = commit.where, witness.commit.where
    anomaly = COMMIT_IN_NO_LOG.found(
        f"The commit of offset {where.offset} of {where.topic}/{where.partition} by group "
        f"{where.group} was acknowledged at {_s(commit.acknowledged_ns)}, but {partition} has no record of "
        "it.",
        subject=str(partition),
        time_ns=commit.acknowledged_ns,
        witness=(commit.op, witness.commit.op),
        explanation=(
            f"At {_s(witness.commit.sent_ns)} group {later.group} asked to commit offset {later.offset}.",
            (
                f"The record of that commit is at offset {witness.row.offset}, appended in leader epoch "
                f"{witness.row.epoch}."
            ),
            "All records before it were read, from offset 0 on.",
        ),
    )
    met = (loss.text for loss in lost if loss.meets(commit.sent_ns, witness.commit.acknowledged_ns))
    licence = next(met, None)
    return anomaly if licence is None else msgspec.structs.replace(anomaly, illegal=False, licence=licence)


def _s(time_ns: int) -> str:
    return f"{time_ns / NS_PER_S:.3f} s"
