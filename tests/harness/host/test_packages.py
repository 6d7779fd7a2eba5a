"""Packages: which are missing, and that nothing is installed unsaid or where it is forbidden."""

import os
import platform
from pathlib import Path

import pytest

from harness.cluster.images.model import silent
from harness.errors import EngineError, KrucibleError
from harness.host import packages
from harness.host.packages import Package

MAVEN = Package("maven", "Kafka's jars")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}")
    return folder


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "may_not_install", lambda: None)


def script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def no_engine(limit_s: int) -> None:
    raise EngineError(f"no answer in {limit_s} s")


def no_compose() -> None:
    raise EngineError("none")


def names(found: list[Package]) -> list[str]:
    return [package.name for package in found]


def test_a_bare_host_lacks_everything(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "connect", no_engine)
    monkeypatch.setattr(packages, "compose_binary", no_compose)
    assert names(packages.missing_for_engine()) == ["docker.io", "iptables", "docker-compose"]
    assert names(packages.missing_for_images()) == ["mmdebstrap", "maven", "default-jre-headless"]
    assert names(packages.missing_for_images(jars=False)) == ["mmdebstrap"]
    for program in ("dockerd", "iptables", "mvn", "java", "mmdebstrap"):
        script(programs / program, "")
    assert names(packages.missing_for_engine()) == ["docker-compose"]
    assert packages.missing_for_images() == []


@pytest.mark.usefixtures("programs")
def test_an_engine_elsewhere_needs_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    class Client:
        def close(self) -> None:
            pass

    monkeypatch.setattr(packages, "connect", lambda limit_s: Client())  # noqa: ARG005 - named at the call
    monkeypatch.setattr(packages, "compose_binary", lambda: ("docker-compose",))
    assert packages.missing_for_engine() == []


def test_who_may_install(monkeypatch: pytest.MonkeyPatch) -> None:
    release = {"ID": "debian"}
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: release)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert packages.may_not_install({}) is None
    assert packages.may_not_install({"NO_INSTALL": "0"}) is None
    assert packages.may_not_install({"NO_INSTALL": "1"}) == "NO_INSTALL=1 forbids it"
    release["ID"] = "fedora"
    assert "this is fedora" in str(packages.may_not_install({}))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert packages.may_not_install({}) == "only root may"


def test_a_system_without_a_name_is_not_debian(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> None:
        raise OSError

    monkeypatch.setattr(platform, "freedesktop_os_release", unknown)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "Debian only" in str(packages.may_not_install({}))


def test_what_may_not_be_installed_is_listed_with_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_INSTALL", "1")
    lines: list[str] = []
    with pytest.raises(KrucibleError) as caught:
        packages.install([MAVEN], lines.append)
    assert caught.value.got == "maven (Kafka's jars); not installed, because NO_INSTALL=1 forbids it"
    assert caught.value.next_step.endswith("install --yes --no-install-recommends maven")
    assert lines == []


@pytest.mark.usefixtures("allowed")
def test_what_will_be_installed_is_announced_first(programs: Path) -> None:
    body = 'echo "$DEBIAN_FRONTEND: $*" >> "$0.calls"; echo "Setting up maven:amd64 (3.8)"'
    script(programs / "apt-get", f'{body}; echo "Setting up libasound2 (1.2)"')
    lines: list[str] = []
    packages.install([], lines.append)
    assert lines == []
    packages.install([MAVEN], lines.append)
    assert lines[0] == "will install: maven (Kafka's jars)"
    assert lines[1].startswith("+ apt-get")
    assert "Setting up maven:amd64 (3.8)" in lines
    assert not [line for line in lines if "libasound2" in line]
    update, install = Path(f"{programs}/apt-get.calls").read_text().splitlines()
    assert update == "noninteractive: -o DPkg::Lock::Timeout=120 update"
    assert install.endswith(" maven")


@pytest.mark.usefixtures("allowed")
def test_apts_failure_shows_its_last_words(programs: Path) -> None:
    script(programs / "apt-get", "echo 'E: no mirror' >&2; exit 100")
    with pytest.raises(KrucibleError, match="apt-get failed") as caught:
        packages.install([MAVEN], silent)
    assert caught.value.got == "E: no mirror"
