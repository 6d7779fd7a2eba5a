"""The heat map: a cell for each scenario and day, which has the look of the day's worst verdict."""

from pathlib import Path

from results.serve.heat import HEAT_DAYS_MAX, HeatMap, heat_map
from results.serve.listing import RunListing
from results.serve.pages import trends_page
from results.serve.query import Query
from tests.results.stores import broken, put_run


def heat_of(root: Path) -> HeatMap:
    return heat_map(RunListing(root).entries())


def cell_texts(root: Path) -> dict[str, list[str]]:
    """What the cells of each scenario say."""
    return {name: [cell.text for cell in cells] for name, cells in heat_of(root).rows}


def test_a_cell_counts_the_runs_of_a_day_over_all_versions(tmp_path: Path) -> None:
    put_run(tmp_path, "20261120T100000Z-1")
    put_run(tmp_path, "20261120T110000Z-2", version="4.1.1")
    put_run(tmp_path, "20261122T100000Z-3", broken())
    put_run(tmp_path, "20261122T110000Z-4")
    put_run(tmp_path, "20261122T120000Z-5", None, scenario="kips/grow")
    assert heat_of(tmp_path).days == ("2026-11-20", "2026-11-22")
    assert cell_texts(tmp_path) == {
        "kips/grow": ["", "1 unjudged"],
        "smoke/partition": ["2 valid", "1 invalid, 1 valid"],
    }
    (_, cells) = heat_of(tmp_path).rows[1]
    assert [(cell.worst, cell.runs) for cell in cells] == [("valid", 2), ("invalid", 2)]


def test_replays_and_seeded_bugs_are_not_on_it(tmp_path: Path) -> None:
    put_run(tmp_path, "20261120T100000Z-1", broken(), replay_of="r0")
    put_run(tmp_path, "20261120T100000Z-2", broken(), seeded_bug="forgets")
    assert heat_of(tmp_path) == HeatMap((), ())


def test_the_newest_days_are_kept(tmp_path: Path) -> None:
    days = [f"202611{day:02}" for day in range(1, 29)] + [f"202612{day:02}" for day in range(1, 9)]
    for day in days:
        put_run(tmp_path, f"{day}T100000Z-1")
    found = heat_of(tmp_path)
    assert (len(found.days), found.days[-1]) == (HEAT_DAYS_MAX, "2026-12-08")
    assert len(found.rows[0][1]) == HEAT_DAYS_MAX


def test_the_page_shows_it_and_names_from_runs_stay_text(tmp_path: Path) -> None:
    put_run(tmp_path, "20261120T100000Z-1", broken(), scenario="a&b<i>c")
    entries = RunListing(tmp_path).entries()
    page = trends_page(entries, entries, (), Query())
    assert '<td class="hot invalid" title="2026-11-20: 1 invalid">' in page
    assert "a&amp;b&lt;i&gt;c" in page
    assert "<i>" not in page
    assert "Scenarios by day" not in trends_page((), (), (), Query())
