"""Evidence from brokers: the groups and transactional ids that each broker claims to coordinate."""

import time
from collections import Counter
from collections.abc import Mapping
from threading import Event

from kafka.protocol.admin import (
    ListGroupsRequest,
    ListGroupsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)

from checkers.history.observed import CoordinatorsSeen
from checkers.runs.claimed_coordinators import COORDINATORS, RELEASED_WITHIN_NS
from harness.kafka.wire import Connection, WireError
from harness.record.journal import Recorder

_TIMEOUT_S = 2.0
_PAUSE_S = 0.5
_SLACK_S = 2.0
PATIENCE_S = RELEASED_WITHIN_NS / 1e9 + _SLACK_S
"""How long requests are repeated while two brokers claim the same group or transactional id."""

Address = tuple[str, int]
Coordinated = tuple[list[str] | None, list[str] | None]
"""Groups and transactional ids; None if the broker answered with an error, such as while it loads them."""


def gather_coordinators(
    recorder: Recorder, listeners: Mapping[str, Address], patience_s: float = PATIENCE_S
) -> None:
    """Record what every broker coordinates; repeat until all have answered and no two claim the same.

    Args:
        recorder: writes as the process ``runner``.
        listeners: broker name to its listener.
        patience_s: how long requests are repeated at most, seconds.
    """
    deadline = time.monotonic() + patience_s
    pause = Event()
    while not _settled([_ask(recorder, node, address) for node, address in listeners.items()]):
        if time.monotonic() >= deadline:
            return
        pause.wait(_PAUSE_S)


def _settled(round_of_answers: list[Coordinated]) -> bool:
    claimed = [name for names in round_of_answers for name in names]
    if any(names is None for names in claimed):
        return False
    for kind in zip(*round_of_answers, strict=True):
        if max(Counter(name for names in kind for name in names or ()).values(), default=0) > 1:
            return False
    return True


def _ask(recorder: Recorder, node: str, address: Address) -> Coordinated:
    began_ns = recorder.journal.clock.now_ns()
    try:
        with Connection(*address, _TIMEOUT_S) as connection:
            groups, ids = _groups(connection), _transactional_ids(connection)
    except WireError:
        return None, None
    value = CoordinatorsSeen(
        began_ns, None if groups is None else tuple(groups), None if ids is None else tuple(ids)
    )
    recorder.observe("observe", COORDINATORS, value, node=node)
    return groups, ids


def _groups(connection: Connection) -> list[str] | None:
    answer = connection.ask(ListGroupsRequest(states_filter=[], types_filter=[]), ListGroupsResponse)
    return None if answer.error_code else sorted(group.group_id for group in answer.groups)


def _transactional_ids(connection: Connection) -> list[str] | None:
    request = ListTransactionsRequest(state_filters=[], producer_id_filters=[])
    answer = connection.ask(request, ListTransactionsResponse, at_most=0)
    return None if answer.error_code else sorted(each.transactional_id for each in answer.transaction_states)
