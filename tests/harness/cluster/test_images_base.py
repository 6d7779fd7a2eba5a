"""The base image: bootstrapped where mmdebstrap is, else built on Debian's image, once per host."""

import multiprocessing
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from harness.cluster.images import base
from harness.cluster.images.locks import build_lock
from harness.cluster.images.model import silent
from harness.errors import KrucibleError
from tests.harness.fakes.engine import FakeEngine
from tests.harness.waiting import BOUND_S

WRITES_A_TARBALL = 'for last in "$@"; do :; done; echo "$@" > "$0.call"; printf tar > "$last"'


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def mmdebstrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/bin")
    return programs / "mmdebstrap"


def script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def ensure(engine: FakeEngine) -> str:
    return base.ensure_base(silent, engine.client)


def test_mmdebstraps_tarball_becomes_the_image_once(mmdebstrap: Path) -> None:
    script(mmdebstrap, WRITES_A_TARBALL)
    engine = FakeEngine()
    reference = ensure(engine)
    assert ensure(engine) == reference == base.base_if_cached(engine.client)
    assert [each.content for each in engine.imported] == [b"tar"]
    assert 'CMD ["/bin/sleep", "infinity"]' in engine.imported[0].changes
    call = Path(f"{mmdebstrap}.call").read_text()
    assert "--include=bash,iproute2,iptables,openjdk-17-jre-headless,procps" in call
    assert "bookworm" in call


def test_without_mmdebstrap_debians_image_is_the_ground(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    engine = FakeEngine()
    reference = ensure(engine)
    assert engine.built[0].buildargs["BASE"] == "debian:bookworm-slim"
    assert "iptables" in engine.built[0].buildargs["PACKAGES"]
    assert engine.store[reference].labels["krucible.image.source"] == "registry"


@pytest.mark.parametrize(
    ("body", "reason", "limit_s"),
    [
        ("echo 'E: no mirror' >&2; exit 1", "mmdebstrap: E: no mirror", BOUND_S),
        ("echo strange >&2; exit 1", "mmdebstrap: strange", BOUND_S),
        ("exec sleep 300", "mmdebstrap: not done after", 0.1),
        (WRITES_A_TARBALL, "mmdebstrap: disk full", BOUND_S),
    ],
)
def test_where_both_ways_fail_both_reasons_are_reported(
    mmdebstrap: Path, monkeypatch: pytest.MonkeyPatch, body: str, reason: str, limit_s: float
) -> None:
    monkeypatch.setattr(base, "BOOTSTRAP_LIMIT_S", limit_s)
    script(mmdebstrap, body)
    engine = FakeEngine(build_error="no registry", import_error=True)
    with pytest.raises(KrucibleError, match="could not be built") as caught:
        ensure(engine)
    assert reason in caught.value.got
    assert "no registry" in caught.value.got
    assert base.base_if_cached(engine.client) is None


def _hold(folder: str, ready: Event, waited_for: Event) -> None:
    with build_lock("x", silent):
        ready.set()
        assert waited_for.wait(BOUND_S)
        (Path(folder) / "built").touch()


def test_a_second_builder_waits_for_the_first(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    ready, waited_for = context.Event(), context.Event()
    first = context.Process(target=_hold, args=(str(tmp_path), ready, waited_for))
    first.start()
    assert ready.wait(BOUND_S)
    lines: list[str] = []

    def report(words: str) -> None:
        lines.append(words)
        waited_for.set()

    with build_lock("x", report):
        assert (tmp_path / "built").exists()
    assert lines == ["waiting for another process that builds x"]
    first.join()
