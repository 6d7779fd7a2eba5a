"""All images are looked for before the first run, and what is lacking is reported with what provides it."""

import msgspec
import pytest

from harness.campaigns import provisions as module
from harness.cluster.images import JarSource, KafkaImage, Survey
from harness.errors import EngineError, KrucibleError
from harness.plan.planning import RequestedImage, RunOptions, RunPlan, plan_run

IMAGE = KafkaImage("krucible/kafka:4.3.1-x", "4.3.1", JarSource.ARTIFACTS, "sha256:0", "", "17", "0")
HERE = Survey(IMAGE, {})
BUILT = Survey(None, {JarSource.ARTIFACTS: None, JarSource.REGISTRY: "no such host"})
OLD = "there is no official image before 3.7.0"
LACKING = Survey(None, {JarSource.ARTIFACTS: "mvn is not installed", JarSource.REGISTRY: OLD})


def plan(**given: object) -> RunPlan:
    return plan_run(msgspec.convert({"scenario": "smoke/partition", "seed": 1, **given}, RunOptions))


class Host:
    """An engine whose images the test sets, by version."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.found: dict[str, Survey] = {}
        self.base: str | None = "krucible/base:x"
        self.asked: list[tuple[str, str, str]] = []
        self.closed = 0
        monkeypatch.setattr(module, "connect", lambda: self)
        monkeypatch.setattr(module, "survey", self._survey)
        monkeypatch.setattr(module, "base_if_cached", lambda _client: self.base)

    def close(self) -> None:
        self.closed += 1

    def _survey(self, version: str, source: str, _client: object, given: str) -> Survey:
        self.asked.append((version, source, given))
        return self.found.get(version, HERE)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(monkeypatch)


def test_each_image_is_looked_for_once_and_nothing_is_printed_of_what_is_here(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    module.require_images(plan(kafka_version=version) for version in ("4.3.1", "3.7.1", "4.3.1"))
    assert host.asked == [("4.3.1", "auto", ""), ("3.7.1", "auto", "")]
    assert host.closed == 1
    assert capsys.readouterr().out == ""


def test_what_will_be_made_is_reported(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    host.found, host.base = {"3.7.1": BUILT}, None
    module.require_images([plan(kafka_version="3.7.1")])
    assert capsys.readouterr().out.splitlines() == [
        "the base image is not on this host yet; the first run builds it",
        "the image of Kafka 3.7.1 is not on this host yet; its first run gets it: artifacts",
    ]


def test_everything_that_is_lacking_is_reported_at_once_with_what_provides_it(host: Host) -> None:
    host.found = {"3.6.2": LACKING, "4.3.0": Survey(None, {JarSource.TARBALL: "damaged"}), "4.3.1": HERE}
    wanted = [
        plan(kafka_version="3.6.2"),
        plan(kafka_version="4.3.0", kafka_tarball="/here/my kafka.tgz"),
        plan(kafka_version="4.3.1"),
    ]
    with pytest.raises(KrucibleError) as caught:
        module.require_images(wanted)
    assert caught.value.exit_code == 3
    assert caught.value.got == (
        f"Kafka 3.6.2 (artifacts: mvn is not installed, registry: {OLD}); "
        "Kafka 4.3.0 of /here/my kafka.tgz (tarball: damaged)"
    )
    assert caught.value.next_step == (
        "krucible setup --kafka-version 3.6.2 && "
        "krucible setup --kafka-tarball '/here/my kafka.tgz' --kafka-version 4.3.0"
    )


def test_without_an_engine_nothing_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise EngineError("there is no Docker engine on this host", next_step="krucible setup")

    monkeypatch.setattr(module, "connect", refuse)
    module.require_images([])
    with pytest.raises(EngineError):
        module.require_images([plan()])


def test_a_run_wants_the_images_of_single_nodes_too() -> None:
    planned = plan(kafka_version="4.3.1", image_source="artifacts")
    topology = planned.scenario.topology
    mixed = msgspec.structs.replace(topology, node_versions={"n1": "4.1.1", "n2": "4.3.1", "n3": "4.0.0"})
    scenario = msgspec.structs.replace(planned.scenario, topology=mixed)
    assert msgspec.structs.replace(planned, scenario=scenario).images == (
        RequestedImage("4.3.1", "artifacts", ""),
        RequestedImage("4.0.0", "artifacts", ""),
        RequestedImage("4.1.1", "artifacts", ""),
    )
