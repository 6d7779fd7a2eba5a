"""Registers as they stand in journals: read from disk, judged by all checkers together."""

from pathlib import Path

import msgspec
import pytest

from checkers.history.operations import History, JournalHeader
from checkers.history.reading import HistoryError, read_history
from checkers.judge import judge, known_anomalies
from checkers.registers import check_registers
from checkers.verdict.verdict import Validity
from tests.checkers.registers.register_histories import history_from

STALE = "0 w x 1\n0 w x 2\n0 r x 1"


def written(folder: Path, history: History) -> Path:
    lines = [JournalHeader(1, history.run, "worker-0", history.began_at), *history.operations]
    text = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    (folder / "history-worker-0.jsonl").write_bytes(text)
    return folder


def test_a_history_is_judged_from_disk_as_in_memory(tmp_path: Path) -> None:
    history = history_from(STALE)
    result = check_registers(read_history(written(tmp_path, history)))
    assert result == check_registers(history)
    assert result.validity is Validity.INVALID


def test_the_judge_judges_registers() -> None:
    result = next(result for result in judge(history_from(STALE)).results if result.checker == "registers")
    assert result.counts == {"nonlinearizable": 1}


def test_every_anomaly_is_known() -> None:
    ids = {"nonlinearizable", "phantom", "G1a", "lost-value", "nonmonotonic-after-heal"}
    assert ids <= set(known_anomalies())


@pytest.mark.parametrize("line", ["0 > w 7 1", "0 > r 7"])
def test_a_register_of_ours_has_a_name(tmp_path: Path, line: str) -> None:
    with pytest.raises(HistoryError) as refused:
        read_history(written(tmp_path, history_from(line)))
    assert "Expected `str`, got `int`" in refused.value.problem
    assert refused.value.place.startswith("history-worker-0.jsonl, line 2, column ")


def test_a_read_asks_without_a_value(tmp_path: Path) -> None:
    history = history_from("0 > r x")
    asking = msgspec.structs.replace(history.operations[0], value=1)
    folder = written(tmp_path, msgspec.structs.replace(history, operations=(asking,)))
    with pytest.raises(HistoryError, match="Expected `null`, got `int`"):
        read_history(folder)
