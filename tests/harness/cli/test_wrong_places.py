"""Missing files, binary files and folders in the place of files, given to every command that reads one.

Each is refused with 64, and the error has what was given, what is expected, and what to do next.
"""

import errno
from pathlib import Path

import pytest

from checkers.verdict.verdict import Validity
from harness import cli
from harness.errors import refused
from results.store.runs import write_whole
from tests.harness.recorded_run import a_verdict, planned, store_run

CHAOS = "exploratory/chaos"
MISSING, BINARY, FOLDER = "missing", "bin.dat", "folder"
EVERY = (MISSING, BINARY, FOLDER)
QUALIFY = ["qualify", "--candidate", "4.3.1", "--baseline", "4.1.1"]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one of each kind, a store with a run, and no engine."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    monkeypatch.setenv("KRUCIBLE_RUNS", "runs")
    monkeypatch.chdir(tmp_path)
    (tmp_path / BINARY).write_bytes(bytes(range(256)) * 8)
    (tmp_path / FOLDER).mkdir()
    (tmp_path / "cut.tgz").write_bytes(b"\x1f\x8b\x08\x00")
    plan = planned("smoke/partition")
    store_run(tmp_path / "runs/smoke/partition/20261122T010000Z-7", plan, a_verdict(Validity.VALID), [])
    return tmp_path


def refused_with(words: list[str], name: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What is printed when the command is refused."""
    assert cli.invoke(words) == 64, words
    stderr = capsys.readouterr().err
    assert name in stderr
    assert "xpected" in stderr
    assert "next:" in stderr
    assert "Traceback" not in stderr
    assert "defect" not in stderr
    return stderr


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    "words",
    [
        ["report"],
        ["issue"],
        ["replay"],
        ["minimise"],
        ["rerun-failed"],
        ["run", "--from"],
        ["summary"],
        ["pipeline", "ingest"],
        ["quorum", "records"],
        ["check", FOLDER, "--labels"],
        ["elect", "--type", "preferred", "--file"],
        ["run", CHAOS, "--dry-run", "--kafka-tarball"],
    ],
    ids=" ".join,
)
def test_what_is_read_must_be_what_it_should(
    words: list[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refused_with([*words, name], name, capsys)


@pytest.mark.parametrize("name", [MISSING, BINARY])
@pytest.mark.parametrize("words", [["--compare"], ["--plan", "--outcomes-from"]], ids=" ".join)
def test_a_file_of_outcomes_must_be_one(
    words: list[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder may be in its place: all files below it are read."""
    refused_with(["sensitivity", *words, name], name, capsys)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["signatures", BINARY], "which is a file; expected a folder of runs, such as runs"),
        (["signatures", "runs", "--past", BINARY], "which is a file; expected a folder"),
        (["signatures", "runs", "--issues", BINARY], "which is a file; expected a folder"),
        (["signatures", "runs", "--step-summary", FOLDER], "which is a folder; expected a file"),
        (["summary", "runs", "--html", FOLDER], "which is a folder; expected a file"),
        (["issue", "7", "--out", FOLDER], "which is a folder; expected a file"),
        (["check", "--out", BINARY], "which is a file; expected a folder"),
        (["check", "--runs", BINARY], "which is a file; expected a folder"),
        (
            ["quorum", "records", MISSING],
            "which does not exist; expected the folder of a cluster or of a run",
        ),
        ([*QUALIFY, "--merge", MISSING], "which does not exist; expected a folder"),
        ([*QUALIFY, "--merge", BINARY], "which is a file; expected a folder"),
        (["run", CHAOS, "--kafka-tarball", FOLDER], "which is a folder; expected the tarball of a release"),
    ],
)
def test_the_error_says_what_was_given_and_what_is_expected(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = next(word for word in reversed(words) if word in EVERY)
    given, expected = problem.split("; expected ")
    stderr = refused_with(words, name, capsys)
    assert f" '{name}', {given}\n" in stderr
    assert f" with {expected}" in stderr


def test_a_file_without_a_history_is_not_checked(capsys: pytest.CaptureFixture[str]) -> None:
    refused_with(["check", BINARY], BINARY, capsys)


def test_a_tarball_that_is_missing_or_cut_is_reported_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", CHAOS, "--dry-run", "--kafka-tarball"]
    assert "got:      No such file or directory\n" in refused_with([*words, MISSING], MISSING, capsys)
    refused_with([*words, "cut.tgz"], "cut.tgz", capsys)


def test_what_can_not_be_written_names_the_file_that_was_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.invoke(["summary", "runs", "--out", f"{MISSING}/page.md"]) == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "krucible: the operating system refused",
        "  got:      No such file or directory",
        "  expected: a folder that exists",
        f"  where:    {MISSING}/page.md",
        "  next:     make the folder, or name another place",
    ]


def test_a_full_disk_names_the_file_too(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(place / "page.md", b"x")
    error = refused(caught.value)
    assert (error.where, error.expected) == (str(place / "page.md"), "free space")
    assert not [path for path in place.iterdir() if "page.md" in path.name]
