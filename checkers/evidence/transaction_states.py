"""The states of transactional ids that coordinators wrote to ``__transaction_state``, as columns."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from checkers.evidence.coordinator_logs import CoordinatorLog, logs_of, unread_logs
from checkers.evidence.coordinators import TRANSACTIONS_TOPIC
from checkers.history.operations import History, Operation, once
from checkers.history.transaction_states import (
    EVIDENCE_STATES,
    TRANSACTION_STATES,
    StatesSeen,
    state_columns,
)


@dataclass(frozen=True, slots=True)
class StatesLog(CoordinatorLog[StatesSeen]):
    """The records of one partition of the topic."""


@once
def states_of(history: History) -> Mapping[int, StatesLog]:
    """The logs of the topic that were recorded, by partition number.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    return logs_of(history, TRANSACTION_STATES, StatesSeen, _log)


def _log(seen: StatesSeen, operation: Operation) -> StatesLog:
    bare = msgspec.structs.replace(seen, columns={})
    return StatesLog(bare, operation.index, operation.time_ns, state_columns(seen))


def unread_states(history: History) -> Iterator[str]:
    """Yield why the states are not known completely, although the run had to gather them.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    return unread_logs(history, TRANSACTIONS_TOPIC, EVIDENCE_STATES, states_of(history))
