"""Builds images through the engine's API, from a local context and without a network."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from docker import DockerClient
from docker.errors import DockerException, ImageNotFound

from harness.cluster.images.files import JARS_FILE, NOTES_AT, opened
from harness.cluster.images.maven import checksums
from harness.cluster.images.model import JarSource, KafkaImage, Label, Progress
from harness.cluster.images.patience import SilenceError, until_silent
from harness.cluster.images.recipe import ENTRY_FILES, logging_recipe, recipe_bytes
from harness.errors import EngineError, KrucibleError

LOG_LINES_SHOWN = 15


def find(client: DockerClient, reference: str) -> KafkaImage | None:
    """The Kafka image of that name, if this host has it and it is complete."""
    try:
        image = client.images.get(reference)
    except ImageNotFound:
        return None
    labels = image.labels
    if Label.CHECKSUMS not in labels:
        return None
    return KafkaImage(
        reference=reference,
        version=labels[Label.VERSION],
        source=JarSource(labels[Label.SOURCE]),
        digest=str(image.id),
        upstream=labels.get(Label.UPSTREAM, ""),
        java=labels[Label.JAVA],
        checksums=labels[Label.CHECKSUMS],
        tools=labels.get(Label.TOOLS, ""),
    )


@contextmanager
def context(version: str, jars: Path | None, tools: Path | None = None) -> Iterator[Path]:
    """Make a folder from which a Kafka image is built.

    Args:
        version: the version of Kafka.
        jars: folder of Kafka's jars; None if the base image has them.
        tools: jars of an earlier version's tools; None if `jars` or the base image have tools.
    """
    with tempfile.TemporaryDirectory(prefix="krucible-image-") as name:
        folder = Path(name)
        (folder / "Dockerfile").write_bytes(recipe_bytes("Dockerfile"))
        ours = folder / "krucible"
        ours.mkdir()
        _copy_jars(jars, folder / "libs")
        if tools:
            _copy_jars(tools, ours / "tools")
        for script in ENTRY_FILES:
            (ours / script).write_bytes(recipe_bytes(script))
            (ours / script).chmod(0o755)
        (ours / "logging.properties").write_bytes(recipe_bytes(logging_recipe(version)))
        yield folder


def _copy_jars(source: Path | None, target: Path) -> None:
    """Copy the jars of a folder, readable for all: an image keeps modes, and nodes need not run as root."""
    target.mkdir()
    target.chmod(0o755)
    for jar in sorted(source.glob("*.jar")) if source else ():
        Path(shutil.copy2(jar, target)).chmod(0o644)


def build(
    client: DockerClient,
    folder: Path,
    *,
    arguments: Mapping[str, str],
    network: str,
    progress: Progress,
    dockerfile: str = "Dockerfile",
) -> str:
    """Build a context; returns the new image's id.

    Raises:
        EngineError: if a step fails, or prints nothing for too long, with the last lines of its output.
    """
    output: list[str] = []
    image_id = ""
    try:
        ask = partial(
            client.api.build,
            path=str(folder),
            dockerfile=dockerfile,
            buildargs=dict(arguments),
            network_mode=network,
            rm=True,
            forcerm=True,
            decode=True,
        )
        for event in until_silent(ask):
            if "error" in event:
                raise _failed(output, str(event["error"]))
            image_id = str(event.get("aux", {}).get("ID", image_id))
            for line in filter(str.strip, str(event.get("stream", "")).splitlines()):
                output.append(line)
                if line.startswith("Step "):
                    progress(line)
    except SilenceError as error:
        raise _not_in_time(output, str(error), dockerfile) from error
    except DockerException as error:
        raise _failed(output, str(error)) from error
    return image_id


def _failed(output: list[str], reason: str) -> EngineError:
    return EngineError(
        "the image could not be built",
        got="\n".join([*output[-LOG_LINES_SHOWN:], reason]),
        next_step="krucible doctor",
    )


def _not_in_time(output: list[str], reason: str, dockerfile: str) -> EngineError:
    return EngineError(
        "the image was not built in time",
        got="\n".join([*output[-LOG_LINES_SHOWN:], reason]),
        expected="a build that makes progress; a mirror that does not answer, or a slow disk, can delay it",
        where=dockerfile,
        next_step="look at the engine's disk and the network (krucible doctor); then the same command again",
    )


def finish(
    client: DockerClient, image_id: str, reference: str, labels: Mapping[Label, str], progress: Progress
) -> KafkaImage:
    """Label a built Kafka image with its contents, and name it.

    The image gets its name last, so an image with a name is complete.

    Raises:
        KrucibleError: if the broker in it has another version than the label.
    """
    found = _read_notes(client, image_id)
    _require_version(found["jars.sha512"], labels[Label.VERSION], reference)
    sums = checksums(line.split()[0] for line in found["jars.sha512"].splitlines())
    every = {**labels, Label.CHECKSUMS: sums, Label.JAVA: _java(found["java-version"])}
    with tempfile.TemporaryDirectory(prefix="krucible-label-") as name:
        lines = [f"LABEL {label.value}={value}" for label, value in every.items()]
        Path(name, "Dockerfile").write_text("\n".join([f"FROM {image_id}", *lines, ""]))
        labelled = build(client, Path(name), arguments={}, network="none", progress=lambda _line: None)
    client.images.get(labelled).tag(reference)
    progress(f"built {reference}")
    image = find(client, reference)
    if image is None:
        raise KrucibleError("an image was removed right after it was built", where=reference)
    return image


def _require_version(jars: str, version: str, reference: str) -> None:
    """Require the version's broker jar; a release candidate's jars have the version of the release."""
    names = [line.rpartition("/")[2] for line in jars.splitlines()]
    expected = {
        f"kafka_{scala}-{name}.jar"
        for name in (version, version.partition("-")[0])
        for scala in ("2.13", "2.12")
    }
    if expected.isdisjoint(names):
        raise KrucibleError(
            "the image holds another version of Kafka",
            got=", ".join(name for name in names if name.startswith("kafka_")) or "no broker",
            expected=" or ".join(sorted(expected)),
            where=reference,
        )


def _java(banner: str) -> str:
    """``17.0.21`` from the first line of ``java -version``."""
    return banner.partition('"')[2].partition('"')[0]


def _read_notes(client: DockerClient, image_id: str) -> dict[str, str]:
    """The notes that `prepare-image` wrote: file name to content."""
    with opened(client, image_id) as read:
        return {name: read(f"{NOTES_AT}/{name}").decode() for name in (JARS_FILE, "java-version")}
