"""Histories that others recorded, and their verdicts: ours are the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from checkers.foreign.files import open_source
from checkers.foreign.judging import JudgingOptions, judge_foreign
from checkers.foreign.records import foreign_of
from checkers.verdict.verdict import Validity

CORPUS = Path(__file__).parents[4] / "shared" / "corpus"


@pytest.mark.skipif(
    not CORPUS.is_dir(), reason="the recorded histories are not beside this checkout (../shared/corpus)"
)
def test_our_verdicts_are_those_of_others() -> None:
    labels: dict[str, dict[str, Any]] = json.loads((CORPUS / "labels.json").read_bytes())
    differing = {}
    for file, label in labels.items():
        with (CORPUS / file).open("rb") as stream:
            source = open_source(stream, file)
            foreign = foreign_of(source.elements, file, source.damage)
        asked = JudgingOptions(label.get("workload"), label.get("model"), label.get("initial"))
        found = judge_foreign(foreign, asked).verdict.validity
        wanted = {True: Validity.VALID, False: Validity.INVALID}.get(
            label.get("linearizable", False), Validity.INVALID
        )
        if found is not wanted:
            differing[file] = found
    assert len(labels) == 80
    assert differing == {}
