"""Renders the browser's pages; texts of runs are cleaned here and escaped by the templates."""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import jinja2
from markupsafe import Markup

from results.markup.cleaning import clean
from results.report.drawing import glyphs
from results.serve.heat import heat_map
from results.serve.listing import NAME_CHARACTERS_MAX, UNJUDGED, ListedRun, new_in, outcomes
from results.serve.naming import short_names
from results.serve.query import UNEXPECTED, Page, Query, query_string, version_order
from results.serve.store_files import StoredFile, address
from results.serve.trends import Trend, chart, patterns
from results.store.runs import REPORT_FILE

TEMPLATES = Path(__file__).parent / "templates"
FILES_SHOWN = 400
_NAME_MAX = 160
_TEXT_MAX = 400
_PATH_MAX = 4_096
_KIB = 1024
_COLUMNS = (
    ("verdict", "Verdict", False),
    ("scenario", "Scenario", False),
    ("version", "Kafka", False),
    ("seed", "Seed", True),
    ("time", "Began, UTC", False),
    ("operations", "Operations", True),
    ("faults", "Faults", False),
    ("anomalies", "Anomalies", False),
)
"""Columns: title, sort key, and whether it is a number."""


class RunColumn(NamedTuple):
    """A column head of the table."""

    name: str
    title: str
    numeric: bool
    href: str
    sorted: str


class AnomalyCount(NamedTuple):
    """An anomaly of a run and how often it was found, ready to be shown."""

    icon: Markup
    number: str
    id: str


class RunRow(NamedTuple):
    """A run, ready to be shown."""

    href: str
    name: str
    report: str
    outcome: str
    glyph: Markup
    unexpected: bool
    replay_of: str
    scenario: str
    version: str
    seed: str
    began: str
    operations: str
    faults: tuple[tuple[Markup, str], ...]
    causes: tuple[tuple[Markup, str], ...]
    anomalies: tuple[AnomalyCount, ...]
    problems: tuple[str, ...]
    new: str


class FileRow(NamedTuple):
    """A file of a run, ready to be shown."""

    href: str
    name: str
    size: str


def runs_page(entries: Sequence[ListedRun], page: Page, query: Query, root: Path) -> str:
    """The table of runs.

    Args:
        entries: all runs of the store.
        page: the entries that the query selects.
        query: the requested selection.
        root: the store, which the page names.
    """
    names, new = short_names(entries), new_in(entries)
    columns = [_column(name, heading, query, numeric=numeric) for name, heading, numeric in _COLUMNS]
    return _rendered(
        "runs.html.j2",
        columns=columns,
        rows=[row_of(entry, names.get(entry.place, ""), new.get(entry.place, ())) for entry in page.shown],
        latest=f"/runs/{address(entries[0].place.split('/'))}" if entries else "",
        page=page,
        total=len(entries),
        previous=query_string(query, page=page.number - 1) if page.number > 1 else "",
        following=query_string(query, page=page.number + 1) if page.number < page.pages else "",
        root=clean(str(root), _PATH_MAX),
        **_filters(entries, query),
    )


def trends_page(
    entries: Sequence[ListedRun], chosen: Sequence[ListedRun], found: Sequence[Trend], query: Query
) -> str:
    """The page with the heat map of the selected runs and the table of their trends, with charts."""
    tallest = max((sum(day.counts.values()) for trend in found for day in trend.days), default=1)
    rows = [
        {
            "scenario": clean(trend.scenario, _NAME_MAX),
            "version": clean(trend.version, _NAME_MAX) or "not known",
            "href": "/" + query_string(Query(scenario=trend.scenario, version=trend.version)),
            "runs": f"{trend.runs:,}",
            "counts": [(_glyph(name, 14), f"{count:,}", name) for name, count in trend.counts.items()],
            "unexpected": trend.unexpected,
            "flaky": trend.flakes,
            "chart": chart(trend, tallest),
            "since": trend.days[0].date if trend.days else "",
            "newest": row_of(trend.newest),
        }
        for trend in found
    ]
    return _rendered(
        "trends.html.j2", rows=rows, patterns=patterns(), heat=_heat(chosen), **_filters(entries, query)
    )


def _heat(chosen: Iterable[ListedRun]) -> dict[str, object]:
    """Input of the heat map's template: short days, and a glyph for each cell with runs."""
    found = heat_map(chosen)
    rows = [
        {
            "scenario": clean(name, _NAME_MAX),
            "href": "/" + query_string(Query(scenario=name)),
            "cells": [
                (cell.worst, _glyph(cell.worst, 12) if cell.runs else "", cell.runs, f"{day}: {cell.text}")
                for day, cell in zip(found.days, cells, strict=True)
            ],
        }
        for name, cells in found.rows
    ]
    return {"days": [(day, day[5:]) for day in found.days], "rows": rows}


def run_page(entry: ListedRun, files: Sequence[StoredFile], root: Path, name: str = "") -> str:
    """The page of one run: its identity, its files, and its report in a frame."""
    parts = entry.place.split("/")
    return _rendered(
        "run.html.j2",
        row=row_of(entry, name),
        place=clean(entry.place, _PATH_MAX),
        root=clean(str(root), _PATH_MAX),
        files=[_file_row(parts, file) for file in files[:FILES_SHOWN]],
        files_left_out=max(len(files) - FILES_SHOWN, 0),
        count=len(files),
        size=size_text(sum(file.size for file in files)),
        archive=f"/archives/{address(parts)}.tar.gz",
        has_report=any(file.path == (REPORT_FILE,) for file in files),
    )


def row_of(entry: ListedRun, name: str = "", new: Sequence[str] = ()) -> RunRow:
    """A run, cleaned, with its short name if any, and its new signatures."""
    run, parts = entry.summary, entry.place.split("/")
    return RunRow(
        href=f"/runs/{address(parts)}",
        name=clean(name, _NAME_MAX),
        report=f"/runs/{address((*parts, REPORT_FILE))}",
        outcome=entry.outcome,
        glyph=_glyph(entry.outcome, 16),
        unexpected=run.as_expected is False,
        replay_of=clean(run.replay_of, _NAME_MAX),
        scenario=clean(run.scenario, _NAME_MAX) or "(without a name)",
        version=clean(run.kafka_version, 40),
        seed="" if run.seed is None else str(run.seed),
        began=clean(run.began_at.replace("T", " ").removesuffix("Z") or entry.name, 60),
        operations="" if entry.operations is None else f"{entry.operations:,}",
        faults=tuple(
            (glyphs.fault_icon(kind), clean(kind, 30) if count == 1 else f"{count} {clean(kind, 30)}")
            for kind, count in (entry.faults or {}).items()
        ),
        causes=tuple(
            (glyphs.anomaly_icon(illegal=True), clean(line, NAME_CHARACTERS_MAX)) for line in entry.causes
        ),
        anomalies=_anomalies(entry),
        problems=tuple(clean(_without_place(entry, problem), _TEXT_MAX) for problem in run.problems),
        new=clean("; ".join(new), _TEXT_MAX),
    )


def size_text(size: int) -> str:
    """A size as text, e.g. ``1.4 MiB``."""
    value, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < _KIB:
            break
        value, unit = value / _KIB, larger
    return f"{value:,.0f} {unit}" if unit == "B" or value >= 100 else f"{value:,.1f} {unit}"  # noqa: PLR2004 - three digits are enough


def _anomalies(entry: ListedRun) -> tuple[AnomalyCount, ...]:
    """The anomalies of a run, illegal ones first, without those in causes."""
    run = entry.summary
    if entry.causes:
        legal = (entry.legal or {}).items()
        return tuple(_anomaly(name, count, illegal=False) for name, count in legal)
    ordered = sorted(run.anomalies.items(), key=lambda item: (item[0] not in run.illegal, item[0]))
    return tuple(_anomaly(name, count, illegal=name in run.illegal) for name, count in ordered)


def _anomaly(name: str, count: int, *, illegal: bool) -> AnomalyCount:
    return AnomalyCount(glyphs.anomaly_icon(illegal=illegal), f"{count:,}", clean(name, 60))


def _without_place(entry: ListedRun, problem: str) -> str:
    """A problem without the folder, which the row already shows."""
    place = str(entry.summary.folder)
    return problem.replace(f" (in {place})", "").replace(f" in {place}", "").replace(f"{place}/", "")


def _glyph(outcome: str, size: int) -> Markup:
    return Markup() if outcome == UNJUDGED else glyphs.verdict(outcome, size)


def _file_row(parts: Sequence[str], file: StoredFile) -> FileRow:
    href = f"/runs/{address((*parts, *file.path))}"
    return FileRow(href, clean("/".join(file.path), _PATH_MAX), size_text(file.size))


def _column(name: str, heading: str, query: Query, *, numeric: bool) -> RunColumn:
    here = query.sort == name
    down = not query.down if here else name not in ("scenario", "version")
    return RunColumn(
        name,
        heading,
        numeric,
        query_string(query, sort=name, down=down),
        ("down" if query.down else "up") if here else "",
    )


def _filters(entries: Iterable[ListedRun], query: Query) -> dict[str, object]:
    """The filters: current values and choices."""
    scenarios: set[str] = set()
    versions: set[str] = set()
    anomalies: set[str] = set()
    faults: set[str] = set()
    for entry in entries:
        scenarios.add(entry.summary.scenario)
        versions.add(entry.summary.kafka_version)
        anomalies.update(entry.summary.anomalies)
        faults.update(entry.faults or ())
    choices = {
        "scenario": sorted(scenarios),
        "version": sorted(versions - {""}, key=version_order),
        "verdict": [*outcomes(), UNEXPECTED],
        "anomaly": sorted(anomalies),
        "fault": sorted(faults),
    }
    chosen = query.filters
    selects = [
        (name, [(value, clean(value, _NAME_MAX)) for value in _with(values, chosen.get(name, ""))])
        for name, values in choices.items()
    ]
    return {"query": query, "selects": selects, "string": query_string(query).removesuffix("?")}


def _with(values: list[str], chosen: str) -> list[str]:
    """Choices, including the current one even if no run has it."""
    return values if chosen in ("", *values) else [chosen, *values]


def _rendered(template: str, **context: object) -> str:
    return _environment().get_template(template).render(context)


@cache
def _environment() -> jinja2.Environment:
    """The environment, cached because compiling templates takes longer than rendering a page."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
