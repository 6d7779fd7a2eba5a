"""The partition that an anomaly concerns, read from the text of its place."""

import re

from checkers.columns.tables import PartitionName

_PARTITION = re.compile(
    r"(?:.*[: ])?(?P<topic>[^\s:/]+)/(?P<number>\d{1,10})(?: on \S+)?", re.DOTALL | re.ASCII
)
"""Also after the name of a group or of a transactional id, and before the node that has the replica."""
_OF_COMMITS = frozenset(("erasures", "registers"))


def partition_named(place: str) -> PartitionName | None:
    """The partition of a place such as ``log-0/3`` or ``share-0: shares-0/2``; None if it has none."""
    found = _PARTITION.fullmatch(place)
    return None if found is None else PartitionName(found["topic"], int(found["number"]))


def partition_of(place: str, checker: str) -> PartitionName | None:
    """The partition whose leaders and replicas matter for an anomaly; None if there is none.

    An offset that a group committed is in another topic than its place.
    """
    return None if checker in _OF_COMMITS else partition_named(place)
