"""Folders of partitions on brokers' disks, read into the history."""

from pathlib import Path

from checkers.history.reading import read_history
from harness.evidence.folders import gather_folders
from harness.record.journal import Clock, Journals, Recorder

PAPERS = "version: 0\ntopic_id: {}\n"


def partition(disk: Path, name: str, topic_id: str | None) -> None:
    (disk / name).mkdir(parents=True)
    if topic_id is not None:
        (disk / name / "partition.metadata").write_text(PAPERS.format(topic_id))


def test_every_folder_that_has_papers_is_recorded(tmp_path: Path) -> None:
    disks = {"n1": (tmp_path / "n1", tmp_path / "n1-2"), "n2": (tmp_path / "gone",)}
    partition(disks["n1"][0], "log-0-1", "b")
    partition(disks["n1"][1], "log-0-0", "a")
    partition(disks["n1"][1], "log-0-0.3f2a-delete", "old")
    partition(disks["n1"][0], "__cluster_metadata-0", "AAAAAAAAAAAAAAAAAAAAAQ")
    partition(disks["n1"][0], "without-papers-0", None)
    (disks["n1"][0] / "unreadable-0" / "partition.metadata").mkdir(parents=True)
    (disks["n1"][0] / "meta.properties").write_text("version=1\n")
    (disks["n1"][0] / "log-start-offset-checkpoint").write_text("0\n0\n")
    journals = Journals(tmp_path, "run", Clock())
    gather_folders(Recorder(journals.open("replicas"), "observer-replicas"), disks)
    journals.close()
    seen = list(read_history(tmp_path).observed("folders"))
    assert {o.node: o.value["unread"] for o in seen} == {"n1": ["unreadable-0"], "n2": ["gone"]}
    folders = {o.node: o.value["folders"] for o in seen}
    assert folders == {"n1": [["log-0-0", "a"], ["log-0-0.3f2a-delete", "old"], ["log-0-1", "b"]], "n2": []}
