"""All administrators, for real, against a broker that fails as the test decides."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from checkers.history.operations import OperationType
from harness.clients import ClientFailedError, ClientKind
from harness.clients.administrator import AdminAnswer, Administrator, AdministratorOptions
from harness.clients.administrator_opening import open_administrator
from harness.clients.java.process import JavaProcess
from tests.harness.fakes.admin_broker import (
    ALTER,
    COMMIT,
    CREATE,
    DELETE,
    DESCRIBE,
    FETCH_OFFSETS,
    FakeAdminBroker,
)
from tests.harness.fakes.broker import COORDINATOR
from tests.harness.java import KINDS, running
from tests.harness.waiting import BOUND_S

OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO
LOADING, NOT_AVAILABLE, NOT_COORDINATOR, NOT_CONTROLLER = 14, 15, 16, 41
PATIENT_MS = 30_000

CHANGES: dict[int, Callable[[Administrator], AdminAnswer]] = {
    COMMIT: lambda client: client.commit_offset("group-0", "log-0", 1, 17),
    ALTER: lambda client: client.alter_config("log-0", "flush.ms", 17),
    CREATE: lambda client: client.create_topic("made-0", 2, 1),
    DELETE: lambda client: client.delete_topic("made-0"),
}
READS: dict[int, Callable[[Administrator], AdminAnswer]] = {
    FETCH_OFFSETS: lambda client: client.committed_offset("group-0", "log-0", 1),
    DESCRIBE: lambda client: client.config("log-0", "flush.ms"),
}
REQUESTS = CHANGES | READS


@pytest.fixture
def broker() -> Iterator[FakeAdminBroker]:
    with FakeAdminBroker() as made:
        yield made


@pytest.fixture
def client(broker: FakeAdminBroker, kind: ClientKind) -> Iterator[Administrator]:
    """For what is given up in the end: enough time for a slow machine to have asked by then.

    Kafka-python does not ask again, so it has nothing to give up.
    """
    options = AdministratorOptions((broker.bootstrap,), 2_000, PATIENT_MS, operation_ms=2_500)
    if kind is ClientKind.KAFKA_PYTHON:
        options = AdministratorOptions((broker.bootstrap,), PATIENT_MS, PATIENT_MS, PATIENT_MS)
    made = open_administrator(kind, options, running())
    yield made
    made.close(BOUND_S)


@pytest.fixture
def patient(broker: FakeAdminBroker, kind: ClientKind) -> Iterator[Administrator]:
    """For what is answered."""
    options = AdministratorOptions((broker.bootstrap,), PATIENT_MS, PATIENT_MS, PATIENT_MS)
    made = open_administrator(kind, options, running())
    yield made
    made.close(BOUND_S)


def test_an_offset_is_committed_and_fetched(patient: Administrator, broker: FakeAdminBroker) -> None:
    client = patient
    assert client.committed_offset("group-0", "log-0", 1) == AdminAnswer(OK, None)
    assert client.commit_offset("group-0", "log-0", 1, 2**40) == AdminAnswer(OK)
    assert client.commit_offset("group-1", "log-0", 1, 3) == AdminAnswer(OK)
    assert client.committed_offset("group-0", "log-0", 1) == AdminAnswer(OK, 2**40)
    assert broker.offsets == {("group-0", "log-0", 1): 2**40, ("group-1", "log-0", 1): 3}
    assert not client.spent


def test_a_config_is_altered_and_described(patient: Administrator, broker: FakeAdminBroker) -> None:
    client = patient
    assert client.config("log-0", "flush.ms") == AdminAnswer(OK, None)
    assert client.alter_config("log-0", "flush.ms", 2**40) == AdminAnswer(OK)
    assert client.config("log-0", "flush.ms") == AdminAnswer(OK, 2**40)
    assert broker.configs == {("log-0", "flush.ms"): str(2**40)}
    assert not client.spent


def test_a_topic_is_created_and_deleted(patient: Administrator, broker: FakeAdminBroker) -> None:
    assert patient.create_topic("made-0", 2, 1) == AdminAnswer(OK)
    assert broker.topics == {"made-0"}
    assert patient.delete_topic("made-0") == AdminAnswer(OK)
    assert not broker.topics


@pytest.fixture(scope="module")
def unanswered(java_process: JavaProcess) -> dict[tuple[ClientKind, int], AdminAnswer]:
    """What each administrator says of each request that its broker got and did not answer.

    All wait at the same time, each with a broker of its own.
    """
    cases = [(kind, key) for kind in KINDS for key in REQUESTS]
    with ExitStack() as stack:
        brokers = [stack.enter_context(FakeAdminBroker()) for _ in cases]
        clients = []
        for (kind, key), broker in zip(cases, brokers, strict=True):
            broker.errors[key] = None
            options = AdministratorOptions((broker.bootstrap,), 3_000, PATIENT_MS, operation_ms=3_500)
            clients.append(open_administrator(kind, options, java_process))
        with ThreadPoolExecutor(len(cases)) as pool:
            calls = [REQUESTS[key] for _, key in cases]
            answers = list(pool.map(lambda call, client: call(client), calls, clients))
            # Closing waits as well, where a library still has its request.
            list(pool.map(lambda client: client.close(BOUND_S), clients))
        asked = [key in dict(broker.asked) for (_, key), broker in zip(cases, brokers, strict=True)]
        assert all(asked), dict(zip(cases, asked, strict=True))
        return dict(zip(cases, answers, strict=True))


@pytest.mark.parametrize("key", CHANGES)
def test_a_change_that_is_not_answered_is_of_unknown_fate(
    unanswered: dict[tuple[ClientKind, int], AdminAnswer], kind: ClientKind, key: int
) -> None:
    answer = unanswered[kind, key]
    assert (answer.outcome, answer.value) == (INFO, None)
    assert answer.error


@pytest.mark.parametrize("key", READS)
def test_a_read_that_is_not_answered_failed(
    unanswered: dict[tuple[ClientKind, int], AdminAnswer], kind: ClientKind, key: int
) -> None:
    answer = unanswered[kind, key]
    assert (answer.outcome, answer.value) == (FAIL, None)
    assert answer.error


@pytest.mark.parametrize("key", [ALTER, CREATE, DELETE])
def test_what_a_controller_that_resigned_refused_may_have_happened(
    client: Administrator, broker: FakeAdminBroker, kind: ClientKind, key: int
) -> None:
    broker.errors[key] = NOT_CONTROLLER
    assert CHANGES[key](client).outcome is INFO
    assert client.spent is (kind is not ClientKind.JAVA)


@pytest.mark.parametrize("error", [LOADING, NOT_COORDINATOR, NOT_AVAILABLE])
def test_a_commit_certainly_failed_only_with_one_attempt_while_loading(
    client: Administrator, broker: FakeAdminBroker, kind: ClientKind, error: int
) -> None:
    broker.errors[COMMIT] = error
    once = kind is ClientKind.KAFKA_PYTHON
    assert CHANGES[COMMIT](client).outcome is (FAIL if once and error == LOADING else INFO)
    assert client.spent is once
    assert not broker.offsets


def test_a_commit_that_is_given_up_is_not_taken_for_the_next(
    broker: FakeAdminBroker, kind: ClientKind
) -> None:
    """The next one has more time than a slow machine takes."""
    options = AdministratorOptions((broker.bootstrap,), PATIENT_MS, PATIENT_MS, operation_ms=4_500)
    client = open_administrator(kind, options, running())
    broker.errors[COMMIT] = NOT_COORDINATOR
    assert client.commit_offset("group-0", "log-0", 1, 5).outcome is INFO
    del broker.errors[COMMIT]
    assert client.commit_offset("group-0", "log-0", 1, 6) == AdminAnswer(OK)
    assert broker.offsets["group-0", "log-0", 1] == 6
    client.close(BOUND_S)


def test_without_a_coordinator_nothing_is_committed(
    client: Administrator, broker: FakeAdminBroker, kind: ClientKind
) -> None:
    broker.errors[COORDINATOR] = NOT_AVAILABLE
    assert CHANGES[COMMIT](client).outcome is (FAIL if kind is ClientKind.KAFKA_PYTHON else INFO)
    assert not broker.offsets


def test_kafka_python_needs_a_broker_that_answers() -> None:
    with pytest.raises(ClientFailedError, match=r"none of 127\.0\.0\.1:9 answers"):
        open_administrator(ClientKind.KAFKA_PYTHON, AdministratorOptions(("127.0.0.1:9",)))
