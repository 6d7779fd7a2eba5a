"""Parts of the coordinators' logs that have all records, and the decisions that must be in them.

A log may lack records: its partition was compacted, a record can't be decoded, or an unclean election or disk
faults may have removed some.  It is whole between these gaps.

A transactional id has one partition for ever, and a coordinator never adopts a lower epoch.  A record that
it appended but did not adopt has an epoch that is higher than the adopted one by two at most.  So the
decision of a marker is after all records of its producer with lower epochs.  It is before the first one whose
epoch is higher by more than two, or before the end of the log, which is read after the markers.  If there is
no gap in between, the decision must be there.

That does not hold in a partition that may have lost records.  There the decision of a marker may be one of
the lost ones, and a later coordinator may have assigned its epoch again.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.columns.tables import NEVER, Integers
from checkers.evidence.coordinators import TRANSACTIONS_TOPIC, transactions_partition
from checkers.evidence.partition_changes import partition_changes
from checkers.evidence.producers import initialisations
from checkers.evidence.transaction_states import StatesLog, states_of
from checkers.history.operations import History
from checkers.history.transactions import ProducerInitialised
from checkers.licences.internal import Loss, losses

_AHEAD_MAX = 2
"""By how much the epoch of a record that was not adopted may be higher than the adopted one."""


class Pieces(NamedTuple):
    """The gapless pieces of a log.

    Attributes:
        of_records: shape (records,), number of the piece of each record; the piece from offset 0 on is 0.
        last: number of the piece that reaches the log's end.
    """

    of_records: Integers
    last: int


class CoordinatorLogs:
    """The logs of the topic, as far as decisions can be looked for in them.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Attributes:
        known: the logs that were recorded, by the number of their partition.

    Raises:
        msgspec.ValidationError, ValueError: an operation is not as docs/histories.md says.
    """

    def __init__(self, history: History) -> None:
        self.known: Mapping[int, StatesLog] = states_of(history)
        states = partition_changes(history).states
        made = {name.partition for name in states if name.topic == TRANSACTIONS_TOPIC}
        risky = bool(losses(history, TRANSACTIONS_TOPIC))
        self._losses: dict[int, tuple[Loss, ...]] = {
            number: losses(history, TRANSACTIONS_TOPIC, number) if risky else () for number in self.known
        }
        self._all = bool(made) and made <= self.known.keys() and not risky
        self._all = self._all and all(log.whole for log in self.known.values())
        self.has_decision = cache(self._has_decision)

    def pieces(self, number: int) -> Pieces | None:
        """The gapless pieces of a log; None if it is unknown where lost records were."""
        log = self.known[number]
        epochs = [loss.epoch for loss in self._losses[number]]
        if log.seen.error is not None or None in epochs:
            return None
        gaps = log.gaps
        rows = np.searchsorted(log.records["leader_epoch"], [epoch for epoch in epochs if epoch is not None])
        gaps[rows[rows < len(gaps)]] = True
        numbers = np.cumsum(gaps).astype(np.int64)
        more = int(log.lacks_end or bool((rows == len(gaps)).any()))
        return Pieces(numbers, more + (int(numbers[-1]) if len(gaps) else 0))

    def _has_decision(self, producer: int, epoch: int) -> bool:
        """Whether the decision of any marker with this producer and epoch must be in one of the logs."""
        if self._all:
            return True
        for number, log in self.known.items():
            rows = np.flatnonzero(log.records["producer_id"] == producer)
            if len(rows):
                pieces = None if self._losses[number] else self.pieces(number)
                return pieces is not None and _is_between(pieces, log, rows, epoch)
        return False


def _is_between(pieces: Pieces, log: StatesLog, rows: Integers, epoch: int) -> bool:
    """Whether no record is missing where the decision of an epoch must be, given its producer's records."""
    epochs = log.records["producer_epoch"][rows].astype(np.int64)
    before, after = rows[epochs < epoch], rows[epochs > epoch + _AHEAD_MAX]
    first = int(pieces.of_records[before[-1]]) if len(before) else 0
    last = int(pieces.of_records[after[0]]) if len(after) else pieces.last
    return first == last


def certain_producers(history: History) -> Integers | None:
    """Producer ids whose coordinators have certainly lost nothing; None if that holds for all producers.

    A producer belongs to the partition whose log has it, or to that of the id for which it was initialised.

    Raises:
        msgspec.ValidationError, ValueError: an operation is not as docs/histories.md says.
    """
    if not losses(history, TRANSACTIONS_TOPIC):
        return None
    is_whole = cache(lambda number: not losses(history, TRANSACTIONS_TOPIC, number))
    logs = (log for number, log in states_of(history).items() if is_whole(number))
    found = {number for log in logs for number in log.records["producer_id"].tolist()}
    for call in initialisations(history):
        place = transactions_partition(history, str(call.begun.key))
        if call.to_ns != NEVER and call.ended is not None and place is not None and is_whole(place.partition):
            found.add(msgspec.convert(call.ended.value, ProducerInitialised).producer_id)
    return np.array(sorted(found - {None}), dtype=np.int64)
