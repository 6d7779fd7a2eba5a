"""A producer with an old epoch that gets the error of an invalid state, in the answers of a script."""

from typing import Any

import pytest

from checkers.history.fitting import misfit_of
from checkers.history.operations import History, Operation, OperationType
from checkers.transactional.client_errors import check_client_errors
from checkers.transactional.client_errors.outdated import hidden_epochs
from checkers.verdict.verdict import Anomaly
from tests.checkers.conftest import SETUP


def history_of(errors: list[int] | None, kind: OperationType = OperationType.OK) -> History:
    value: dict[str, Any] = {"transaction_version": 1}
    if errors is not None:
        value |= {"timed_out_errors": errors}
    asked = {"transaction_version": 1}
    operations = (
        Operation(0, 0, "runner", OperationType.OK, "setup", None, SETUP),
        Operation(1, 5, "script", OperationType.INVOKE, "control", "timed-out-producer", asked),
        Operation(2, 9, "script", kind, "control", "timed-out-producer", value),
    )
    assert [one for one in map(misfit_of, operations) if one is not None] == []
    return History("run", "2026-11-20T00:00:00Z", operations)


def history_of_commit(error: int | None, newer_by: int | None) -> History:
    figures = {"late_commit_error": error, "newer_by": newer_by}
    value = {"transaction_version": 2} | {name: each for name, each in figures.items() if each is not None}
    operations = (
        Operation(0, 0, "runner", OperationType.OK, "setup", None, SETUP),
        Operation(1, 5, "script", OperationType.INVOKE, "control", "late-commit", {"transaction_version": 2}),
        Operation(2, 9, "script", OperationType.OK, "control", "late-commit", value),
    )
    assert [one for one in map(misfit_of, operations) if one is not None] == []
    return History("run", "2026-11-20T00:00:00Z", operations)


def found(history: History) -> list[Anomaly]:
    return list(hidden_epochs(history))


def test_an_invalid_state_beside_an_old_epoch_hides_it() -> None:
    (anomaly,) = found(history_of([48, 47]))
    assert (anomaly.id, anomaly.illegal, anomaly.witness) == ("old-epoch-hidden", True, (2,))
    assert check_client_errors(history_of([48, 47])).counts == {"old-epoch-hidden": 1}


@pytest.mark.parametrize("errors", [[47, 47], [48, 48], [48, 19], [0, 0], None])
def test_other_answers_hide_nothing(errors: list[int] | None) -> None:
    assert found(history_of(errors)) == []


def test_a_script_that_failed_shows_nothing() -> None:
    assert found(history_of([48, 47], OperationType.INFO)) == []


def test_a_late_commit_that_fails_with_an_invalid_state_hides_the_epoch() -> None:
    (anomaly,) = found(history_of_commit(48, 1))
    assert (anomaly.id, anomaly.illegal, anomaly.witness) == ("old-epoch-hidden", True, (2,))
    assert "newer by 1" in anomaly.explanation[0]


@pytest.mark.parametrize(
    ("error", "newer_by"), [(90, 1), (47, 1), (48, 0), (48, None), (0, 1), (None, 1), (None, None)]
)
def test_other_answers_to_a_late_commit_hide_nothing(error: int | None, newer_by: int | None) -> None:
    assert found(history_of_commit(error, newer_by)) == []
