"""Nodes' logs that a run could not read, could not read from their start, or recorded incompletely.

The lines of such a node are not recorded, so rules that look at the logs of nodes with its roles can't
decide. If only lines of one kind are missing, only the rules that look at that kind can't decide.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from checkers.history.logged import (
    EPOCH_BEGUN,
    INSTANCE_REFUSED,
    ISR_SHRUNK,
    LOADED,
    LOG_CUT,
    LOG_LACKING,
    METADATA_TRUNCATED,
    NODE_LOG,
    QUORUM_VIEW,
    TRUNCATED,
)
from checkers.history.operations import History, once
from checkers.history.setup import recorded_setup

_ROLES = ("broker", "controller")
_KINDS = (
    NODE_LOG,
    LOADED,
    ISR_SHRUNK,
    TRUNCATED,
    LOG_CUT,
    EPOCH_BEGUN,
    QUORUM_VIEW,
    METADATA_TRUNCATED,
    INSTANCE_REFUSED,
)
"""Kinds of lines that may be missing separately."""
_OLD_ENTRIES_MAX = 5_000
_OLD_LIMITS = ((LOADED, ISR_SHRUNK, TRUNCATED), (EPOCH_BEGUN,))
"""Groups of kinds for which older runs recorded a limited number of entries per node, without a note."""
_CUT = "an older run recorded no more of its lines"


class _Lack(NamedTuple):
    """The missing part of one node's log; `kind` is None if any lines may be missing."""

    node: str | None
    kind: str | None
    why: str


@once
def missing_logs(history: History) -> frozenset[str]:
    """The missing parts of nodes' logs: role and name of each node, and the reason.

    If only lines of one kind are missing, that kind comes first.  A node whose roles are not in the set-up
    counts as having both.
    """
    lacks = _lacks(history)
    roles = _roles(history) if lacks else {}
    return frozenset(
        f"{f'{lack.kind} of ' if lack.kind else ''}{role} {lack.node}: {lack.why}"
        for lack in lacks
        for role in roles.get(lack.node or "") or _ROLES
    )


def nodes_lacking(history: History, kind: str) -> frozenset[str | None]:
    """Nodes for which some observations of a kind, from their logs, are missing."""
    return frozenset(lack.node for lack in _lacks(history) if lack.kind in (None, kind))


@once
def _lacks(history: History) -> tuple[_Lack, ...]:
    return (*_reported(history), *_left_out(history), *_cut(history))


def _reported(history: History) -> Iterator[_Lack]:
    """Missing parts that the run itself reports."""
    for operation in history.observed(LOG_LACKING):
        value = operation.value if isinstance(operation.value, dict) else {}
        what = value.get("what")
        why = str(value.get("why", "its log was not read"))
        yield _Lack(operation.node, what if what in _KINDS else None, why)


def _left_out(history: History) -> Iterator[_Lack]:
    """Errors of a node that are only counted, if a rule may read some of them."""
    for operation in history.observed(NODE_LOG):
        value = operation.value if isinstance(operation.value, dict) else {}
        if value.get("line", 0) is None and not value.get("unjudged"):
            yield _Lack(operation.node, NODE_LOG, f"not recorded: {value.get('text')}")


def _cut(history: History) -> Iterator[_Lack]:
    """Nodes for which an older run recorded its maximum number of entries."""
    for kinds in _OLD_LIMITS:
        found = Counter(operation.node for kind in kinds for operation in history.observed(kind))
        for node, number in found.items():
            if number == _OLD_ENTRIES_MAX:
                yield from (_Lack(node, kind, _CUT) for kind in kinds)


def _roles(history: History) -> dict[str, tuple[str, ...]]:
    try:
        nodes = recorded_setup(history).nodes
    except msgspec.ValidationError:
        return {}
    return {node.name: node.roles for node in nodes}
