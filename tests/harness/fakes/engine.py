"""A Docker engine that only remembers: enough of the client's interface for images."""

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from docker import DockerClient
from docker.errors import APIError, ImageNotFound

JAVA = 'openjdk version "17.0.21" 2026-10-20\n'


@dataclass
class FakeImage:
    """An image: its id, labels, and the store it is named in."""

    id: str
    store: dict[str, "FakeImage"]
    labels: dict[str, str] = field(default_factory=dict)
    digests: list[str] = field(default_factory=list)

    @property
    def attrs(self) -> dict[str, Any]:
        return {"RepoDigests": self.digests}

    def tag(self, reference: str) -> bool:
        self.store[reference] = self
        return True


@dataclass
class FakeEngine:
    """The client.

    Attributes:
        store: images by id and by name.
        built: for each build: its Dockerfile, arguments, network mode and the names of the context's files.
        jars: what ``jars.sha512`` of a built image says.
        pulls: events that a pull yields.
        registry_error: what the registry answers; None if it has everything.
        build_error: what a build answers, if it is to fail.
        import_error: whether the engine refuses an import.
    """

    store: dict[str, FakeImage] = field(default_factory=dict)
    built: list[SimpleNamespace] = field(default_factory=list)
    imported: list[SimpleNamespace] = field(default_factory=list)
    jars: str = ""
    pulls: list[dict[str, Any]] = field(default_factory=list)
    registry_error: str | None = "no such host"
    build_error: str | None = None
    import_error: bool = False
    closed: int = 0

    @property
    def client(self) -> DockerClient:
        """Itself, as what it pretends to be."""
        return cast("DockerClient", self)

    @property
    def images(self) -> SimpleNamespace:
        return SimpleNamespace(get=self._get, get_registry_data=self._ask_registry)

    @property
    def api(self) -> SimpleNamespace:
        return SimpleNamespace(
            build=self._build,
            get_archive=self._get_archive,
            pull=self._pull,
            import_image_from_stream=self._import,
        )

    @property
    def containers(self) -> SimpleNamespace:
        return SimpleNamespace(
            create=lambda image, **_: SimpleNamespace(id=image, remove=lambda **_: None), list=lambda **_: []
        )

    def close(self) -> None:
        self.closed += 1

    def add(self, reference: str, **facts: Any) -> FakeImage:
        image = FakeImage(id=f"sha256:{len(self.store):064x}", store=self.store, **facts)
        self.store[image.id] = self.store[reference] = image
        return image

    def _get(self, name: str) -> FakeImage:
        if name not in self.store:
            raise ImageNotFound(name)
        return self.store[name]

    def _ask_registry(self, _name: str) -> None:
        if self.registry_error:
            raise APIError("500 Server Error", explanation=self.registry_error)

    def _build(self, path: str, dockerfile: str, **given: Any) -> Iterator[dict[str, Any]]:
        folder = Path(path)
        text = (folder / dockerfile).read_text()
        files = sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())
        self.built.append(SimpleNamespace(dockerfile=text, files=files, **given))
        yield {"stream": "Step 1/2 : FROM base\n"}
        yield {"stream": "\n"}
        if self.build_error:
            yield {"error": self.build_error}
            return
        labels = dict(
            line.removeprefix("LABEL ").split("=", 1)
            for line in text.splitlines()
            if line.startswith("LABEL ")
        )
        yield {"aux": {"ID": self.add(f"built-{len(self.built)}", labels=labels).id}}

    def _get_archive(self, _container: str, path: str) -> tuple[Iterator[bytes], dict[str, Any]]:
        name = path.rpartition("/")[2]
        content = {"jars.sha512": self.jars, "java-version": JAVA}.get(name, "").encode()
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        return iter([packed.getvalue()]), {}

    def _pull(self, name: str, **_: Any) -> Iterator[dict[str, Any]]:
        yield from self.pulls
        self.add(name, digests=["mirror/kafka@sha256:1", "apache/kafka@sha256:2"])

    def _import(self, stream: Iterator[bytes], changes: list[str]) -> str:
        content = b"".join(stream)
        if self.import_error:
            raise APIError("disk full")
        image = self.add(f"imported-{len(self.imported)}")
        self.imported.append(SimpleNamespace(content=content, changes=changes))
        return f'{{"status":"{image.id}"}}\n'
