"""The leader of each epoch, from the records that leaders append when their epoch starts.

The first record that a leader appends is a LEADER_CHANGE record.  So the logs of all nodes show each leader
that any of them followed.  The tools of some versions do not print its content (KAFKA-19069).  In that case
this rule finds nothing.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from checkers.columns.tables import NONE
from checkers.history.operations import History
from checkers.history.replicas import METADATA_LOG, MetadataLogSeen
from checkers.kraft.quorum.rules import TWO_LEADERS
from checkers.verdict.verdict import Anomaly

LEADER_CHANGE = "LEADER_CHANGE"


class _Content(msgspec.Struct, frozen=True, rename="camel"):
    leader_id: int = NONE


class _Begun(NamedTuple):
    """The record with which a leader started an epoch, in one node's log."""

    leader_id: int
    node: str
    offset: int
    op: int
    time_ns: int


def leaders_logged(history: History) -> dict[int, list[_Begun]]:
    """The different leaders of each epoch, in the order of the observations.

    Raises:
        msgspec.ValidationError: an observation, or a record, is not as docs/histories.md says.
    """
    found: dict[int, list[_Begun]] = {}
    for operation in history.observed(METADATA_LOG):
        seen = msgspec.convert(operation.value, MetadataLogSeen)
        for offset, epoch, kind, data in seen.records:
            leader_id = msgspec.convert(data, _Content).leader_id if kind == LEADER_CHANGE and data else NONE
            leaders = found.setdefault(epoch, [])
            if leader_id != NONE and leader_id not in {each.leader_id for each in leaders}:
                place = (operation.node or "a node", offset, operation.index, operation.time_ns)
                leaders.append(_Begun(leader_id, *place))
    return found


def two_leaders_logged(history: History) -> Iterator[Anomaly]:
    """One finding for every epoch with two leaders, from the logs of all nodes.

    Raises:
        msgspec.ValidationError: an observation, or a record, is not as docs/histories.md says.
    """
    for epoch, leaders in leaders_logged(history).items():
        if len(leaders) > 1:
            names = ", ".join(str(each.leader_id) for each in leaders)
            yield TWO_LEADERS.found(
                f"Epoch {epoch} was begun by several leaders: {names}.",
                subject=f"epoch {epoch}",
                time_ns=leaders[1].time_ns,
                witness=dict.fromkeys(each.op for each in leaders),
                explanation=(
                    f"Offset {each.offset} of {each.node}'s metadata log begins epoch {epoch} with leader"
                    f" {each.leader_id}."
                    for each in leaders
                ),
            )
