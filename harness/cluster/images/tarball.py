"""Images from a release tarball on a Debian base, for release candidates and custom builds."""

import errno
import hashlib
import re
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO

from docker import DockerClient

from harness.cluster.images.base import base_reference, ensure_base
from harness.cluster.images.building import build, context, find, finish
from harness.cluster.images.locks import build_lock
from harness.cluster.images.model import JarSource, KafkaImage, Label, Progress
from harness.cluster.images.recipe import kafka_recipe_hash
from harness.errors import UsageError
from harness.vocabulary.version import VersionShapeError, parse_version

REPOSITORY = "krucible/kafka"
JARS_BYTES_MAX = 1 << 30
"""Eight times the size of Kafka's jars; a larger tarball is not Kafka's."""
MEMBERS_MAX = 20_000

_CHUNK_BYTES = 1 << 20
_RELEASE = "a binary release of Kafka's, such as kafka_2.13-4.5.0.tgz"
_TOP = re.compile(r"kafka_2\.1[23]-(?P<version>.+)")
_JAR = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*\.jar")
_DAMAGED = (tarfile.TarError, EOFError, zlib.error, OSError)


class TarballProvider:
    """Builds images from the jars of one tarball.

    Args:
        client: client of the engine.
        path: the tarball.
    """

    source = JarSource.TARBALL

    def __init__(self, client: DockerClient, path: Path) -> None:
        self._client = client
        self._path = path

    def reference(self, version: str) -> str:
        """Name and tag of the image, by the current recipe; another content gives another image."""
        return f"{REPOSITORY}:{version}-{self._recipe(version)}"

    def cached(self, version: str) -> KafkaImage | None:
        """The image if this host has it."""
        return find(self._client, self.reference(version))

    def unavailable(self, version: str) -> str | None:
        """The reason why the tarball can't provide this version, or None."""
        try:
            found = version_in(self._path)
        except UsageError as error:
            return f"{error.what}: {error.got}"
        return None if found == version else f"{self._path} holds Kafka {found}"

    def obtain(self, version: str, progress: Progress) -> KafkaImage:
        """Build the image; a second process that needs the same image waits for the first.

        Raises:
            UsageError: if the file is no tarball, is damaged, or has other content than expected.
            EngineError: if the engine can't build.
            KrucibleError: if Debian's mirror fails.
        """
        with build_lock(f"kafka-{version}", progress):
            return self.cached(version) or self._build(version, progress)

    @cached_property
    def _digest(self) -> str:
        return digest_of(self._path)

    def _recipe(self, version: str) -> str:
        return kafka_recipe_hash(version, self.source, base_reference(), self._digest)

    def _build(self, version: str, progress: Progress) -> KafkaImage:
        base = ensure_base(progress, self._client)
        progress(f"unpacking {self._path}")
        with jars_of(self._path, version) as jars, context(version, jars) as folder:
            progress(f"building the image of Kafka {version}")
            built = build(self._client, folder, arguments={"BASE": base}, network="none", progress=progress)
        labels = {
            Label.VERSION: version,
            Label.SOURCE: self.source.value,
            Label.RECIPE: self._recipe(version),
            Label.UPSTREAM: f"sha256:{self._digest}",
        }
        return finish(self._client, built, self.reference(version), labels, progress)


def digest_of(path: Path) -> str:
    """SHA-256 of a tarball, hexadecimal.

    Raises:
        UsageError: if it can't be read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                digest.update(chunk)
    except OSError as error:
        raise _no_release(path, error.strerror or str(error)) from error
    return digest.hexdigest()


def version_in(path: Path) -> str:
    """Kafka's version from the name of the tarball's folder; reads only its beginning.

    Raises:
        UsageError: if it is no release of Kafka.
    """
    with _opened(path) as archive:
        first = archive.next()
        if first is None:
            raise _no_release(path, "an empty archive")
        return _version_of_top(path, first)


@contextmanager
def jars_of(path: Path, version: str) -> Iterator[Path]:
    """Yield a folder with the tarball's jars, which is removed after the block.

    Only the regular files ``libs/*.jar`` are unpacked, under their own names.

    Raises:
        UsageError: if the tarball is damaged, holds another version, or members that lead elsewhere.
    """
    with tempfile.TemporaryDirectory(prefix="krucible-release-") as name:
        folder = Path(name)
        with _opened(path) as archive:
            _unpack(path, archive, folder)
        broker = [f"kafka_2.{scala}-{version}.jar" for scala in ("13", "12")]
        if not any((folder / jar).is_file() for jar in broker):
            raise _no_release(path, f"no libs/{broker[0]} in it")
        yield folder


def _unpack(path: Path, archive: tarfile.TarFile, folder: Path) -> None:
    left = JARS_BYTES_MAX
    top = None
    for number, member in enumerate(archive, start=1):
        if number > MEMBERS_MAX:
            raise _no_release(path, f"more than {MEMBERS_MAX} files")
        parts = _parts(path, member)
        top = top or parts[0]
        if parts[0] != top:
            raise _no_release(path, f"{member.name!r}, beside {top}")
        if not _is_jar(parts) or member.isdir():
            continue
        left -= member.size
        if left < 0:
            raise _no_release(path, f"jars of more than {JARS_BYTES_MAX >> 20} MiB")
        _copy(path, archive.extractfile(member), folder / parts[2])


def _is_jar(parts: tuple[str, ...]) -> bool:
    return len(parts) == 3 and parts[1] == "libs" and _JAR.fullmatch(parts[2]) is not None  # noqa: PLR2004 - top/libs/jar


def _parts(path: Path, member: tarfile.TarInfo) -> tuple[str, ...]:
    """The parts of a member's path in the tarball.

    Raises:
        UsageError: if the path leaves the release's folder, or if the member is neither file nor folder.
    """
    place = PurePosixPath(member.name)
    if place.is_absolute() or ".." in place.parts or not place.parts:
        raise _no_release(path, f"a member outside the release's folder: {member.name!r}")
    if not (member.isdir() or member.isreg()):
        raise _no_release(path, f"{member.name!r}, which is neither file nor folder")
    return place.parts


def _copy(path: Path, source: IO[bytes] | None, target: Path) -> None:
    if source is None or target.exists():
        raise _no_release(path, f"{target.name} twice")
    with target.open("xb") as copy:
        while chunk := source.read(_CHUNK_BYTES):
            copy.write(chunk)


def _version_of_top(path: Path, first: tarfile.TarInfo) -> str:
    top = _parts(path, first)[0]
    matched = _TOP.fullmatch(top)
    try:
        parse_version(matched["version"] if matched else "")
    except VersionShapeError:
        raise _no_release(path, f"an archive of {top!r}") from None
    return str(matched["version"]) if matched else ""


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    """Open the tarball as a stream; all errors of the library become one kind of error."""
    try:
        with tarfile.open(path, "r|gz") as archive:
            yield archive
    except _DAMAGED as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise  # the target disk is full
        refusal = error.strerror if isinstance(error, OSError) else None  # as for a file that is not there
        raise _no_release(path, refusal or f"{type(error).__name__}: {error}") from error


def _no_release(path: Path, got: str) -> UsageError:
    return UsageError(
        "that is not a tarball that Kafka can be run from",
        got=got,
        expected=_RELEASE,
        where=str(path),
        next_step="build one with ./gradlew releaseTarGz, or fetch it again",
    )
