"""The process of kafka-clients, which all tests of clients share."""

from collections.abc import Iterator

import pytest

from harness.clients.java.process import JavaProcess
from tests.harness import java


@pytest.fixture(scope="session")
def java_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaProcess]:
    yield java.start(tmp_path_factory.mktemp("java"))
    java.stop()
