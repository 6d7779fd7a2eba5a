"""Records in the log of share coordinators by which a state begins again, as an administrator requested.

To set a start offset, the share coordinator writes a snapshot without states and with leader epoch 0
(``ShareCoordinatorShard.initializeState``).  Its state epoch is the epoch of the group, which increases when
members join and leave.  The share coordinator refuses older ones only.  So two such snapshots have one state
epoch in two cases:

* no member joined between the requests;
* a request without a known outcome was carried out late, when members were there again.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import Booleans, GroupPartition
from checkers.evidence.administration import requests_of
from checkers.evidence.share_states import ShareStatesLog
from checkers.history.operations import History
from checkers.history.share_states import Kind
from checkers.share_groups.loading import SETS


class Resets(NamedTuple):
    """Which records of a log begin a state, and why; arrays of shape (n,).

    Attributes:
        begun: whether it is a snapshot without a leader and without states.
        asked: whether it also has a start offset that was requested.
        late: whether a request for that start offset has no known outcome.
    """

    begun: Booleans
    asked: Booleans
    late: Booleans


def resets_of(history: History, log: ShareStatesLog, names: Sequence[GroupPartition | None]) -> Resets:
    """Find the records that begin a state.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        log: the log of a share coordinator.
        names: its share partitions by code; None for those of topics that the run did not create.
    """
    records = log.records
    begun = (records["kind"] == Kind.SNAPSHOT) & (records["share_epoch"] == 0) & (records["batches"] == 0)
    asked, late = np.zeros(len(begun), np.bool_), np.zeros(len(begun), np.bool_)
    starts, unsure = _requested(history)
    for code, name in enumerate(names):
        if name is not None:
            here = begun & (records["place"] == code)
            asked |= here & np.isin(records["start"], list(starts[name]))
            late |= here & np.isin(records["start"], list(unsure[name]))
    return Resets(begun, asked, late)


def _requested(history: History) -> tuple[dict[GroupPartition, set[int]], dict[GroupPartition, set[int]]]:
    """By share partition, the requested start offsets, and those of requests without a known outcome."""
    starts: dict[GroupPartition, set[int]] = defaultdict(set)
    unsure: dict[GroupPartition, set[int]] = defaultdict(set)
    for request in requests_of(history, SETS):
        asked = request.began.value
        place = GroupPartition(str(request.began.key), asked["topic"], asked["partition"])
        starts[place].add(asked["offset"])
        if request.unknown:
            unsure[place].add(asked["offset"])
    return starts, unsure
