"""What a campaign remembers, and of which Kafka it is."""

import json
from pathlib import Path

import msgspec
import pytest

from checkers.history.identity import IDENTITY_FILE, ImageIdentity, encode_identity
from harness.campaigns import contents as module
from harness.campaigns.campaign import STATE_FILE, Campaign, look_up
from harness.campaigns.contents import Contents
from harness.cluster.images.tarball import digest_of
from harness.plan.catalogue import load_scenario
from harness.plan.planning import RunOptions, RunPlan, plan_run
from harness.plan.writing import write_scenario
from harness.vocabulary.version import DEFAULT_VERSION
from results.store.runs import VERDICT_FILE, save_verdict
from tests.results.pipeline.stored_runs import VALID
from tests.results.story import IDENTITY

SCENARIO = "smoke/partition"


def plans(**given: object) -> dict[int, RunPlan]:
    asked = {"scenario": SCENARIO, "kafka_version": "4.3.1", **given}
    return {seed: plan_run(msgspec.convert({**asked, "seed": seed}, RunOptions)) for seed in (1, 2)}


def tarball(folder: Path, data: bytes) -> str:
    folder.mkdir(exist_ok=True)
    path = folder / "kafka_2.13-4.3.1.tgz"
    path.write_bytes(data)
    return str(path)


def put(runs: Path, seed: int, upstream: str = "", version: str = "4.3.1") -> Path:
    folder = runs / SCENARIO / f"20261122T01000{seed}Z-{seed}"
    folder.mkdir(parents=True)
    image = ImageIdentity(
        reference=f"krucible/kafka:{version}-x", checksums={"jars": "1", "upstream": upstream}
    )
    identity = msgspec.structs.replace(IDENTITY, kafka_version=version, seed=seed, image=image)
    (folder / IDENTITY_FILE).write_bytes(encode_identity(identity))
    save_verdict(folder, VALID)
    return folder


def done(runs: Path, planned: dict[int, RunPlan]) -> set[int]:
    return set(look_up(runs, SCENARIO, planned, Contents())[0])


def test_a_tarball_that_was_built_anew_begins_anew(tmp_path: Path) -> None:
    path = tarball(tmp_path, b"rc0")
    planned = plans(kafka_tarball=path)
    upstream = f"sha256:{digest_of(Path(path))}"
    Campaign(tmp_path, SCENARIO, planned).record(1, put(tmp_path, 1, upstream))
    assert Campaign(tmp_path, SCENARIO, planned).missing() == [2]
    assert done(tmp_path, planned) == {1}
    tarball(tmp_path, b"rc1")
    assert Campaign(tmp_path, SCENARIO, planned).missing() == [1, 2]
    assert done(tmp_path, planned) == set()
    elsewhere = plans(kafka_tarball=tarball(tmp_path / "elsewhere", b"rc0"))
    assert Campaign(tmp_path, SCENARIO, elsewhere).missing() == [2]
    assert done(tmp_path, elsewhere) == {1}


def test_a_scenario_whose_file_was_edited_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    text = write_scenario(load_scenario(SCENARIO), "A scenario of a user.")
    path.write_text(text)
    planned = plans(scenario="files/mine", scenario_file=str(path))
    Campaign(tmp_path, SCENARIO, planned).record(1, put(tmp_path, 1))
    assert Campaign(tmp_path, SCENARIO, planned).missing() == [2]
    assert done(tmp_path, planned) == {1}
    path.write_text(f"{text}# edited\n")
    assert Campaign(tmp_path, SCENARIO, planned).missing() == [1, 2]
    assert done(tmp_path, planned) == set()


def test_the_state_says_of_which_kafka_it_is(tmp_path: Path) -> None:
    path = tarball(tmp_path, b"rc0")
    campaign = Campaign(tmp_path, SCENARIO, plans(kafka_tarball=path))
    campaign.record_failure(1, "no engine")
    state = json.loads((campaign.folder / STATE_FILE).read_text())
    digest = digest_of(Path(path))
    assert state["kafka"] == f"Kafka 4.3.1 of kafka_2.13-4.3.1.tgz, tarball sha256:{digest}"
    assert state["asked"] == (
        f"krucible run {SCENARIO} --seed 0 --kafka-version 4.3.1 of tarball sha256:{digest} of seeds 1..2"
    )
    assert look_up(tmp_path, SCENARIO, plans(kafka_tarball=path), Contents())[1] == {1: "no engine"}


def test_of_a_version_the_key_is_the_line_that_names_it(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, SCENARIO, plans())
    campaign.record_failure(1, "no engine")
    state = json.loads((campaign.folder / STATE_FILE).read_text())
    assert state["asked"] == f"krucible run {SCENARIO} --seed 0 --kafka-version 4.3.1 of seeds 1..2"
    assert state["kafka"] == "Kafka 4.3.1"


def test_a_run_from_before_the_default_version_was_another_is_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = put(tmp_path, 1, version=DEFAULT_VERSION)
    Campaign(tmp_path, SCENARIO, plans(kafka_version=None)).record(1, ran)
    assert done(tmp_path, plans(kafka_version=None)) == {1}
    assert done(tmp_path, plans(kafka_version=DEFAULT_VERSION)) == {1}
    scenario = plans()[1].scenario
    bumped = msgspec.structs.replace(scenario, kafka_version="4.9.0")
    monkeypatch.setattr("harness.plan.planning.load_scenario", lambda _name: bumped)
    assert done(tmp_path, plans(kafka_version=None)) == set()
    assert done(tmp_path, plans(kafka_version=DEFAULT_VERSION)) == {1}


def test_runs_from_before_a_tag_moved_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
    planned = plans(kafka_image="local/kafka:4.3.1")
    monkeypatch.setattr(module, "_known_here", lambda *_: frozenset())
    campaign = Campaign(tmp_path, SCENARIO, planned)
    campaign.record(1, put(tmp_path, 1, f"local/kafka@{before}"))
    campaign.record(2, put(tmp_path, 2, f"local/kafka@{after}"))
    assert done(tmp_path, planned) == {1, 2}
    monkeypatch.setattr(module, "_known_here", lambda *_: frozenset({after}))
    assert done(tmp_path, planned) == {2}
    assert Campaign(tmp_path, SCENARIO, planned, keep_complete=True).missing() == [1]


def test_a_run_that_can_not_be_read_stays_where_it_is(tmp_path: Path) -> None:
    folder = put(tmp_path, 1)
    (folder / IDENTITY_FILE).write_text("{")
    campaign = Campaign(tmp_path, SCENARIO, plans())
    campaign.record(1, folder)
    campaign.record(2, tmp_path / "gone")
    assert done(tmp_path, plans()) == {1}


def test_a_store_is_the_same_by_another_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    put(Path("runs"), 1)
    put(Path("runs"), 2)
    Campaign(Path("runs"), SCENARIO, plans()).record(1, Path("runs") / SCENARIO / "20261122T010001Z-1")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    there = Campaign(Path("../runs"), SCENARIO, plans())
    assert there.missing() == [2]
    there.record(2, Path("../runs") / SCENARIO / "20261122T010002Z-2")
    monkeypatch.chdir(tmp_path)
    assert done(Path("runs"), plans()) == {1, 2}
    assert all(
        folder.is_dir()
        for folder in Campaign(Path("runs"), SCENARIO, plans(), keep_complete=True).done.values()
    )


@pytest.mark.parametrize("name", [IDENTITY_FILE, VERDICT_FILE])
def test_a_run_that_was_copied_in_part_is_done_again(tmp_path: Path, name: str) -> None:
    folder = put(tmp_path, 1)
    Campaign(tmp_path, SCENARIO, plans()).record(1, folder)
    (folder / name).unlink()
    assert done(tmp_path, plans()) == set()
    assert Campaign(tmp_path, SCENARIO, plans()).missing() == [1, 2]
