"""Images on a real engine: every version boots from artifacts, as any user, with its class archive in use."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import pytest
from docker.models.containers import Container

from harness.cluster.images import KafkaImage, artifacts, base_if_cached, ensure_base, ensure_image, maven
from harness.cluster.images.artifacts import ArtifactsProvider
from harness.cluster.images.registry import RegistryProvider
from harness.vocabulary.version import FIRST_DYNAMIC_QUORUM, parse_version
from tests.cluster.conftest import Jars
from tests.harness.waiting import wait_until

pytestmark = pytest.mark.cluster

LABELS = {"krucible.test": "images"}
NOBODY_IN_PARTICULAR = "12345:54321"
STARTED = "Kafka Server started"
BOOT_LIMIT_S = 180
SHOWN_CLASS_PATHS = """
cd /opt/krucible
for file in kafka.args storage.args; do
    echo $file "$(tr : '\\n' < $file | grep -c -e ^/opt/krucible/tools/ -e /kafka-tools-[0-9])"
done
java @tools.args org.apache.kafka.tools.TopicCommand --version
"""
LOADED = "/tmp/loaded.txt"  # noqa: S108 - a path inside a container of our own
ARCHIVED_CLASSES_MIN = 3000
STATIC = """
controller.quorum.voters=1@127.0.0.1:9093
advertised.listeners=CLIENT://127.0.0.1:9092
"""
DYNAMIC = """
controller.quorum.bootstrap.servers=127.0.0.1:9093
advertised.listeners=CLIENT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
"""
COMMON = """
node.id=1
process.roles=broker,controller
listeners=CLIENT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=CLIENT
controller.listener.names=CONTROLLER
log.dirs=/var/lib/kafka/data
"""


@contextmanager
def node(engine: docker.DockerClient, image: KafkaImage, folder: Path) -> Iterator[Container]:
    dynamic = parse_version(image.version) >= FIRST_DYNAMIC_QUORUM
    properties = folder / "server.properties"
    properties.write_text(COMMON + (DYNAMIC if dynamic else STATIC))
    arguments = folder / "format-arguments"
    arguments.write_text("--standalone" if dynamic else "")
    container = engine.containers.run(
        image.reference,
        detach=True,
        network_mode="none",
        user=NOBODY_IN_PARTICULAR,
        labels=LABELS,
        volumes={
            str(properties): {"bind": "/server.properties", "mode": "ro"},
            str(arguments): {"bind": "/format-arguments", "mode": "ro"},
        },
        environment={
            "KRUCIBLE_CLUSTER_ID": "MkU3OEVBNTcwNTJENDM2Qk",
            "KRUCIBLE_PROPERTIES": "/server.properties",
            "KRUCIBLE_JVM_OPTS": f"-Xlog:class+load:file={LOADED}",
        },
    )
    try:
        yield container
    finally:
        container.remove(force=True, v=True)


def await_start(container: Container, number: int) -> None:
    try:
        wait_until(lambda: container.logs().count(STARTED.encode()) == number, BOOT_LIMIT_S)
    except AssertionError as error:
        raise AssertionError(container.logs(tail=30).decode()) from error


def shell(container: Container, command: str) -> str:
    code, output = container.exec_run(["sh", "-c", command])
    assert code == 0, output
    assert isinstance(output, bytes)
    return output.decode().strip()


@pytest.mark.parametrize(
    "version",
    [
        "3.6.2",
        *(pytest.param(version, marks=pytest.mark.long) for version in ("3.7.1", "3.9.0", "4.1.1", "4.3.1")),
        "4.4.0",
    ],
)
def test_a_version_boots_from_artifacts_and_survives_a_restart(
    engine: docker.DockerClient, tmp_path: Path, version: str
) -> None:
    image = ensure_image(version, "artifacts", client=engine)
    with node(engine, image, tmp_path) as container:
        await_start(container, 1)
        archived = int(shell(container, f"grep -c 'shared objects file (top)' {LOADED}"))
        assert archived > ARCHIVED_CLASSES_MIN, "the class archive is not used"
        # ISO 8601 with milliseconds, in UTC.
        assert shell(container, "cat /proc/1/comm") == "java"
        last = container.logs(tail=1).decode()
        assert last[:23].startswith(time.strftime("%Y-", time.gmtime()))
        assert (last[10], last[19], last[23]) == ("T", ".", "Z")

        container.stop(timeout=120)
        assert container.wait()["StatusCode"] == 143, "SIGTERM did not reach Kafka, or it did not end in time"
        container.start()
        await_start(container, 2)
        assert container.logs().count(b"Formatting") <= 1, "a formatted disk was formatted again"


def test_an_image_lists_what_is_in_it(engine: docker.DockerClient) -> None:
    image = ensure_image("4.3.1", "artifacts", client=engine)
    labels = engine.images.get(image.reference).labels
    assert labels["krucible.kafka.version"] == "4.3.1"
    assert labels["krucible.image.source"] == "artifacts"
    assert labels["krucible.image.checksums"] == image.checksums
    output = engine.containers.run(
        image.reference,
        entrypoint=[
            "sh",
            "-c",
            "sha512sum -c --quiet /opt/krucible/jars.sha512 && wc -l < /opt/krucible/jars.sha512",
        ],
        remove=True,
        network_mode="none",
        labels=LABELS,
    )
    assert int(output) > 40
    assert len(image.checksums) == 64
    assert image.java.startswith("17.")


def test_tools_of_an_earlier_version_run_in_a_class_path_of_their_own(
    engine: docker.DockerClient, jars: Jars, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking_tools = shutil.copytree(
        jars("4.3.1"), tmp_path / "4.3.1", ignore=lambda *_: ("kafka-tools-4.3.1.jar",)
    )
    folders = {"4.3.1": lacking_tools, "4.1.1": jars("4.1.1")}
    monkeypatch.setattr(maven, "resolve", lambda version, _progress: folders[version])
    monkeypatch.setattr(maven, "tools_version", {lacking_tools: "4.1.1"}.get)
    monkeypatch.setattr(artifacts, "REPOSITORY", "krucible/test-tools")
    image = ArtifactsProvider(engine).obtain("4.3.1", print)
    try:
        assert image.tools == "4.1.1"
        output = engine.containers.run(
            image.reference,
            entrypoint=["sh", "-c", SHOWN_CLASS_PATHS],
            remove=True,
            network_mode="none",
            hostname="localhost",
            labels=LABELS,
        )
        assert output.decode().splitlines() == ["kafka.args 0", "storage.args 0", "4.1.1"]
    finally:
        engine.images.remove(image.reference, force=True)


def test_an_image_that_is_here_is_neither_pulled_nor_built(
    engine: docker.DockerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = ensure_image("4.3.1", client=engine)
    for way in (ArtifactsProvider, RegistryProvider):
        for asking in ("unavailable", "obtain"):
            monkeypatch.delattr(way, asking)
    assert ensure_image("4.3.1", client=engine) == image


def test_the_base_image_is_found_without_building(engine: docker.DockerClient) -> None:
    assert ensure_base() == base_if_cached(engine)
