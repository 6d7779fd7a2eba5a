"""The doctor: each missing thing has a fix, each failure a reason, and a broken host gives no traceback."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from harness import cli
from harness.cluster.engine import EngineFacts
from harness.cluster.images import JarSource, KafkaImage, Survey
from harness.errors import EngineError, UsageError
from harness.host import doctor as module
from harness.host import memory
from harness.host.doctor import Check, CheckState, DoctorReport, doctor
from harness.host.doctor_view import show
from harness.host.packages import Package

IMAGE = KafkaImage("krucible/kafka:4.3.1-x", "4.3.1", JarSource.ARTIFACTS, "sha256:0", "", "17", "0")
FACTS = EngineFacts("20.10", "overlay2", "/", "1", "6.1", "Debian", 2, 1 << 34)
HEALTHY: dict[str, str | None] = {"partition": None, "kill": None, "pause": None, "stop": None}


class Client:
    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def _healthy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n")
    monkeypatch.setattr(memory, "INFORMATION", meminfo)
    monkeypatch.setattr(module, "DISK_NEEDED_BYTES", 1)
    monkeypatch.setattr(module, "connect", Client)
    monkeypatch.setattr(module, "engine_facts", lambda _client: FACTS)
    monkeypatch.setattr(module, "compose_binary", lambda: ("docker-compose",))
    monkeypatch.setattr(module, "base_if_cached", lambda _client: "krucible/base:x")
    monkeypatch.setattr(module, "survey", lambda *_: Survey(IMAGE, {}))
    monkeypatch.setattr(module, "probe_faults", lambda _client: HEALTHY)
    monkeypatch.setattr(module, "missing_for_images", lambda **_: [])


def check(report: DoctorReport, name: str) -> Check:
    return next(each for each in report.checks if each.name == name)


def shown(report: DoctorReport) -> str:
    stream = io.StringIO()
    show(report, Console(file=stream, width=160))
    return stream.getvalue()


def test_tools_of_an_earlier_version_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    borrowed = replace(IMAGE, tools="4.1.1")
    monkeypatch.setattr(module, "survey", lambda *_: Survey(borrowed, {}))
    expected = "krucible/kafka:4.3.1-x, from artifacts, with the tools of 4.1.1"
    assert check(doctor("4.3.1"), "image of Kafka 4.3.1").found == expected
    assert expected in shown(doctor("4.3.1"))


def test_a_healthy_host_is_ready_for_every_fault() -> None:
    report = doctor("4.3.1")
    assert report.ready
    assert {each.fault: each.why_not for each in report.capabilities} == HEALTHY
    assert "Ready to run Kafka 4.3.1." in shown(report)
    assert json.loads(json.dumps(report.as_json()))["ready"] is True


def test_without_an_engine_the_rest_is_still_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise EngineError("the Docker engine does not answer", got="no socket", next_step="krucible setup")

    monkeypatch.setattr(module, "connect", refuse)
    report = doctor("4.3.1")
    assert not report.ready
    assert check(report, "engine") == Check(
        "engine", CheckState.MISSING, "the Docker engine does not answer: no socket", "krucible setup"
    )
    assert check(report, "compose").state is CheckState.OK
    assert {each.why_not for each in report.capabilities} == {"not tried: the Docker engine does not answer"}
    text = shown(report)
    assert "To fix engine: krucible setup" in text
    assert "Not ready yet." in text


def test_a_missing_compose_has_its_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise EngineError("there is no compose", got="neither works")

    monkeypatch.setattr(module, "compose_binary", missing)
    assert check(doctor("4.3.1"), "compose") == Check(
        "compose", CheckState.MISSING, "neither works", "krucible setup"
    )


def test_an_image_that_is_not_here_reports_how_it_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    ways: dict[JarSource, str | None] = {JarSource.ARTIFACTS: None, JarSource.REGISTRY: "no such host"}
    monkeypatch.setattr(module, "survey", lambda *_: Survey(None, ways))
    monkeypatch.setattr(module, "base_if_cached", lambda _client: None)
    report = doctor("4.3.1")
    image = check(report, "image of Kafka 4.3.1")
    assert image.found == "not here yet; artifacts: can; registry: no such host"
    assert image.fix == check(report, "base image").fix == "krucible setup --kafka-version 4.3.1"
    asked: list[bool] = []
    maven = Package("maven", "jars")

    def missing(*, jars: bool) -> list[Package]:
        asked.append(jars)
        return [maven]

    monkeypatch.setattr(module, "missing_for_images", missing)
    assert check(doctor("4.3.1"), "image of Kafka 4.3.1").fix.endswith(" maven")
    assert asked == [True]


def test_what_is_lacking_for_a_tarball_is_not_maven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "survey", lambda *_: Survey(None, {JarSource.TARBALL: None}))
    monkeypatch.setattr(
        module, "missing_for_images", lambda *, jars: [Package("maven", "jars")] if jars else []
    )
    report = doctor("4.3.1", "tarball", given="kafka.tgz")
    assert check(report, "image of Kafka 4.3.1").fix == (
        "krucible setup --kafka-tarball kafka.tgz --kafka-version 4.3.1"
    )


def test_little_memory_and_disk_are_missing_unknown_ones_are_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(memory, "THREE_NODES_BYTES", 1 << 50)
    monkeypatch.setattr(module, "DISK_NEEDED_BYTES", 1 << 60)
    report = doctor("4.3.1", runs=tmp_path / "not" / "yet" / "there")
    assert check(report, "memory").state is CheckState.MISSING
    assert str(tmp_path) in check(report, "disk for runs").found
    assert check(report, "disk for runs").state is CheckState.MISSING
    monkeypatch.setattr(memory, "INFORMATION", tmp_path / "none")
    assert check(doctor("4.3.1"), "memory").state is CheckState.OPTIONAL


@pytest.mark.parametrize(
    ("output", "state", "found"),
    [
        ('openjdk version "17.0.15" 2025', CheckState.OK, "17.0.15, for krucible pipeline"),
        (
            'openjdk version "11.0.21"',
            CheckState.OPTIONAL,
            "Java is too old for Spark: version 11; krucible pi",
        ),
        (
            "out of memory",
            CheckState.OPTIONAL,
            "Java does not start: out of memory; krucible pipeline needs Java",
        ),
        (
            None,
            CheckState.OPTIONAL,
            "Java is missing: no java on PATH, and JAVA_HOME is not set; krucible pipel",
        ),
    ],
)
def test_java_on_the_host_is_for_the_pipeline_and_never_in_the_way(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    output: str | None,
    state: CheckState,
    found: str,
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    if output is not None:
        (tmp_path / "java").write_text(f"#!/bin/sh\necho '{output}' >&2\n")
        (tmp_path / "java").chmod(0o755)
    assert cli.invoke(["doctor", "--kafka-version", "4.3.1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    (java,) = (each for each in report["checks"] if each["name"] == "java")
    assert java["state"] == state
    assert java["found"].startswith(found)
    assert ("apt-get install openjdk-17-jre-headless" in java["fix"]) is (state is CheckState.OPTIONAL)


def test_the_client_that_needs_java_is_offered_where_java_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "java_missing", lambda: None)
    found = check(doctor("4.3.1"), "client kafka-clients")
    assert (found.state, found.found) == (CheckState.OK, "offered to scenarios that ask for it")

    monkeypatch.setattr(module, "java_missing", lambda: "java is not installed")
    report = doctor("4.3.1")
    found = check(report, "client kafka-clients")
    assert report.ready, "every other scenario can run"
    assert found.state is CheckState.OPTIONAL
    assert found.found.startswith("not offered: java is not installed; ")
    assert "apt-get install default-jre-headless" in found.fix


def test_a_fault_that_cannot_be_had_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "probe_faults", lambda _client: HEALTHY | {"partition": "iptables: denied"})
    assert "iptables: denied" in shown(doctor("4.3.1"))


def test_what_is_no_version_is_refused() -> None:
    with pytest.raises(UsageError):
        doctor("newest")
