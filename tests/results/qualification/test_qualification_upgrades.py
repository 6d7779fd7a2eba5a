"""A report lists from which versions clusters were upgraded, and how the runs ended."""

from results.campaigns.summary import Outcome
from results.qualification.records import QualificationRole
from results.qualification.upgrades import upgrades_section
from tests.results.qualified import run

UPGRADE = "exploratory/upgrade"
BASELINE = QualificationRole.BASELINE


def test_without_upgrades_there_is_no_section() -> None:
    section = upgrades_section([run()])
    assert not section.lead
    assert not section.rows


def test_each_path_and_side_has_a_row_and_older_versions_come_first() -> None:
    upgrade, kill = {"upgrade": 900, "kill": 5_000}, {"kill": 5_000}
    runs = [
        run(scenario=UPGRADE, from_version="4.1.1", gaps=upgrade),
        run(BASELINE, scenario=UPGRADE, from_version="3.9.0", gaps=upgrade),
        run(scenario=UPGRADE, from_version="3.9.0", gaps=upgrade),
        run(seed=2, scenario=UPGRADE, from_version="3.9.0", gaps=kill, outcome=Outcome.INVALID),
        run(
            seed=3,
            scenario=UPGRADE,
            from_version="3.9.0",
            outcome=Outcome.UNKNOWN,
            as_expected=True,
            left_open=("x",),
        ),
        run(seed=4, scenario=UPGRADE, from_version="3.9.0", outcome=None),
        run(scenario=UPGRADE, from_version="3.10.0", outcome=None),
    ]
    rows = upgrades_section(runs).rows
    assert [row[1:5] for row in rows] == [
        ("3.9.0", "4.3.1", "combined", "candidate"),
        ("3.9.0", "4.1.1", "combined", "baseline"),
        ("3.10.0", "no run", "combined", "candidate"),
        ("4.1.1", "4.3.1", "combined", "candidate"),
    ]
    first, _, none, _ = rows
    assert first[5:12] == ("4", "1", "1", "2", "1", "1 of 1", "4 of 4")
    assert len(first[12].split()) == 3
    assert none[5:12] == ("1", "0", "0", "1", "0", "0 of 0", "0 of 0")
