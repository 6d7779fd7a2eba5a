"""Set-up does what is missing, in order, and nothing where nothing is."""

import pytest

from harness import setup as module
from harness.cluster.images import KafkaImage, Source, Survey
from harness.errors import KrucibleError
from harness.packages import Package

IMAGE = KafkaImage("krucible/kafka:4.3.1-x", "4.3.1", Source.ARTIFACTS, "sha256:0", "", "17", "0")
DOCKER, MAVEN = Package("docker.io", "the engine"), Package("maven", "jars")
ANSWERS: dict[Source, str | None] = {Source.REGISTRY: None}
SILENT: dict[Source, str | None] = {Source.REGISTRY: "no such host"}


class Host:
    """A host whose state the test sets; `done` is what set-up did to it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[str] = []
        self.engine = True
        self.missing: list[Package] = []
        self.forbidden: str | None = None
        self.survey = Survey(IMAGE, {})
        self.base: str | None = "krucible/base:x"
        for name in ("connect", "start_engine", "engine_answers", "install", "survey", "ensure_base"):
            monkeypatch.setattr(module, name, getattr(self, f"_{name}"))
        monkeypatch.setattr(module, "missing_for_engine", lambda: list(self.missing))
        monkeypatch.setattr(module, "missing_for_images", lambda: [MAVEN])
        monkeypatch.setattr(module, "may_not_install", lambda: self.forbidden)
        monkeypatch.setattr(module, "base_if_cached", lambda _client: self.base)
        monkeypatch.setattr(module, "ensure_image", self._ensure_image)

    def close(self) -> None:
        self.done.append("close")

    def _connect(self) -> "Host":
        return self

    def _start_engine(self) -> str:
        self.engine = True
        self.done.append("start")
        return "dockerd.log"

    def _engine_answers(self) -> bool:
        return self.engine

    def _install(self, packages: list[Package], _say: object) -> None:
        if packages and self.forbidden:
            raise KrucibleError("programs are missing", got=" ".join(each.name for each in packages))
        self.done += [each.name for each in packages]

    def _survey(self, *_: object) -> Survey:
        return self.survey

    def _ensure_base(self, *_: object) -> None:
        self.done.append("base")

    def _ensure_image(self, *_: object) -> KafkaImage:
        self.done.append("image")
        return IMAGE


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(monkeypatch)


def test_a_ready_host_is_left_as_it_is(host: Host) -> None:
    said: list[str] = []
    assert module.setup("4.3.1", say=said.append) == IMAGE
    assert host.done == ["base", "image", "close"]
    assert said == ["ready: Kafka 4.3.1 from artifacts, krucible/kafka:4.3.1-x"]


def test_a_bare_host_gets_everything_in_order(host: Host) -> None:
    host.engine, host.missing, host.base, host.survey = False, [DOCKER], None, Survey(None, SILENT)
    said: list[str] = []
    module.setup("4.3.1", say=said.append)
    assert host.done == ["docker.io", "start", "maven", "base", "image", "close"]
    assert "the Docker engine runs; its log: dockerd.log" in said


def test_where_a_registry_answers_nothing_is_installed_for_building(host: Host) -> None:
    host.survey = Survey(None, ANSWERS)
    module.setup("4.3.1", say=str)
    assert host.done == ["base", "image", "close"]


def test_where_installing_is_forbidden_everything_missing_is_told_at_once(host: Host) -> None:
    host.missing, host.forbidden = [DOCKER], "NO_INSTALL=1 forbids it"
    with pytest.raises(KrucibleError) as caught:
        module.setup("4.3.1", say=str)
    assert caught.value.got == "docker.io maven"
    assert host.done == []
