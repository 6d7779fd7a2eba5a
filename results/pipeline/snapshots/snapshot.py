"""The tables on disk: how atomic snapshots are written and read.

    tables/current                     a link to the newest snapshot
    tables/snapshots/00000007/records/date=2026-11-22/kafka_version=4.3.1/….parquet

A snapshot is never changed.  A new one has hard links to the files of the previous one, adds its own files,
and becomes the current one by a rename.  The next command removes what a killed command left.  The previous
snapshot is kept for readers that still use it.
"""

import fcntl
import os
import shutil
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from results.pipeline.errors import NotTablesError, PipelineError, spark_errors_named
from results.pipeline.schemas import PARTITIONED_BY, TABLES
from results.pipeline.snapshots import files
from results.pipeline.snapshots.staged_files import MANIFEST_COLUMNS, collected, paths_of, writing

CURRENT = "current"
SNAPSHOTS = "snapshots"
_BUILDING = "building-"
_LOCK = ".lock"
_DIGITS = 8


def read_table(spark: SparkSession, root: Path, name: str, schema: StructType | None = None) -> DataFrame:
    """A table of the current snapshot, with the columns of its schema in order; empty if absent.

    Args:
        spark: a session.
        root: the folder of the tables.
        name: name of the table.
        schema: schema of a table that is not in `TABLES`.
    """
    schema = TABLES[name] if schema is None else schema
    folder = _current(root) / name
    if not any(files.of(folder)):
        return spark.createDataFrame([], schema)
    place = f"file://{folder.absolute()}"
    return spark.read.schema(schema).option("basePath", place).parquet(place)


def holds_runs(root: Path) -> bool:
    """Whether any run was ingested into the tables of a folder."""
    return any(files.of(_current(root) / "runs"))


class Snapshot:
    """A snapshot that is being built.

    Attributes:
        folder: the folder in which it is built.
        scratch: a temporary folder on the same disk.
        changed: whether it differs from the previous snapshot; otherwise it does not become the current one.
    """

    def __init__(self, folder: Path, scratch: Path) -> None:
        self.folder = folder
        self.scratch = scratch
        self.changed = False

    def place(self, staged: Path, paths: Iterable[Path]) -> None:
        """Move files from a staged tree ``<table>/date=…/kafka_version=…/`` to the same paths here."""
        for path in paths:
            target = self.folder / path.relative_to(staged)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
            self.changed = True

    def append(
        self,
        name: str,
        frame: DataFrame,
        schema: StructType | None = None,
        partitioned_by: Sequence[str] = PARTITIONED_BY,
    ) -> None:
        """Add rows to a table; one file if it is not partitioned, else one for each task and folder.

        Raises:
            PipelineError: the rows do not conform to the schema, or Spark failed.
            OSError: a file can't be written.
        """
        schema = TABLES[name] if schema is None else schema
        _require_schema(name, frame, schema)
        staged = self.scratch / uuid.uuid4().hex
        task = writing(name, partitioned_by, staged)
        with spark_errors_named(f"write the table {name}"):
            rows = frame.select(*schema.names)
            rows = rows if partitioned_by else rows.coalesce(1)
            paths = paths_of(collected(rows.mapInArrow(task, MANIFEST_COLUMNS)))
        if not (paths or partitioned_by):
            paths = [files.empty(staged / name, to_arrow_schema(schema, timezone="UTC"))]
        self.place(staged, paths)

    def replace(
        self,
        name: str,
        frame: DataFrame,
        schema: StructType | None = None,
        partitioned_by: Sequence[str] = PARTITIONED_BY,
    ) -> None:
        """Replace all rows of a table; the new ones may be computed from the result of `read_table`."""
        held = self.folder / name
        if held.exists():
            shutil.rmtree(held)
            self.changed = True
        self.append(name, frame, schema, partitioned_by)

    def drop_runs(self, runs: Collection[str], names: Iterable[str] = tuple(TABLES)) -> None:
        """Remove all rows of these runs."""
        for name in names:
            for path in list(files.of(self.folder / name)):
                self.changed |= files.drop_runs(path, frozenset(runs))


@contextmanager
def next_snapshot(root: Path) -> Iterator[Snapshot]:
    """Build a snapshot in the block; it becomes the current one if the block ends without an error.

    Raises:
        PipelineError: another command writes these tables, or the folder contains something else.
        OSError: the disk is full or refuses; the tables are unchanged.
    """
    # Tasks report absolute paths.
    root = root.absolute()
    with locked(root):
        before = _current(root)
        number = int(before.name) + 1 if before.exists() else 1
        building = root / f"{_BUILDING}{number:0{_DIGITS}}-{uuid.uuid4().hex[:8]}"
        try:
            folder, scratch = building / "snapshot", building / "scratch"
            scratch.mkdir(parents=True)
            _link_tree(before, folder)
            snapshot = Snapshot(folder, scratch)
            yield snapshot
            if snapshot.changed:
                files.merge_small(folder)
                files.sync(folder)
                _commit(root, folder, number)
        finally:
            shutil.rmtree(building, ignore_errors=True)
        _clean(root)


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Lock the tables against other commands, and remove what a killed command left.

    Raises:
        PipelineError: another command writes them.
        NotTablesError: the folder contains something else.
    """
    _require_tables(root)
    (root / SNAPSHOTS).mkdir(parents=True, exist_ok=True)
    with (root / _LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise PipelineError(
                "another command is writing these tables",
                where=str(root),
                next_step="wait until it has ended, or use other tables with --tables",
            ) from error
        _clean(root)
        yield


def _current(root: Path) -> Path:
    """The folder of the current snapshot, which is still there after a newer one was written."""
    link = root / CURRENT
    return link.resolve() if link.is_symlink() else root / SNAPSHOTS / "0"


def _require_tables(root: Path) -> None:
    """Refuse a folder with anything but tables, because cleaning could remove files of the user."""
    held = {path.name for path in root.iterdir()} if root.is_dir() else set()
    strange = sorted(name for name in held - {CURRENT, SNAPSHOTS, _LOCK} if not name.startswith(_BUILDING))
    if strange or (root.exists() and not root.is_dir()):
        raise NotTablesError(
            "this is not a folder of tables",
            got=f"a folder with {', '.join(strange[:3])}" if strange else "a file",
            expected="a folder that is empty, new, or was made by krucible pipeline",
            where=str(root),
            next_step="use another one with --tables",
        )


def _link_tree(source: Path, target: Path) -> None:
    target.mkdir()
    if source.is_dir():
        shutil.copytree(source, target, copy_function=os.link, dirs_exist_ok=True)


def _commit(root: Path, folder: Path, number: int) -> None:
    """Make a snapshot the current one; the tables change with the second rename."""
    name = f"{number:0{_DIGITS}}"
    folder.rename(root / SNAPSHOTS / name)
    link = folder.parent / CURRENT
    link.symlink_to(Path(SNAPSHOTS) / name)
    link.rename(root / CURRENT)
    files.sync_path(root / SNAPSHOTS)
    files.sync_path(root)


def _clean(root: Path) -> None:
    """Remove unfinished snapshots, and all others except the current and the previous one."""
    current = _current(root).name
    complete = sorted(path.name for path in (root / SNAPSHOTS).iterdir() if path.name <= current)
    for path in (root / SNAPSHOTS).iterdir():
        if path.name not in complete[-2:]:
            shutil.rmtree(path)
    for path in root.glob(f"{_BUILDING}*"):
        # A worker of a killed command may still write there; the next command removes the rest.
        shutil.rmtree(path, ignore_errors=True)


def _require_schema(name: str, frame: DataFrame, schema: StructType) -> None:
    """Require that a frame has the columns of the schema, with the same order and types."""
    found = [(field.name, field.dataType.simpleString()) for field in frame.schema]
    wanted = [(field.name, field.dataType.simpleString()) for field in schema]
    if found != wanted:
        raise PipelineError(
            f"rows for the table {name} do not have its schema",
            got=str([column for column in found if column not in wanted] or "another order"),
            expected=str([column for column in wanted if column not in found] or "the schema's order"),
        )
