"""Set-up does what is missing, in order, and nothing where nothing is."""

import pytest

from harness.cluster.images import JarSource, KafkaImage, Survey
from harness.cluster.images import survey as real_survey
from harness.cluster.images.model import silent
from harness.errors import KrucibleError, UsageError
from harness.host import setup as module
from harness.host.packages import Package
from tests.harness.fakes.engine import FakeEngine

IMAGE = KafkaImage("krucible/kafka:4.3.1-x", "4.3.1", JarSource.ARTIFACTS, "sha256:0", "", "17", "0")
DOCKER, MAVEN = Package("docker.io", "the engine"), Package("maven", "jars")
MMDEBSTRAP = Package("mmdebstrap", "the base image")
ANSWERS: dict[JarSource, str | None] = {JarSource.ARTIFACTS: "mvn is not installed", JarSource.REGISTRY: None}
SILENT: dict[JarSource, str | None] = {JarSource.ARTIFACTS: None, JarSource.REGISTRY: "no such host"}


class Host:
    """A host whose state the test sets; `done` is what set-up did to it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[str] = []
        self.engine = True
        self.missing: list[Package] = []
        self.forbidden: str | None = None
        self.survey = Survey(IMAGE, {})
        self.base: str | None = "krucible/base:x"
        self.refusals: list[KrucibleError] = []
        for name in ("connect", "start_engine", "engine_answers", "install", "survey", "ensure_base"):
            monkeypatch.setattr(module, name, getattr(self, f"_{name}"))
        monkeypatch.setattr(module, "missing_for_engine", lambda: list(self.missing))
        monkeypatch.setattr(module, "missing_for_images", self._missing_for_images)
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

    def _missing_for_images(self, *, jars: bool = True) -> list[Package]:
        wanted = [MMDEBSTRAP, MAVEN] if jars else [MMDEBSTRAP]
        return [package for package in wanted if package.name not in self.done]

    def _install(self, packages: list[Package], _say: object) -> None:
        if packages and self.forbidden:
            raise KrucibleError("programs are missing", got=" ".join(each.name for each in packages))
        self.done += [each.name for each in packages]

    def _survey(self, *_: object) -> Survey:
        return self.survey

    def _ensure_base(self, *_: object) -> None:
        self.done.append("base")

    def _ensure_image(self, *_: object) -> KafkaImage:
        if self.refusals:
            raise self.refusals.pop()
        self.done.append("image")
        return IMAGE


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(monkeypatch)


def test_a_ready_host_is_left_as_it_is(host: Host) -> None:
    lines: list[str] = []
    assert module.setup("4.3.1", say=lines.append) == IMAGE
    assert host.done == ["base", "image", "close"]
    assert lines == ["ready: Kafka 4.3.1 from artifacts, krucible/kafka:4.3.1-x"]


def test_a_bare_host_gets_everything_in_order(host: Host) -> None:
    host.engine, host.missing, host.base, host.survey = False, [DOCKER], None, Survey(None, SILENT)
    lines: list[str] = []
    module.setup("4.3.1", say=lines.append)
    assert host.done == ["docker.io", "start", "mmdebstrap", "maven", "base", "image", "close"]
    assert "the Docker engine runs; its log: dockerd.log" in lines


def test_where_a_registry_answers_nothing_is_installed_for_building(host: Host) -> None:
    host.survey = Survey(None, ANSWERS)
    module.setup("4.3.1", say=silent)
    assert host.done == ["base", "image", "close"]


def test_where_installing_is_forbidden_everything_missing_is_reported_at_once(host: Host) -> None:
    host.missing, host.forbidden = [DOCKER], "NO_INSTALL=1 forbids it"
    with pytest.raises(KrucibleError) as caught:
        module.setup("4.3.1", say=silent)
    assert caught.value.got == "docker.io mmdebstrap maven"
    assert host.done == []


def test_an_old_version_gets_maven_though_the_registry_has_newer_ones(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "connect", lambda: FakeEngine(registry_error=None).client)
    monkeypatch.setattr(module, "survey", real_survey)
    monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere")
    module.setup("3.6.2", say=silent)
    assert host.done == ["mmdebstrap", "maven", "base", "image"]


@pytest.mark.parametrize("found", [Survey(None, {JarSource.TARBALL: None}), Survey(IMAGE, {})])
def test_what_has_its_jars_gets_no_maven(host: Host, found: Survey) -> None:
    host.survey, host.base = found, None
    module.setup("4.3.1", say=silent)
    assert host.done == ["mmdebstrap", "base", "image", "close"]


def test_where_a_registry_does_not_hand_an_image_over_it_is_built(host: Host) -> None:
    host.survey = Survey(None, ANSWERS)
    host.refusals = [KrucibleError("no image of Kafka 4.3.1 can be had", got="registry: too many requests")]
    lines: list[str] = []
    module.setup("4.3.1", say=lines.append)
    assert host.done == ["base", "mmdebstrap", "maven", "image", "close"]
    assert "too many requests" in lines[0]


@pytest.mark.parametrize(
    ("found", "error"),
    [
        (Survey(None, SILENT), KrucibleError("Maven failed")),
        (Survey(None, {JarSource.REGISTRY: None}), KrucibleError("the pull failed")),
        (Survey(None, ANSWERS), UsageError("there is no Kafka 9.9.9")),
    ],
)
def test_what_nothing_can_mend_is_reported(host: Host, found: Survey, error: KrucibleError) -> None:
    host.survey, host.refusals = found, [error]
    with pytest.raises(type(error), match=error.what):
        module.setup("4.3.1", say=silent)
