"""Jars are copied out of an image once, and are those that its notes name."""

import hashlib
import io
import tarfile
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

import docker
import pytest

from harness.cluster.images import JarSource, KafkaImage
from harness.cluster.images.files import jars_from
from harness.errors import EngineError, KrucibleError

LIBS = "/opt/kafka/libs"
IMAGE = KafkaImage("krucible/kafka:4.5.0-1", "4.5.0", JarSource.TARBALL, "sha256:1", "", "17", "c0ffee")


class Engine:
    """An engine with one image that has these files; it counts its containers."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.open, self.made = 0, 0
        self.containers = SimpleNamespace(create=self._create)
        self.api = SimpleNamespace(get_archive=self._archive)

    def _create(self, image: str, *, network_disabled: bool) -> Any:
        assert image == IMAGE.digest
        assert network_disabled
        self.open, self.made = self.open + 1, self.made + 1
        return SimpleNamespace(id="c1", remove=self._remove)

    def _remove(self, *, force: bool) -> None:
        assert force
        self.open -= 1

    def _archive(self, _container: str, path: str) -> tuple[list[bytes], None]:
        if path not in self.files:
            raise docker.errors.APIError(f"no such file: {path}")
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            member = tarfile.TarInfo(PurePosixPath(path).name)
            member.size = len(self.files[path])
            archive.addfile(member, io.BytesIO(self.files[path]))
        whole = buffer.getvalue()
        return [whole[:700], whole[700:]], None


def engine(*names: str, **files: bytes) -> Engine:
    """An engine whose image's notes name these jars; `files` replaces what they have."""
    jars = {f"{LIBS}/{name}": name.encode() for name in names}
    lines = [f"{hashlib.sha512(content).hexdigest()}  {path}" for path, content in jars.items()]
    notes = {"/opt/krucible/jars.sha512": "\n".join(lines).encode()}
    return Engine({**jars, **notes, **files})


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def copied(given: Engine, lines: list[str] | None = None) -> list[Path]:
    """The jars that a client of Kafka's needs."""
    say = [] if lines is None else lines
    client: Any = given
    return jars_from(client, IMAGE, ("kafka-clients-", "lz4-java-"), say.append)


def test_only_the_jars_that_were_asked_for_are_copied_and_once() -> None:
    given, lines = (
        engine("lz4-java-1.8.0.jar", "kafka-clients-4.5.0.jar", "kafka_2.13-4.5.0.jar"),
        list[str](),
    )
    first = copied(given, lines)
    assert [jar.name for jar in first] == ["kafka-clients-4.5.0.jar", "lz4-java-1.8.0.jar"]
    assert first[0].read_bytes() == b"kafka-clients-4.5.0.jar"
    assert copied(given, lines) == first
    assert lines == ["copying jars out of krucible/kafka:4.5.0-1"]
    assert (given.made, given.open) == (1, 0)


def test_a_jar_other_than_the_notes_name_is_refused_and_nothing_is_kept() -> None:
    name = "kafka-clients-4.5.0.jar"
    with pytest.raises(KrucibleError, match="not the one that its notes name") as caught:
        copied(engine(name, **{f"{LIBS}/{name}": b"something else"}))
    assert name in caught.value.got
    assert [jar.name for jar in copied(engine(name))] == [name]


def test_an_image_without_such_jars_is_refused() -> None:
    with pytest.raises(KrucibleError, match="an image lacks jars"):
        copied(engine("kafka_2.13-4.5.0.jar"))


def test_an_image_may_lack_jars_that_are_not_needed() -> None:
    client: Any = engine("kafka_2.13-4.5.0.jar")
    assert jars_from(client, IMAGE, ("kafka-streams-4.",), print, needed=False) == []


def test_an_image_without_notes_is_refused() -> None:
    given = Engine({})
    with pytest.raises(EngineError, match="can't be read") as caught:
        copied(given)
    assert caught.value.where == "/opt/krucible/jars.sha512"
    assert given.open == 0
