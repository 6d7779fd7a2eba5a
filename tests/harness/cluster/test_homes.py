"""A node's files: properties and formatting changed for its next start, directory ids read and asked for."""

from pathlib import Path

import pytest

from harness.cluster.homes import NodeHome, as_initial, as_newcomer


@pytest.fixture
def home(tmp_path: Path) -> NodeHome:
    for name in ("home", "disk"):
        (tmp_path / name).mkdir()
    return NodeHome(tmp_path / "home", tmp_path / "disk")


def test_properties_are_changed_added_and_taken_out(home: NodeHome) -> None:
    (home.folder / "server.properties").write_text("# ours\na=1\nquorum.voters=1@h:1\nab=x=y\n")
    home.set_properties({"a": "2", "quorum.voters": None, "new": "3"})
    assert home.properties() == {"a": "2", "ab": "x=y", "new": "3"}
    assert (home.folder / "server.properties").read_text().startswith("# ours\n")


def test_format_arguments_are_what_was_set_last(home: NodeHome) -> None:
    home.set_format_arguments(["--standalone", "--feature", "a=1"])
    home.set_format_arguments(["--no-initial-controllers"])
    assert home.format_arguments() == ["--no-initial-controllers"]


def test_a_disk_has_a_directory_id_once_it_is_formatted(home: NodeHome) -> None:
    assert home.directory_id() is None
    (home.disk / "meta.properties").write_text("#\nversion=1\ndirectory.id=abc-_\n")
    assert home.directory_id() == "abc-_"
    (home.disk / "meta.properties").write_text("version=1\n")
    assert home.directory_id() is None


def test_a_directory_id_is_asked_for_or_not(home: NodeHome) -> None:
    home.set_directory_ids(["abc", "def"])
    assert (home.folder / "directory-ids").read_text() == "abc\ndef\n"
    home.set_directory_ids([])
    home.set_directory_ids([])
    assert not (home.folder / "directory-ids").exists()


@pytest.mark.parametrize(
    ("arguments", "newcomer", "initial"),
    [
        (
            "--standalone --feature a=1",
            "--no-initial-controllers --feature a=1",
            "--initial-controllers v --feature a=1",
        ),
        ("--initial-controllers x,y --feature a=1", "--no-initial-controllers --feature a=1", None),
        ("--no-initial-controllers", "--no-initial-controllers", None),
        ("", "", None),
    ],
)
def test_a_voter_comes_back_as_a_newcomer_or_as_itself(
    arguments: str, newcomer: str, initial: str | None
) -> None:
    given = arguments.split()
    assert as_newcomer(given) == newcomer.split()
    assert as_initial(given, "v") == (arguments if initial is None else initial).split()
