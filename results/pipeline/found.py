"""Finds the runs of a store that can be ingested, and gives the reason for the others."""

import hashlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from checkers.history.identity import IDENTITY_FILE, RunIdentity
from results.pipeline.schemas import TABLES
from results.pipeline.snapshots.staged_files import place_of
from results.store.runs import VERDICT_FILE, StoreError, load_identity, load_verdict, run_folders


class FoundRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that can be ingested.

    Attributes:
        run: its id.
        folder: its folder, absolute.
        date: UTC day on which it began, ISO 8601.
        kafka_version: Kafka's version.
        history_bytes: size of its journals.
        fingerprint: changes with the identity, the verdict, the journals, or the columns of our tables.
    """

    run: str
    folder: str
    date: str
    kafka_version: str
    history_bytes: int
    fingerprint: str

    def place(self, name: str) -> Path:
        """Path of its rows of a table, relative to the folder of all tables."""
        return place_of(name, {"date": self.date, "kafka_version": self.kafka_version})


class Skipped(msgspec.Struct, frozen=True):
    """A folder that is not ingested, and why."""

    folder: str
    reason: str


def find_runs(root: Path) -> tuple[list[FoundRun], list[Skipped]]:
    """All complete runs below a folder, in the order of their folders, and the skipped ones.

    Skipped are runs without a verdict, a version or a journal, runs with a seeded bug, and copies of a run
    that was found before.
    """
    # Runs that were ingested before a column was added must be ingested again.
    columns = "\n".join(f"{name} {schema.simpleString()}" for name, schema in TABLES.items()).encode()
    found: dict[str, FoundRun] = {}
    skipped: list[Skipped] = []
    for folder in sorted(run_folders(root)):
        try:
            run = _found(folder.absolute(), columns)
        except (StoreError, ValueError, OSError) as error:
            skipped.append(Skipped(str(folder), str(error)))
            continue
        other = found.setdefault(run.run, run)
        if other is not run:
            skipped.append(Skipped(str(folder), f"run {run.run} is already that of {other.folder}"))
    return list(found.values()), skipped


def began_at(identity: RunIdentity) -> datetime:
    """When a run began, UTC.

    Raises:
        ValueError: the identity has no such time in ISO 8601.
    """
    moment = datetime.fromisoformat(identity.began_at)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _found(folder: Path, columns: bytes) -> FoundRun:
    identity = load_identity(folder)
    load_verdict(folder)
    if not identity.run or not identity.kafka_version:
        raise ValueError(f"{IDENTITY_FILE} names no run or no version of Kafka")
    if identity.seeded_bug:
        raise ValueError(
            f"the bug {identity.seeded_bug} was put into its Kafka, so it says nothing about Kafka"
        )
    journals = _journals(folder)
    if not journals:
        raise ValueError("it has no journal history*.jsonl")
    return FoundRun(
        run=identity.run,
        folder=str(folder),
        date=began_at(identity).date().isoformat(),
        kafka_version=identity.kafka_version,
        history_bytes=sum(size for _, size in journals),
        fingerprint=_fingerprint(folder, journals, columns),
    )


def _journals(folder: Path) -> list[tuple[str, int]]:
    """Names and sizes in bytes; for speed, no other files of the folder are looked at."""
    with os.scandir(folder) as entries:
        return sorted(
            (entry.name, entry.stat().st_size)
            for entry in entries
            if entry.name.startswith("history") and entry.name.endswith(".jsonl")
        )


def _fingerprint(folder: Path, journals: list[tuple[str, int]], columns: bytes) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in _parts(folder, journals, columns):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _parts(folder: Path, journals: list[tuple[str, int]], columns: bytes) -> Iterator[bytes]:
    for name in (IDENTITY_FILE, VERDICT_FILE):
        yield (folder / name).read_bytes()
    for name, size in journals:
        yield f"{name} {size}".encode()
    yield columns
