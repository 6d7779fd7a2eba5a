"""What tests alone want is installed where that is allowed, and otherwise reported and done without."""

from pathlib import Path

import pytest

from tests import packages


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tmp_path


def put(folder: Path, name: str, output: str = "") -> None:
    """A program that prints something."""
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{output}' >&2\n")
    program.chmod(0o755)


def names() -> list[str]:
    return [package.name for package in packages.missing()]


def test_one_of_several_programs_is_enough(programs: Path) -> None:
    assert names() == ["chromium", "maven", "openjdk-17-jre-headless"]
    put(programs, "google-chrome")
    assert names() == ["maven", "openjdk-17-jre-headless"]


def test_a_machine_that_has_them_gets_nothing(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("chromium", "mvn"):
        put(programs, name)
    put(programs, "java", 'openjdk version "17.0.15" 2025-04-15')
    lines: list[str] = []
    monkeypatch.setattr(packages, "may_not_install", lambda: pytest.fail("nothing is to be installed"))
    packages.ensure(lines.append)
    assert lines == []


def test_java_is_one_that_spark_starts_on(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(programs, "java", 'openjdk version "11.0.21"')
    assert packages.JAVA in packages.missing()
    home = programs / "home"
    (home / "bin").mkdir(parents=True)
    put(home / "bin", "java", 'openjdk version "21.0.2"')
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert packages.JAVA not in packages.missing()


@pytest.mark.usefixtures("programs")
def test_what_may_not_be_installed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_INSTALL", "1")
    lines: list[str] = []
    packages.ensure(lines.append)
    assert len(lines) == 1
    assert lines[0].startswith("missing, and not installed, because NO_INSTALL=1 forbids it: chromium (")
    assert "maven (" in lines[0]
    assert lines[0].endswith("openjdk-17-jre-headless (Spark, under the pipeline); their tests are skipped")


def test_what_may_be_is_installed(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "may_not_install", lambda: None)
    monkeypatch.setattr(packages, "install", lambda wanted, say: say([each.name for each in wanted]))
    lines: list[list[str]] = []
    packages.ensure(lines.append)  # type: ignore[arg-type]
    assert lines == [["chromium", "maven", "openjdk-17-jre-headless"]]
    assert list(programs.iterdir()) == []
