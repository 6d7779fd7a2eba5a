"""Run folders with histories of all kinds, each beside the verdict that one process gives it."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from checkers.history.identity import IDENTITY_FILE, RunIdentity, encode_identity
from checkers.history.operations import History, JournalHeader, Operation
from checkers.history.reading import read_history
from checkers.judge import judge
from results.store.runs import save_verdict
from tests.checkers.log_histories import history_of as log_history
from tests.checkers.logs.log.log_simulator import Simulation as LogSimulation
from tests.checkers.logs.log.log_transactions import TransactionalSimulation
from tests.checkers.logs.log.test_log_properties import mutated
from tests.checkers.registers.register_simulator import Defects
from tests.checkers.registers.register_simulator import Simulation as RegisterSimulation

WEAK = Defects(stale_reads=True, lost_writes=True, failed_writes_happen=True)


def histories() -> dict[str, History]:
    """Correct ones, mutated ones, torn ones, by name."""
    correct = LogSimulation(7, 5, 300).history()
    unread = [o for o in correct.operations if o.process != "reader-a"]
    return {
        "correct": correct,
        "cut": renumbered(correct.operations[:-9]),
        "unread": renumbered(unread),
        "lost": mutated(correct, 2, lambda offsets, values: (offsets.pop(1), values.pop(1))),
        "swapped": mutated(correct, 0, lambda _, values: values.reverse()),
        "transactions": TransactionalSimulation(3, 4, 200).history(),
        "torn": TransactionalSimulation(5, 4, 200, "torn").history(),
        "registers": RegisterSimulation(4, 7, 400).run(),
        "weak": RegisterSimulation(5, 7, 600, WEAK).run(),
        "load": RegisterSimulation(6, 7, 600, WEAK).history(),
        "duplicates": log_history("setup partitions=3\np0 send 0@0=1 1@0=2\na final 0 0..2 0@0=1 0@1=1\n"),
        "empty": History("run", "", ()),
    }


def renumbered(operations: Iterable[Operation]) -> History:
    """A history of some operations of another."""
    some = (msgspec.structs.replace(o, index=index) for index, o in enumerate(operations))
    return History("run", "", tuple(some))


def written(folder: Path, name: str, history: History) -> Path:
    """A run's folder, with the verdict of one process."""
    run = folder / name / "20261122T000000Z-7"
    run.mkdir(parents=True)
    began_at = "2026-11-22T00:00:00Z"
    lines = [JournalHeader(1, name, "worker-0", began_at), *history.operations]
    text = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    (run / "history-worker-0.jsonl").write_bytes(text)
    identity = RunIdentity(
        run=name, scenario=name, seed=7, kafka_version="4.3.1", began_at=began_at, reproduce="krucible run"
    )
    (run / IDENTITY_FILE).write_bytes(encode_identity(identity))
    save_verdict(run, judge(read_history(run)))
    return run
