"""Files of an image, read without starting anything of it."""

import hashlib
import io
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from docker import DockerClient
from docker.errors import APIError

from harness.cluster.folders import cache_folder
from harness.cluster.images.locks import build_lock
from harness.cluster.images.model import KafkaImage, Progress
from harness.cluster.images.recipe import content_hash
from harness.errors import EngineError, KrucibleError

NOTES_AT = "/opt/krucible"
"""Where `prepare-image` wrote its notes."""
JARS_FILE = "jars.sha512"
"""The note with a line for each of Kafka's jars: SHA-512 and path."""

ReadFile = Callable[[str], bytes]
"""The content of the file of an image at an absolute path; `EngineError` if there is none."""


@contextmanager
def opened(client: DockerClient, image_id: str) -> Iterator[ReadFile]:
    """Yield a function that reads files of an image, until the end of the block.

    Raises:
        EngineError: a file is not there, or the engine can't read it.
    """
    container = client.containers.create(image_id, network_disabled=True)
    try:
        yield lambda path: _read(client, str(container.id), path)
    finally:
        container.remove(force=True)


def jars_from(
    client: DockerClient, image: KafkaImage, prefixes: tuple[str, ...], say: Progress, *, needed: bool = True
) -> list[Path]:
    """Copies of those jars of an image whose names have one of the prefixes; they are kept for later runs.

    So a client has the jars that the nodes have, whatever the image was made from.

    Args:
        client: the engine.
        image: an image of Kafka.
        prefixes: of the names of jars.
        say: gets a line if they must be copied.
        needed: whether the image must have one.

    Raises:
        EngineError: the engine can't read the image.
        KrucibleError: a jar is not the one that the image's notes name, or none has such a name and one is
            needed.
    """
    folder = cache_folder() / "image-jars" / content_hash((image.checksums, *prefixes))
    with build_lock("image-jars", say):
        if not folder.is_dir():
            say(f"copying jars out of {image.reference}")
            work = folder.with_name(f"{folder.name}.{os.getpid()}")
            work.mkdir(parents=True)
            try:
                _copy(client, image, prefixes, work, needed=needed)
                work.rename(folder)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    return sorted(folder.iterdir())


def _copy(
    client: DockerClient, image: KafkaImage, prefixes: tuple[str, ...], folder: Path, *, needed: bool
) -> None:
    with opened(client, image.digest) as read:
        lines = read(f"{NOTES_AT}/{JARS_FILE}").decode().splitlines()
        wanted = [line.split(maxsplit=1) for line in lines if Path(line).name.startswith(prefixes)]
        if not wanted and needed:
            raise KrucibleError(
                "an image lacks jars",
                got=f"none of {', '.join(prefixes)}",
                where=image.reference,
                next_step="krucible setup",
            )
        for digest, path in wanted:
            content = read(path)
            if hashlib.sha512(content).hexdigest() != digest:
                raise KrucibleError(
                    "a jar of an image is not the one that its notes name",
                    got=f"another SHA-512 of {path}",
                    expected=digest,
                    where=image.reference,
                    next_step="remove the image, and obtain it again by krucible setup",
                )
            (folder / Path(path).name).write_bytes(content)


def _read(client: DockerClient, container_id: str, path: str) -> bytes:
    try:
        chunks, _stat = client.api.get_archive(container_id, path)
    except APIError as error:
        raise EngineError(
            "a file of an image can't be read", got=str(error), where=path, next_step="krucible setup"
        ) from error
    with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
        file = archive.extractfile(archive.getmembers()[0])
        return file.read() if file else b""
