"""Observations of replicas: shapes refused when a history is read."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from checkers.history.operations import JournalHeader, Operation, OperationType
from checkers.history.packing import pack
from checkers.history.reading import HistoryError, read_history
from checkers.history.replicas import COLUMN_TYPES, METADATA_LOG, REPLICA, ReplicaSeen, offsets_left
from tests.checkers.logs.replicas.replica_histories import Batch, metadata, packed, replica, unread


def test_a_short_text_unpacks_no_more_than_is_declared(tmp_path: Path) -> None:
    many = 200_000_000
    batches = dict.fromkeys(COLUMN_TYPES, pack(np.zeros(10**6), "base_offset", COLUMN_TYPES))
    with pytest.raises(
        HistoryError, match=r"Expected at most [0-9,]+ batches in columns of so many characters"
    ):
        read(tmp_path, REPLICA, replica([]) | {"count": many, "batches": batches})


def read(folder: Path, key: str, value: Any) -> None:
    header = JournalHeader(1, "run", "replicas", "2026-11-20T21:56:57Z")
    operation = Operation(0, 0, "observer-replicas", OperationType.OK, "observe", key, value, node="n1")
    lines = [msgspec.json.encode(header), msgspec.json.encode(operation), b""]
    (folder / "history-replicas.jsonl").write_bytes(b"\n".join(lines))
    read_history(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (REPLICA, replica([])),
        (
            REPLICA,
            replica([Batch(0), Batch(1)], tail=["0.log", 61, 4, "cut"], corrupt=[["0.log", 0, 3, "x"]]),
        ),
        (REPLICA, unread()),
        (METADATA_LOG, metadata([Batch(0)], records=[[0, 1, "LEADER_CHANGE", None]])),
        (METADATA_LOG, metadata([], checkpoint=["x.checkpoint", [[0, 0, "KRAFT_VERSION", {"v": 1}]]])),
    ],
)
def test_what_the_format_allows_is_read(tmp_path: Path, key: str, value: Any) -> None:
    read(tmp_path, key, value)


WITHOUT_CRC = {name: text for name, text in packed([Batch(0)]).items() if name != "crc"}


@pytest.mark.parametrize(
    ("key", "change", "problem"),
    [
        (REPLICA, {"count": 2}, "Expected 2 numbers in column base_offset, got 1"),
        (REPLICA, {"batches": WITHOUT_CRC}, "Expected a column crc"),
        (REPLICA, {"batches": WITHOUT_CRC | {"crc": "?"}}, "column crc"),
        (REPLICA, {"end": None}, "Expected log_start and end"),
        (REPLICA, {"log_start": None}, "Expected log_start and end"),
        (REPLICA, {"partition": -1}, "partition"),
        (REPLICA, {"tail": ["0.log", 61, 4, "odd"]}, "odd"),
        (REPLICA, {"error": "half", "count": 3}, "Expected 3 numbers"),
        (METADATA_LOG, {"records": [[0, 1]]}, "records"),
    ],
)
def test_what_it_does_not_allow_is_refused(
    tmp_path: Path, key: str, change: dict[str, Any], problem: str
) -> None:
    with pytest.raises(HistoryError, match=problem):
        read(tmp_path, key, {**metadata([Batch(0)]), **change})


def test_more_offsets_left_than_characters_are_refused() -> None:
    many = replica([Batch(0, 2**30 - 1)], left="eJwDAAAAAAE=")
    columns = {"count": np.array([2**30 - 1]), "base_offset": np.array([0]), "last_offset": np.array([2**30])}
    seen = msgspec.convert(many, ReplicaSeen)
    with pytest.raises(ValueError, match="at most 12 offsets"):
        offsets_left(seen, columns)
