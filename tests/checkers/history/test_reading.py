"""Journals are read whole, or cut at their end, or refused with file, line and column."""

import io
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.history import reading
from checkers.history.operations import OperationType
from checkers.history.reading import HistoryError, read_history
from checkers.judge import result_by
from checkers.logs.log import check_log
from checkers.verdict.verdict import Validity
from tests.checkers.logs.log.log_simulator import Simulation

HEADER = '{"krucible_history":1,"run":"r1","journal":"worker-3","began_at":"2026-11-20T21:56:57Z"}'
SETUP = '{"index":0,"time_ns":1,"process":"runner","type":"ok","f":"setup","value":{"topics":[]}}'
UP = {"status": "running"}
HEARTBEAT = {"to": "c1", "epoch": 26, "metadata_offset": 83}


def line(index: int, kind: str = "ok", f: str = "observe", **fields: Any) -> str:
    return msgspec.json.encode(
        {"index": index, "time_ns": 10 * index, "process": 3, "type": kind, "f": f, **fields}
    ).decode()


def send(index: int, value: Any, kind: str = "invoke", **fields: Any) -> str:
    return line(index, kind, "send", key="log-0", value=value, **fields)


def write(folder: Path, *lines: str, name: str = "history-worker-3.jsonl", end: str = "\n") -> Path:
    path = folder / name
    path.write_text("\n".join((HEADER, *lines)) + end, encoding="utf-8")
    return path


class Growing(io.BytesIO):
    """A journal that gets the rest of its last line after that was read."""

    def readlines(self, hint: int | None = -1, /) -> list[bytes]:
        texts = super().readlines(hint or -1)
        if texts and not texts[-1].endswith(b"\n"):
            here = self.tell()
            self.write(b'"later":1}\n')
            self.seek(here)
        return texts


def test_a_journal_that_is_written_on_meanwhile_ends_where_it_was_read(tmp_path: Path) -> None:
    path = write(tmp_path, SETUP, line(1), '{"index":2,', end="")
    journal = reading._journal_of("j", Growing(path.read_bytes()))
    assert [operation.index for operation in journal.operations] == [0, 1]
    assert journal.damage == "j, line 4: cut short after 11 bytes, dropped"


def refusal(folder: Path) -> HistoryError:
    with pytest.raises(HistoryError) as refused:
        read_history(folder)
    return refused.value


def test_journals_are_merged_by_time_then_file_name_and_indexed_anew(tmp_path: Path) -> None:
    write(tmp_path, line(0, key="b0"), line(1, key="b1"), name="history-b.jsonl")
    write(tmp_path, line(0, key="a0"), line(1, key="a1", time_ns=25), name="history-a.jsonl")
    (tmp_path / "run.json").write_text("{}")
    history = read_history(tmp_path)
    assert [operation.key for operation in history.operations] == ["a0", "b0", "b1", "a1"]
    assert [operation.index for operation in history.operations] == [0, 1, 2, 3]
    assert (history.run, history.began_at) == ("r1", "2026-11-20T21:56:57Z")
    assert history.damage == ()


@pytest.mark.parametrize("block", [1, 150, 1 << 20])
def test_journals_longer_than_a_block_are_read_and_refused_alike(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checkers.history.reading._BLOCK_BYTES", block)
    lines = [line(index, key="node", value=UP) for index in range(9)]
    path = write(tmp_path, *lines)
    assert [operation.time_ns for operation in read_history(tmp_path).operations] == list(range(0, 90, 10))
    path.write_text(path.read_text()[:-2])
    assert len(read_history(tmp_path).operations) == 8
    assert read_history(tmp_path).damage == (
        f"history-worker-3.jsonl, line 10: cut short after {len(lines[8]) - 1} bytes, dropped",
    )
    write(tmp_path, *lines[:7], line(7, key="node", value=UP, time_ns=59), lines[8])
    assert refusal(tmp_path).place == "history-worker-3.jsonl, line 9, column 12"


def test_an_invocation_and_its_completion(tmp_path: Path) -> None:
    write(
        tmp_path,
        send(0, [[2, 7]]),
        send(1, [[2, 7, 17, "ok"]], "ok"),
        send(2, [[2, 8]]),
        send(3, [[2, 8]], "info", error="timed out"),
        send(4, [[2, 9]], process=9),
        send(5, None, "fail", process=9),
    )
    types = [operation.type for operation in read_history(tmp_path).operations]
    assert types.count(OperationType.INVOKE) == 3


@given(st.data())
@settings(max_examples=60)
def test_a_history_cut_anywhere_is_read_and_never_invalid(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whatever is left of every journal after SIGKILL: damage at most, no error, no anomaly."""
    folder = tmp_path_factory.mktemp("cut")
    history = Simulation(data.draw(st.integers(0, 1000)), partitions=1, steps=10).history()
    lines = [HEADER.encode(), *(msgspec.json.encode(operation) for operation in history.operations)]
    whole = b"\n".join(lines) + b"\n"
    length = data.draw(st.integers(0, len(whole)))
    (folder / "history.jsonl").write_bytes(whole[:length])
    read = read_history(folder)
    result = result_by("log", check_log, read)
    assert result.validity is not Validity.INVALID
    assert result.validity is Validity.UNKNOWN or not read.damage
    complete = sum(length >= end for end in _ends(lines))
    assert len(read.operations) == max(complete - 1, 0)


def _ends(lines: list[bytes]) -> list[int]:
    """How many bytes it takes until each line is there, its line end apart."""
    ends, total = [], 0
    for text in lines:
        ends.append(total + len(text))
        total += len(text) + 1
    return ends


@pytest.mark.parametrize(
    ("rest", "damage"),
    [
        (
            '{"index":1,"time_ns":20,"proc',
            "history-worker-3.jsonl, line 3: cut short after 29 bytes, dropped",
        ),
        ('{"index":1,"process":"\udcc3', "history-worker-3.jsonl, line 3: cut short after 23 bytes, dropped"),
    ],
)
def test_a_last_line_cut_short_is_damage(tmp_path: Path, rest: str, damage: str) -> None:
    path = write(tmp_path, line(0))
    with path.open("ab") as file:
        file.write(rest.encode("utf-8", "surrogateescape"))
    history = read_history(tmp_path)
    assert len(history.operations) == 1
    assert history.damage == (damage,)


def test_a_whole_last_line_without_its_line_end_is_kept(tmp_path: Path) -> None:
    write(tmp_path, line(0), end="")
    history = read_history(tmp_path)
    assert (len(history.operations), history.damage) == (1, ())


@pytest.mark.parametrize("content", ["", HEADER[:20]])
def test_a_journal_without_a_whole_header_is_damage(tmp_path: Path, content: str) -> None:
    (tmp_path / "history-a.jsonl").write_text(content)
    history = read_history(tmp_path)
    assert (history.run, history.operations, len(history.damage)) == ("", (), 1)
    write(tmp_path, line(0))
    assert read_history(tmp_path).run == "r1"


def test_a_folder_without_journals(tmp_path: Path) -> None:
    error = refusal(tmp_path / "nowhere")
    assert "no journal" in str(error)
    assert "runs/latest" in error.next_step
    assert error.expected


def test_a_journal_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "history-a.jsonl").symlink_to("nowhere")
    assert "cannot be read" in refusal(tmp_path).problem


def test_journals_of_two_runs(tmp_path: Path) -> None:
    write(tmp_path, line(0))
    (tmp_path / "history-z.jsonl").write_text(HEADER.replace("r1", "r2") + "\n")
    error = refusal(tmp_path)
    assert error.place == "history-z.jsonl, line 1"
    assert "run r2 beside journals of run r1" in error.problem


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (HEADER.replace(":1,", ":3,"), "format 3 is unknown"),
        (line(0), "missing required field `krucible_history`"),
        ("[]", "Expected `object`, got `array`"),
        ("hello", "malformed"),
        ("", "truncated"),
    ],
)
def test_a_wrong_header(tmp_path: Path, header: str, problem: str) -> None:
    (tmp_path / "history.jsonl").write_text(header + "\n")
    error = refusal(tmp_path)
    assert problem in error.problem
    assert error.place.startswith("history.jsonl, line 1, column ")


def test_a_corrupt_line_that_is_not_the_last(tmp_path: Path) -> None:
    corrupt = line(1).replace(',"time_ns"', ' "time_ns"')
    write(tmp_path, line(0), corrupt, line(2))
    error = refusal(tmp_path)
    column = corrupt.index('"time_ns"') + 1
    assert error.place == f"history-worker-3.jsonl, line 3, column {column}"
    assert error.expected == "one JSON object"
    assert str(error).startswith(error.place)
    assert "Next: restore the journal" in str(error)


def test_a_line_cut_short_with_a_line_end_was_changed(tmp_path: Path) -> None:
    write(tmp_path, line(0), line(1)[:20])
    assert refusal(tmp_path).place == "history-worker-3.jsonl, line 3, column 21"


def test_a_line_that_is_not_utf_8(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_bytes(path.read_bytes() + line(0, node="X").encode().replace(b"X", b"\xff") + b"\n")
    assert "UTF-8" in refusal(tmp_path).problem


def observed_line(index: int, key: str, row: list[int]) -> str:
    """What a broker reported of one partition of one topic."""
    return line(index, key=key, value={"began_ns": 0, "asked_ns": 0, "topics": {"t": [row]}})


@pytest.mark.parametrize(
    ("field", "lines", "problem"),
    [
        ("time_ns", [line(0, time_ns="soon")], "Expected `int`, got `str`"),
        ("type", [line(0, type="done")], "Invalid enum value 'done'"),
        ("index", [line(0), line(1), line(1)], "index 1: a line was added"),
        ("time_ns", [line(0, time_ns=9), line(1, time_ns=8)], "time_ns 8 goes back"),
        ("time_ns", [line(0, time_ns=-1)], "time_ns -1 goes back"),
        ("time_ns", [line(0, time_ns=2**63)], "is no time of a run"),
        ("key", [line(0, "invoke", "send", key=4, value=[])], "Expected `str`, got `int`"),
        ("value", [send(0, [[2]])], "at `$[0]`"),
        ("value", [send(0, [[-1, 2]])], "Expected `int` >= 0"),
        ("value", [send(0, [[2, 7]]), send(1, [[2, 7, 1, "maybe"]], "ok")], "Invalid enum value"),
        ("value", [send(0, [[2, 7]]), send(1, [[2, 7, 1, "ok"], 5], "info")], "got `int`"),
        ("value", [send(0, [[2, 7]]), send(1, [[2]], "fail")], "Expected `array`"),
        ("value", [observed_line(0, "starts", [0, 0, -2])], "Expected `int` >= -1"),
        ("value", [observed_line(0, "leading", [0, 1, 1])], "Expected `array` of length 4, got 3"),
        ("value", [line(0, key="node", node="n1", value={"status": 5})], "Expected `str`, got `int`"),
    ],
)
def test_a_field_that_does_not_fit(tmp_path: Path, field: str, lines: list[str], problem: str) -> None:
    write(tmp_path, *lines)
    error = refusal(tmp_path)
    assert problem in error.problem
    column = lines[-1].index(f'"{field}"') + 1
    assert error.place == f"history-worker-3.jsonl, line {len(lines) + 1}, column {column}"


RUN = {"partition": 2, "first": 5, "count": 3}
TXN = {"client": "kafka-python", "end": "commit", "mops": [["send", "log-0", 2, 7], ["poll", "log-0", []]]}


@pytest.mark.parametrize(
    "lines",
    [
        [send(0, RUN), send(1, {**RUN, "offsets": [[0, 2], [9, 1]]}, "ok")],
        [send(0, RUN), send(1, RUN, "info")],
        [send(0, RUN), send(1, None, "fail")],
        [send(0, RUN), send(1, [[2, 5, 0, "ok"], [2, 6, None, "fail"], [2, 7, None, "info"]], "info")],
        [line(0, "invoke", "txn", value=TXN), line(1, "ok", "txn", value=TXN)],
        [line(0, "invoke", "txn", value=TXN), line(1, "info", "txn")],
        [
            line(0, "invoke", "delete-records", key="t", value=[[0, 5]]),
            line(1, "ok", "delete-records", key="t"),
        ],
    ],
)
def test_runs_transactions_and_deletions(tmp_path: Path, lines: list[str]) -> None:
    write(tmp_path, *lines)
    history = read_history(tmp_path)
    assert len(history.operations) == 2
    assert check_log(history).validity is not Validity.INVALID


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([send(0, []), send(1, [])], "invokes send while send is outstanding"),
        ([send(0, [], "ok")], "completes send without an invocation"),
        (
            [send(0, []), line(1, "info", "assign", key="log-0")],
            "completes assign log-0 while send log-0 is outstanding",
        ),
        (
            [send(0, [[2, 7]]), send(1, [[2, 8, 17, "ok"]], "ok")],
            "answers other records than were sent",
        ),
        ([send(0, [[2, 7]]), send(1, [], "ok")], "answers no record"),
        ([send(0, RUN), send(1, {**RUN, "first": 6, "offsets": [[0, 3]]}, "ok")], "answers other records"),
        ([send(0, RUN), send(1, [[2, 5, 0, "ok"], [2, 6, 1, "ok"]], "ok")], "answers other records"),
        (
            [send(0, [[2, 5]]), send(1, {**RUN, "offsets": [[0, 3]]}, "ok")],
            "answers other records than were sent",
        ),
        (
            [line(0, "invoke", "txn", value=TXN), line(1, "ok", "txn", value={**TXN, "mops": []})],
            "answers other records than the transaction sent",
        ),
    ],
)
def test_operations_out_of_turn(tmp_path: Path, lines: list[str], problem: str) -> None:
    write(tmp_path, *lines)
    error = refusal(tmp_path)
    assert error.problem.startswith("process 3: ")
    assert problem in error.problem
    assert error.place == f"history-worker-3.jsonl, line {len(lines) + 1}, column 1"


WHO = {"client": "kafka-python", "isolation": "read_committed"}
FINAL = {**WHO, "partition": 0, "start": 0, "end": 1, "position": 1, "records": [[0, [0], [5]]]}


def final(kind: str, **changes: Any) -> list[str]:
    asked = {**WHO, "partition": 0}
    begun = line(0, "invoke", "final-read", key="log-0", value=asked)
    return [begun, line(1, kind, "final-read", key="log-0", value={**FINAL, **changes})]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (final("ok", records=[[0, [0, 1], [5]]]), "as many values as offsets"),
        ([send(0, {**RUN, "count": 0})], "Expected `int` >= 1"),
        ([send(0, {**RUN, "count": 10**9})], "Expected `int` <= 100000"),
        ([send(0, RUN), send(1, {**RUN, "offsets": [[0, 2]]}, "ok")], "stretches of 3 records together"),
        ([send(0, RUN), send(1, RUN, "ok")], "missing required field `offsets`"),
        ([send(0, RUN), send(1, {**RUN, "offsets": [[0, 3]]}, "info")], "Expected `null`"),
        ([line(0, "invoke", "txn", value={**TXN, "mops": [["take", 1]]})], "Invalid value 'take'"),
        ([line(0, "invoke", "txn", value={**TXN, "mops": [["send", "log-0", -1, 1]]})], "`int` >= 0"),
        (
            [line(0, "invoke", "txn", value={**TXN, "mops": [["poll", "log-0", [[0, [1], []]]]]})],
            "as many values as offsets",
        ),
        ([line(0, "invoke", "delete-records", key="t", value=[[0, -1]])], "Expected `int` >= 0"),
        (final("ok", records=[[1, [0], [5]]]), "records of partition 0 alone"),
        (final("ok", position=None), "Expected `int`, got `null`"),
        (final("info", position=None), "start, end and position, or none"),
        (final("ok", isolation="dirty"), "Invalid enum value 'dirty'"),
        (
            [line(0, f="setup", value={"topics": [{"name": "t", "partitions": 0}]})],
            "`$.topics[0].partitions`",
        ),
        ([line(0, f="setup", value={"final_readers": "one"})], "`$.final_readers`"),
        ([line(0, f="phase", key=7)], "Expected `str`"),
        ([line(0, "invoke", "late-heartbeat", key="b1", value=HEARTBEAT)], "Expected `int`, got `str`"),
        ([line(0, "invoke", "late-heartbeat", key=1, value={"to": "c1"})], "required field `epoch`"),
        ([line(0, "invoke", "inject", key="f1", value={})], "missing required field `kind`"),
        ([line(0, key="partitions", value={"began_ns": 1, "topics": {"t": [[0]]}})], "`$.topics[...][0]`"),
    ],
)
def test_values_that_do_not_have_their_shape(tmp_path: Path, lines: list[str], problem: str) -> None:
    write(tmp_path, *lines)
    assert problem in refusal(tmp_path).problem


def test_a_final_read_that_gave_up_may_tell_nothing(tmp_path: Path) -> None:
    write(tmp_path, *final("info", start=None, end=None, position=None, records=[]))
    assert len(read_history(tmp_path).operations) == 2
    write(tmp_path, *final("info", end=9))
    assert len(read_history(tmp_path).operations) == 2
