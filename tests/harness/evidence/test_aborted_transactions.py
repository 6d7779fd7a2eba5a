"""Indexes of aborted transactions, read from replicas' disks into the history."""

import struct
from pathlib import Path

from checkers.history.reading import read_history
from harness.evidence.aborted_transactions import gather_aborted
from harness.record.journal import Clock, Journals, Recorder

INDEX = f"{5:020}.txnindex"


def replica(disk: Path, name: str) -> Path:
    (disk / name).mkdir(parents=True)
    (disk / name / f"{5:020}.log").touch()
    return disk / name


def test_the_indexes_of_all_replicas_are_in_the_history(tmp_path: Path) -> None:
    disks = {node: (tmp_path / node, tmp_path / f"{node}-2") for node in ("n1", "n2", "n3", "n4")}
    (replica(disks["n1"][1], "log-0-1") / INDEX).write_bytes(struct.pack(">hqqqq", 0, 7, 6, 9, 10) + b"\0")
    replica(disks["n2"][0], "log-0-1")
    (replica(disks["n3"][0], "log-0-1") / INDEX).mkdir()
    replica(disks["n4"][0], "log-0-0")
    journals = Journals(tmp_path, "run", Clock())
    recorder = Recorder(journals.open("replicas"), "observer-replicas")
    gather_aborted(recorder, disks, [("log-0", 1)])
    journals.close()
    indexes = {o.node: o.value for o in read_history(tmp_path).observed("aborted-transactions")}
    assert {(value["topic"], value["partition"]) for value in indexes.values()} == {("log-0", 1)}
    assert {node: (value["segments"], value["error"]) for node, value in indexes.items()} == {
        "n1": ([[5, [[7, 6, 9, 10]], "entry 2 is incomplete or damaged (bytes from there on: 1)"]], None),
        "n2": ([[5, [], None]], None),
        "n3": ([], "IsADirectoryError: Is a directory"),
    }
