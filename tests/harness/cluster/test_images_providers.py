"""The two providers against an engine that only remembers."""

import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from requests.exceptions import ReadTimeout
from urllib3.exceptions import ProtocolError, ReadTimeoutError

from harness.cluster.engine import engine_errors_named
from harness.cluster.images import base, building, maven, registry
from harness.cluster.images.artifacts import ArtifactsProvider
from harness.cluster.images.model import JarSource, Label, silent
from harness.cluster.images.registry import RegistryProvider, layer_progress, require_version
from harness.errors import EngineError, KrucibleError, UsageError
from tests.harness.fakes.engine import FakeEngine

DIGEST = f"sha256:{'a' * 64}"
JAR = "kafka_2.13-4.3.1.jar"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(registry.REPOSITORY_VARIABLE, raising=False)


@pytest.fixture
def engine() -> FakeEngine:
    engine = FakeEngine(jars=f"{hashlib.sha512(b'jar').hexdigest()}  /opt/kafka/libs/{JAR}\n")
    engine.add(base.base_reference())
    return engine


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "jars"
    folder.mkdir()
    (folder / JAR).write_bytes(b"jar")
    monkeypatch.setattr(maven, "resolve", lambda _version, _progress: folder)
    return folder


@pytest.mark.usefixtures("jars")
def test_artifacts_are_built_on_the_base_without_a_network_labelled_and_found_again(
    engine: FakeEngine,
) -> None:
    provider = ArtifactsProvider(engine.client)
    assert provider.cached("4.3.1") is None
    image = provider.obtain("4.3.1", silent)
    build, labelling = engine.built
    assert build.buildargs == {"BASE": base.base_reference()}
    assert build.network_mode == labelling.network_mode == "none"
    assert build.files == [
        "Dockerfile",
        "krucible/logging.properties",
        "krucible/prepare-image",
        "krucible/run-node",
        f"libs/{JAR}",
    ]
    assert (image.version, image.source, image.java) == ("4.3.1", JarSource.ARTIFACTS, "17.0.21")
    assert image.reference.startswith("krucible/kafka:4.3.1-")
    assert image.checksums == maven.checksums([hashlib.sha512(b"jar").hexdigest()])
    assert (image.upstream, image.tools, image.tools_note) == ("", "", "")
    assert provider.obtain("4.3.1", silent) == provider.cached("4.3.1") == image
    assert len(engine.built) == 2, "an image that is here was built again"


def test_tools_of_an_earlier_version_lie_beside_kafkas_jars_and_are_reported(
    engine: FakeEngine, jars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = tmp_path / "earlier"
    earlier.mkdir()
    (earlier / "kafka-tools-4.1.1.jar").write_bytes(b"tools")
    folders = {"4.3.1": jars, "4.1.1": earlier}
    monkeypatch.setattr(maven, "resolve", lambda version, _progress: folders[version])
    monkeypatch.setattr(maven, "tools_version", lambda folder: "4.1.1" if folder == jars else "")
    image = ArtifactsProvider(engine.client).obtain("4.3.1", silent)
    files = [file for file in engine.built[0].files if file.endswith(".jar")]
    assert files == ["krucible/tools/kafka-tools-4.1.1.jar", f"libs/{JAR}"]
    assert (image.version, image.tools) == ("4.3.1", "4.1.1")
    assert image.tools_note == ", with the tools of 4.1.1"
    assert image.checksums == maven.checksums(maven.jar_sums(jars)), "the sum is that of Kafka's jars alone"


def test_jars_are_readable_to_all_whatever_the_umask(jars: Path) -> None:
    (jars / JAR).chmod(0o600)
    before = os.umask(0o077)
    try:
        with building.context("4.3.1", jars, jars) as folder:
            kept = [
                path for name in ("libs", "krucible/tools") for path in (folder / name, folder / name / JAR)
            ]
            assert [path.stat().st_mode & 0o777 for path in kept] == [0o755, 0o644] * 2
    finally:
        os.umask(before)


def test_an_image_with_other_jars_than_it_was_built_from_is_refused(engine: FakeEngine, jars: Path) -> None:
    (jars / "other.jar").write_bytes(b"other")
    with pytest.raises(KrucibleError, match="does not hold the jars"):
        ArtifactsProvider(engine.client).obtain("4.3.1", silent)


@pytest.mark.usefixtures("jars")
def test_an_image_with_another_version_is_refused_and_gets_no_name(engine: FakeEngine) -> None:
    provider = ArtifactsProvider(engine.client)
    with pytest.raises(KrucibleError, match="another version") as caught:
        provider.obtain("4.1.1", silent)
    assert caught.value.got == JAR
    assert provider.cached("4.1.1") is None


@pytest.mark.usefixtures("jars")
def test_a_step_that_fails_shows_its_last_lines(engine: FakeEngine) -> None:
    engine.build_error = "the node did not start"
    with pytest.raises(EngineError) as caught:
        ArtifactsProvider(engine.client).obtain("4.3.1", silent)
    assert caught.value.got == "Step 1/2 : FROM base\nthe node did not start"


def test_an_image_without_our_labels_is_not_ours(engine: FakeEngine) -> None:
    provider = ArtifactsProvider(engine.client)
    engine.add(provider.reference("4.3.1"))
    assert provider.cached("4.3.1") is None


def test_maven_decides_whether_artifacts_can_be_had(
    monkeypatch: pytest.MonkeyPatch, engine: FakeEngine
) -> None:
    monkeypatch.setenv("PATH", "")
    assert ArtifactsProvider(engine.client).unavailable("4.3.1") == "mvn is not installed"


@pytest.mark.parametrize(("asked", "name"), [("4.3.1", ":4.3.1"), (f"4.3.1@{DIGEST}", f"@{DIGEST}")])
def test_the_official_image_is_pulled_and_gets_our_entry_script(
    engine: FakeEngine, asked: str, name: str
) -> None:
    engine.pulls = [{"id": "l1", "status": "Pulling fs layer"}, {"id": "l1", "status": "Pull complete"}]
    lines: list[str] = []
    provider = RegistryProvider(engine.client)
    image = provider.obtain(asked, lines.append)
    assert f"apache/kafka{name}: 1 of 1 layers" in lines
    build = engine.built[0]
    assert build.buildargs == {"BASE": f"apache/kafka{name}"}
    assert not [file for file in build.files if file.startswith("libs/")]
    assert (image.version, image.source) == ("4.3.1", JarSource.REGISTRY)
    assert image.upstream == "apache/kafka@sha256:2"
    assert provider.cached(asked) == image == provider.obtain(asked, lines.append)


def test_tag_digest_and_artifacts_have_images_of_their_own(engine: FakeEngine) -> None:
    provider = RegistryProvider(engine.client)
    names = {provider.reference("4.3.1"), provider.reference(f"4.3.1@{DIGEST}")}
    names.add(ArtifactsProvider(engine.client).reference("4.3.1"))
    assert len(names) == 3


def test_a_mirror_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch, engine: FakeEngine) -> None:
    monkeypatch.setenv(registry.REPOSITORY_VARIABLE, "mirror/kafka")
    image = RegistryProvider(engine.client).obtain("4.3.1", silent)
    assert engine.built[0].buildargs == {"BASE": "mirror/kafka:4.3.1"}
    assert image.upstream == "mirror/kafka@sha256:1"


def test_the_registry_is_asked_briefly_and_its_answer_is_passed_on(
    monkeypatch: pytest.MonkeyPatch, engine: FakeEngine
) -> None:
    limits: list[int] = []

    def connect(limit_s: int) -> Any:
        limits.append(limit_s)
        return engine

    monkeypatch.setattr(registry, "connect", connect)
    provider = RegistryProvider(engine.client)
    assert provider.unavailable("4.3.1") == "no such host"
    engine.registry_error = None
    assert provider.unavailable("4.3.1") is None
    assert limits == [registry.PROBE_LIMIT_S] * 2
    assert engine.closed == 2
    assert provider.unavailable("3.6.2") == "there is no official image before 3.7.0"
    assert len(limits) == 2, "a registry was asked for what it can't have"


def test_a_pull_that_fails_reports_what_the_registry_answered(engine: FakeEngine) -> None:
    engine.pulls = [{"error": "manifest unknown"}]
    with pytest.raises(EngineError) as caught:
        RegistryProvider(engine.client).obtain("4.3.1", silent)
    assert (caught.value.got, caught.value.where) == ("manifest unknown", "apache/kafka:4.3.1")


@pytest.mark.parametrize("late", [ReadTimeout("late"), ReadTimeoutError(None, "/images", "late")])  # type: ignore[arg-type]
def test_a_pull_that_takes_too_long_is_no_locked_up_engine(engine: FakeEngine, late: Exception) -> None:
    """The second one comes out of the stream itself, and is none of requests'."""

    def pull(_name: str, **_given: object) -> Iterator[dict[str, Any]]:
        yield {"id": "l1", "status": "Pulling fs layer"}
        raise late

    engine._pull = pull  # type: ignore[method-assign, assignment]
    with pytest.raises(EngineError, match="was not pulled in time") as caught, engine_errors_named():
        RegistryProvider(engine.client).obtain("4.3.1", silent)
    text = str(caught.value)
    assert "late" in caught.value.got
    assert "where:    apache/kafka:4.3.1" in text
    assert "next:     docker pull apache/kafka:4.3.1" in text
    assert "lock up" not in text


def test_a_connection_that_breaks_in_a_pull_is_reported(engine: FakeEngine) -> None:
    def pull(_name: str, **_given: object) -> Iterator[dict[str, Any]]:
        yield {"id": "l1", "status": "Pulling fs layer"}
        raise ProtocolError("broken")

    engine._pull = pull  # type: ignore[method-assign, assignment]
    with pytest.raises(EngineError, match="could not be pulled") as caught:
        RegistryProvider(engine.client).obtain("4.3.1", silent)
    assert caught.value.got == "broken"


def test_a_pull_without_news_says_so_and_goes_on(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "SILENCE_S", 0.01)
    notified = threading.Event()
    pulled = engine._pull

    def pull(name: str, **given: object) -> Iterator[dict[str, Any]]:
        assert notified.wait(60), "nobody reported that there is no news"
        yield from pulled(name, **given)

    def progress(line: str) -> None:
        if line.startswith("apache/kafka:4.3.1: no news for 0."):
            notified.set()

    engine._pull = pull  # type: ignore[method-assign]
    assert RegistryProvider(engine.client).obtain("4.3.1", progress).version == "4.3.1"


def test_a_registry_that_is_slow_to_answer_is_named_and_not_the_engine(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(_name: str) -> None:
        raise ReadTimeout("UnixHTTPConnectionPool(host='localhost', port=None): Read timed out.")

    engine._ask_registry = ask  # type: ignore[method-assign]
    monkeypatch.setattr(registry, "connect", lambda **_given: engine)
    reason = RegistryProvider(engine.client).unavailable("4.3.1")
    assert reason == "no registry answered within 5 s for apache/kafka:4.3.1"


def test_layers_are_counted_once() -> None:
    events: list[dict[str, Any]] = [
        {"status": "Pulling from apache/kafka", "id": "4.3.1"},
        {"status": "Pulling fs layer", "id": "a"},
        {"status": "Already exists", "id": "b"},
        {"status": "Downloading", "id": "a", "progressDetail": {"current": 1}},
        {"status": "Pull complete", "id": "a"},
        {"status": "Pull complete", "id": "a"},
        {"status": "Digest: sha256:…"},
    ]
    assert list(layer_progress(iter(events), "k")) == ["1 of 2 layers", "2 of 2 layers"]


def test_a_large_layer_shows_how_much_of_it_is_here() -> None:
    def downloading(layer: str, mib: int) -> dict[str, Any]:
        return {"status": "Downloading", "id": layer, "progressDetail": {"current": mib << 20}}

    events = [
        {"status": "Pulling fs layer", "id": "a"},
        {"status": "Pulling fs layer", "id": "b"},
        downloading("a", 40),
        downloading("b", 30),
        downloading("a", 60),
        {"status": "Downloading", "id": "a"},
        downloading("a", 300),
        {"status": "Pull complete", "id": "a"},
    ]
    assert list(layer_progress(iter(events), "k")) == [
        "0 of 2 layers, 70 MiB downloaded",
        "0 of 2 layers, 330 MiB downloaded",
        "1 of 2 layers",
    ]


@pytest.mark.parametrize("text", ["", "foo", "4.3", "4.3.1@", "4.3.1@sha256:12", f"@{DIGEST}"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        require_version(text)


def test_a_label_is_not_lost_between_building_and_finding(engine: FakeEngine) -> None:
    image = engine.add("built")
    labels = {Label.VERSION: "4.3.1", Label.SOURCE: "registry", Label.UPSTREAM: "apache/kafka@sha256:2"}
    found = building.finish(engine.client, image.id, "krucible/kafka:x", labels, silent)
    assert engine.store["krucible/kafka:x"].labels[Label.UPSTREAM] == found.upstream
