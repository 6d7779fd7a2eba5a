"""Run folders: never shared, always linked, and a clear word where they can't be made."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.errors import KrucibleError, UsageError
from harness.record import ledger
from harness.record.folder import create_cluster_folder, create_run_folder, point_latest
from results.store import runs

NOON = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


def test_a_folder_is_named_by_time_and_seed_and_linked(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path, "smoke/partition", 7, NOON)
    point_latest(tmp_path, folder)

    assert folder == tmp_path / "smoke/partition/20261120T120000Z-7"
    assert (tmp_path / "latest").resolve() == folder
    assert (tmp_path / "smoke/partition/latest").resolve() == folder


def test_the_same_second_gets_a_folder_of_its_own_and_links_move_on(tmp_path: Path) -> None:
    first = create_run_folder(tmp_path, "a/b", 7, NOON)
    second = create_run_folder(tmp_path, "a/b", 7, NOON)

    assert first != second
    point_latest(tmp_path, first)
    point_latest(tmp_path, second)
    assert (tmp_path / "latest").resolve() == second


def test_a_folder_that_can_not_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KrucibleError, match="folder can't be made") as caught:
        create_run_folder(tmp_path / "file", "a/b", 7)
    assert caught.value.exit_code == 3
    assert "--runs" in str(caught.value)


def test_a_clusters_folder_is_named_by_its_id_and_linked_by_nothing(tmp_path: Path) -> None:
    run = create_run_folder(tmp_path, "a/b", 7, NOON)
    point_latest(tmp_path, run)
    folder = create_cluster_folder(tmp_path, "12345678")

    assert folder == tmp_path / "clusters/12345678"
    assert folder.is_dir()
    assert (tmp_path / "latest").resolve() == run
    assert [each.name for each in folder.parent.iterdir()] == ["12345678"]
    assert [each.folder for each in runs.list_runs(tmp_path)] == [run]


def test_a_clusters_folder_that_is_there_already_is_reported(tmp_path: Path) -> None:
    create_cluster_folder(tmp_path, "12345678")
    with pytest.raises(KrucibleError, match="the cluster's folder can't be made") as caught:
        create_cluster_folder(tmp_path, "12345678")
    assert "clusters/12345678" in caught.value.where


def test_nothing_is_kept_where_compose_could_not_mount_it(tmp_path: Path) -> None:
    root = tmp_path / "a:b"
    with pytest.raises(UsageError, match="colon"):
        create_run_folder(root, "a/b", 7)
    with pytest.raises(UsageError, match="colon"):
        create_cluster_folder(root, "12345678")
    assert not root.exists()


def test_the_store_knows_a_ledger_by_its_name() -> None:
    assert runs.LEDGER_FILE == ledger.LEDGER_FILE
