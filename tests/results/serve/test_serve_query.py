"""Listings read what changed, queries choose and order, trends count: all from a store on disk."""

import os
from pathlib import Path

import msgspec
import pytest

from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from results.serve import listing as listings
from results.serve.listing import RunListing
from results.serve.naming import run_named, short_names
from results.serve.query import PAGE_RUNS, Query, choose, parse_query, query_string, version_order
from results.serve.trends import chart, day_of, trends
from results.store.runs import VERDICT_FILE, RunNotFoundError, RunSummary, find_run, summarise_folder
from tests.results.stores import VALID, broken, put_run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "runs"
    put_run(root, "20261120T100000Z-1", faults=("kill", "kill", "partition"), operations=5)
    put_run(root, "20261120T110000Z-2", broken(), version="4.2.0")
    put_run(root, "20261121T100000Z-3", scenario="kips/grow", version="4.10.0", operations=70)
    put_run(root, "20261121T110000Z-4", None)
    return root


def found_at(offset: int, kind: str = "lost-write", *, illegal: bool = True) -> Anomaly:
    return Anomaly(kind, "s", "g", "s", illegal=illegal, subject=f"log-0/3@{offset}")


def test_a_red_run_shows_its_causes_and_what_is_permitted(tmp_path: Path) -> None:
    found = [found_at(1_000 * n) for n in range(1, 6)]
    found += [found_at(1_001, "duplicate"), found_at(9, illegal=False), found_at(8, illegal=False)]
    put_run(tmp_path, "20261120T110000Z-2", Verdict(Validity.INVALID, (result_of("log", found),)))
    put_run(tmp_path, "20261120T100000Z-1")
    red, green = RunListing(tmp_path).entries()
    assert red.causes == (
        "log-0/3, offsets 1000–1001: 2 anomalies of 2 kinds (1 lost-write, 1 duplicate)",  # noqa: RUF001 - a range
        "log-0/3, offset 2000: 1 lost-write",
        "log-0/3, offset 3000: 1 lost-write",
        "and 2 more anomalies of 2 more causes",
    )
    assert red.legal == {"lost-write": 2}
    assert (green.causes, green.legal) == ((), None)
    assert seeds(tmp_path, "text=log-0/3") == [2]


def test_a_verdict_that_is_gone_meanwhile_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = put_run(tmp_path, "20261120T110000Z-2", broken())

    def summarised(root: Path, of: Path) -> RunSummary:
        summary = summarise_folder(root, of)
        (folder / VERDICT_FILE).unlink()
        return summary

    monkeypatch.setattr(listings, "summarise_folder", summarised)
    (entry,) = RunListing(tmp_path).entries()
    assert not entry.causes
    assert [problem.partition(" in ")[0] for problem in entry.summary.problems] == ["verdict.json is missing"]


def test_short_names_mean_one_run_each(tmp_path: Path) -> None:
    places = {
        "901": put_run(tmp_path, "20261120T100000Z-901"),
        "20261120T1": put_run(tmp_path, "20261120T100000Z-7"),
        "20261120T11": put_run(tmp_path, "20261120T110000Z-7"),
        "20261121T": put_run(tmp_path, "20261121T110000Z-7", scenario="kips/grow"),
        "c/20261122T100000Z-8": put_run(tmp_path, "20261122T100000Z-8", scenario="c"),
        "d/20261122T100000Z-8": put_run(tmp_path, "20261122T100000Z-8", scenario="d"),
    }
    places["20261120T100000Z-7"] = places.pop("20261120T1")
    entries = RunListing(tmp_path).entries()
    names = short_names(entries)
    assert names == {folder.relative_to(tmp_path).as_posix(): name for name, folder in places.items()}
    for entry in entries:
        meant = run_named(entries, names[entry.place])
        assert meant == entry
    assert [run_named(entries, name) for name in ("7", "2026", "20261120T1", "", "None", "x")] == [None] * 6


def test_what_a_page_shows_is_a_name_for_commands_too(tmp_path: Path) -> None:
    folders = [put_run(tmp_path, name) for name in ("20261120T100000Z-7", "20261121T100000Z-7")]
    copied = tmp_path / "from-a-colleague"
    put_run(tmp_path, "20261122T100000Z-8").rename(copied)
    entries = RunListing(tmp_path).entries()
    names = short_names(entries)
    assert sorted(names.values()) == ["20261120T", "20261121T", "from-a-co"]
    for folder in (*folders, copied):
        name = names[folder.relative_to(tmp_path).as_posix()]
        assert find_run(tmp_path, name) == folder.resolve()
    for name in ("8", "100000Z-7", "0261120T", "20261120"):
        named = run_named(entries, name)
        try:
            assert find_run(tmp_path, name) == (named and named.summary.folder.resolve())
        except RunNotFoundError:
            assert named is None


def test_a_folder_with_a_number_for_a_name_is_no_seed(tmp_path: Path) -> None:
    seeded = put_run(tmp_path, "20261120T100000Z-1234567890")
    plain = seeded.with_name("1234567890")
    plain.mkdir()
    (plain / VERDICT_FILE).write_text("{}")
    entries = RunListing(tmp_path).entries()
    assert sorted(short_names(entries).values()) == ["1234567890", "smoke/partition/1234567890"]
    meant = run_named(entries, "1234567890")
    assert meant is not None
    assert meant.name == seeded.name


def seeds(root: Path, text: str) -> list[int | None]:
    chosen = choose(RunListing(root).entries(), parse_query(text)).chosen
    return [entry.summary.seed for entry in chosen]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [4, 3, 2, 1]),
        ("scenario=smoke/partition", [4, 2, 1]),
        ("version=4.2.0", [2]),
        ("verdict=valid", [3, 1]),
        ("verdict=unjudged", [4]),
        ("verdict=unexpected", [2]),
        ("anomaly=offsets-reused", [2]),
        ("fault=kill", [1]),
        ("text=GROW", [3]),
        ("text=partition+2026-11-20", [2, 1]),
        ("text=seed-3", [3]),
        ("verdict=valid&fault=pause", []),
        ("sort=time&order=up", [1, 2, 3, 4]),
        ("sort=version&order=up", [2, 4, 1, 3]),
        ("sort=operations", [2, 3, 1, 4]),
        ("sort=anomalies", [2, 4, 3, 1]),
        ("sort=verdict", [2, 4, 3, 1]),
        ("sort=expected", [2, 4, 3, 1]),
        ("sort=seed&order=up", [1, 2, 3, 4]),
        ("sort=faults", [1, 4, 3, 2]),
        ("sort=scenario&order=up", [3, 4, 2, 1]),
        ("sort=nonsense&page=nonsense&unknown=1", [4, 3, 2, 1]),
    ],
)
def test_a_query_chooses_and_orders(root: Path, text: str, expected: list[int]) -> None:
    assert seeds(root, text) == expected


def test_a_query_can_be_linked() -> None:
    query = Query(scenario="a/b & c", text="x y", sort="seed", down=False, page=3)
    assert parse_query(query_string(query, page=3)[1:]) == query
    assert parse_query(query_string(query, version="4.3.1")[1:]).page == 1
    assert query_string(Query()) == "?"


@pytest.mark.parametrize("page", ["0", "-1", "\u0661", "1e9", "", "9" * 30])
def test_a_page_is_a_number_or_the_first(page: str) -> None:
    assert parse_query(f"page={page}").page in (1, 1_000_000)


def test_many_runs_come_in_pages(root: Path) -> None:
    entry = RunListing(root).entries()[0]
    many = [entry._replace(name=f"{number:04}") for number in range(PAGE_RUNS * 2 + 1)]
    page = choose(many, Query(page=3))
    assert (len(page.chosen), len(page.shown), page.number, page.pages) == (401, 1, 3, 3)
    assert choose(many, Query(page=99)).number == 3
    assert choose([], Query(page=2)).number == 1


def test_versions_go_by_their_numbers() -> None:
    ordered = ["", "latest", "3.9", "3.9.1", "3.10.0", "4.0.0-rc1", "4.0.0-rc2", "4.0.0"]
    names = {*ordered}
    assert sorted(names, key=version_order) == ordered


def test_new_and_changed_runs_are_seen_and_others_not_read_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    original = summarise_folder

    def noted(root: Path, folder: Path) -> object:
        read.append(folder.name)
        return original(root, folder)

    monkeypatch.setattr(listings, "summarise_folder", noted)
    listing = RunListing(root)
    listing.entries()
    assert len(read) == 4
    read.clear()
    put_run(root, "20261122T100000Z-5")
    judged = root / "smoke/partition/20261121T110000Z-4"
    (judged / "verdict.json").write_bytes(msgspec.json.encode(VALID))
    (root / "kips/grow/20261121T100000Z-3/history-a.jsonl").write_text("grown")
    found = listing.entries()
    assert sorted(read) == ["20261121T110000Z-4", "20261122T100000Z-5"]
    assert [entry.outcome for entry in found] == ["valid", "valid", "valid", "invalid", "valid"]
    (judged / "run.json").unlink()
    judged.joinpath("verdict.json").unlink()
    assert [e.name for e in listing.entries() if e.outcome == "unjudged"] == ["20261121T110000Z-4"]


def test_what_is_wrong_with_a_run_is_reported(root: Path) -> None:
    cut = put_run(root, "20261123T100000Z-6")
    (cut / "verdict.json").write_bytes(b'{"validity": "inv')
    (cut / "run.json").write_bytes(b"[]")
    lacking = put_run(root, "20261123T110000Z-7")
    (lacking / "measures.json").unlink()
    second, first = RunListing(root).entries()[:2][::-1]
    assert (first.outcome, first.summary.seed) == ("valid", 7)
    assert "measures.json is missing" in first.summary.problems[0]
    assert first.faults is None
    assert (second.outcome, second.summary.seed) == ("unjudged", 6)
    assert [p.split(":")[0] for p in second.summary.problems] == [
        "run.json is damaged",
        "verdict.json is damaged",
    ]


def test_links_pipes_and_huge_files_are_not_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    linked = put_run(root, "20261123T100000Z-6")
    (linked / "verdict.json").unlink()
    (linked / "verdict.json").symlink_to(root / "smoke/partition/20261120T110000Z-2/verdict.json")
    piped = put_run(root, "20261123T110000Z-7", None)
    os.mkfifo(piped / "verdict.json")
    third, second = RunListing(root).entries()[:2]
    assert third.summary.problems == ("verdict.json is not a plain file, so it was not read",)
    assert second.summary.problems == ("verdict.json is not a plain file, so it was not read",)
    assert second.outcome == third.outcome == "unjudged"
    monkeypatch.setattr(listings, "BYTES_MAX", 10)
    assert "more than the 10 that are read" in RunListing(root).entries()[-1].summary.problems[0]


def test_trends_count_each_scenario_on_each_version(root: Path) -> None:
    put_run(root, "20261122T100000Z-5")
    put_run(root, "20261122T110000Z-6", broken())
    found = trends(RunListing(root).entries())
    assert [(t.scenario, t.version, t.runs) for t in found] == [
        ("kips/grow", "4.10.0", 1),
        ("smoke/partition", "4.2.0", 1),
        ("smoke/partition", "4.3.1", 4),
    ]
    last = found[-1]
    assert last.counts == {"invalid": 1, "valid": 2, "unjudged": 1}
    assert (last.unexpected, last.newest.summary.seed) == (1, 6)
    assert [(day.date, day.counts) for day in last.days] == [
        ("2026-11-20", {"valid": 1}),
        ("2026-11-21", {"unjudged": 1}),
        ("2026-11-22", {"invalid": 1, "valid": 1}),
    ]
    assert last.flakes is None, "no schedule ran twice"
    drawn = chart(last, 2)
    assert drawn.count('class="day ') == 4
    assert "2026-11-22: 1 invalid, 1 valid" in drawn
    assert drawn.count('class="cross"') == 1


def test_replays_are_listed_and_no_trend_counts_them(root: Path) -> None:
    before = trends(RunListing(root).entries())
    for number in range(5, 9):
        put_run(root, f"20261122T100000Z-{number}", broken(), replay_of="aB3x")
    put_run(root, "20261122T110000Z-9", broken(), scenario="kips/shrink", replay_of="aB3x")
    assert [trend._replace(flakes=None) for trend in trends(RunListing(root).entries())] == list(before)
    assert seeds(root, "text=replay+aB3x") == [9, 8, 7, 6, 5]


def test_a_trend_shows_flakes_of_schedules_that_ran_again(root: Path) -> None:
    put_run(root, "20261122T100000Z-31", run="r31")
    for number in (32, 33):
        put_run(root, f"20261122T100000Z-{number}", broken(), replay_of="r31")
    found = trends(RunListing(root).entries())[-1].flakes
    assert found is not None
    assert (found.odd, found.runs) == (1, 3)


def test_runs_with_a_seeded_bug_are_listed_and_no_trend_counts_them(root: Path) -> None:
    before = trends(RunListing(root).entries())
    put_run(root, "20261122T100000Z-5", broken(), seeded_bug="forgets")
    assert trends(RunListing(root).entries()) == before
    assert RunListing(root).entries()[0].summary.seeded_bug == "forgets"


def test_a_day_is_known_by_the_folder_where_there_is_no_identity(root: Path) -> None:
    bare = root / "smoke/partition/20261124T100000Z-9"
    bare.mkdir()
    entry = RunListing(root).entries()[0]
    assert day_of(entry) == "2026-11-24"
    odd = msgspec.structs.replace(entry.summary, began_at="yesterday")
    assert not day_of(entry._replace(name="odd", summary=odd))


def test_a_chart_shows_the_newest_days(root: Path) -> None:
    (trend,) = trends(RunListing(root).entries()[:1])
    many = tuple(trend.days[0]._replace(date=f"day-{number}") for number in range(70))
    drawn = chart(trend._replace(days=many), 1)
    assert "day-9:" not in drawn
    assert "day-10:" in drawn
