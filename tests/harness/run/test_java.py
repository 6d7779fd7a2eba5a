"""kafka-clients in a run: of the run's version, and refused at once where it can't be had."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import KrucibleError
from harness.plan.planning import RunOptions, plan_run
from harness.run import java
from harness.run.java import jars_of_client, java_clients, require_java


def test_only_a_scenario_that_asks_for_it_is_refused_without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    resolved: list[str] = []
    monkeypatch.setattr(java.maven, "resolve", lambda version, _say: resolved.append(version))
    monkeypatch.setattr(java, "java_missing", lambda: "java is not installed")
    require_java(plan_run(RunOptions(scenario="exploratory/chaos", seed=1)), print)
    for name in ("exploratory/chaos-java", "exploratory/txn-java"):
        plan = plan_run(RunOptions(scenario=name, seed=1))
        with pytest.raises(KrucibleError, match="asks for the client kafka-clients") as caught:
            require_java(plan, print)
        assert caught.value.got == "java is not installed"
        assert resolved == []


def test_the_jars_are_resolved_before_anything_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(version: str, _say: object) -> None:
        raise KrucibleError(f"there is no Kafka {version}")

    monkeypatch.setattr(java, "java_missing", lambda: None)
    monkeypatch.setattr(java.maven, "resolve", refuse)
    with pytest.raises(KrucibleError, match=r"there is no Kafka 4\.2\.0"):
        require_java(
            plan_run(RunOptions(scenario="exploratory/chaos-java", seed=1, kafka_version="4.2.0")), print
        )


def test_the_process_has_the_jars_of_the_runs_version_and_ends_with_the_load(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("kafka-clients-4.2.0.jar", "lz4-java-1.8.0.jar", "kafka_2.13-4.2.0.jar", "log4j-core-2.jar"):
        (tmp_path / name).touch()
    done: list[Any] = []

    class Process:
        def __init__(self, jars: list[Path], folder: Path) -> None:
            done.append((jars, folder))

        def close(self) -> None:
            done.append("closed")

    def resolved(version: str, _progress: object) -> Path:
        done.append(version)
        return tmp_path

    monkeypatch.setattr(java, "JavaProcess", Process)
    monkeypatch.setattr(java.maven, "resolve", resolved)
    plan = plan_run(RunOptions(scenario="exploratory/txn-java", seed=1, kafka_version="4.2.0"))
    stage: Any = SimpleNamespace(plan=plan, folder=tmp_path, report=None)
    with pytest.raises(KeyError), java_clients(stage):
        raise KeyError

    jars = [tmp_path / "kafka-clients-4.2.0.jar", tmp_path / "lz4-java-1.8.0.jar"]
    assert done == ["4.2.0", (jars, tmp_path), "closed"]
    assert jars_of_client(tmp_path) == jars


def test_a_load_without_it_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "JavaProcess", None)
    stage: Any = SimpleNamespace(plan=plan_run(RunOptions(scenario="exploratory/chaos", seed=1)))
    with java_clients(stage) as process:
        assert process is None
