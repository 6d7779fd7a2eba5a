"""Verdicts of scenarios by version over time, from the listing."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from markupsafe import Markup

from results.repeats.flakes import Comparable, Flakes, flakes_among
from results.report.drawing import svg
from results.serve.listing import ListedRun, outcomes
from results.serve.query import version_order

DAYS_MAX = 60
"""Maximum number of days in a chart; the newest days with runs are shown."""
_DAY = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})", re.ASCII)
_COLUMN = 12.0
_HEIGHT = 44.0


class Day(NamedTuple):
    """Runs of one day by outcome."""

    date: str
    counts: dict[str, int]


class Trend(NamedTuple):
    """One scenario on one version.

    Attributes:
        counts: runs by outcome, worst first; outcomes without a run are left out.
        unexpected: runs whose verdict is not the expected one.
        flakes: flakes among the runs and their replays; None if no schedule was judged twice.
        days: days with runs, oldest first.
        newest: the newest run.
    """

    scenario: str
    version: str
    runs: int
    counts: dict[str, int]
    unexpected: int
    flakes: Flakes | None
    days: tuple[Day, ...]
    newest: ListedRun


def trends(entries: Iterable[ListedRun]) -> tuple[Trend, ...]:
    """One trend for each pair of scenario and version, sorted; replays and seeded bugs are left out.

    A replay repeats the schedule of a run that was usually chosen because it was invalid.  So the rate of
    invalid replays says nothing about the scenario, but replays do show flakes.  Runs with a seeded bug say
    nothing about Kafka.

    Args:
        entries: runs, newest first.
    """
    groups: dict[tuple[str, str], list[ListedRun]] = {}
    replays: dict[tuple[str, str], list[ListedRun]] = {}
    for entry in entries:
        if not entry.summary.seeded_bug:
            into = replays if entry.summary.replay_of else groups
            into.setdefault((entry.summary.scenario, entry.summary.kafka_version), []).append(entry)
    ordered = sorted(groups.items(), key=lambda group: (group[0][0], version_order(group[0][1])))
    return tuple(_trend(*names, runs, replays.get(names, [])) for names, runs in ordered)


def _trend(scenario: str, version: str, runs: list[ListedRun], replays: list[ListedRun]) -> Trend:
    return Trend(
        scenario=scenario,
        version=version,
        runs=len(runs),
        counts=_counts(runs),
        unexpected=sum(run.summary.as_expected is False for run in runs),
        flakes=flakes_among(_comparable(*runs, *replays)),
        days=tuple(_days(runs)),
        newest=runs[0],
    )


def _comparable(*runs: ListedRun) -> Iterator[Comparable]:
    yield from (run.summary.comparable for run in runs if run.summary.comparable)


def day_of(entry: ListedRun) -> str:
    """The date on which a run began, from its identity, else from its folder's name; may be empty."""
    found = _DAY.match(entry.summary.began_at) or _DAY.match(entry.name)
    return "-".join(found.groups()) if found else ""


def chart(trend: Trend, tallest: int) -> Markup:
    """Columns with the runs of each day, with colours and patterns by outcome.

    Args:
        trend: its newest `DAYS_MAX` days are drawn.
        tallest: number of runs that fill the height; at least the maximum of all days.
    """
    days = trend.days[-DAYS_MAX:]
    columns = [_column(day, number * _COLUMN, tallest) for number, day in enumerate(days)]
    width = max(len(days), 1) * _COLUMN
    ground = svg.element("line", x1=0, x2=width, y1=_HEIGHT + 0.5, y2=_HEIGHT + 0.5, class_="axis")
    return svg.element(
        "svg",
        *columns,
        ground,
        class_="days",
        role="img",
        aria_label=_days_text(days),
        viewBox=f"0 0 {svg.number(width)} {svg.number(_HEIGHT + 1)}",
        width=width,
        height=_HEIGHT + 1,
    )


def patterns() -> Markup:
    """Patterns for the charts of a page; each page needs them once."""
    stripe = svg.element("line", x1=0, x2=0, y1=0, y2=4, class_="stripe")
    units = {"patternUnits": "userSpaceOnUse", "patternTransform": "rotate(45)"}
    hatch = svg.element(
        "pattern",
        svg.element("rect", width=4, height=4, class_="ground"),
        stripe,
        id="fill-unknown",
        width=4,
        height=4,
        **units,
    )
    return svg.element(
        "svg", svg.element("defs", hatch), class_="off-screen", width=0, height=0, aria_hidden="true"
    )


def _column(day: Day, x: float, tallest: int) -> Markup:
    counts = ", ".join(f"{count} {name}" for name, count in day.counts.items())
    parts = [svg.title(f"{day.date or 'without a date'}: {counts}")]
    y = _HEIGHT
    for name, count in reversed(day.counts.items()):
        height = _HEIGHT * count / tallest
        y -= height
        place = {"x": x + 1, "y": y, "width": _COLUMN - 2, "height": height}
        fill = "url(#fill-unknown)" if name == "unknown" else None
        parts.append(svg.element("rect", **place, fill=fill, class_=f"day {name}"))
        if name == "invalid":
            parts.append(_cross(x + _COLUMN / 2, y + height / 2, min(height, _COLUMN) / 4))
    return svg.group(parts)


def _cross(x: float, y: float, arm: float) -> Markup:
    left, right, top, bottom = (svg.number(place) for place in (x - arm, x + arm, y - arm, y + arm))
    return svg.element(
        "path", d=f"M{left} {top}L{right} {bottom}M{right} {top}L{left} {bottom}", class_="cross"
    )


def _counts(runs: Iterable[ListedRun]) -> dict[str, int]:
    counted = Counter(run.outcome for run in runs)
    return {name: counted[name] for name in outcomes() if counted[name]}


def _days(runs: list[ListedRun]) -> Iterator[Day]:
    dated: dict[str, list[ListedRun]] = {}
    for run in runs:
        dated.setdefault(day_of(run), []).append(run)
    for date in sorted(dated):
        yield Day(date, _counts(dated[date]))


def _days_text(days: tuple[Day, ...]) -> str:
    return "; ".join(
        f"{day.date}: " + ", ".join(f"{n} {name}" for name, n in day.counts.items()) for day in days
    )
