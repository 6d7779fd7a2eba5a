"""Which nodes' logs a run could not read, or not from their beginnings.

What such a node logged is not recorded, so rules that look at the logs of nodes of its roles can't decide.
"""

import msgspec

from checkers.history.logged import LOG_LACKING
from checkers.history.operations import History, Operation, once
from checkers.history.setup import told_setup

_ROLES = ("broker", "controller")


@once
def missing_logs(history: History) -> frozenset[str]:
    """What is missing of nodes' logs: role and name of each node, and why.

    A node whose roles are not in the set-up is listed with both roles.
    """
    told = history.observed(LOG_LACKING)
    roles = _roles(history) if told else {}
    return frozenset(
        f"{role} {operation.node}: {_why(operation)}"
        for operation in told
        for role in roles.get(operation.node or "") or _ROLES
    )


def _roles(history: History) -> dict[str, tuple[str, ...]]:
    try:
        nodes = told_setup(history).nodes
    except msgspec.ValidationError:
        return {}
    return {node.name: node.roles for node in nodes}


def _why(operation: Operation) -> str:
    value = operation.value if isinstance(operation.value, dict) else {}
    return str(value.get("why", "its log was not read"))
