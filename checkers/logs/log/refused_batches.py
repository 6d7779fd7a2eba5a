"""Producers whose batch a broker refused as out of order, because the batch before it was missing.

A broker logs such a refusal as an error, with the received sequence number and the last one that it has
(``ProducerAppendInfo``).  If that last number is the highest one of the producer's epoch on the replicas'
disks, the broker had lost no batch, and its refusal was correct.  librdkafka treats the refusal as a loss,
starts a new epoch, and sends records again that may have been appended, also in other partitions (issue 4953
of confluentinc/librdkafka).

A record that existed before any refusal of its producer was logged was not resent because of a refusal.  The
times decide this: brokers use the clock of the harness's host, and log lines have milliseconds.  The
history's start is known in whole seconds, so a line's time is uncertain by `SLACK_NS`.  Records within that
time count as later.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from checkers.columns.tables import NEVER, NONE, PartitionName
from checkers.evidence.log_ends import SLACK_NS
from checkers.evidence.node_logs import REFUSED, LogLine, log_lines
from checkers.evidence.replicas import Batches, batches_of
from checkers.history.operations import History

Epoch = tuple[int, int]
"""A producer's id and epoch."""


class Disks(NamedTuple):
    """Evidence about the cause of a duplicate.

    Attributes:
        batches: batches on the replicas' disks.
        refused_ns: epochs of producers that had a batch refused correctly, each with the time from which its
            records may have been sent again because of the refusal.
    """

    batches: Batches
    refused_ns: Mapping[Epoch, int]


class _Refusal(NamedTuple):
    """The log line of a refused batch, and its content."""

    producer: int
    where: PartitionName
    incoming: int
    end: int
    time_ns: int


def disks_of(history: History) -> Disks:
    """Collect the evidence about the causes of a history's duplicates.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError, ValueError: an observation is not as docs/histories.md says.
    """
    batches = batches_of(history)
    lines = log_lines(history)
    refusals = [
        _refusal(line, matched) for line in lines if (matched := REFUSED.search(line.text)) is not None
    ]
    since_ns = _since_ns(lines, refusals)
    return Disks(batches, {epoch: since_ns[epoch[0]] for epoch in _refused(refusals, batches)})


def _refusal(line: LogLine, matched: re.Match[str]) -> _Refusal:
    where = PartitionName(matched["topic"], int(matched["partition"]))
    # A line without a time has the time of its gathering, after all events.
    time_ns = line.time_ns if line.logged else -NEVER
    return _Refusal(int(matched["producer"]), where, int(matched["incoming"]), int(matched["end"]), time_ns)


def _since_ns(lines: Sequence[LogLine], refusals: Sequence[_Refusal]) -> dict[int, int]:
    """The earliest time at which each producer's first refusal, correct or not, was logged.

    If lines of a log were left out, a refusal may have been logged at any time.
    """
    whole = all(line.number is not None or line.unjudged for line in lines)
    found: dict[int, int] = {}
    for refusal in refusals:
        at_ns = refusal.time_ns - SLACK_NS if whole and refusal.time_ns != -NEVER else -NEVER
        found[refusal.producer] = min(at_ns, found.get(refusal.producer, at_ns))
    return found


def _refused(refusals: Sequence[_Refusal], batches: Batches) -> Iterator[Epoch]:
    for refusal in refusals:
        if refusal.incoming > refusal.end + 1:
            ends = _ends(batches, refusal.where, refusal.producer)
            # The line lacks the epoch: if several epochs end with the same number, it is unknown
            # which of them was refused.
            epochs = [epoch for epoch, end in ends.items() if end == refusal.end]
            yield from ((refusal.producer, epoch) for epoch in epochs if len(epochs) == 1)


def _ends(batches: Batches, where: PartitionName, producer: int) -> dict[int, int]:
    """The highest sequence of each epoch of a producer in a partition, on any replica."""
    ends: dict[int, int] = {}
    for log in batches.of(where):
        if log.readable:
            rows = (log["producer_id"] == producer) & (log["base_sequence"] != NONE)
            last = (log["base_sequence"] + log["last_offset"] - log["base_offset"])[rows]
            for epoch, end in zip(log["producer_epoch"][rows].tolist(), last.tolist(), strict=True):
                ends[epoch] = max(end, ends.get(epoch, end))
    return ends
