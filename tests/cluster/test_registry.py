"""Kafka from a registry on loopback and from a release's tarball, on real clusters."""

import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from harness.cli import invoke
from harness.cluster.cluster import Plan, find_cluster, start_cluster
from harness.cluster.engine import compose_binary
from harness.cluster.images import JarSource, KafkaImage, ensure_base, ensure_image
from harness.cluster.images.registry import REPOSITORY_VARIABLE, RegistryProvider
from harness.errors import KrucibleError
from harness.host.packages import Package, install, may_not_install
from harness.run.readiness import await_ready
from harness.vocabulary import Topology
from tests.cluster.conftest import Jars
from tests.harness.releases import release_of
from tests.harness.waiting import wait_until

pytestmark = pytest.mark.cluster
VERSION = "4.3.1"
ONE_NODE = Topology(controllers=1, brokers=1)
PROGRAM = "docker-registry"
OFFICIAL_LAYOUT = """
FROM {base}
RUN useradd --uid 1000 --gid 0 --home-dir /opt/kafka --no-create-home appuser \\
 && mkdir -p /etc/kafka/docker /etc/kafka/secrets /var/lib/kafka/data /mnt/shared/config /opt/kafka/config \\
 && chown -R appuser:root /etc/kafka /var/lib/kafka /mnt/shared /opt/kafka \\
 && chmod -R ug+w /etc/kafka /var/lib/kafka /mnt/shared /opt/kafka
COPY --chown=1000:0 libs/ /opt/kafka/libs/
RUN printf '#!/bin/bash\\necho not of use here; exit 1\\n' > /etc/kafka/docker/run \\
 && chmod 755 /etc/kafka/docker/run
EXPOSE 9092
USER appuser
VOLUME ["/etc/kafka/secrets", "/var/lib/kafka/data", "/mnt/shared/config"]
WORKDIR /opt/kafka
CMD ["/etc/kafka/docker/run"]
"""
"""Paths, user, volumes and command as the official image has them; on Debian instead of Alpine."""
SETTINGS = """
version: 0.1
log: {{level: error}}
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A repository in a registry of our own, on loopback."""
    _have_the_program()
    folder = tmp_path_factory.mktemp("registry")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = folder / "settings.yaml"
    settings.write_text(SETTINGS.format(folder=folder / "store", port=port))
    with subprocess.Popen([PROGRAM, "serve", str(settings)], stderr=subprocess.DEVNULL) as registry:
        try:
            wait_until(lambda: _answers(port), 60)
            yield f"127.0.0.1:{port}/apache/kafka"
        finally:
            registry.terminate()


def _have_the_program() -> None:
    if shutil.which(PROGRAM):
        return
    if why := may_not_install():
        pytest.skip(f"{PROGRAM} is not installed: {why}")
    try:
        install([Package(PROGRAM, "a registry for this test")], print)
    except KrucibleError as error:
        pytest.skip(f"{PROGRAM} can't be installed: {error.got}")


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def published(
    engine: docker.DockerClient, jars: Jars, repository: str, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """An image of the official one's layout, in the registry and nowhere else; its digest."""
    context = tmp_path_factory.mktemp("official")
    shutil.copytree(jars(VERSION), context / "libs")
    (context / "Dockerfile").write_text(OFFICIAL_LAYOUT.format(base=ensure_base(client=engine)))
    name = f"{repository}:{VERSION}"
    engine.images.build(path=str(context), tag=name, network_mode="none", rm=True, forcerm=True)
    for line in engine.images.push(name, stream=True, decode=True):
        assert "error" not in line, line
    digest = str(engine.images.get(name).attrs["RepoDigests"][0]).partition("@")[2]
    engine.images.remove(name)
    return digest


def removed(engine: docker.DockerClient, *names: str) -> None:
    for name in names:
        engine.images.remove(name, force=True)


def test_the_official_layout_is_pulled_from_a_registry_and_runs(
    engine: docker.DockerClient,
    repository: str,
    published: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(REPOSITORY_VARIABLE, repository)
    official = RegistryProvider(engine)
    assert official.unavailable(VERSION) is None
    assert "manifest unknown" in str(official.unavailable("4.9.9"))
    assert official.cached(VERSION) is None

    one = f"{repository}@{published}"
    image = ensure_image(VERSION, "registry", client=engine, given=one)
    try:
        assert (image.version, image.source, image.upstream) == (VERSION, JarSource.REGISTRY, one)
        assert image == ensure_image(VERSION, "registry", client=engine, given=one)
        _runs_a_cluster(engine, image, tmp_path)
    finally:
        removed(engine, image.reference, one)


def _runs_a_cluster(engine: docker.DockerClient, image: KafkaImage, folder: Path) -> None:
    plan = Plan(
        run=secrets.token_hex(4),
        folder=folder,
        topology=ONE_NODE,
        version=VERSION,
        kafka_image=image.reference,
        holder_image=ensure_base(client=engine),
    )
    cluster = start_cluster(engine, plan, compose_binary())
    try:
        await_ready(cluster)
        (node,) = cluster.nodes
        assert (cluster.disk(node) / "meta.properties").stat().st_uid == os.getuid()
    finally:
        cluster.remove()


def test_a_release_candidates_tarball_runs(
    engine: docker.DockerClient, jars: Jars, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = release_of(tmp_path / f"kafka_2.13-{VERSION}.tgz", jars(VERSION).glob("*.jar"), VERSION)
    words = ["--kafka-tarball", str(path), "--controllers", "1", "--brokers", "1", "--runs", str(tmp_path)]
    try:
        assert invoke(["cluster", "up", *words]) == 0
        folder = next((tmp_path / "clusters").iterdir())
        cluster = find_cluster(engine, folder)
        run, (node,) = cluster.description.run, cluster.nodes
        output = capsys.readouterr().out
        topics = next(
            line.split(maxsplit=1)[1] for line in output.splitlines() if line.startswith("  topics")
        )
        made = topics.replace("--describe | grep Topic:", "--create --topic made && ") + topics
        done = subprocess.run(["bash", "-c", made], capture_output=True, text=True, timeout=120, check=True)
        assert "Topic: made" in done.stdout
        image = engine.containers.get(f"krucible-{run}-{node.name}").image
        assert image is not None
        assert image.labels["krucible.image.source"] == "tarball"
        assert image.labels["krucible.kafka.version"] == VERSION
        assert invoke(["cluster", "down", run]) == 0
        removed(engine, image.tags[0])
    finally:
        for left in (tmp_path / "clusters").iterdir():
            find_cluster(engine, left).remove()
