"""What holds for all tests of the harness."""

import pytest

from harness.clients import kafka_python_making
from tests.harness.waiting import BOUND_S


@pytest.fixture(autouse=True)
def _whoever_lives_answers_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before kafka-python is let go, brokers are asked whether they live, and fakes share our processor."""
    monkeypatch.setattr(kafka_python_making, "_PROBE_S", BOUND_S)
