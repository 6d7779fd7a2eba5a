"""Images from a release's tarball: what is taken from it, what is refused, and how one asks for it."""

import hashlib
import tarfile
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from harness import cli
from harness.cli import doctor
from harness.cli.options.origins import settled
from harness.cluster.images import base, ensure_image, registry, tarball
from harness.cluster.images.model import JarSource, silent
from harness.cluster.images.registry import RegistryProvider, repository_of
from harness.cluster.images.tarball import TarballProvider, digest_of, jars_of, version_in
from harness.errors import KrucibleError, UsageError
from harness.plan.kafka_choice import KafkaChoice
from harness.plan.planning import RunOptions, plan_run, reproduce_line
from tests.harness.fakes.engine import FakeEngine
from tests.harness.releases import file, link, odd, release

BROKER = "kafka_2.13-4.3.1.jar"
JARS = {BROKER: b"broker", "kafka-clients-4.3.1.jar": b"clients"}
SUM = hashlib.sha512(b"broker").hexdigest()
DIGEST = f"sha256:{'a' * 64}"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def engine() -> FakeEngine:
    engine = FakeEngine(jars=f"{SUM}  /opt/kafka/libs/{BROKER}\n")
    engine.add(base.base_reference())
    return engine


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return release(tmp_path / "kafka_2.13-4.3.1.tgz", JARS)


def test_its_jars_are_built_on_the_base_and_found_again(engine: FakeEngine, path: Path) -> None:
    provider = TarballProvider(engine.client, path)
    assert provider.cached("4.3.1") is None
    assert provider.unavailable("4.3.1") is None
    image = provider.obtain("4.3.1", silent)
    build = engine.built[0]
    assert build.buildargs == {"BASE": base.base_reference()}
    assert build.network_mode == "none"
    assert [name for name in build.files if name.startswith("libs/")] == [
        "libs/kafka-clients-4.3.1.jar",
        f"libs/{BROKER}",
    ]
    assert (image.version, image.source) == ("4.3.1", JarSource.TARBALL)
    assert image.upstream == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    assert provider.obtain("4.3.1", silent) == provider.cached("4.3.1") == image
    assert len(engine.built) == 2, "an image that is here was built again"


def test_another_content_under_the_same_name_is_another_image(engine: FakeEngine, path: Path) -> None:
    first = TarballProvider(engine.client, path).reference("4.3.1")
    release(path, {**JARS, "more.jar": b"more"})
    assert TarballProvider(engine.client, path).reference("4.3.1") != first


def test_a_tarball_is_asked_for_by_its_path_alone(engine: FakeEngine, path: Path) -> None:
    image = ensure_image("4.3.1", "tarball", silent, engine.client, str(path))
    assert image.source is JarSource.TARBALL
    with pytest.raises(KrucibleError) as caught:
        ensure_image("4.1.1", "tarball", silent, engine.client, str(path))
    assert f"{path} holds Kafka 4.3.1" in caught.value.got


@pytest.mark.parametrize("top", ["kafka_2.13-4.3.1", "kafka_2.12-3.9.0", "kafka_2.13-4.4.0-SNAPSHOT"])
def test_the_version_is_that_of_its_folder(tmp_path: Path, top: str) -> None:
    version = top.partition("-")[2]
    made = release(tmp_path / "any-name.tgz", {f"{top}.jar": b"broker"}, top)
    assert version_in(made) == version
    with jars_of(made, version) as jars:
        assert [jar.name for jar in jars.iterdir()] == [f"{top}.jar"]


def refused(path: Path) -> str:
    with (
        pytest.raises(UsageError, match="not a tarball that Kafka can be run from") as caught,
        jars_of(path, "4.3.1"),
    ):
        pytest.fail("it was unpacked")
    assert caught.value.where == str(path)
    return caught.value.got


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        (file("/etc/passwd"), "outside the release's folder: '/etc/passwd'"),
        (file("kafka_2.13-4.3.1/libs/../../../x.jar"), "outside the release's folder"),
        (link("kafka_2.13-4.3.1/libs", "/var"), "neither file nor folder"),
        (link("kafka_2.13-4.3.1/libs/x.jar", "/etc/passwd"), "neither file nor folder"),
        (link("kafka_2.13-4.3.1/libs/x.jar", "/etc/passwd", tarfile.LNKTYPE), "neither file nor folder"),
        (link("kafka_2.13-4.3.1/libs/x.jar", "", tarfile.CHRTYPE), "neither file nor folder"),
        (file("other/libs/x.jar"), "beside kafka_2.13-4.3.1"),
    ],
)
def test_members_that_lead_elsewhere_are_refused(
    tmp_path: Path, member: tarfile.TarInfo, expected: str
) -> None:
    assert expected in refused(odd(tmp_path / "x.tgz", member))


def test_only_jars_directly_under_libs_are_unpacked(tmp_path: Path) -> None:
    top = "kafka_2.13-4.3.1"
    names = ("libs/ .jar", "libs/-x.jar", "libs/deep/x.jar", "libs/x.so", "x.jar", f"libs/{BROKER}")
    made = odd(tmp_path / "x.tgz", *(file(f"{top}/{name}") for name in names))
    with jars_of(made, "4.3.1") as jars:
        assert [jar.name for jar in jars.rglob("*")] == [BROKER]


def test_a_jar_that_comes_twice_is_refused(tmp_path: Path) -> None:
    twice = file(f"kafka_2.13-4.3.1/libs/{BROKER}")
    assert refused(odd(tmp_path / "x.tgz", twice, twice)) == f"{BROKER} twice"


def test_more_than_kafka_could_have_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = odd(tmp_path / "x.tgz", *(file(f"kafka_2.13-4.3.1/libs/{n}.jar", 600) for n in range(3)))
    monkeypatch.setattr(tarball, "JARS_BYTES_MAX", 1_500)
    assert "jars of more than" in refused(made)
    monkeypatch.setattr(tarball, "MEMBERS_MAX", 2)
    assert refused(made) == "more than 2 files"


def test_a_tarball_without_a_broker_of_that_version_is_refused(tmp_path: Path) -> None:
    assert refused(release(tmp_path / "x.tgz", {"kafka_2.13-4.1.1.jar": b""})) == f"no libs/{BROKER} in it"


def test_sources_are_no_release(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        version_in(odd(tmp_path / "kafka-4.3.1-src.tgz", top="kafka-4.3.1-src"))
    assert caught.value.got == "an archive of 'kafka-4.3.1-src'"


@pytest.mark.parametrize("cut", [0, 5, 60, 200])
def test_a_damaged_tarball_is_reported(path: Path, cut: int) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    assert refused(path)
    path.write_bytes(whole[:cut] + bytes(40) + whole[cut + 40 :])
    assert refused(path)


def test_what_is_no_tarball_or_is_not_there_is_reported(tmp_path: Path, engine: FakeEngine) -> None:
    with pytest.raises(UsageError) as caught:
        digest_of(tmp_path / "none.tgz")
    assert caught.value.got == "No such file or directory"
    empty = tmp_path / "empty.tgz"
    with tarfile.open(empty, "w:gz"):
        pass
    assert "an empty archive" in str(TarballProvider(engine.client, empty).unavailable("4.3.1"))


def test_a_full_disk_is_not_the_tarballs_fault(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tarball, "_copy", full)
    with pytest.raises(OSError, match="No space left"), jars_of(path, "4.3.1"):
        pytest.fail("it was unpacked")


def test_one_image_is_pulled_once_and_again_made_into_ours_when_it_changes(engine: FakeEngine) -> None:
    engine.pulls = [{"id": "l1", "status": "Pulling fs layer"}]
    name = "apache/kafka:4.3.1-rc1"
    provider = RegistryProvider(engine.client, image=name)
    assert provider.cached("4.3.1-rc1") is None
    lines: list[str] = []
    image = provider.obtain("4.3.1-rc1", lines.append)
    assert (image.source, image.upstream) == (JarSource.REGISTRY, "apache/kafka@sha256:2")
    assert engine.built[0].buildargs == {"BASE": name}
    assert provider.unavailable("4.3.1-rc1") is None
    assert provider.obtain("4.3.1-rc1", lines.append) == image
    assert lines.count(f"pulling {name}") == 1
    engine.add(name)
    assert provider.cached("4.3.1-rc1") is None
    again = provider.obtain("4.3.1-rc1", lines.append)
    assert again.reference != image.reference
    assert again.upstream == "", "no registry knows what was built here"
    assert lines.count(f"pulling {name}") == 1


def test_one_image_may_be_older_than_the_official_ones(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "connect", lambda **_: engine)
    mine = RegistryProvider(engine.client, image="mine:3.6.2")
    assert mine.unavailable("3.6.2") == "no such host"
    engine.registry_error = None
    assert mine.unavailable("3.6.2") is None


@pytest.mark.parametrize(
    ("image", "repository"),
    [
        ("kafka", "kafka"),
        ("a/kafka:4.3.1", "a/kafka"),
        ("host:5000/kafka", "host:5000/kafka"),
        (f"host:5000/a/kafka:4.3.1@{DIGEST}", "host:5000/a/kafka"),
    ],
)
def test_a_port_is_no_tag(image: str, repository: str) -> None:
    assert repository_of(image) == repository


def test_options_that_name_a_tarball_or_an_image_determine_the_version(path: Path) -> None:
    chosen = settled(KafkaChoice(kafka_tarball=str(path)))
    assert chosen == KafkaChoice(kafka_tarball=str(path), kafka_version="4.3.1")
    assert settled(KafkaChoice(kafka_image="host:5000/kafka:4.3.1-rc1")).kafka_version == "4.3.1-rc1"
    both = KafkaChoice(kafka_image=f"mine@{DIGEST}", kafka_version="4.4.0")
    assert settled(both) == both
    assert settled(KafkaChoice(kafka_version="4.3.1")).kafka_image is None


def test_a_version_with_a_digest_is_that_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRUCIBLE_KAFKA_REPOSITORY", "mirror/kafka")
    chosen = settled(KafkaChoice(kafka_version=f"4.3.1@{DIGEST}"))
    assert (chosen.kafka_version, chosen.kafka_image) == ("4.3.1", f"mirror/kafka@{DIGEST}")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (KafkaChoice(kafka_tarball="T", kafka_image="a:4.3.1"), "--kafka-tarball and --kafka-image exclude"),
        (KafkaChoice(kafka_tarball="T", image_source="registry"), "contradicts --kafka-tarball"),
        (KafkaChoice(kafka_image="a:4.3.1", image_source="artifacts"), "contradicts --kafka-image"),
        (KafkaChoice(kafka_tarball="T", kafka_version="4.1.1"), "holds another version"),
        (KafkaChoice(kafka_image="a"), "the version of Kafka in that image is unknown"),
        (KafkaChoice(kafka_image="host:5000/a:latest"), "the version of Kafka in that image is unknown"),
        (KafkaChoice(kafka_image=f"a@{DIGEST}"), "the version of Kafka in that image is unknown"),
        (KafkaChoice(kafka_version="4.3.1@sha256:12"), "not a version of Kafka"),
    ],
)
def test_options_that_contradict_each_other_are_refused(path: Path, given: KafkaChoice, message: str) -> None:
    asked = replace(given, kafka_tarball=str(path)) if given.kafka_tarball else given
    with pytest.raises(UsageError, match=message):
        settled(asked)


def test_the_reproduce_line_has_them(path: Path) -> None:
    options = RunOptions(scenario="smoke/partition", seed=7, kafka_version="4.3.1", kafka_tarball=str(path))
    assert options.image_from == ("tarball", str(path))
    line = reproduce_line(options)
    assert line == f"krucible run smoke/partition --seed 7 --kafka-version 4.3.1 --kafka-tarball {path}"
    assert plan_run(options).version == "4.3.1"
    image = RunOptions(scenario="smoke/partition", seed=7, kafka_image="a:4.3.1", kafka_version="4.3.1")
    assert image.image_from == ("registry", "a:4.3.1")


def test_setting_up_and_looking_take_them_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def note(*given: Any) -> Any:
        asked.append(given)
        raise KrucibleError("enough")

    monkeypatch.setattr(doctor, "make_ready", note)
    monkeypatch.setattr(doctor, "look", note)
    assert cli.invoke(["setup", "--kafka-tarball", str(path)]) == 3
    assert cli.invoke(["doctor", "--kafka-image", "a:4.1.1"]) == 3
    assert asked[0][:2] == ("4.3.1", "tarball")
    assert asked[0][3] == str(path)
    assert (asked[1][0], asked[1][1], asked[1][3]) == ("4.1.1", "registry", "a:4.1.1")
