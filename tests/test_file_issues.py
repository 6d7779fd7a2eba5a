"""The script that creates issues: one for each signature, none twice.  In the place of gh is our program."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / ".github/file-issues"
SIGNATURE, OTHER = "0123456789ab", "ba9876543210"
GH = """#!/bin/bash
set -eu
case "$1 $2" in
"issue list")
    [[ $* == *"--state all"* ]]
    cat "$ISSUES" ;;
"issue create")
    [[ $3 == --title && $5 == --body-file && $6 == - ]]
    printf '%s\\n' "$4" >>"$ISSUES"
    cat >>"$BODIES" ;;
esac
exit "${GH_EXIT:-0}"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with gh, an issue that somebody wrote, and texts of two signatures."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gh").write_text(GH)
    (tmp_path / "bin/gh").chmod(0o755)
    (tmp_path / "titles").write_text(f"what is {SIGNATURE} in krucible?\n")
    (tmp_path / "texts").mkdir()
    for name, kind in ((SIGNATURE, "lost-write"), (OTHER, "phantom")):
        (tmp_path / f"texts/{name}.md").write_text(f"# `{kind}` in `smoke/x` on Kafka `4.3.1`\n\n## Where\n")
    return tmp_path


def file_issues(place: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    surroundings = os.environ | {
        "PATH": f"{place}/bin:{os.environ['PATH']}",
        "ISSUES": str(place / "titles"),
        "BODIES": str(place / "bodies"),
        "GITHUB_SERVER_URL": "https://github.example",
        "GITHUB_REPOSITORY": "a/b",
        "GITHUB_RUN_ID": "7",
    }
    return subprocess.run(
        [SCRIPT, place / "texts"],
        env=surroundings | more,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def titles(place: Path) -> list[str]:
    return (place / "titles").read_text().splitlines()[1:]


def test_each_signature_gets_an_issue(place: Path) -> None:
    done = file_issues(place)
    assert (done.returncode, done.stderr) == (0, "")
    assert titles(place) == [
        f"lost-write in smoke/x on Kafka 4.3.1 [krucible {SIGNATURE}]",
        f"phantom in smoke/x on Kafka 4.3.1 [krucible {OTHER}]",
    ]
    one = "\n## Where\n\nReports and evidence: https://github.example/a/b/actions/runs/7\n"
    assert (place / "bodies").read_text() == one * 2


def test_none_is_created_twice(place: Path) -> None:
    with (place / "titles").open("a") as file:
        file.write(f"somebody's words [krucible {OTHER}]\n")
    assert file_issues(place).stdout == f"{OTHER} has an issue\n"
    assert len(titles(place)) == 2
    assert file_issues(place).stdout == f"{SIGNATURE} has an issue\n{OTHER} has an issue\n"
    assert len(titles(place)) == 2


@pytest.mark.parametrize(("length", "cut"), [(232, False), (233, True), (5_000, True)])
def test_a_title_has_no_more_characters_than_github_takes(place: Path, length: int, *, cut: bool) -> None:
    for path in (place / "texts").iterdir():
        path.write_text(f"# {'ä' * length}\n\n## Where\n")
    done = file_issues(place)
    assert (done.returncode, done.stderr) == (0, "")
    for title, signature in zip(titles(place), (SIGNATURE, OTHER), strict=True):
        assert len(title) == 256
        assert title.endswith(f"{'…' if cut else 'ä'} [krucible {signature}]")
    again = file_issues(place)
    assert again.stdout == f"{SIGNATURE} has an issue\n{OTHER} has an issue\n", "the signature is not cut off"


def test_where_there_is_no_text_there_is_no_issue(place: Path) -> None:
    for path in (place / "texts").iterdir():
        path.rename(path.with_name("readme.md" if path.stem == OTHER else "text.txt"))
    assert file_issues(place).returncode == 0
    assert titles(place) == []


def test_that_github_refuses_is_no_success(place: Path) -> None:
    assert file_issues(place, GH_EXIT="4").returncode == 4
    assert titles(place) == []
    assert file_issues(place, GITHUB_RUN_ID="").returncode != 0
