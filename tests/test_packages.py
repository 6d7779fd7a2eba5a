"""What tests alone want is installed where that is allowed, and otherwise told and done without."""

from pathlib import Path

import pytest

from tests import packages


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}")
    return tmp_path


def test_one_of_several_programs_is_enough(programs: Path) -> None:
    assert [package.name for package in packages.missing()] == ["chromium"]
    chrome = programs / "google-chrome"
    chrome.write_text("#!/bin/sh\n")
    chrome.chmod(0o755)
    assert packages.missing() == []


@pytest.mark.usefixtures("programs")
def test_what_may_not_be_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_INSTALL", "1")
    said: list[str] = []
    packages.ensure(said.append)
    assert len(said) == 1
    assert said[0].startswith("missing, and not installed, because NO_INSTALL=1 forbids it: chromium (")


def test_what_may_be_is_installed(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "may_not_install", lambda: None)
    monkeypatch.setattr(packages, "install", lambda wanted, say: say([each.name for each in wanted]))
    said: list[list[str]] = []
    packages.ensure(said.append)  # type: ignore[arg-type]
    assert said == [["chromium"]]
    assert list(programs.iterdir()) == []
