"""Which nodes' logs a run could not read, or not from their beginnings, and of which it left lines out.

What such a node logged is not recorded, so rules that look at the logs of nodes of its roles can't decide.
Where only lines of one kind are lacking, only the rules that look at that kind can't.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from checkers.history.logged import (
    EPOCH_BEGUN,
    ISR_SHRUNK,
    LOADED,
    LOG_LACKING,
    METADATA_TRUNCATED,
    NODE_LOG,
    QUORUM_VIEW,
    TRUNCATED,
)
from checkers.history.operations import History, once
from checkers.history.setup import recorded_setup

_ROLES = ("broker", "controller")
_KINDS = (NODE_LOG, LOADED, ISR_SHRUNK, TRUNCATED, EPOCH_BEGUN, QUORUM_VIEW, METADATA_TRUNCATED)
"""What may be lacking alone."""
_OLD_ENTRIES_MAX = 5_000
_OLD_LIMITS = ((LOADED, ISR_SHRUNK, TRUNCATED), (EPOCH_BEGUN,))
"""Older runs recorded so many entries of these kinds together for each node, and told of no further ones."""
_CUT = "an older run recorded no more of its lines"


class _Lack(NamedTuple):
    """What is lacking of one node's log; `kind` is None where that may be any line."""

    node: str | None
    kind: str | None
    why: str


@once
def missing_logs(history: History) -> frozenset[str]:
    """What is missing of nodes' logs: role and name of each node, and why.

    Where only lines of one kind are lacking, that kind comes first.  A node whose roles the set-up does not
    tell has both.
    """
    lacks = _lacks(history)
    roles = _roles(history) if lacks else {}
    return frozenset(
        f"{f'{lack.kind} of ' if lack.kind else ''}{role} {lack.node}: {lack.why}"
        for lack in lacks
        for role in roles.get(lack.node or "") or _ROLES
    )


def nodes_lacking(history: History, kind: str) -> frozenset[str | None]:
    """Nodes of which not all observations of a kind are there that their logs would give."""
    return frozenset(lack.node for lack in _lacks(history) if lack.kind in (None, kind))


@once
def _lacks(history: History) -> tuple[_Lack, ...]:
    return (*_reported(history), *_left_out(history), *_cut(history))


def _reported(history: History) -> Iterator[_Lack]:
    """What the run says itself."""
    for operation in history.observed(LOG_LACKING):
        value = operation.value if isinstance(operation.value, dict) else {}
        what = value.get("what")
        why = str(value.get("why", "its log was not read"))
        yield _Lack(operation.node, what if what in _KINDS else None, why)


def _left_out(history: History) -> Iterator[_Lack]:
    """Errors of a node that are only counted, and among which may be some that a rule reads."""
    for operation in history.observed(NODE_LOG):
        value = operation.value if isinstance(operation.value, dict) else {}
        if value.get("line", 0) is None and not value.get("unjudged"):
            yield _Lack(operation.node, NODE_LOG, f"not recorded: {value.get('text')}")


def _cut(history: History) -> Iterator[_Lack]:
    """Nodes of which an older run recorded as many entries as it recorded at most."""
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
