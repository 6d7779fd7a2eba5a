"""Converts one run to rows of all tables that an ingest fills."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from checkers.evidence.loading import columns_of
from checkers.history.operations import History
from checkers.history.setup import Setup
from checkers.runs.availability import load_end_ns
from results.pipeline.found import FoundRun, began_at
from results.pipeline.rows.columnar import rows
from results.pipeline.rows.operations import operations_of
from results.pipeline.rows.pairing import pair
from results.pipeline.rows.records import records_of
from results.pipeline.rows.states import cluster_state_of, faults_of
from results.repeats.flakes import content_of
from results.store.runs import load_identity, load_verdict

INGESTED = ("runs", "operations", "records", "faults", "cluster_state")
"""Tables that an ingest fills; the others of `schemas.TABLES` are filled by a check."""


def tables_of(found: FoundRun, history: History) -> dict[str, pa.Table]:
    """The run's rows of each of `INGESTED`.

    Args:
        found: the run.
        history: the contents of its journals.

    Raises:
        StoreError, KeyError, ValueError: the run is incomplete, or does not conform to docs/histories.md.
    """
    _require_whole(history, found)
    columns, paired = columns_of(history), pair(history)
    operations = operations_of(history, columns, paired)
    count = pc.sum(operations.column("records")).as_py() or 0
    return {
        "runs": rows("runs", history.run, [_run(found, history, count)]),
        "operations": operations,
        "records": records_of(history, columns, paired),
        "faults": faults_of(history),
        "cluster_state": cluster_state_of(history),
    }


@contextmanager
def no_collection() -> Iterator[None]:
    """Disable garbage collection in the block: a history has no cycles, and reading takes half the time.

    Objects made in the block should be gone at its end; else the first collection afterwards visits them all.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _require_whole(history: History, found: FoundRun) -> None:
    if history.damage:
        raise ValueError(f"half-written: {history.damage[0]}")
    if history.run != found.run:
        raise ValueError(f"its journals are those of run {history.run or '?'}, not of {found.run}")


def _run(found: FoundRun, history: History, operations: int) -> dict[str, object]:
    folder = Path(found.folder)
    identity, verdict = load_identity(folder), load_verdict(folder)
    image = identity.image
    setup: dict[str, object] = next((o.value for o in history.operations if o.f == "setup"), {})
    return {
        "scenario": identity.scenario,
        "mode": setup.get("mode"),
        "seed": identity.seed,
        "began_at": began_at(identity),
        "ended_ns": history.operations[-1].time_ns if history.operations else 0,
        "load_ended_ns": load_end_ns(history) if history.operations else None,
        "unloaded": _unloaded(setup),
        "folder": found.folder,
        "krucible_commit": identity.krucible_commit,
        "image_reference": image.reference if image else None,
        "image_digest": image.digest if image else None,
        "kafka_content": content_of(image, image.checksums) or None if image else None,
        "features": list(identity.features.items()),
        "options": identity.reproduce,
        "replay_of": identity.replay_of or None,
        "validity": verdict.validity,
        "expected": verdict.expected,
        "as_expected": verdict.as_expected,
        "kernel": identity.host.kernel,
        "cpus": identity.host.cpus,
        "history_bytes": found.history_bytes,
        "operations": operations,
        "fingerprint": found.fingerprint,
    }


def _unloaded(setup: dict[str, object]) -> list[str]:
    topics = msgspec.convert(setup, Setup).topics
    return [topic.name for topic in topics if not topic.loaded]
