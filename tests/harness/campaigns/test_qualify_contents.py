"""``krucible qualify`` and the bytes of Kafka: what is asked for is tried, whatever path or name it has."""

import json
import shutil
import threading
from pathlib import Path

import msgspec
import pytest

from checkers.history.identity import IDENTITY_FILE, ImageIdentity, encode_identity
from checkers.verdict.verdict import Verdict
from harness import cli
from harness.campaigns import contents as module
from harness.campaigns import making as running
from harness.campaigns import provisions
from harness.campaigns.series import Venue
from harness.cli.campaigns import qualify as qualifying
from harness.cluster.images import JarSource, Survey
from harness.cluster.images.tarball import digest_of
from harness.plan.planning import RunPlan
from harness.plan.presets import PRESETS
from results.store.runs import load_identity
from tests.harness.cli.test_qualify_command import RUNS, TINY, FakeRuns
from tests.harness.releases import release

JARS = "kafka_2.13-4.3.1.tgz"
TRIED = 3
"""Runs of the candidate in `TINY`."""


class FakeTarballs(FakeRuns):
    """Runs that record which bytes they ran, as the real ones do; a content can be red."""

    def __init__(self) -> None:
        super().__init__()
        self.red_content = ""

    def __call__(self, plan: RunPlan, venue: Venue, cancelled: threading.Event) -> tuple[Path, Verdict]:
        path = plan.options.kafka_tarball
        digest = digest_of(Path(path)) if path else ""
        self.red = {(plan.version, plan.options.seed)} if digest and digest == self.red_content else set()
        folder, verdict = super().__call__(plan, venue, cancelled)
        checksums = {"jars": digest or plan.version} | ({"upstream": f"sha256:{digest}"} if digest else {})
        identity = msgspec.structs.replace(
            load_identity(folder),
            image=ImageIdentity(reference="krucible/kafka:x", checksums=checksums),
            options=msgspec.to_builtins(plan.options),
        )
        (folder / IDENTITY_FILE).write_bytes(encode_identity(identity))
        return folder, verdict


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeTarballs:
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setitem(PRESETS, "smoke", TINY)
    made = FakeTarballs()
    monkeypatch.setattr(running, "run_one", made)
    monkeypatch.setattr(qualifying, "require_images", list)
    return made


def candidate(folder: Path, content: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    return release(folder / JARS, {"kafka_2.13-4.3.1.jar": content})


def copied(path: Path, folder: Path) -> Path:
    """The same bytes elsewhere; packed anew they would hold another time."""
    folder.mkdir()
    return Path(shutil.copy(path, folder))


def qualify(path: Path, *words: str) -> int:
    return cli.invoke(["qualify", "--candidate", str(path), "--baseline", "4.1.1", "--json", *words])


def test_a_new_candidate_under_the_old_path_is_tried_anew(
    fake: FakeTarballs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = candidate(tmp_path, b"rc0")
    assert qualify(path) == 0
    assert qualify(path) == 0
    assert len(fake.done) == RUNS
    candidate(tmp_path, b"rc1")
    fake.red_content = digest_of(path)
    capsys.readouterr()
    assert qualify(path) == 1
    assert len(fake.done) == RUNS + TRIED
    assert json.loads(capsys.readouterr().out)["decision"] == "NOT QUALIFIED"


def test_what_an_older_candidate_did_is_no_excuse_of_a_newer_one(
    fake: FakeTarballs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.red_content = digest_of(path := candidate(tmp_path, b"rc0"))
    assert qualify(path, "--baseline", "4.3.1") == 1
    fake.red_content = digest_of(candidate(tmp_path, b"rc1"))
    capsys.readouterr()
    assert qualify(path, "--baseline", "4.3.1") == 1
    (found,) = json.loads(capsys.readouterr().out)["found"]
    assert found["standing"] == "unexplained"


def test_the_same_candidate_elsewhere_is_the_same(fake: FakeTarballs, tmp_path: Path) -> None:
    path = candidate(tmp_path, b"rc0")
    assert qualify(path) == 0
    elsewhere = tmp_path / "elsewhere"
    moved = copied(path, elsewhere)
    assert qualify(moved) == 0
    assert qualify(moved, "--merge", str(tmp_path / "runs"), "--runs", str(elsewhere)) == 0
    assert len(fake.done) == RUNS


@pytest.mark.usefixtures("fake")
def test_of_a_store_only_runs_of_the_candidates_bytes_are_the_candidates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = candidate(tmp_path, b"rc0")
    assert qualify(path) == 0
    moved = copied(path, tmp_path / "elsewhere")
    candidate(tmp_path, b"rc1")

    def tried(of: Path) -> int:
        capsys.readouterr()
        assert qualify(of, "--no-run") in (0, 2)
        cells = json.loads(capsys.readouterr().out)["cells"]
        return sum(cell["planned"] for cell in cells if cell["role"] == "candidate")

    assert tried(moved) == TRIED
    assert tried(path) == 0


@pytest.mark.usefixtures("fake")
def test_runs_of_two_contents_decide_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("qualify", "--candidate", "4.3.1", "--baseline", "4.1.1", "--json")
    assert cli.invoke([*words]) == 0
    folder = next((tmp_path / "runs" / "exploratory" / "txn").glob("2026*"))
    identity = load_identity(folder)
    image = ImageIdentity(reference="krucible/kafka:y", checksums={"jars": "others"})
    (folder / IDENTITY_FILE).write_bytes(encode_identity(msgspec.structs.replace(identity, image=image)))
    capsys.readouterr()
    assert cli.invoke([*words]) == 2
    (reason,) = json.loads(capsys.readouterr().out)["reasons"]
    assert "different contents of Kafka" in reason["text"]


def test_a_tarball_that_is_built_anew_meanwhile_is_reported_and_decides_nothing(
    fake: FakeTarballs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = candidate(tmp_path, b"rc0")

    def rebuilding(plan: RunPlan, venue: Venue, cancelled: threading.Event) -> tuple[Path, Verdict]:
        candidate(tmp_path, b"rc1")
        return fake(plan, venue, cancelled)

    monkeypatch.setattr(running, "run_one", rebuilding)
    assert qualify(path) == 2
    err = capsys.readouterr().err
    assert "this run used another build of Kafka than its campaign" in err
    assert "expected: Kafka 4.3.1 of " in err


def test_a_tarball_is_read_once_for_all_runs(
    fake: FakeTarballs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = candidate(tmp_path, b"rc0")
    read: list[Path] = []

    def digest(file: Path) -> str:
        read.append(file)
        return "0" * 64

    monkeypatch.setattr(module, "digest_of", digest)
    assert qualify(path, "--plan") == 0
    assert read == [path]
    assert fake.done == []


def test_a_build_is_not_compared_to_itself_under_another_path(
    fake: FakeTarballs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = candidate(tmp_path, b"rc0")
    assert qualify(path, "--baseline", str(copied(path, tmp_path / "twin"))) == 64
    assert "the candidate and the baseline are the same build" in capsys.readouterr().err
    assert fake.done == []


def test_an_image_that_can_not_be_had_is_reported_before_the_first_run(
    fake: FakeTarballs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Engine:
        def close(self) -> None:
            pass

    ways: dict[JarSource, str | None] = {
        JarSource.ARTIFACTS: "mvn is not installed",
        JarSource.REGISTRY: "too old",
    }
    monkeypatch.setattr(qualifying, "require_images", provisions.require_images)
    monkeypatch.setattr(provisions, "connect", Engine)
    monkeypatch.setattr(provisions, "base_if_cached", lambda _client: "krucible/base:x")
    monkeypatch.setattr(provisions, "survey", lambda *_: Survey(None, ways))
    assert cli.invoke(["qualify", "--candidate", "4.3.1", "--baseline", "4.1.1"]) == 3
    stderr = capsys.readouterr().err
    for version in ("3.6.2", "3.7.1", "4.3.1", "4.1.1"):
        assert f"krucible setup --kafka-version {version}" in stderr
    assert fake.done == []
