"""A run of transactions that did not try what it is for proves nothing."""

import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.history.setup import LoadSetup
from checkers.runs.transacted import COMMITTED_MIN, transacted

TXN = LoadSetup(kind="txn")
OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE


class Story:
    """Operations in their order."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def add(self, process: int, kind: OperationType, f: str, value: object, key: str = "txn-0") -> None:
        index = len(self.operations)
        self.operations.append(Operation(index, index, process, kind, f, key, value))

    def txn(
        self,
        process: int,
        kind: OperationType,
        *,
        client: str = "c",
        end: str = "commit",
        ended: str | None = None,
    ) -> None:
        self.add(process, INVOKE, "txn", {"client": client, "end": end, "mops": []})
        self.add(process, kind, "txn", {"client": client, "end": end, "mops": [], "ended": ended})

    def initialised(self, process: int, key: str = "txn-0", kind: OperationType = OK) -> None:
        self.add(process, kind, "init-transactions", {"client": "c"}, key)

    def met(self, workload: LoadSetup = TXN) -> dict[str, bool]:
        history = History("run", "", tuple(self.operations))
        return {assumption.name: assumption.met for assumption in transacted(history, workload)}


def complete() -> Story:
    story = Story()
    story.initialised(1)
    for _ in range(COMMITTED_MIN):
        story.txn(1, OK, ended="commit")
    story.txn(1, FAIL, end="abort", ended="abort")
    story.initialised(2)
    story.txn(1, FAIL)
    return story


def test_a_run_with_commits_aborts_and_a_fenced_instance_is_complete() -> None:
    assert set(complete().met().values()) == {True}


@pytest.mark.parametrize(
    ("workload", "names"),
    [
        (LoadSetup(kind="compacted", transactors=4), {"transactions-committed", "transactions-aborted"}),
        (LoadSetup(kind="compacted"), set()),
        (LoadSetup(kind="shares", transactors=3), {"transactions-committed", "transactions-aborted"}),
        (LoadSetup(kind="shares"), set()),
        (LoadSetup(kind="copy", transactors=3), set()),
    ],
)
def test_of_compacted_topics_and_share_groups_fenced_instances_are_not_required(
    workload: LoadSetup, names: set[str]
) -> None:
    assert set(complete().met(workload)) == names


def test_an_empty_run_is_not() -> None:
    assert set(Story().met().values()) == {False}


def test_every_client_has_to_commit() -> None:
    story = complete()
    for _ in range(COMMITTED_MIN - 1):
        story.txn(3, OK, client="d", ended="commit")
    assert story.met()["transactions-committed"] is False
    story.txn(4, OK, client="raw", ended="commit")
    story.txn(3, OK, client="d", ended="commit")
    assert story.met()["transactions-committed"] is True


@pytest.mark.parametrize(("end", "ended"), [("commit", "abort"), ("abort", None), ("commit", None)])
def test_an_abort_counts_if_it_was_meant_and_acknowledged(end: str, ended: str | None) -> None:
    story = Story()
    story.txn(1, FAIL, end=end, ended=ended)
    assert story.met()["transactions-aborted"] is False


@pytest.mark.parametrize(("process", "key", "kind"), [(1, "txn-0", OK), (2, "txn-1", OK), (2, "txn-0", INFO)])
def test_an_instance_is_fenced_by_another_one_of_its_own_name(
    process: int, key: str, kind: OperationType
) -> None:
    story = Story()
    story.initialised(1)
    story.initialised(process, key, kind)
    story.txn(1, INFO)
    assert story.met()["instances-fenced"] is False


def test_one_that_is_fenced_in_mid_transaction_counts_too() -> None:
    story = Story()
    story.initialised(1)
    value = {"client": "c", "end": "commit", "mops": []}
    story.add(1, INVOKE, "txn", value)
    story.initialised(2)
    story.add(1, INFO, "txn", {**value, "ended": None})
    assert story.met()["instances-fenced"] is True


def test_a_completion_without_a_value_shows_nothing() -> None:
    story = Story()
    story.initialised(2)
    story.add(1, INFO, "txn", None)
    assert set(story.met().values()) == {False}
