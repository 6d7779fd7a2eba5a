"""The store lists whole, half-written and corrupt runs, and finds each by any of its names."""

import errno
import os
from pathlib import Path

import msgspec
import pytest

from checkers.history.identity import encode_identity
from checkers.verdict.verdict import Validity, Verdict, result_of
from results.store.runs import (
    RunNotFoundError,
    RunUnreadableError,
    find_original,
    find_run,
    list_runs,
    load_identity,
    load_verdict,
    save_verdict,
)
from tests.results.story import IDENTITY, Run

FIRST, SECOND, THIRD = "20261120T215657Z-7", "20261121T080000Z-8", "20261121T090000Z-7"
VALID = Verdict(Validity.VALID, (result_of("log", []),))


def run_folder(root: Path, name: str = FIRST, scenario: str = "smoke/partition") -> Path:
    folder = root / scenario / name
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def whole(root: Path, red_run: Run) -> Path:
    folder = run_folder(root)
    (folder / "run.json").write_bytes(encode_identity(IDENTITY))
    save_verdict(folder, red_run.verdict)
    return folder


def test_an_empty_or_missing_store_lists_nothing(root: Path) -> None:
    assert list_runs(root) == ()
    root.mkdir()
    assert list_runs(root) == ()


def test_a_whole_run_is_listed_with_what_was_found(root: Path, whole: Path) -> None:
    (run,) = list_runs(root)
    assert run.folder == whole
    assert (run.scenario, run.kafka_version, run.seed) == ("smoke/partition", "4.3.1", 7)
    assert (run.validity, run.as_expected) == (Validity.INVALID, False)
    assert run.anomalies == {"lost-write": 3, "offsets-reused": 1, "zombie-leader": 1}
    assert run.illegal == ("lost-write", "zombie-leader")
    assert run.problems == ()


def test_newest_runs_come_first_whatever_their_scenario(root: Path, whole: Path) -> None:
    newer = run_folder(root, SECOND, "exploratory/chaos")
    assert [run.folder for run in list_runs(root)] == [newer, whole]


def test_links_to_the_latest_runs_are_not_listed_twice(root: Path, whole: Path) -> None:
    (root / "latest").symlink_to(whole)
    (whole.parent / "latest").symlink_to(whole.name)
    assert len(list_runs(root)) == 1


def test_a_run_killed_before_it_wrote_anything_is_listed_by_its_place(root: Path) -> None:
    run_folder(root)
    (run,) = list_runs(root)
    assert (run.scenario, run.seed, run.validity) == ("smoke/partition", 7, None)
    assert [problem.split(" in ")[0] for problem in run.problems] == [
        "run.json is missing",
        "verdict.json is missing",
    ]


@pytest.mark.parametrize("content", [b"", b'{"run": "9f', b"\xff\xfe", b"[" * 100_000, b"[]", b'"\\ud800"'])
@pytest.mark.parametrize("file", ["run.json", "verdict.json"])
def test_a_corrupt_file_is_a_problem_and_no_crash(root: Path, whole: Path, file: str, content: bytes) -> None:
    (whole / file).write_bytes(content)
    (run,) = list_runs(root)
    (problem,) = run.problems
    assert problem.startswith(f"{file} is damaged")


def test_a_file_that_is_a_folder_is_a_problem_and_no_crash(root: Path) -> None:
    (run_folder(root) / "verdict.json").mkdir()
    (run,) = list_runs(root)
    assert any("can't be read" in problem for problem in run.problems)


def test_folders_without_runs_are_passed_over(root: Path, whole: Path) -> None:
    (root / "smoke" / "notes").mkdir()
    (root / "smoke" / "notes" / "todo.txt").write_text("")
    assert [run.folder for run in list_runs(root)] == [whole]


def test_a_folder_that_nobody_may_read_is_passed_over(
    root: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = root / "closed"
    closed.mkdir()
    scandir = os.scandir

    def guarded(path: Path) -> object:
        if path == closed:
            raise PermissionError(errno.EACCES, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    assert [run.folder for run in list_runs(root)] == [whole]


def test_a_run_is_found_by_every_name(root: Path, whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "latest").symlink_to(whole)
    (whole.parent / "latest").symlink_to(whole.name)
    monkeypatch.chdir(whole.parent)
    names = (
        "latest",
        "smoke/partition",
        "smoke/partition/latest",
        f"smoke/partition/{FIRST}",
        str(whole),
        FIRST,
    )
    assert {find_run(root, name) for name in names} == {whole.resolve()}


def test_without_links_the_newest_run_is_the_latest(root: Path, whole: Path) -> None:
    newer = run_folder(root, SECOND)
    assert find_run(root, "latest") == newer.resolve()
    assert find_run(root, "smoke/partition") == newer.resolve()
    assert find_run(root, "smoke") == newer.resolve() != whole


def test_the_link_decides_where_there_is_one(root: Path, whole: Path) -> None:
    run_folder(root, SECOND)
    (whole.parent / "latest").symlink_to(whole.name)
    assert find_run(root, "smoke/partition") == whole.resolve()


def test_a_dangling_link_is_no_obstacle(root: Path, whole: Path) -> None:
    (root / "latest").symlink_to("gone")
    assert find_run(root, "latest") == whole.resolve()


@pytest.mark.parametrize("name", ["latest", "smoke/nothing", "/nowhere", "nul\0", "loop"])
def test_an_unknown_run_is_reported_with_where_and_what_next(root: Path, name: str) -> None:
    root.mkdir()
    (root / "loop").symlink_to("loop")
    with pytest.raises(RunNotFoundError, match=r"no run is called(?s:.*)expected(?s:.*)where(?s:.*)next"):
        find_run(root, name)


def identified(folder: Path, run: str, replay_of: str = "") -> Path:
    identity = msgspec.structs.replace(IDENTITY, run=run, replay_of=replay_of)
    (folder / "run.json").write_bytes(encode_identity(identity))
    return folder


@pytest.fixture
def replayed(root: Path, whole: Path) -> Path:
    """A replay of the whole run, newer, and linked as the harness links it."""
    folder = identified(run_folder(root, THIRD), "r1", replay_of=load_identity(whole).run)
    (root / "latest").symlink_to(folder.relative_to(root))
    (folder.parent / "latest").symlink_to(folder.name)
    return folder


def test_the_latest_original_is_no_replay(
    root: Path, whole: Path, replayed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root.parent)
    names = (
        "latest",
        "smoke",
        "smoke/partition",
        "smoke/partition/latest",
        str(root / "latest"),
        "runs/latest",
        "runs/smoke/partition/latest",
    )
    assert {find_run(Path("runs"), name, originals=True) for name in names} == {whole.resolve()}
    assert {find_run(Path("runs"), name) for name in names} == {replayed.resolve()}


def test_a_replay_that_is_named_itself_is_found(root: Path, replayed: Path) -> None:
    for name in (str(replayed), f"smoke/partition/{THIRD}"):
        assert find_run(root, name, originals=True) == replayed.resolve()


def test_the_link_decides_which_original_is_the_latest(root: Path, whole: Path) -> None:
    run_folder(root, SECOND)
    (root / "latest").symlink_to(whole)
    assert find_run(root, "latest", originals=True) == whole.resolve()


@pytest.mark.usefixtures("whole", "replayed")
def test_a_run_whose_identity_is_damaged_is_not_passed_over(root: Path) -> None:
    """It would be silence about a run that somebody means."""
    damaged = run_folder(root, SECOND)
    (damaged / "run.json").write_text("{")
    assert find_run(root, "latest", originals=True) == damaged.resolve()


def test_a_store_of_replays_has_no_latest_original(root: Path) -> None:
    identified(run_folder(root), "r1", replay_of="gone")
    with pytest.raises(RunNotFoundError, match=r"no run is called 'latest'(?s:.*)runs that are not replays"):
        find_run(root, "latest", originals=True)


def test_the_original_is_found_over_replays_of_replays(root: Path, whole: Path, replayed: Path) -> None:
    again = identified(run_folder(root, SECOND), "r2", replay_of="r1")
    run_folder(root, "20261121T100000Z-7")  # killed before it had an identity
    assert find_original(root, load_identity(replayed)) == whole.resolve()
    assert find_original(root, load_identity(again)) == whole.resolve()
    (whole / "run.json").unlink()
    assert find_original(root, load_identity(again)) is None


def test_replays_of_each_other_have_no_original(root: Path) -> None:
    first = identified(run_folder(root, FIRST), "r1", replay_of="r2")
    identified(run_folder(root, SECOND), "r2", replay_of="r1")
    assert find_original(root, load_identity(first)) is None


def cluster_folder(root: Path, name: str) -> Path:
    """What `krucible cluster up` leaves."""
    folder = run_folder(root, name, "clusters")
    for file in ("ledger.jsonl", "cluster.json", "compose.yaml"):
        (folder / file).write_text("")
    return folder


@pytest.mark.parametrize("name", ["0a1b2c3d", SECOND])
def test_a_cluster_that_no_run_started_is_no_run(root: Path, whole: Path, name: str) -> None:
    """Its name may be like a run's: that is how it was."""
    folder = cluster_folder(root, name)
    (folder / "disks" / "n1" / THIRD).mkdir(parents=True)  # a partition's; topics may be called so
    (root / "latest").symlink_to(folder)
    assert [run.folder for run in list_runs(root)] == [whole]
    assert list_runs(folder) == ()
    assert find_run(root, "latest") == whole.resolve()
    for named in ("clusters", f"clusters/{name}", str(folder)):
        with pytest.raises(RunNotFoundError):
            find_run(root, named)


def test_a_run_that_began_has_ledger_and_journal(root: Path) -> None:
    folder = run_folder(root)
    (folder / "ledger.jsonl").write_text("")
    (folder / "history-runner.jsonl").write_text("")
    assert [run.folder for run in list_runs(root)] == [folder]


def test_a_verdict_survives_its_file(root: Path, red_run: Run) -> None:
    folder = run_folder(root)
    path = save_verdict(folder, red_run.verdict)
    assert load_verdict(folder) == red_run.verdict
    assert path.read_bytes().endswith(b"}\n")
    assert [path.name for path in folder.iterdir()] == ["verdict.json"]


def test_a_verdict_that_was_never_given_is_reported(root: Path) -> None:
    with pytest.raises(RunUnreadableError, match=r"verdict\.json is missing in"):
        load_verdict(run_folder(root))


def test_an_identity_of_another_format_is_reported(root: Path) -> None:
    folder = run_folder(root)
    other = msgspec.structs.replace(IDENTITY, krucible_run=9)
    (folder / "run.json").write_bytes(encode_identity(other))
    with pytest.raises(RunUnreadableError, match=r"run.json is damaged: format version 9"):
        load_identity(folder)


def test_a_full_disk_leaves_the_earlier_verdict(
    root: Path, red_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run_folder(root)
    save_verdict(folder, VALID)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_verdict(folder, red_run.verdict)
    assert load_verdict(folder) == VALID
    assert [path.name for path in folder.iterdir()] == ["verdict.json"]


@pytest.mark.parametrize("name", ["/", "..", "../elsewhere"])
def test_runs_outside_of_the_store_are_not_looked_for(tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere" / "a" / "20260101T000000Z-1").mkdir(parents=True)
    (tmp_path / "elsewhere" / "a" / "20260101T000000Z-1" / "history-runner.jsonl").write_text("{}\n")
    (tmp_path / "runs").mkdir()
    with pytest.raises(RunNotFoundError):
        find_run(tmp_path / "runs", name)
