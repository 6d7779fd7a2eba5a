"""Runs in a store on disk: their journals, identity and verdict, as a run leaves them."""

import hashlib
from collections import defaultdict
from pathlib import Path

import msgspec

from checkers.history.identity import encode_identity
from checkers.history.operations import History, JournalHeader, Operation
from checkers.verdict.verdict import Validity, Verdict
from results.store.runs import save_verdict
from tests.results.story import IDENTITY, build

STORY = build(red=False).history
VALID = Verdict(Validity.VALID, (), expected=Validity.VALID, as_expected=True)
BEGAN = "2026-11-20T21:56:57Z"


def store(
    root: Path,
    run: str,
    history: History = STORY,
    *,
    verdict: Verdict | None = VALID,
    version: str = "4.3.1",
    began_at: str = BEGAN,
    replay_of: str = "",
    seeded_bug: str = "",
) -> Path:
    """A run's folder; a verdict of None is that of a run that was killed."""
    folder = root / "smoke" / "partition" / f"20261120T215657Z-{int(run, 16)}"
    folder.mkdir(parents=True)
    fields = {"run": run, "kafka_version": version, "began_at": began_at, "replay_of": replay_of}
    fields["seeded_bug"] = seeded_bug
    identity = msgspec.structs.replace(IDENTITY, **fields)
    (folder / "run.json").write_bytes(encode_identity(identity))
    write_journals(folder, run, began_at, history)
    if verdict is not None:
        save_verdict(folder, verdict)
    return folder


def write_journals(folder: Path, run: str, began_at: str, history: History) -> None:
    """One journal a process, as workers write them."""
    journals: dict[str, list[Operation]] = defaultdict(list, runner=[])
    for operation in history.operations:
        recorded = operation
        if operation.f == "setup":  # one of no scenario need not have all journals of a real run
            recorded = msgspec.structs.replace(operation, value={**operation.value, "scenario": ""})
        journals[str(operation.process)].append(recorded)
    for name, operations in journals.items():
        numbered = [msgspec.structs.replace(o, index=index) for index, o in enumerate(operations)]
        lines = [JournalHeader(1, run, name, began_at), *numbered]
        text = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        (folder / f"history-{name}.jsonl").write_bytes(text)


def tree(root: Path) -> dict[str, str]:
    """Every file, link and folder below one, with a hash of its bytes."""
    return {str(path.relative_to(root)): _content(path) for path in sorted(root.rglob("*"))}


def _content(path: Path) -> str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
