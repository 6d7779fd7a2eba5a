"""Stores of runs on disk, for what lists and browses them."""

from pathlib import Path

import msgspec

from checkers.history.identity import encode_identity
from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from results.run.measures import FaultMeasures, Measures, save_measures
from results.store.runs import save_verdict
from tests.results.story import IDENTITY

VALID = Verdict(Validity.VALID, (result_of("log", []),), expected=Validity.VALID, as_expected=True)


def broken(anomaly: str = "lost-write") -> Verdict:
    """An unexpected verdict with one illegal anomaly and one legal."""
    found = [Anomaly(anomaly, "s", "g", "KIP-1"), Anomaly("offsets-reused", "s", "g", "KIP-1", illegal=False)]
    results = (result_of("log", found),)
    return Verdict(Validity.INVALID, results, expected=Validity.VALID, as_expected=False)


def put_run(
    root: Path,
    name: str,
    verdict: Verdict | None = VALID,
    *,
    scenario: str = "smoke/partition",
    version: str = "4.3.1",
    faults: tuple[str, ...] = (),
    operations: int = 1_000,
    replay_of: str = "",
    seeded_bug: str = "",
    run: str = "",
) -> Path:
    """A run's folder with identity, verdict and measures; of a verdict None only the identity."""
    folder = root / scenario / name
    folder.mkdir(parents=True)
    digits = name.partition("Z-")[0]
    began = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}T{digits[9:11]}:{digits[11:13]}:{digits[13:15]}Z"
    run_again = f"krucible run {scenario} --seed {name.rpartition('-')[2]}"
    identity = msgspec.structs.replace(
        IDENTITY,
        scenario=scenario,
        kafka_version=version,
        run=run or name,
        reproduce=f"krucible replay {replay_of}" if replay_of else run_again,
        seed=int(name.rpartition("-")[2]),
        began_at=began,
        replay_of=replay_of,
        seeded_bug=seeded_bug,
    )
    (folder / "run.json").write_bytes(encode_identity(identity))
    if verdict is not None:
        save_verdict(folder, verdict)
        measured = tuple(FaultMeasures(id=f"f{i}", kind=kind) for i, kind in enumerate(faults))
        save_measures(folder, Measures(duration_ms=60_000, operations=operations, faults=measured))
    return folder
