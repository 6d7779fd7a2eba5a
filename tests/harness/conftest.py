"""What holds for all tests of the harness."""

import pytest

from tests.harness.fakes.patience import be_patient


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fakes share our processor: only their silence on purpose is taken for silence."""
    be_patient(monkeypatch)
