"""The records of the topic of share groups' states, read on the brokers' disks at the end."""

from pathlib import Path

import msgspec

from checkers.history.reading import read_history
from checkers.history.share_states import (
    ShareStatesSeen,
    share_state_columns,
    share_states_problem,
)
from harness.evidence.share_states import gather_share_states
from harness.record.journal import Clock, Journals, Recorder
from tests.harness.fakes.commits import batch
from tests.harness.fakes.segments import write_log
from tests.harness.fakes.share_states import ShareState, key, snapshot, update

TOPIC = "__share_group_state"
TOPIC_ID = "AAECAwQFBgcICQoLDA0ODw"


def gathered(tmp_path: Path, *nodes: str) -> list[tuple[str | None, ShareStatesSeen]]:
    """What is recorded of the disks of some nodes."""
    journals = Journals(tmp_path, "run", Clock())
    recorder = Recorder(journals.open("replicas"), "observer-replicas")
    gather_share_states(recorder, {node: (tmp_path / node,) for node in nodes})
    journals.close()
    observed = read_history(tmp_path).observed("share-states")
    return [(one.node, msgspec.convert(one.value, ShareStatesSeen)) for one in observed]


def test_the_log_with_the_newest_leader_epoch(tmp_path: Path) -> None:
    made = (key("a"), snapshot(ShareState(start=-1, leader=-1)))
    first = batch(0, made)
    newer = batch(
        1,
        (key("a", kind=1), update(ShareState(0, 3, -1, [(4, 6, 2, 1), (7, 7, 0, 2)]))),
        (key("b", 1), None),
        (key("a"), snapshot(ShareState(1, 3, 7))),
        epoch=2,
    )
    write_log(tmp_path / "b1" / f"{TOPIC}-3", {0: first + batch(1, made, made, made, made)})
    write_log(tmp_path / "b2" / f"{TOPIC}-3", {0: first + newer})
    write_log(tmp_path / "b2" / f"{TOPIC}-4", {0: b""})
    write_log(tmp_path / "b2" / "__transaction_state-3", {0: first})
    (node, seen), (_, nothing) = gathered(tmp_path, "b1", "b2", "b3")
    assert (node, seen.partition, seen.end, seen.count, seen.batch_count) == ("b2", 3, 4, 4, 2)
    assert (nothing.partition, nothing.end, nothing.count, nothing.error) == (4, 0, 0, None)
    assert share_states_problem(nothing) is None
    assert seen.places == [("a", TOPIC_ID, 0), ("b", TOPIC_ID, 1)]
    records, batches = share_state_columns(seen)
    assert {name: column.tolist() for name, column in records.items()} == {
        "offset": [0, 1, 2, 3],
        "leader_epoch": [0, 2, 2, 2],
        "place": [0, 0, 1, 0],
        "kind": [0, 1, -1, 0],
        "snapshot_epoch": [0, 0, -1, 1],
        "state_epoch": [0, -1, -1, 0],
        "share_epoch": [-1, 3, -1, 3],
        "start": [-1, -1, -1, 7],
        "batches": [0, 2, 0, 0],
    }
    assert {name: column.tolist() for name, column in batches.items()} == {
        "first": [4, 7],
        "last": [6, 7],
        "state": [2, 0],
        "count": [1, 2],
    }


def test_a_log_that_can_not_be_read(tmp_path: Path) -> None:
    write_log(tmp_path / "b1" / f"{TOPIC}-0", {0: batch(0, (key("a"), snapshot(ShareState())))[:-1] + b"?"})
    ((node, seen),) = gathered(tmp_path, "b1")
    assert (node, seen.error, seen.columns) == ("b1", "00000000000000000000.log is damaged", {})
    assert [len(column) for table in share_state_columns(seen) for column in table.values()] == [0] * 13
