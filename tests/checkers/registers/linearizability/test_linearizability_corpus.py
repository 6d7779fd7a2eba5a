"""Recorded histories of etcd with verdicts of others, where they lie beside the checkout."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from checkers.history.operations import History
from checkers.registers.linearizability import cas_register, check_linearizable
from tests.checkers.registers.linearizability.object_histories import history

CORPUS = Path(__file__).parents[5] / "shared/corpus"
LINE = re.compile(r"INFO\s+jepsen\.util - (\d+)\s+:(\w+)\s+:(\w+)\s+(.*)")
LOGS = sorted(CORPUS.glob("etcd-register/*.log"))

pytestmark = pytest.mark.skipif(not LOGS, reason="the corpus ../shared/corpus is not there")


def recorded(path: Path) -> History:
    asked: dict[str, Any] = {}
    rows = []
    for process, kind, f, text in LINE.findall(path.read_text()):
        value = json.loads(text.replace(" ", ",").replace("nil", "null")) if text[0] != ":" else None
        if kind == "invoke":
            asked[process] = value
        rows.append((None, int(process), kind, f, asked[process] if kind in ("fail", "info") else value))
    return history(rows)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_agrees_with_the_recorded_verdict(path: Path) -> None:
    labels = json.loads((CORPUS / "labels.json").read_text())
    result = check_linearizable(recorded(path), cas_register(None))
    wrong = not labels[f"{path.parent.name}/{path.name}"]["linearizable"]
    assert result.counts == ({"nonlinearizable": 1} if wrong else {})
    assert result.unknown_because is None
