"""kafka-clients in a run: of the run's version, and refused at once where it can't be had."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.clients.interface import JAVA_KINDS, ClientKind
from harness.cluster.images.maven import Coordinate
from harness.errors import KrucibleError
from harness.plan.catalogue import load_scenario, scenario_names
from harness.plan.planning import RunOptions, plan_run
from harness.run import java
from harness.run.java import java_clients, require_java, streams_processes
from harness.workloads.context import uses


def test_only_a_scenario_that_asks_for_it_is_refused_without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "java_missing", lambda: "java is not installed")
    require_java(plan_run(RunOptions(scenario="exploratory/chaos", seed=1)))
    for name in ("exploratory/chaos-java", "exploratory/offsets-java", "exploratory/txn-java-old"):
        plan = plan_run(RunOptions(scenario=name, seed=1))
        with pytest.raises(KrucibleError, match="asks for the client kafka-clients") as caught:
            require_java(plan)
        assert caught.value.got == "java is not installed"


def test_the_process_has_the_jars_of_the_runs_image_and_ends_with_the_load(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done: list[Any] = []

    class Process:
        def __init__(self, jars: list[Path], folder: Path, kind: ClientKind) -> None:
            done.append((jars, folder, kind))

        def close(self) -> None:
            done.append("closed")

    def copied(_client: object, image: str, prefixes: tuple[str, ...], _say: object) -> list[Path]:
        done.append((image, prefixes[0]))
        return [tmp_path / "kafka-clients-4.2.0.jar"]

    monkeypatch.setattr(java, "JavaProcess", Process)
    monkeypatch.setattr(java, "connect", lambda: SimpleNamespace(close=lambda: done.append("no engine")))
    monkeypatch.setattr(java, "jars_from", copied)
    plan = plan_run(RunOptions(scenario="exploratory/txn-java", seed=1, kafka_version="4.2.0"))
    stage: Any = SimpleNamespace(plan=plan, folder=tmp_path, report=None, images={"4.2.0": "its image"})
    with pytest.raises(KeyError), java_clients(stage):
        raise KeyError

    jars = [tmp_path / "kafka-clients-4.2.0.jar"]
    process = (jars, tmp_path, ClientKind.JAVA)
    assert done == [("its image", "kafka-clients-"), "no engine", process, "closed"]


@pytest.mark.parametrize("name", scenario_names())
def test_a_scenario_needs_java_if_its_load_has_such_clients(name: str) -> None:
    workload = load_scenario(name).workload
    assert workload.needs_java == any(uses(workload, kind) for kind in JAVA_KINDS)


def test_a_load_without_it_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "JavaProcess", None)
    stage: Any = SimpleNamespace(plan=plan_run(RunOptions(scenario="exploratory/chaos", seed=1)))
    with java_clients(stage) as processes:
        assert processes == {}


def test_another_version_has_the_jars_of_its_own_image(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    taken: list[Any] = []
    monkeypatch.setattr(java, "JavaProcess", lambda *made: SimpleNamespace(made=made, close=lambda: None))
    monkeypatch.setattr(java, "connect", lambda: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(java, "jars_from", lambda _client, image, _prefixes, _say: taken.append(image))
    plan = plan_run(RunOptions(scenario="exploratory/txn-java-old", seed=1, kafka_version="4.2.0"))
    assert [image.version for image in plan.images] == ["4.2.0", "3.9.0"]
    images = {"4.2.0": "the run's", "3.9.0": "the other"}
    stage: Any = SimpleNamespace(plan=plan, folder=tmp_path, report=None, images=images)
    with java_clients(stage) as processes:
        assert list(processes) == [ClientKind.JAVA, ClientKind.OTHER_JAVA]
    assert taken == ["the run's", "the other"]
    same = plan_run(RunOptions(scenario="exploratory/txn-java-old", seed=1, kafka_version="3.9.0"))
    assert [image.version for image in same.images] == ["3.9.0"]


@pytest.mark.parametrize("from_image", [True, False])
def test_members_of_kafka_streams_have_processes_that_end_with_the_load(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, from_image: bool
) -> None:
    done: list[Any] = []

    def process(jars: list[Path], folder: Path, *, name: str, cancelled: threading.Event) -> Any:
        assert (folder, cancelled.is_set()) == (tmp_path, False)
        done.append((name, [jar.name for jar in jars]))
        return SimpleNamespace(close=lambda: done.append("closed"))

    def copied(
        _client: object, _image: str, prefixes: tuple[str, ...], _say: object, *, needed: bool = True
    ) -> list[Path]:
        if needed:
            return [Path("kafka-clients-4.4.0.jar")]
        assert prefixes == ("kafka-streams-4.",)
        return [Path("kafka-streams-4.4.0.jar")] if from_image else []

    def resolved(wanted: Coordinate, _say: object) -> Path:
        assert wanted.alone
        return Path(f"resolved-{wanted.artifact}-{wanted.version}.jar")

    monkeypatch.setattr(java, "JavaProcess", process)
    monkeypatch.setattr(java, "connect", lambda: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(java, "jars_from", copied)
    monkeypatch.setattr(java, "resolve_of_version", resolved)
    plan = plan_run(RunOptions(scenario="exploratory/streams", seed=1, kafka_version="4.4.0"))
    stage: Any = SimpleNamespace(plan=plan, folder=tmp_path, report=None, images={"4.4.0": "its image"})
    with java_clients(stage) as processes, streams_processes(stage) as start:
        assert processes == {}
        assert start is not None
        start("member-1", threading.Event())
    jar = "kafka-streams-4.4.0.jar" if from_image else "resolved-kafka-streams-4.4.0.jar"
    assert done == [("member-1", ["kafka-clients-4.4.0.jar", jar]), "closed"]


def test_a_load_without_members_of_kafka_streams_starts_no_such_process() -> None:
    stage: Any = SimpleNamespace(plan=plan_run(RunOptions(scenario="exploratory/chaos-java", seed=1)))
    with streams_processes(stage) as start:
        assert start is None
