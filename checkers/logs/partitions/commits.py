"""Acknowledged commits of groups, and the offsets of their records in ``__consumer_offsets``.

A coordinator answers a commit once all in-sync replicas have its record.  So during one broker's leadership
(`copies`), the log of every member of the ISR ends above that record.  The answer does not have the record's
offset, so the record is found by its content: group, topic, partition and offset.  If several records have
the same content, the first one counts: the acknowledged record is this one or a later one, and a log with a
later one has the first one too.  Reasons why a correct Kafka causes no finding:

- *A client repeats a request, two clients commit the same, or an older offset is committed again*: there are
  several records, and the first of them counts.  A record counts as the first only if the log was read from
  offset 0 up to it, leader epoch by leader epoch, each batch with all its records.
- *Compaction*: brokers' files are read while they are written.  A batch that has lost records, is compressed
  or could not be read does not count as read.
- *The coordinator moves, or a deposed one appends records that are truncated later*: the first record must be
  of a leader epoch of that leadership.  Truncated records also count, because they can only hide violations.
- *An unclean election, a disk fault, a topic that is created again, uncertain metadata*: the judged period
  ends there, as for all records.
- *Commits of transactions* are acknowledged in another way.  They do not count as records here, and are not
  searched for.
- *Deletions of groups and offsets* (tombstones) append to the log and remove nothing from it.
- *Clocks*: all times are the host's, and a reading counts only if it began after the answer had arrived.

Commits that were not acknowledged, or whose record was not read, are not judged.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.coordinators import offsets_partition
from checkers.evidence.offsets_log import RecordPlace, Where, Written, written_of
from checkers.history.commits import Committing
from checkers.history.group_offsets import OffsetCommitted
from checkers.history.operations import INVOKE, OK, History, Operation
from checkers.history.transactions import Txn, TxnOffsets
from checkers.licences.facts import Facts
from checkers.logs.partitions.anomalies import COMMITTED_WITHOUT_MEMBER
from checkers.logs.partitions.copies import RequiredRecords

ACKS = "offsets.commit.required.acks"
"""A broker config, before 4.0, by which a commit may be acknowledged before it is replicated."""
_REGISTER = "offset/"
"""Prefix of registers that are committed offsets; group, topic and partition follow."""
_PARTS = 3


class RequestedCommit(NamedTuple):
    """One requested commit.

    Attributes:
        where: group, topic, partition and offset of the commit.
        sent_ns: when it was requested, nanoseconds.
        acknowledged_ns: when it was acknowledged; `NEVER` if it was not.
        op: index of the operation that acknowledged it, or else of the invocation.
        transacted: whether it is part of a transaction.
    """

    where: Where
    sent_ns: int
    acknowledged_ns: int
    op: int
    transacted: bool = False


class AcknowledgedCommits:
    """Acknowledged commits and the offsets of their records.

    Args:
        facts: the history.

    Attributes:
        figures: number of commits, number of those whose record is known, and number of records that were
            read.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """

    def __init__(self, facts: Facts) -> None:
        self.figures: dict[str, int] = {}
        self._placed: dict[PartitionName, list[tuple[RequestedCommit, RecordPlace]]] = defaultdict(list)
        written = written_of(facts.history)
        if not written or acknowledged_early(facts):
            return
        commits = list(acknowledged_commits(facts.history))
        for commit in commits:
            partition = offsets_partition(facts.history, commit.where.group)
            row = None if partition is None else _row(written.get(partition.partition), commit.where)
            if partition is not None and row is not None:
                self._placed[partition].append((commit, row))
        self.figures = {
            "acknowledged_commits": len(commits),
            "commits_with_records": sum(map(len, self._placed.values())),
            "commit_records_read": sum(part.count for part in written.values()),
        }

    def of(self, partition: PartitionName) -> Sequence[RequiredRecords]:
        """Commits whose records are in a partition, in the order in which they were acknowledged."""
        placed = sorted(self._placed.get(partition, ()), key=lambda one: one[0].acknowledged_ns)
        if not placed:
            return ()
        sent, acked, op = (
            np.array([commit[place] for commit, _ in placed], dtype=np.int64) for place in (1, 2, 3)
        )
        offset, epoch = np.array([row for _, row in placed], dtype=np.int64).T

        def text(number: int) -> str:
            where = placed[number][0].where
            what = f"offset {where.offset} of {where.topic}/{where.partition}"
            return f"The commit of {what} by group {where.group}, in {partition}"

        return (
            RequiredRecords(COMMITTED_WITHOUT_MEMBER, text, "acknowledged", sent, acked, offset, op, epoch),
        )


def acknowledged_commits(history: History) -> Iterator[RequestedCommit]:
    """Acknowledged commits outside transactions, in no particular order.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    return (commit for commit in requested_commits(history) if commit.acknowledged_ns != NEVER)


def requested_commits(history: History) -> Iterator[RequestedCommit]:
    """Commits outside transactions, acknowledged or not, in no particular order.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    for f in ("write", "commit-offset", "commit"):
        yield from _calls(history, f, _wheres)


def commits_of_transactions(history: History) -> Iterator[RequestedCommit]:
    """Commits within transactions, in no particular order.

    They count as acknowledged if the transaction's commit was.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    for commit in _calls(history, "txn", _wheres_of_transaction):
        yield commit._replace(transacted=True)


def _calls(
    history: History, f: str, wheres: Callable[[Operation], Iterable[Where]]
) -> Iterator[RequestedCommit]:
    asked: dict[int | str, Operation] = {}
    for operation in history.of(f):
        began = asked.pop(operation.process, None)
        if operation.type is INVOKE:
            asked[operation.process] = operation
        elif began is not None:
            acknowledged_ns = operation.time_ns if operation.type is OK else NEVER
            for where in wheres(began):
                yield RequestedCommit(where, began.time_ns, acknowledged_ns, operation.index)
    for began in asked.values():
        for where in wheres(began):
            yield RequestedCommit(where, began.time_ns, NEVER, began.index)


def _wheres_of_transaction(asked: Operation) -> Iterator[Where]:
    """The group offsets that a transaction commits."""
    for mop in msgspec.convert(asked.value, Txn).mops:
        if isinstance(mop, TxnOffsets):
            yield from (Where(mop.group, mop.topic, partition, offset) for partition, offset in mop.offsets)


def _wheres(asked: Operation) -> Iterator[Where]:
    """The offsets that an operation commits; none if it writes another register."""
    key, value = str(asked.key), asked.value
    if asked.f == "write":
        named = key.removeprefix(_REGISTER).rsplit("/", 2)
        if key.startswith(_REGISTER) and len(named) == _PARTS and named[2].isdecimal():
            yield Where(named[0], named[1], int(named[2]), value)
    elif asked.f == "commit-offset":
        one = msgspec.convert(value, OffsetCommitted)
        yield Where(key, one.topic, one.partition, one.offset)
    else:
        committing = msgspec.convert(value, Committing)
        yield from (
            Where(key, committing.topic, partition, offset) for partition, offset in committing.offsets
        )


def _row(written: Written | None, where: Where) -> RecordPlace | None:
    """The position of a commit's first record; None if unknown."""
    row = None if written is None else written.rows.get(where)
    return row if written is not None and row is not None and written.reaches(row) else None


def acknowledged_early(facts: Facts) -> bool:
    """Whether brokers were configured to acknowledge commits before they are replicated."""
    setup = facts.setup
    return any(ACKS in config for config in (setup.config, *setup.node_config.values()))
