"""Which provider serves: what is here, then a registry that answers, then artifacts."""

from dataclasses import dataclass, field

import pytest

from harness.cluster.images import (
    JarSource,
    KafkaImage,
    Progress,
    Survey,
    ensure_image,
    selection,
    setup_line,
    survey,
)
from harness.errors import KrucibleError, UsageError
from tests.harness.fakes.engine import FakeEngine

CLIENT = FakeEngine().client


def image(source: JarSource) -> KafkaImage:
    return KafkaImage(f"krucible/kafka:{source}", "4.3.1", source, "sha256:0", "", "17", "0")


@dataclass
class Stub:
    source: JarSource
    here: bool = False
    reason: str | None = None
    error: Exception | None = None
    obtained: list[str] = field(default_factory=list)

    def cached(self, _version: str) -> KafkaImage | None:
        return image(self.source) if self.here else None

    def unavailable(self, _version: str) -> str | None:
        return self.reason

    def obtain(self, version: str, _progress: Progress) -> KafkaImage:
        if self.error:
            raise self.error
        self.obtained.append(version)
        return image(self.source)


@pytest.fixture
def artifacts(monkeypatch: pytest.MonkeyPatch) -> Stub:
    stub = Stub(JarSource.ARTIFACTS)
    monkeypatch.setattr(selection, "ArtifactsProvider", lambda _client: stub)
    return stub


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Stub:
    stub = Stub(JarSource.REGISTRY)
    monkeypatch.setattr(selection, "RegistryProvider", lambda _client: stub)
    return stub


def chosen(source: str = "auto", version: str = "4.3.1") -> JarSource:
    return ensure_image(version, source, client=CLIENT).source


def test_what_is_here_is_taken_artifacts_first(artifacts: Stub, registry: Stub) -> None:
    artifacts.here = registry.here = True
    assert chosen() is JarSource.ARTIFACTS
    artifacts.here = False
    assert chosen() is JarSource.REGISTRY
    assert artifacts.obtained == registry.obtained == []


def test_a_registry_that_answers_comes_before_building(artifacts: Stub, registry: Stub) -> None:
    assert chosen() is JarSource.REGISTRY
    assert (artifacts.obtained, registry.obtained) == ([], ["4.3.1"])


@pytest.mark.usefixtures("artifacts")
def test_artifacts_serve_where_the_registry_does_not_answer_or_fails(registry: Stub) -> None:
    registry.reason = "no such host"
    assert chosen() is JarSource.ARTIFACTS
    registry.reason, registry.error = None, KrucibleError("the image could not be pulled")
    assert chosen() is JarSource.ARTIFACTS


def test_a_named_source_is_the_only_one(artifacts: Stub, registry: Stub) -> None:
    registry.here = True
    assert chosen("artifacts") is JarSource.ARTIFACTS
    artifacts.error = KrucibleError("Maven failed")
    with pytest.raises(KrucibleError, match="Maven failed"):
        chosen("artifacts")


def test_where_nothing_serves_every_way_is_reported(artifacts: Stub, registry: Stub) -> None:
    registry.reason, artifacts.reason = "no such host", "mvn is not installed"
    with pytest.raises(KrucibleError) as caught:
        chosen()
    assert caught.value.got == "registry: no such host; artifacts: mvn is not installed"
    assert caught.value.next_step == "krucible setup --kafka-version 4.3.1"


def test_for_an_old_version_set_up_is_given_that_very_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _program: None)
    with pytest.raises(KrucibleError) as caught:
        ensure_image("3.6.2", client=FakeEngine(registry_error=None).client)
    assert "registry: there is no official image before 3.7.0; artifacts: mvn" in caught.value.got
    assert caught.value.next_step == "krucible setup --kafka-version 3.6.2"


@pytest.mark.parametrize(
    ("source", "given", "line"),
    [
        ("auto", "", "krucible setup --kafka-version 3.6.2"),
        ("artifacts", "", "krucible setup --kafka-version 3.6.2 --image-source artifacts"),
        ("registry", "", "drop --image-source registry, then: krucible setup --kafka-version 3.6.2"),
        ("tarball", "a b.tgz", "krucible setup --kafka-tarball 'a b.tgz' --kafka-version 3.6.2"),
        ("registry", "a:1", "krucible setup --kafka-image a:1 --kafka-version 3.6.2"),
    ],
)
def test_what_provides_an_image_is_set_up_as_it_was_asked_for(source: str, given: str, line: str) -> None:
    assert setup_line("3.6.2", source, given) == line


def test_a_version_that_does_not_exist_stays_a_usage_error(artifacts: Stub, registry: Stub) -> None:
    registry.reason, artifacts.error = "manifest unknown", UsageError("there is no Kafka 9.9.9")
    with pytest.raises(UsageError):
        chosen(version="9.9.9")


@pytest.mark.usefixtures("artifacts", "registry")
def test_only_a_registry_serves_a_digest() -> None:
    version = f"4.3.1@sha256:{'0' * 64}"
    assert chosen(version=version) is JarSource.REGISTRY
    with pytest.raises(UsageError, match="digest"):
        chosen("artifacts", version)


@pytest.mark.parametrize(("version", "source"), [("4.3.1", "attic"), ("newest", "auto")])
def test_what_does_not_exist_is_refused(version: str, source: str) -> None:
    with pytest.raises(UsageError):
        ensure_image(version, source, client=CLIENT)


def test_a_survey_asks_nobody_about_an_image_that_is_here(artifacts: Stub, registry: Stub) -> None:
    registry.reason = "no such host"
    found = survey("4.3.1", "auto", CLIENT)
    assert found.ways == {JarSource.ARTIFACTS: None, JarSource.REGISTRY: "no such host"}
    assert not found.registry_answers
    assert found.wants_jars
    assert not found.hopeless
    artifacts.reason = "mvn is not installed"
    assert survey("4.3.1", "auto", CLIENT).hopeless
    artifacts.reason = None
    registry.reason = None
    assert survey("4.3.1", "auto", CLIENT).registry_answers
    artifacts.here = True
    found = survey("4.3.1", "auto", CLIENT)
    assert found == Survey(image(JarSource.ARTIFACTS), {})
    assert not found.hopeless
