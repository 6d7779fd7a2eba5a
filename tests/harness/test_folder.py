"""Run folders: never shared, always linked, and a clear word where they can't be made."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.errors import KrucibleError
from harness.folder import create_run_folder

NOON = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


def test_a_folder_is_named_by_time_and_seed_and_linked(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path, "smoke/partition", 7, NOON)

    assert folder == tmp_path / "smoke/partition/20261120T120000Z-7"
    assert (tmp_path / "latest").resolve() == folder
    assert (tmp_path / "smoke/partition/latest").resolve() == folder


def test_the_same_second_gets_a_folder_of_its_own_and_links_move_on(tmp_path: Path) -> None:
    first = create_run_folder(tmp_path, "a/b", 7, NOON)
    second = create_run_folder(tmp_path, "a/b", 7, NOON)

    assert first != second
    assert (tmp_path / "latest").resolve() == second


def test_a_place_where_nothing_can_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KrucibleError, match="folder can't be made") as caught:
        create_run_folder(tmp_path / "file", "a/b", 7)
    assert caught.value.exit_code == 3
    assert "--runs" in str(caught.value)
