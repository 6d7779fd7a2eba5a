"""Where leader epochs began, read from replicas' disks into the history."""

from pathlib import Path

import pytest

from checkers.columns.tables import PartitionName
from checkers.evidence.leader_epochs import Starts, leader_epochs
from checkers.history.reading import read_history
from harness.evidence.leader_epochs import (
    CHECKPOINT,
    gather_leader_epochs,
    partitions_of_kafka,
    read_checkpoint,
)
from harness.record.journal import Clock, Journals, Recorder


def written(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    (folder / CHECKPOINT).write_text(text)
    return folder / CHECKPOINT


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("0\n2\n0 0\n3 58\n", [(0, 0), (3, 58)]),
        ("0\n0\n", []),
        ("0\n2\n0 0\n", None),
        ("1\n1\n0 0\n", None),
        ("0\n1\n0 zero\n", None),
        ("0\n1\n0 0 0\n", None),
        ("", None),
    ],
)
def test_a_checkpoint_is_read_as_kafka_writes_it(
    tmp_path: Path, text: str, entries: list[tuple[int, int]] | None
) -> None:
    assert read_checkpoint(written(tmp_path / "log-0-0", text)) == entries


def test_a_replica_that_is_not_there_noted_nothing(tmp_path: Path) -> None:
    assert read_checkpoint(tmp_path / CHECKPOINT) is None


def test_what_replicas_noted_is_in_the_history(tmp_path: Path) -> None:
    disks = {node: tmp_path / node for node in ("n1", "n2", "n3")}
    written(disks["n1"] / "log-0-0", "0\n1\n0 0\n")
    written(disks["n2"] / "log-0-0", "0\n2\n0 0\n4 17\n")
    (disks["n1"] / "meta.properties").write_text("version=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ\n")
    (disks["n2"] / "meta.properties").mkdir()
    journals = Journals(tmp_path, "run", Clock())
    known = {node: (tmp_path / f"{node}-other", disk) for node, disk in disks.items()}
    gather_leader_epochs(Recorder(journals.open("replicas"), "observer-replicas"), known, [("log-0", 0)])
    journals.close()
    history = read_history(tmp_path)
    noted = [(o.node, o.value["directory_id"], o.value["entries"]) for o in history.operations]
    assert noted == [("n1", "AAAAAAAAAAAAAAAAAAAAAQ", [[0, 0]]), ("n2", None, [[0, 0], [4, 17]])]
    assert leader_epochs(history).starts(PartitionName("log-0", 0), 2) == Starts(4, (17,))


def test_topics_of_kafka_are_found_on_any_disk(tmp_path: Path) -> None:
    for name in ("a/__consumer_offsets-2", "a/log-0-0", "a/__cluster_metadata-0", "b/__transaction_state-11"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("c/__consumer_offsets-0", "c/__consumer_offsets-3.0a1b-delete", "c/__share_group_state-0"):
        (tmp_path / name).mkdir(parents=True)
    disks = {"n1": (tmp_path / "a", tmp_path / "b"), "n2": (tmp_path / "c", tmp_path / "gone")}
    assert partitions_of_kafka(disks) == [
        ("__consumer_offsets", 0),
        ("__consumer_offsets", 2),
        ("__share_group_state", 0),
        ("__transaction_state", 11),
    ]
