"""What of a run's journals is missing, cut, emptied or contradictory is named, and refuses nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkers.history.operations import JournalHeader, OperationType
from checkers.history.reading import read_history, read_journals

_NODES = [
    {"name": "b1", "id": 1, "roles": ["broker"]},
    {"name": "c1", "id": 2, "roles": ["controller"]},
]
_PHASES = ("load", "heal", "recover", "final-read", "evidence", "done")
_ALL = (
    "runner",
    "nemesis",
    "nodes",
    "observer-quorum-state",
    "observer-quorum-c1",
    "observer-partitions-b1",
    "worker-0",
    "worker-1",
    "worker-2",
    "worker-3",
    "replicas",
)
_ANYTHING = {"f": "observe", "key": "anything"}


def written(folder: Path, name: str, operations: list[dict[str, Any]], version: int = 1) -> None:
    """A journal; in format 2 the last operation has to be its end."""
    header = JournalHeader(version, "r1", name, "2026-11-22T20:21:02Z")
    numbered = (
        {"index": index, "time_ns": index, "process": name, "type": OperationType.OK, **one}
        for index, one in enumerate(operations)
    )
    lines = [msgspec.json.encode(line) + b"\n" for line in (header, *numbered)]
    (folder / f"history-{name}.jsonl").write_bytes(b"".join(lines))


def record(folder: Path) -> Path:
    """A run of format 2 whose journals have two operations each, the runner's more."""
    others = _ALL[1:]
    opened = [{"f": "journal", "key": name, "value": {"role": f"role of {name}"}} for name in others]
    listed = [[name, f"role of {name}", 4] for name in others]
    end = {"f": "end", "value": {"lines": len(opened) + 2, "journals": listed}}
    written(folder, "runner", [*opened, end], version=2)
    for name in others:
        written(folder, name, [_ANYTHING, _ANYTHING, {"f": "end", "value": {"lines": 4}}], version=2)
    return folder


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_a_whole_run_lacks_nothing_and_its_last_lines_are_no_operations(tmp_path: Path) -> None:
    history = read_history(record(tmp_path))
    assert (history.damage, history.lacking) == ((), frozenset())
    assert history.of("end") == ()
    assert [operation.key for operation in history.of("journal")] == list(_ALL[1:])


def remove(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def empty_but_for_the_header(path: Path) -> None:
    path.write_bytes(lines_of(path)[0])


def halve(path: Path) -> None:
    path.write_bytes(b"".join(lines_of(path)[:2]))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def take_out(path: Path) -> None:
    lines = lines_of(path)
    path.write_bytes(b"".join([lines[0], *lines[2:]]))


def renumber(path: Path) -> None:
    header, first, _, end = lines_of(path)
    path.write_bytes(header + first + end.replace(b'"index":2', b'"index":1'))


def empty_and_sign(path: Path) -> None:
    header, _, _, end = lines_of(path)
    path.write_bytes(header + end.replace(b'"index":2', b'"index":0').replace(b'"lines":4', b'"lines":2'))


def go_on(path: Path) -> None:
    lines = lines_of(path)
    more = lines[2].replace(b'"index":1', b'"index":3').replace(b'"time_ns":1', b'"time_ns":3')
    path.write_bytes(b"".join(lines) + more)


def end_twice(path: Path) -> None:
    lines = lines_of(path)
    end = lines[3].replace(b'"index":2', b'"index":3').replace(b'"lines":4', b'"lines":5')
    path.write_bytes(b"".join(lines) + end)


def take_anothers(path: Path) -> None:
    path.write_bytes((path.parent / "history-worker-2.jsonl").read_bytes())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (remove, "the run listed it, and it is not there"),
        (empty, "empty, the run ended before its header was written"),
        (empty_but_for_the_header, "has no end"),
        (halve, "has no end"),
        (cut, "cut short after"),
        (take_out, "index 1 where 0 was due, lines are missing"),
        (renumber, "has 3 lines, but its end reports 4"),
        (empty_and_sign, "has 2 lines, and the run wrote 4"),
        (go_on, "has 5 lines, but its end reports 4"),
        (end_twice, "has 5 lines, but its end reports 4"),
        (take_anothers, "holds the journal worker-2, left out"),
    ],
)
@pytest.mark.parametrize("name", ["worker-1", "nemesis"])
def test_a_journal_that_is_not_whole_is_damage_and_lacking(
    tmp_path: Path, name: str, change: Callable[[Path], None], message: str
) -> None:
    change(record(tmp_path) / f"history-{name}.jsonl")
    history = read_history(tmp_path)
    assert history.lacking == {name}
    assert history.damage[0].startswith(f"history-{name}.jsonl")
    assert message in history.damage[0]


@pytest.mark.parametrize("change", [remove, cut])
def test_a_runners_journal_that_is_lost_or_cut_is_lacking_itself(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    change(record(tmp_path) / "history-runner.jsonl")
    assert read_history(tmp_path).lacking == {"runner"}


def test_of_single_journals_the_others_are_not_missed(tmp_path: Path) -> None:
    record(tmp_path)
    assert read_journals([tmp_path / "history-runner.jsonl"]).lacking == frozenset()
    copy = tmp_path / "a-copy.jsonl"
    copy.write_bytes((tmp_path / "history-nemesis.jsonl").read_bytes())
    assert len(read_journals([copy]).operations) == 2


def old_run(
    folder: Path, phases: tuple[str, ...] = _PHASES, names: tuple[str, ...] = _ALL, **setup: Any
) -> Path:
    """A run of format 1: a worker of each kind, and everything that observes."""
    value = {
        "scenario": "smoke/partition",
        "topics": [],
        "nodes": _NODES,
        "workload": {"kind": "log", "durable_processes": [2]},
        "planned_faults": 1,
        "final_readers": 1,
        "evidence": ["replicas"],
        **setup,
    }
    for name in names:
        operations: list[dict[str, Any]] = [_ANYTHING]
        if name == "runner":
            operations = [{"f": "setup", "value": value}, *({"f": "phase", "key": key} for key in phases)]
        written(folder, name, operations)
    return folder


def test_a_whole_run_of_format_1_lacks_nothing(tmp_path: Path) -> None:
    history = read_history(old_run(tmp_path))
    assert (history.damage, history.lacking) == ((), frozenset())


@pytest.mark.parametrize("name", _ALL)
@pytest.mark.parametrize("change", [remove, empty])
def test_a_journal_that_a_run_of_format_1_must_have_written_is_missed(
    tmp_path: Path, name: str, change: Callable[[Path], None]
) -> None:
    change(old_run(tmp_path) / f"history-{name}.jsonl")
    history = read_history(tmp_path)
    assert history.lacking == {name}
    assert history.damage


def test_the_journal_of_gambits_is_missed_where_some_were_planned(tmp_path: Path) -> None:
    assert read_history(old_run(tmp_path, planned_gambits=1)).lacking == {"gambits"}


def test_the_journal_of_blinks_is_missed_where_some_were_planned(tmp_path: Path) -> None:
    assert read_history(old_run(tmp_path, planned_blinks=1)).lacking == {"nemesis-blinks"}


def test_a_journal_of_format_1_without_an_operation_is_missed(tmp_path: Path) -> None:
    written(old_run(tmp_path), "worker-0", [])
    history = read_history(tmp_path)
    why = "a run of this set-up writes something there, and it is empty"
    assert history.damage == (f"history-worker-0.jsonl: {why}",)
    assert history.lacking == {"worker-0"}


@pytest.mark.parametrize(
    ("phases", "names", "setup"),
    [
        (("load",), ("runner",), {}),
        (("load", "heal"), _ALL[:-3], {}),
        (("load", "heal", "final-read"), _ALL[:-2], {}),
        (("load", "heal", "evidence"), _ALL[:-3], {}),
        (_PHASES, tuple(n for n in _ALL if n != "nemesis"), {"planned_faults": 0}),
        (_PHASES, _ALL[:-1], {"evidence": []}),
        (
            _PHASES,
            ("bulk-0", *(n for n in _ALL if n not in {"worker-0", "worker-1"})),
            {"workload": {"kind": "bulk", "durable_processes": [2], "writers": 1}},
        ),
        (
            _PHASES,
            tuple(n for n in _ALL if n not in {"worker-0", "worker-1"}),
            {"workload": {"kind": "scripted-transactions", "durable_processes": [2]}},
        ),
    ],
)
def test_what_a_run_of_format_1_need_not_have_written_is_not_missed(
    tmp_path: Path, phases: tuple[str, ...], names: tuple[str, ...], setup: dict[str, Any]
) -> None:
    assert read_history(old_run(tmp_path, phases, names, **setup)).lacking == frozenset()


def test_a_history_of_somebody_else_has_what_it_has(tmp_path: Path) -> None:
    written(tmp_path, "worker-3", [{"f": "setup", "value": {"topics": []}}])
    written(tmp_path, "runner", [{"f": "phase", "key": "heal"}])
    assert read_history(tmp_path).lacking == frozenset()


def test_a_journal_that_was_ended_with_nothing_in_it_is_whole(tmp_path: Path) -> None:
    """A consumer, say, that could never be made."""
    old_run(tmp_path)
    written(tmp_path, "worker-0", [{"f": "end", "value": {"lines": 2}}], version=2)
    assert read_history(tmp_path).lacking == frozenset()
