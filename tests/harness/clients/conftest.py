"""The kinds of clients, and the process of kafka-clients, which all tests of clients share."""

from collections.abc import Iterator

import pytest

from harness.clients import transactional_confluent
from harness.clients.interface import ClientKind
from harness.clients.java import remote
from harness.clients.java.process import JavaProcess
from tests.harness import java
from tests.harness.waiting import BOUND_S


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests of Kafka's own client as slow: they wait for its process, and it for their answers."""
    for item in items:
        if isinstance(item, pytest.Function) and _has_java(item):
            item.add_marker(pytest.mark.slow)


def _has_java(item: pytest.Function) -> bool:
    chosen = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return "java_process" in item.fixturenames or any(one is ClientKind.JAVA for one in chosen)


@pytest.fixture(autouse=True, scope="module")
def _whoever_is_slow_returns() -> Iterator[None]:
    """Calls of threads and of the process of kafka-clients may return late: they share our processor."""
    with pytest.MonkeyPatch.context() as patched:
        for module in (remote, transactional_confluent):
            patched.setattr(module, "_GRACE_S", BOUND_S)
        yield


@pytest.fixture(scope="session")
def java_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaProcess]:
    yield java.start(tmp_path_factory.mktemp("java"))
    java.stop()


@pytest.fixture(params=java.KINDS)
def kind(request: pytest.FixtureRequest) -> ClientKind:
    chosen: ClientKind = request.param
    if chosen is ClientKind.JAVA:
        request.getfixturevalue("java_process")
    return chosen
