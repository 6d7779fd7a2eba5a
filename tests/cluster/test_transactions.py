"""Transactions on real clusters: clients that fence each other, copies that are made once."""

import copy
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.history.reading import read_history
from checkers.transactional.streams import check_streams
from checkers.verdict.verdict import CheckerResult, Validity
from harness.cli import invoke
from harness.plan import planning
from harness.plan.catalogue import load_scenario
from harness.vocabulary import (
    CopyWorkload,
    FixedSchedule,
    Kill,
    Scenario,
    Step,
    StreamsWorkload,
    Target,
)
from results.store.runs import find_run, load_verdict

pytestmark = pytest.mark.cluster
CLIENTS = {"kafka-python", "confluent-kafka"}
OK, FAIL, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INVOKE


def run(folder: Path, scenario: str, *options: str) -> tuple[Operation, ...]:
    """Operations of a run, which is valid."""
    code = invoke(["run", scenario, "--seed", "4", "--runs", str(folder), *options])
    found = find_run(folder, scenario)
    verdict = load_verdict(found)
    assert (verdict.validity, code) == (Validity.VALID, 0), verdict.reasons
    return read_history(found).operations


def ended(operations: tuple[Operation, ...], f: str, kind: OperationType) -> list[Operation]:
    return [operation for operation in operations if operation.f == f and operation.type is kind]


def test_transactions_are_committed_aborted_and_fenced_by_both_clients(tmp_path: Path) -> None:
    operations = run(tmp_path, "exploratory/txn", "--mode", "isolated", "--duration-s", "30")

    # A transaction that lapses is sent by hand, and may still be committed late.
    committed = Counter(o.value["client"] for o in ended(operations, "txn", OK))
    assert CLIENTS <= set(committed) <= CLIENTS | {"raw"}
    assert min(committed[client] for client in CLIENTS) > 20
    aborted = [o for o in ended(operations, "txn", FAIL) if o.value["ended"] == "abort"]
    assert {o.value["client"] for o in aborted} == CLIENTS
    refused = [o.error for o in operations if o.f == "txn" and o.type is not INVOKE and o.error]
    assert any("fenced" in error.lower() for error in refused)
    old = [operation.error or "" for operation in ended(operations, "send", FAIL)]
    assert any("[Error 47] (an old producer epoch" in error for error in old)
    names = Counter(o.key for o in ended(operations, "init-transactions", OK))
    assert any(times > 2 for times in names.values())
    # Markers stand at the ends of partitions, so that no reader comes there by records alone.
    reads = ended(operations, "final-read", OK)
    assert len(reads) == 6 * 4
    assert any(r.value["records"][-1][1][-1] + 1 < r.value["end"] for r in reads if r.value["records"])


def of_one_fault(name: str) -> Scenario:
    """A scenario whose schedule is one kill, once all copiers have joined, with a partition for each of them.

    On a busy machine random faults left a copier without its coordinator for half a minute, and one that had
    several partitions did not come to the last one before the end.
    """
    scenario = load_scenario(name)
    assert isinstance(scenario.workload, CopyWorkload)
    schedule = FixedSchedule((Step(12_000, 5_000, Kill(Target.PARTITION_LEADER)),), 30_000)
    workload = msgspec.structs.replace(scenario.workload, partitions=scenario.workload.transactors)
    return msgspec.structs.replace(scenario, schedule=schedule, workload=workload)


def test_records_are_copied_once_by_both_clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "load_scenario", of_one_fault)
    operations = run(tmp_path, "exploratory/copy", "--feature", "transaction.version=0")

    copied = ended(operations, "txn", OK)
    assert {o.value["client"] for o in copied} == CLIENTS
    assert sum(len(chunk[2]) for o in copied for chunk in o.value["consumed"]) >= 100
    assert all(o.value["mops"][-1][0] == "offsets" for o in copied)
    (operation,) = ended(operations, "committed-offsets", OK)
    assert max(offset or 0 for _, offset in operation.value["offsets"]) > 0


def of_one_late_fault(name: str) -> Scenario:
    """A scenario whose schedule is one kill, once members of Kafka Streams run: busy hosts need 18 s."""
    scenario = load_scenario(name)
    assert isinstance(scenario.workload, StreamsWorkload)
    schedule = FixedSchedule((Step(25_000, 8_000, Kill(Target.PARTITION_LEADER)),), 45_000)
    return msgspec.structs.replace(scenario, schedule=schedule)


def changed(history: History, change: Callable[[list[Any]], None]) -> CheckerResult:
    """The result if one partition of the output had other records."""
    operations = list(history.operations)
    at = next(o.index for o in operations if o.f == "read-output" and o.type is OK and o.value["records"])
    value = copy.deepcopy(operations[at].value)
    change(value["records"])
    operations[at] = msgspec.structs.replace(operations[at], value=value)
    return check_streams(msgspec.structs.replace(history, operations=tuple(operations)))


def test_records_are_counted_once_by_members_that_are_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "load_scenario", of_one_late_fault)
    operations = run(tmp_path, "exploratory/streams")

    ends = {o.value["how"] for o in ended(operations, "end-member", OK)}
    assert ends == {"close", "kill"}
    states = {o.value["state"] for o in ended(operations, "streams-status", OK) if not o.value["last"]}
    assert "RUNNING" in states
    history = read_history(find_run(tmp_path, "exploratory/streams"))
    assert changed(history, lambda _records: None).validity is Validity.VALID
    assert changed(history, lambda records: records.pop(3)).counts == {"streams-lost": 1}
    again = changed(history, lambda records: records.append([records[-1][0] + 1, *records[3][1:]]))
    assert again.counts == {"streams-duplicated": 1}
    counted = changed(history, lambda records: records[3].__setitem__(5, records[3][5] + 1))
    assert counted.counts == {"streams-count-wrong": 1}
