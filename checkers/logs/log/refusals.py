"""Producers whose batch a broker refused as out of order, because it had not got the one before it.

A broker logs such a refusal as an error, with the sequence that came and the last one that it has
(``ProducerAppendInfo``).  Where the replicas' disks have that last sequence as the highest one of the
producer's epoch, the broker had lost nothing, and refused rightly.  librdkafka treats the refusal as a loss,
begins a new epoch and sends again what may have been appended, in other partitions too (issue 4953 of
confluentinc/librdkafka).
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from checkers.columns.tables import NONE, PartitionName
from checkers.evidence.replicas import Batches, batches_of
from checkers.history.logged import NODE_LOG, FindingLogged
from checkers.history.operations import History

Epoch = tuple[int, int]
"""A producer's id and epoch."""

_REFUSED = re.compile(
    r"Out of order sequence number for producer (?P<producer>\d+) at offset \d+ in partition"
    r" (?P<topic>\S+)-(?P<partition>\d+): (?P<incoming>\d+) \(incoming seq\. number\), (?P<end>\d+)"
    r" \(current end sequence number\)"
)


class Disks(NamedTuple):
    """What reports whose fault a duplicate is.

    Attributes:
        batches: what lay on the replicas' disks.
        refused: epochs of producers a batch of which was refused rightly.
    """

    batches: Batches
    refused: frozenset[Epoch]


def disks_of(history: History) -> Disks:
    """What reports whose fault the duplicates of a history are.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError, ValueError: an observation is not as docs/histories.md says.
    """
    batches = batches_of(history)
    return Disks(batches, frozenset(_refused(history, batches)))


def _refused(history: History, batches: Batches) -> Iterator[Epoch]:
    for operation in history.observed(NODE_LOG):
        told = _REFUSED.search(msgspec.convert(operation.value, FindingLogged).text)
        if told is not None and int(told["incoming"]) > int(told["end"]) + 1:
            where, producer = PartitionName(told["topic"], int(told["partition"])), int(told["producer"])
            ends = _ends(batches, where, producer)
            # The line does not name the epoch: where several end alike, it is unknown which it was.
            epochs = [epoch for epoch, end in ends.items() if end == int(told["end"])]
            yield from ((producer, epoch) for epoch in epochs if len(epochs) == 1)


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
