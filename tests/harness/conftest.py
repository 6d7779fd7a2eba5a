"""What holds for all tests of the harness."""

import pytest

from harness.administration import addressing, sighting
from harness.clients import kafka_python_making
from harness.nemesis import admin_requests
from tests.harness.waiting import BOUND_S


@pytest.fixture(autouse=True)
def _whoever_lives_answers_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nodes are asked whether they live: fakes share our processor and mean their silence."""
    monkeypatch.setattr(addressing, "ANSWER_LIMIT_S", BOUND_S)
    monkeypatch.setattr(admin_requests, "_PROBE_S", BOUND_S)
    monkeypatch.setattr(kafka_python_making, "_PROBE_S", BOUND_S)
    monkeypatch.setattr(sighting, "ASK_TIMEOUT_MS", round(BOUND_S * 1000))
