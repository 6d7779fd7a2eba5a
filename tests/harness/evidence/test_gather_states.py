"""The records of the topic of transactions' states, read on the brokers' disks at the end."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkers.history.reading import read_history
from checkers.history.transaction_states import (
    STATE_TYPES,
    StatesSeen,
    state_columns,
    states_problem,
)
from harness.evidence import coordinator_logs
from harness.evidence.coordinator_logs import read_folder
from harness.evidence.transaction_states import ends_of_states, gather_transaction_states
from harness.kafka.segments.transaction_states import state_of
from harness.record.journal import Clock, Journals, Recorder
from tests.harness.fakes.commits import batch
from tests.harness.fakes.segments import write_log
from tests.harness.fakes.transaction_states import EMPTY_1, PREPARED_1, State, key, value

TOPIC = "__transaction_state"


def gathered(tmp_path: Path, *nodes: str) -> list[tuple[str | None, StatesSeen]]:
    """What is recorded of the disks of some nodes."""
    journals = Journals(tmp_path, "run", Clock())
    disks: dict[str, Sequence[Path]] = {node: (tmp_path / node, tmp_path / f"{node}-2") for node in nodes}
    recorder = Recorder(journals.open("replicas"), "observer-replicas")
    gather_transaction_states(recorder, disks, ends_of_states(disks))
    journals.close()
    observed = read_history(tmp_path).observed("transaction-states")
    return [(one.node, msgspec.convert(one.value, StatesSeen)) for one in observed]


def table(seen: StatesSeen) -> dict[str, list[Any]]:
    return {name: column.tolist() for name, column in state_columns(seen).items()}


def test_the_log_with_the_newest_leader_epoch(tmp_path: Path) -> None:
    first = batch(0, (key("a"), EMPTY_1))
    longer = first + batch(1, (key("a"), EMPTY_1)) + batch(2, (key("a"), EMPTY_1))
    newer = batch(1, (key("b"), PREPARED_1), (key("a"), None), epoch=4)
    write_log(tmp_path / "b1" / f"{TOPIC}-3", {0: longer})
    write_log(tmp_path / "b2-2" / f"{TOPIC}-3", {0: first, 1: newer + newer[:50]})
    write_log(tmp_path / "b1" / "__consumer_offsets-3", {0: longer})
    write_log(tmp_path / "b1" / f"{TOPIC}-1", {0: b""})
    (empty, nothing), (node, seen) = gathered(tmp_path, "b1", "b2", "b3")
    assert (empty, nothing.partition, nothing.end, nothing.count, nothing.error) == ("b1", 1, 0, 0, None)
    assert states_problem(nothing) is None
    assert (node, seen.partition, seen.end, seen.count, seen.unread) == ("b2", 3, 3, 3, [])
    assert (seen.settled, nothing.settled) == (3, 0)
    assert (seen.ids, seen.sets) == (["a", "b"], [{"txn-0": [3, 0], "__consumer_offsets": [1]}])
    assert table(seen) == {
        "offset": [0, 1, 2],
        "leader_epoch": [0, 4, 4],
        "id": [0, 1, 0],
        "status": [0, 2, -1],
        "producer_id": [7, 2**40, -1],
        "producer_epoch": [0, 32767, -1],
        "previous_producer_id": [-1, 6, -1],
        "next_producer_id": [-1, 9, -1],
        "next_producer_epoch": [-1, 4, -1],
        "version": [0, 2, 0],
        "timeout_ms": [6000, 6000, 0],
        "partitions": [-1, 0, -1],
        "updated_ms": [1_700_000_000_001, 1_700_000_000_002, -1],
        "started_ms": [-1, 1_700_000_000_001, -1],
    }


def test_a_damaged_log_counts_only_if_all_are(tmp_path: Path) -> None:
    whole = batch(0, (key("a"), value(State())))
    write_log(tmp_path / "b1" / f"{TOPIC}-0", {0: whole + batch(1, (key("a"), None), epoch=3)[:-1] + b"?"})
    ((node, seen),) = gathered(tmp_path, "b1")
    assert (node, seen.error, seen.columns) == ("b1", "00000000000000000000.log is damaged", {})
    assert table(seen) == {name: [] for name in STATE_TYPES}
    write_log(tmp_path / "b2" / f"{TOPIC}-0", {0: whole})
    journals = tmp_path / "again"
    write_log(journals / "b1" / f"{TOPIC}-0", {0: whole[:-1] + b"?"})
    write_log(journals / "b2" / f"{TOPIC}-0", {0: whole})
    ((node, seen),) = gathered(journals, "b1", "b2")
    assert (node, seen.count, seen.error) == ("b2", 1, None)


@pytest.mark.parametrize(
    ("segments", "error"),
    [
        ({}, "no segment can be read"),
        ({0: batch(0, (key("a"), None))[:-1], 1: b""}, "00000000000000000000.log is damaged"),
    ],
)
def test_logs_that_can_not_be_read(tmp_path: Path, segments: dict[int, bytes], error: str) -> None:
    assert read_folder(write_log(tmp_path / "t-0", segments), state_of).error == error


def test_segments_that_are_replaced_all_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_log(tmp_path / "t-0", {0: b""})
    monkeypatch.setattr(coordinator_logs, "segments_in", lambda _: [f"{9:020}.log"])
    assert read_folder(folder, None).error == "segments are being replaced"
    (folder / f"{9:020}.log").mkdir()
    assert read_folder(folder, None).error == "IsADirectoryError: Is a directory"
