"""What holds for all tests of the harness."""

from collections.abc import Iterator

import pytest

from tests.harness.fakes.patience import be_patient


@pytest.fixture(autouse=True, scope="module")
def patience() -> Iterator[None]:
    """Fakes share our processor: only their silence on purpose is taken for silence."""
    with pytest.MonkeyPatch.context() as patched:
        be_patient(patched)
        yield
