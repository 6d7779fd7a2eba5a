"""What brokers report at the end of the groups and transactional ids that they coordinate."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.admin import (
    ListGroupsRequest,
    ListGroupsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)

from checkers.history.operations import Operation
from checkers.history.reading import read_history
from harness.evidence import claimed_coordinators
from harness.evidence.claimed_coordinators import gather_coordinators
from harness.record.journal import Clock, Journals, Recorder
from tests.harness.fakes.node import FakeNode
from tests.harness.waiting import Pauses, StandingTime

_LIST_GROUPS, _LIST_TRANSACTIONS = 16, 66
_LOADING = 14


class _Broker(FakeNode):
    """Coordinates groups and transactional ids, after it has answered so often that it loads them."""

    def __init__(self, groups: list[str], ids: list[str], loading: int = 0) -> None:
        super().__init__()
        self._groups, self._ids, self._loading = groups, ids, loading
        self.versions |= {_LIST_GROUPS: 4, _LIST_TRANSACTIONS: 0}
        self.requests |= {_LIST_GROUPS: ListGroupsRequest, _LIST_TRANSACTIONS: ListTransactionsRequest}
        self.answers |= {_LIST_GROUPS: self._list_groups, _LIST_TRANSACTIONS: self._list_transactions}

    def _list_groups(self, _: Any) -> Any:
        listed = ListGroupsResponse.ListedGroup
        groups = [listed(group_id=name, protocol_type="", group_state="Empty") for name in self._groups]
        return ListGroupsResponse(throttle_time_ms=0, error_code=0, groups=groups)

    def _list_transactions(self, _: Any) -> Any:
        self._loading -= 1
        state = ListTransactionsResponse.TransactionState
        states = [
            state(transactional_id=name, producer_id=1, transaction_state="Ongoing") for name in self._ids
        ]
        error = _LOADING if self._loading >= 0 else 0
        return ListTransactionsResponse(
            throttle_time_ms=0,
            error_code=error,
            unknown_state_filters=[],
            transaction_states=[] if error else states,
        )


def gathered_coordinators(tmp_path: Path, *brokers: _Broker, patience_s: float = 20) -> Sequence[Operation]:
    journals = Journals(tmp_path, "run", Clock())
    listeners = {f"n{number}": broker.address for number, broker in enumerate(brokers)}
    gather_coordinators(Recorder(journals.open("runner"), "runner"), listeners, patience_s)
    journals.close()
    return read_history(tmp_path).observed("coordinators")


def test_each_broker_is_asked_once_where_all_is_clear(tmp_path: Path) -> None:
    with _Broker(["h", "g"], ["t"]) as one, _Broker(["t"], []) as other:
        first, second = gathered_coordinators(tmp_path, one, other)
    assert (first.node, first.value["groups"], first.value["transactional_ids"]) == ("n0", ["g", "h"], ["t"])
    assert (second.node, second.value["groups"], second.value["transactional_ids"]) == ("n1", ["t"], [])


def test_who_is_loading_is_asked_again(tmp_path: Path) -> None:
    with _Broker(["g"], ["t"], loading=1) as one:
        first, second = gathered_coordinators(tmp_path, one)
    assert first.value["transactional_ids"] is None
    assert second.value["transactional_ids"] == ["t"]


@pytest.mark.parametrize("names", [(["g"], []), ([], ["t"])])
def test_two_that_name_the_same_are_asked_until_patience_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[list[str], list[str]]
) -> None:
    standing = StandingTime()
    monkeypatch.setattr(claimed_coordinators, "time", standing)
    monkeypatch.setattr(claimed_coordinators, "Event", lambda: Pauses(standing))
    with _Broker(*names) as one, _Broker(*names) as other:
        assert len(gathered_coordinators(tmp_path, one, other, patience_s=0.6)) == 2 * 3


def test_who_does_not_answer_is_not_recorded(tmp_path: Path) -> None:
    with _Broker([], []) as one:
        one.answers[_LIST_GROUPS] = lambda _: None
        assert not gathered_coordinators(tmp_path, one, patience_s=0)
