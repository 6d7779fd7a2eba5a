"""The Parquet files of tables: listed, synced, merged where they are small, rewritten without some runs."""

import os
import uuid
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SMALL_BYTES = 2 << 20
SMALL_MAX = 16
"""More small files than this in one folder are merged."""


def of(folder: Path) -> Iterator[Path]:
    """All Parquet files below a folder, in the order of their names; none if there is no folder."""
    yield from sorted(folder.rglob("*.parquet"))


def writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """A writer of one file; readers see texts as texts, however they were encoded in memory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return pq.ParquetWriter(path, schema, compression="zstd", store_schema=False)


def empty(folder: Path, schema: pa.Schema) -> Path:
    """A file without rows, from which readers learn the columns."""
    path = _beside(folder / "empty.parquet")
    with writer(path, schema):
        return path


def drop_runs(path: Path, runs: frozenset[str]) -> bool:
    """Leave the rows of some runs out of a file, which is replaced; without any of them it is not touched.

    Other links to the old file keep all rows.

    Returns:
        Whether there were any.
    """
    with pq.ParquetFile(path) as file:
        held = set(pc.unique(file.read(["run_id"]).column(0)).to_pylist())
        if not held & runs:
            return False
        if not held <= runs:
            with writer(_beside(path), file.schema_arrow) as kept:
                for number in range(file.num_row_groups):
                    rows = file.read_row_group(number)
                    dropped = pc.is_in(rows.column("run_id"), value_set=pa.array(sorted(runs), pa.string()))
                    kept.write_table(rows.filter(pc.invert(dropped)))
    path.unlink()
    return True


def merge_small(folder: Path) -> None:
    """Make one file of the small ones wherever more than `SMALL_MAX` alike lie in one folder."""
    for parent, paths in groupby(of(folder), key=lambda path: path.parent):
        alike: dict[str, list[Path]] = defaultdict(list)
        for path in (path for path in paths if path.stat().st_size < SMALL_BYTES):
            # What was written before a table got a column stays apart.
            alike[str(pq.read_schema(path))].append(path)
        for small in alike.values():
            if len(small) > SMALL_MAX:
                _merge(small, _beside(parent / "merged.parquet"))


def _merge(paths: list[Path], target: Path) -> None:
    schema = pq.read_schema(paths[0])
    with writer(target, schema) as merged:
        for path in paths:
            with pq.ParquetFile(path) as file:
                for number in range(file.num_row_groups):
                    merged.write_table(file.read_row_group(number))
    for path in paths:
        path.unlink()


def _beside(path: Path) -> Path:
    return path.with_name(f"part-{uuid.uuid4().hex}.parquet")


def sync(folder: Path) -> None:
    """Have the disk take every file of a tree that has no other link yet, and every folder."""
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place) / name
            if path.stat().st_nlink == 1:
                _sync(path)
        sync_folder(Path(place))


def sync_folder(folder: Path) -> None:
    """Have the disk take what a folder lists."""
    _sync(folder)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
