"""Kafka by its content: not by where a tarball lies, what a tag says, or which version is the default."""

from pathlib import Path

import msgspec
import pytest

from checkers.history.identity import ImageIdentity, RunIdentity
from harness.campaigns import contents as module
from harness.campaigns.contents import Content, Contents, key_of, require_two
from harness.cluster.images.registry import digest_in, known_as
from harness.errors import EngineError, UsageError
from harness.plan import catalogue
from harness.plan.kafka_choice import KafkaChoice
from harness.plan.planning import RunOptions, plan_run
from harness.vocabulary.version import DEFAULT_VERSION
from tests.harness.fakes.engine import FakeEngine
from tests.results.story import IDENTITY

JARS = "kafka_2.13-4.3.1.tgz"
DIGEST, OTHER = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
TAG = "local/kafka:4.3.1"


def options(**given: object) -> RunOptions:
    return msgspec.convert({"scenario": "smoke/partition", "seed": 7, **given}, RunOptions)


def key(contents: Contents | None = None, **given: object) -> str:
    asked = options(**given)
    return key_of(asked, (contents or Contents()).of(asked.kafka, "4.3.1"))


def tarball(folder: Path, data: bytes) -> str:
    folder.mkdir(exist_ok=True)
    (folder / JARS).write_bytes(data)
    return str(folder / JARS)


def identity(image: ImageIdentity | None = None, version: str = "4.3.1", **asked: object) -> RunIdentity:
    return msgspec.structs.replace(IDENTITY, kafka_version=version, image=image, options=asked)


def ran(upstream: str = "", reference: str = "krucible/kafka:4.3.1-x") -> ImageIdentity:
    return ImageIdentity(reference=reference, checksums={"jars": "1", "upstream": upstream})


def test_another_content_under_the_same_path_is_another(tmp_path: Path) -> None:
    before = key(kafka_tarball=tarball(tmp_path, b"rc0"))
    assert key(kafka_tarball=tarball(tmp_path, b"rc1")) != before


def test_the_same_content_under_another_path_is_the_same(tmp_path: Path) -> None:
    here = key(kafka_tarball=tarball(tmp_path / "here", b"rc0"))
    assert key(kafka_tarball=tarball(tmp_path / "there", b"rc0")) == here
    assert key(kafka_tarball=str(tmp_path / "here" / JARS), image_source="tarball") == here
    assert str(tmp_path) not in here


def test_a_tarball_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []

    def digest(path: Path) -> str:
        read.append(path)
        return "0" * 64

    monkeypatch.setattr(module, "digest_of", digest)
    contents, path = Contents(), tarball(tmp_path, b"rc0")
    assert len({key(contents, kafka_tarball=path, seed=seed) for seed in range(5)}) == 1
    assert read == [Path(path)]


def test_a_tarball_that_is_gone_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="tarball"):
        key(kafka_tarball=str(tmp_path / JARS))


def test_the_default_version_is_the_version_that_it_is_today(monkeypatch: pytest.MonkeyPatch) -> None:
    def planned(**given: object) -> str:
        plan = plan_run(options(**given))
        return key_of(plan.options, Contents().of_plan(plan))

    assert planned() == planned(kafka_version=DEFAULT_VERSION)
    before = planned()
    scenario = catalogue.load_scenario("smoke/partition")
    bumped = msgspec.structs.replace(scenario, kafka_version="4.9.0")
    monkeypatch.setattr("harness.plan.planning.load_scenario", lambda _name: bumped)
    assert planned() == planned(kafka_version="4.9.0") != before


def test_a_digest_says_what_it_is_and_its_repository_does_not() -> None:
    by_digest = key(kafka_image=f"apache/kafka@{DIGEST}")
    assert key(kafka_image=f"mirror/kafka:4.3.1@{DIGEST}") == by_digest
    assert key(kafka_image=f"apache/kafka@{OTHER}") != by_digest
    assert digest_in(DIGEST) == digest_in(f"a/b@{DIGEST}") == DIGEST
    assert digest_in(TAG) == digest_in("a@sha256:12") == ""


def test_its_text_names_version_and_tarball(tmp_path: Path) -> None:
    path = tarball(tmp_path, b"rc0")
    content = Contents().of(KafkaChoice(kafka_tarball=path), "4.3.1")
    assert content.text().startswith(f"Kafka 4.3.1 of {JARS}, tarball sha256:")
    assert Contents().of(KafkaChoice(), "4.3.1").text() == "Kafka 4.3.1"


@pytest.mark.parametrize(
    ("marks", "run", "is_of", "differs"),
    [
        ({DIGEST}, identity(ran(DIGEST)), True, False),
        ({DIGEST}, identity(ran(f"apache/kafka@{DIGEST}")), True, False),
        ({DIGEST}, identity(ran(OTHER)), False, True),
        ({DIGEST}, identity(ran(OTHER), kafka_image=f"apache/kafka@{DIGEST}"), True, False),
        ({DIGEST}, identity(ran(DIGEST), "4.3.0"), False, True),
        ({DIGEST}, identity(), False, False),
        ({"krucible/kafka:4.3.1-x"}, identity(ran()), True, False),
        ({"krucible/kafka:4.3.1-y"}, identity(ran()), False, True),
        ((), identity(ran(), kafka_image=TAG), True, False),
        ((), identity(ran(), kafka_image="other/kafka:4.3.1"), False, False),
        ((), identity(ran(), kafka_tarball="x.tgz"), False, False),
    ],
)
def test_a_run_is_of_what_it_recorded(
    marks: set[str], run: RunIdentity, *, is_of: bool, differs: bool
) -> None:
    content = Content("4.3.1", f"image {TAG}", TAG, frozenset(marks))
    assert (content.is_of(run), content.differs(run)) == (is_of, differs)


def test_a_version_is_of_no_tarball_and_no_image_that_was_named() -> None:
    version = Content("4.3.1")
    assert version.is_of(identity(ran(f"apache/kafka@{DIGEST}")))
    assert not version.is_of(identity(ran(DIGEST), kafka_tarball="/here/x.tgz"))
    assert not version.is_of(identity(ran(), kafka_image=TAG))


def test_of_a_tag_this_host_says_what_it_stands_for(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeEngine()
    monkeypatch.setattr(module, "connect", lambda **_: engine)
    assert Contents().of(KafkaChoice(kafka_image=TAG), "4.3.1").marks == frozenset()
    engine.add(TAG, digests=[f"local/kafka@{DIGEST}"])
    content = Contents().of(KafkaChoice(kafka_image=TAG), "4.3.1")
    assert content.key == f"image {TAG}"
    assert content.marks == known_as(engine.client, TAG, "4.3.1")
    assert len(content.marks) == 2
    assert DIGEST in content.marks
    assert content.differs(identity(ran(f"local/kafka@{OTHER}")))
    assert not content.differs(identity(ran(f"local/kafka@{DIGEST}")))
    assert engine.closed == 2


def test_without_an_engine_a_tag_is_taken_at_its_word(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(limit_s: int) -> None:
        raise EngineError(f"no answer in {limit_s} s")

    monkeypatch.setattr(module, "connect", refuse)
    assert Contents().of(KafkaChoice(kafka_image=TAG), "4.3.1") == ("4.3.1", f"image {TAG}", TAG, frozenset())


def test_one_content_under_two_names_is_not_compared_to_itself(tmp_path: Path) -> None:
    contents = Contents()
    twice = [
        contents.of(KafkaChoice(kafka_version="4.3.1", kafka_tarball=tarball(tmp_path / name, b"x")), "4.3.1")
        for name in ("a", "b")
    ]
    with pytest.raises(UsageError, match="are the same build"):
        require_two(*twice)
    require_two(twice[0], contents.of(KafkaChoice(kafka_version="4.3.1"), "4.3.1"))
