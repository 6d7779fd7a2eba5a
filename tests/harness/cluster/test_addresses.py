"""Subnets: one per run, never one that is in use."""

from ipaddress import IPv4Network
from pathlib import Path

import pytest

from harness.cluster.addresses import reserved_subnet
from harness.errors import KrucibleError

POOL = IPv4Network("198.18.0.0/22")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "krucible" / "subnets"


def test_two_runs_at_once_get_two_subnets() -> None:
    with reserved_subnet([], POOL) as one, reserved_subnet([], POOL) as two:
        assert one != two


def test_what_the_engine_uses_is_passed_over() -> None:
    with reserved_subnet(["198.18.0.0/24", "198.18.1.128/25"], POOL) as subnet:
        assert subnet == "198.18.2.0/24"


@pytest.mark.parametrize("text", ["1:99999999999", "", "1:"], ids=["dead", "never written", "cut short"])
def test_a_reservation_of_a_process_that_died_is_void(own_cache: Path, text: str) -> None:
    own_cache.mkdir(parents=True)
    (own_cache / "198.18.0.0").write_text(text)

    with reserved_subnet([], POOL) as subnet:
        assert subnet == "198.18.0.0/24"


def test_an_exhausted_pool_is_reported() -> None:
    with pytest.raises(KrucibleError, match="no free network"), reserved_subnet([str(POOL)], POOL):
        pass
