"""Lists, syncs, merges and rewrites the Parquet files of tables."""

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
"""Maximum number of small files in a folder; more are merged."""


def of(folder: Path) -> Iterator[Path]:
    """All Parquet files below a folder, by name; empty if the folder does not exist."""
    yield from sorted(folder.rglob("*.parquet"))


def writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """A writer of one file; readers get texts, even if they were dictionary-encoded in memory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return pq.ParquetWriter(path, schema, compression="zstd", store_schema=False)


def empty(folder: Path, schema: pa.Schema) -> Path:
    """Write a file without rows, so that readers of an empty table find its columns; returns its path."""
    path = _beside(folder / "empty.parquet")
    with writer(path, schema):
        return path


def drop_runs(path: Path, runs: frozenset[str]) -> bool:
    """Replace a file by one without the rows of these runs; without such rows the file is not touched.

    Other hard links to the old file keep all rows.

    Returns:
        Whether there were such rows.
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
    """Merge small files if a folder has more than `SMALL_MAX` with the same schema."""
    for parent, paths in groupby(of(folder), key=lambda path: path.parent):
        alike: dict[str, list[Path]] = defaultdict(list)
        for path in (path for path in paths if path.stat().st_size < SMALL_BYTES):
            # Files written before a column was added have another schema and are not merged with new ones.
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
    """Call fsync on all folders of a tree, and on all files without another hard link."""
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place) / name
            if path.stat().st_nlink == 1:
                sync_path(path)
        sync_path(Path(place))


def sync_path(path: Path) -> None:
    """Call fsync on a file or a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
