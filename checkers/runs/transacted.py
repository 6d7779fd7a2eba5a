"""Whether a transactional run had the events that it tests: commits, aborts, and fenced producers."""

from collections import Counter
from dataclasses import dataclass, field

from checkers.evidence.named_errors import SCRIPT
from checkers.history.operations import INVOKE, OK, History, Operation
from checkers.history.setup import LoadSetup
from checkers.verdict.verdict import Assumption

_KIND, _OTHERS = "txn", frozenset({"compacted", "shares"})
"""The workloads to which these conditions apply; to the others if they have transactors."""
COMMITTED_MIN = 20
"""The least number of transactions of a client library for a valid result."""


def transacted(history: History, workload: LoadSetup) -> list[Assumption]:
    """The conditions without which a valid result of the txn workload means nothing.

    The first two also apply to compacted topics and to share groups, if the workload has transactors.

    1. ``transactions-committed``: at least 20 of each client library that began any.
    2. ``transactions-aborted``: at least one that was aborted on purpose and acknowledged.
    3. ``instances-fenced``: at least one transaction was not committed while, or after, another process
       initialised its transactional id.
    """
    if workload.kind != _KIND and not (workload.kind in _OTHERS and workload.transactors):
        return []
    seen = _Seen()
    for operation in history.operations:
        match operation.f:
            case "init-transactions" if operation.type is OK:
                seen.initialised[operation.key] = operation.process
            case "txn":
                seen.take(operation)
    least = min((seen.committed[client] for client in seen.clients), default=0)
    committed = ", ".join(f"{client}: {seen.committed[client]}" for client in sorted(seen.clients))
    met = [
        Assumption(
            "transactions-committed",
            least >= COMMITTED_MIN,
            f"at least {COMMITTED_MIN} transactions committed by each client",
            committed or "none began",
        ),
        Assumption(
            "transactions-aborted",
            seen.aborted > 0,
            "at least 1 transaction aborted on purpose",
            f"{seen.aborted} aborted",
        ),
        Assumption(
            "instances-fenced",
            seen.fenced > 0,
            "at least 1 transaction refused to an instance that was fenced",
            f"{seen.fenced} refused",
        ),
    ]
    return met if workload.kind == _KIND else met[:2]


@dataclass
class _Seen:
    """The transactions so far; `initialised` has the last process that initialised each transactional id."""

    initialised: dict[object, int | str] = field(default_factory=dict)
    clients: set[str] = field(default_factory=set)
    committed: Counter[str] = field(default_factory=Counter)
    aborted: int = 0
    fenced: int = 0

    def take(self, operation: Operation) -> None:
        """Add a library's invocation or completion; one without a value is ignored."""
        if operation.value is None or operation.value["client"] == SCRIPT:
            return
        client = operation.value["client"]
        if operation.type is INVOKE:
            self.clients.add(client)
        elif operation.type is OK:
            self.committed[client] += 1
        elif operation.value.get("end") == operation.value.get("ended") == "abort":
            self.aborted += 1
        elif self.initialised.get(operation.key, operation.process) != operation.process:
            self.fenced += 1
