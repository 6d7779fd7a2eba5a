"""docs/minimised.md has what the scenarios beside it have, and each of them can be run."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.campaigns.minimising.passes import planned_of
from harness.campaigns.minimising.pieces import FAULTS, GAMBITS, OPERATIONS, counts_of
from harness.campaigns.minimising.sizes import size_of
from harness.plan.planning import RunOptions, plan_run
from harness.plan.scenario_files import load_file, name_of
from harness.seeded_bugs.catalogue import seeded_bugs
from harness.vocabulary import Scenario
from tests.guides import ROOT

DOCS = ROOT / "docs"
PAGE = DOCS / "minimised.md"
FOLDER = DOCS / "minimised"
_SUMMARY = re.compile(
    r"\"\"\"(\S+) in (\d+ of \d+) \(.*\) with (\d+) of \d+ faults?, (\d+) nodes, (\d+) s\.\n"
)


class Row(NamedTuple):
    """One row of the table."""

    bug: str
    run: str
    anomaly: str
    pieces: str
    seconds: str
    nodes: str
    shown: str
    runs: str
    minutes: str

    def after(self, column: str) -> int:
        """The number behind the arrow."""
        return int(column.split(" → ")[1])


def rows() -> dict[str, Row]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| [`")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    found = [Row(*each) for each in cells]
    return {re.findall(r"`(.+?)`", row.bug)[0]: row for row in found}


def pieces(scenario: Scenario) -> int:
    """Faults, gambits and operations of its schedule."""
    counts = counts_of(planned_of(scenario))
    return sum(counts.get(kind, 0) for kind in (FAULTS, GAMBITS, OPERATIONS))


def test_each_scenario_has_a_row() -> None:
    assert sorted(rows()) == sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_a_row_shows_what_its_scenario_has(path: Path) -> None:
    row, text = rows()[path.stem], path.read_text()
    found = _SUMMARY.search(text)
    assert found is not None
    anomaly, shown, _faults, nodes, seconds = found.groups()
    assert (row.anomaly, row.shown) == (f"`{anomaly}`", shown)
    assert (row.after(row.nodes), row.after(row.seconds)) == (int(nodes), int(seconds))
    assert f"with the seeded bug {path.stem}." in " ".join(text.split())
    assert anomaly in seeded_bugs()[path.stem].anomalies
    scenario = load_file(path)
    size = size_of(scenario)
    assert row.after(row.pieces) == pieces(scenario)
    assert (size.nodes, size.duration_s) == (int(nodes), int(seconds))
    options = RunOptions(scenario=name_of(path), scenario_file=str(path), seeded_bug=path.stem, seed=1)
    assert plan_run(options).schedule == scenario.schedule
