"""The newest producer is fenced by a request with an older epoch, in what a script sent and was answered."""

from typing import Any

import pytest

from checkers.history.fitting import misfit_of
from checkers.history.operations import FAIL, INFO, INVOKE, OK, History, Operation, OperationType
from checkers.transactional.client_errors import check_client_errors
from checkers.verdict.verdict import Anomaly, Validity
from tests.checkers.conftest import SETUP

S = 1_000_000_000
OLDER, NEWEST = 2, 3
ID = "older-epoch-0"
FENCED, STATE = "EndTxn: [Error 90]", "EndTxn: [Error 48]"
NOT_SENT = "no client, nothing sent: nobody answers"


class Script:
    """What the script ``older-epoch`` recorded, in steps of a second; both instances are producer 1000."""

    def __init__(self) -> None:
        setup = SETUP | {"workload": {"kind": "scripted-transactions", "transaction_timeout_ms": 45_000}}
        self.operations = [Operation(0, 0, "runner", OK, "setup", None, setup)]

    def put(  # noqa: PLR0917 - the fields of an operation
        self, process: int, kind: OperationType, f: str, value: Any, error: str | None = None, key: str = ID
    ) -> "Script":
        index = len(self.operations)
        self.operations.append(Operation(index, index * S, process, kind, f, key, value, error))
        return self

    def initialise(self, process: int, epoch: int | None, **asked: Any) -> "Script":
        value = {"client": "raw", "timeout_ms": 45_000} | asked
        self.put(process, INVOKE, "init-transactions", value)
        return self.put(process, OK, "init-transactions", value | {"producer_id": 1000, "epoch": epoch})

    def raises(
        self, epoch: int, producer_id: int = 1000, *, kind: OperationType = FAIL, key: str = ID
    ) -> "Script":
        value = {"client": "raw", "raises": [producer_id, epoch]}
        answer = value | {"producer_id": 1000, "epoch": epoch + 3} if kind is OK else value
        error = None if kind is OK else "InitProducerId was answered [51, 90]"
        self.put(OLDER, INVOKE, "init-transactions", value, key=key)
        return self.put(OLDER, kind, "init-transactions", answer, error, key)

    def begin(self, client: str = "raw") -> "Script":
        sends = [["send", "txn-0", 0, 7]]
        return self.put(NEWEST, INVOKE, "txn", {"client": client, "end": "commit", "mops": sends})

    def end(self, error: str | None = FENCED, kind: OperationType = FAIL, client: str = "raw") -> "Script":
        sends = [["send", "txn-0", 0, 7, 5]]
        value = {"client": client, "end": "commit", "mops": sends, "ended": None if error else "commit"}
        return self.put(NEWEST, kind, "txn", value, error)

    def history(self) -> History:
        assert [one for one in map(misfit_of, self.operations) if one is not None] == []
        return History("run", "2026-11-28T00:00:00Z", tuple(self.operations))

    def found(self) -> list[Anomaly]:
        return [one for one in check_client_errors(self.history()).anomalies if one.illegal]


def begun() -> Script:
    """Both instances are initialised, and the newest one has begun a transaction."""
    return Script().initialise(OLDER, 0).initialise(NEWEST, 1).begin()


@pytest.mark.parametrize(("error", "kind"), [(FENCED, FAIL), ("EndTxn: [Error 47]", FAIL), (STATE, INFO)])
def test_the_newest_producer_is_fenced_by_an_older_epoch(error: str, kind: OperationType) -> None:
    (anomaly,) = begun().raises(0).end(error, kind).found()
    assert (anomaly.id, anomaly.subject) == ("fenced-by-older-epoch", f"transactional id {ID}")
    assert anomaly.witness == (4, 6, 5, 8)
    assert anomaly.explanation == (
        "Process 3 had the newest instance: producer 1000, epoch 1.",
        "Its transaction had begun 3.0 s before, in time.",
        "Only older instances sent InitProducerId later: producer 1000, epoch 0.",
    )


@pytest.mark.parametrize("kind", [OK, INFO])
def test_an_older_epoch_that_was_raised_fences_it_as_well(kind: OperationType) -> None:
    (anomaly,) = begun().raises(0, kind=kind).end().found()
    assert anomaly.id == "fenced-by-older-epoch"


def test_requests_before_the_transaction_count_as_well() -> None:
    script = Script().initialise(OLDER, 0).initialise(NEWEST, 1).raises(0).begin().raises(0).end()
    (anomaly,) = script.found()
    assert anomaly.witness == (4, 5, 8, 7, 10)


def test_a_commit_that_is_acknowledged_is_as_it_must_be() -> None:
    result = check_client_errors(begun().raises(0).end(None, OK).history())
    assert (result.validity, result.anomalies) == (Validity.VALID, ())


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(begun().end(), id="nobody asked"),
        pytest.param(begun().raises(1).end(), id="the newest epoch"),
        pytest.param(begun().raises(0, 999).end(), id="another producer id"),
        pytest.param(begun().raises(0, key="other").end(), id="another transactional id"),
        pytest.param(begun().initialise(OLDER, 2).end(), id="a newer instance"),
        pytest.param(begun().raises(0).initialise(OLDER, 2).end(), id="a newer instance as well"),
        pytest.param(begun().end().raises(0), id="later"),
        pytest.param(begun().raises(0).end("EndTxn: [Error 16]", INFO), id="refused for another reason"),
        pytest.param(begun().raises(0).put(NEWEST, INFO, "txn", None, "lost"), id="no refusal"),
        pytest.param(Script().begin().raises(0).end(), id="an instance that was not initialised"),
        pytest.param(Script().initialise(NEWEST, None).begin().raises(0).end(), id="an unknown epoch"),
        pytest.param(Script().raises(0, kind=OK).initialise(NEWEST, 4).begin().end(), id="answered before"),
        pytest.param(
            Script().initialise(NEWEST, 1, timeout_ms=2_000).begin().raises(0).end(), id="its timeout"
        ),
    ],
)
def test_what_may_explain_it_otherwise_is_no_finding(script: Script) -> None:
    assert script.found() == []


def test_a_new_instance_that_sent_nothing_explains_nothing() -> None:
    script = begun().put(OLDER, INVOKE, "init-transactions", {"client": "raw"})
    script.put(OLDER, FAIL, "init-transactions", {"client": "raw"}, NOT_SENT).raises(0).end()
    (anomaly,) = script.found()
    assert anomaly.witness == (4, 8, 5, 10)


def test_a_library_does_not_tell_that_it_raised_an_epoch() -> None:
    script = Script().initialise(OLDER, 0).initialise(NEWEST, 1)
    history = script.begin("kafka-python").raises(0).end(client="kafka-python").history()
    assert "fenced-by-older-epoch" not in check_client_errors(history).counts


def test_a_transaction_without_an_end_is_passed_over() -> None:
    assert begun().raises(0).found() == []


def test_a_lost_state_of_transactions_explains_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def lost(_: History, *arguments: Any) -> str:
        asked.append(arguments)
        return "a wiped disk"

    monkeypatch.setattr("checkers.transactional.client_errors.older_epochs.lost_state", lost)
    (anomaly,) = check_client_errors(begun().raises(0).end().history()).anomalies
    assert (anomaly.illegal, anomaly.licence) == (False, "a wiped disk")
    assert asked == [(ID, 3 * S, 8 * S)]


@pytest.mark.parametrize(
    ("script", "validity"),
    [(begun().raises(0).end(), Validity.UNKNOWN), (begun().raises(0, key="other").end(), Validity.VALID)],
)
def test_what_may_permit_it_is_needed_only_where_an_epoch_was_raised(
    script: Script, validity: Validity
) -> None:
    lacking = History("run", "", script.history().operations, lacking=frozenset({"nemesis"}))
    assert check_client_errors(lacking).validity is validity
