"""Draws the pairs behind a comparison: a ring for the baseline, a filled dot for the candidate.

Positions along the axis are percentages of the drawing's width, so that texts and dots keep their size on a
narrow screen.  There is no script: a pair has a tooltip with its figures and is a link to its runs.
"""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup

from results.markup.cleaning import clean
from results.markup.markdown import number
from results.qualification.compared import Durations, PairFigures
from results.qualification.comparison_sections import PairKey, key_of
from results.report.drawing import svg
from results.run.text import seconds

PAIRS_MAX = 60
"""Maximum number of pairs with their own rows; with more, each scenario has one row with its medians."""
_ROW = 14
_HEAD = 20
_FOOT = 62
_LEFT, _WIDE = 2.0, 94.0
"""Start and length of the axis, in percent of the width."""
_ROUND = (1, 1.2, 1.6, 2, 3, 4, 6, 8, 10)
_NAME_MAX = 80


class _Row(NamedTuple):
    """A pair, or the medians of several."""

    candidate_ms: float
    baseline_ms: float
    text: str
    target: str


class _Axis(NamedTuple):
    """The axis, from 0 to a round figure that no value exceeds, ms."""

    top: float

    def at(self, value_ms: float) -> str:
        """Position of a value, in percent of the width."""
        return f"{_LEFT + _WIDE * min(max(value_ms / self.top, 0.0), 1.0):.2f}%"


def paired_dots(one: Durations, targets: Mapping[PairKey, str]) -> Markup:
    """The chart of a comparison: rows by scenario and mode, then both medians and the shift.

    Args:
        one: the comparison, with at least one pair.
        targets: the id on the page of each pair, by `key_of`.
    """
    groups = [(_place(place), list(rows)) for place, rows in groupby(one.figures, _place_of)]
    many = len(one.figures) > PAIRS_MAX
    rows = [
        (name, [_median_row(of)] if many else [_pair_row(figure, targets) for figure in of])
        for name, of in groups
    ]
    axis = _Axis(_top(one))
    height = sum(_HEAD + _ROW * len(of) for _name, of in rows) + _FOOT
    return svg.element(
        "svg",
        *_ticks(axis, height),
        *_medians(one, axis, height - _FOOT),
        *_rows(rows, axis),
        class_="paired",
        role="img",
        aria_label=chart_text(one),
        width="100%",
        height=height,
    )


def chart_text(one: Durations) -> str:
    """The content of a chart as text."""
    known = one.low_ms is not None and one.high_ms is not None
    interval = f", 95 % interval {one.low_ms:+,} to {one.high_ms:+,} ms" if known else ", no interval"
    medians = (
        f"{seconds(one.candidate.median_ms)} (candidate) and {seconds(one.baseline.median_ms)} (baseline)"
    )
    name = f"{clean(one.name, _NAME_MAX)}, {number(one.pairs, 'pair')}"
    return f"{name}: medians {medians}, shift {one.shift_ms:+,} ms{interval}"


def _top(one: Durations) -> float:
    """A round figure slightly above all figures and the interval."""
    ends = [figure for pair in one.figures for figure in (pair.candidate_ms, pair.baseline_ms)]
    most = max(*ends, one.baseline.median_ms + (one.high_ms or 0), 1)
    unit: float = 10.0 ** math.floor(math.log10(most))
    return next(step * unit for step in _ROUND if step * unit >= most)


def _place_of(figure: PairFigures) -> tuple[str, str]:
    return figure.scenario, figure.mode


def _place(place: tuple[str, str]) -> str:
    scenario, mode = (clean(text, _NAME_MAX) for text in place)
    return f"{scenario} ({mode})" if mode else scenario


def _pair_row(figure: PairFigures, targets: Mapping[PairKey, str]) -> _Row:
    seed = "" if figure.seed is None else f"seed {figure.seed}: "
    both = f"candidate {seconds(figure.candidate_ms)}, baseline {seconds(figure.baseline_ms)}"
    return _Row(figure.candidate_ms, figure.baseline_ms, f"{seed}{both}", targets.get(key_of(figure), ""))


def _median_row(figures: Sequence[PairFigures]) -> _Row:
    mine = statistics.median(figure.candidate_ms for figure in figures)
    other = statistics.median(figure.baseline_ms for figure in figures)
    both = f"candidate {seconds(round(mine))}, baseline {seconds(round(other))}"
    return _Row(mine, other, f"medians of {number(len(figures), 'pair')}: {both}", "")


def _ticks(axis: _Axis, height: int) -> Iterator[Markup]:
    places = ((0.0, "start"), (axis.top / 2, "middle"), (axis.top, "end"))
    for value_ms, anchor in places:
        x = axis.at(value_ms)
        yield svg.element("line", x1=x, x2=x, y1=0, y2=height - 16, class_="grid")
        text = seconds(round(value_ms)) if value_ms else "0"
        yield svg.element("text", text, x=x, y=height - 3, text_anchor=anchor)


def _rows(groups: Sequence[tuple[str, Sequence[_Row]]], axis: _Axis) -> Iterator[Markup]:
    y = 0
    for name, rows in groups:
        yield svg.element("text", name, x="0", y=y + _HEAD - 6, class_="place")
        y += _HEAD
        for row in rows:
            yield _dots(row, axis, y + _ROW // 2)
            y += _ROW


def _dots(row: _Row, axis: _Axis, y: int) -> Markup:
    mine, other = axis.at(row.candidate_ms), axis.at(row.baseline_ms)
    drawn = svg.group(
        (
            svg.title(row.text),
            svg.element("line", x1=other, x2=mine, y1=y, y2=y, class_="link"),
            svg.element("circle", cx=other, cy=y, r=4, class_="baseline"),
            svg.element("circle", cx=mine, cy=y, r=4, class_="candidate"),
        )
    )
    return svg.element("a", drawn, href=f"#{row.target}") if row.target else drawn


def _medians(one: Durations, axis: _Axis, y: int) -> Iterator[Markup]:
    """Lines for both medians, and the interval of the shift, starting at the baseline's median."""
    for side, median_ms in (("baseline", one.baseline.median_ms), ("candidate", one.candidate.median_ms)):
        x = axis.at(median_ms)
        hint = svg.title(f"median of the {side}: {seconds(median_ms)}")
        yield svg.element("line", hint, x1=x, x2=x, y1=0, y2=y + 6, class_=f"median {side}")
    middle = y + 20
    if one.low_ms is not None and one.high_ms is not None:
        ends = [axis.at(one.baseline.median_ms + end) for end in (one.low_ms, one.high_ms)]
        yield svg.element("line", x1=ends[0], x2=ends[1], y1=middle, y2=middle, class_="interval")
    x = axis.at(one.baseline.median_ms + one.shift_ms)
    yield svg.element("line", x1=x, x2=x, y1=middle - 5, y2=middle + 5, class_="shift")
    words = f"shift {one.shift_ms:+,} ms" + ("" if one.low_ms is None else " with its 95 % interval")
    yield svg.element("text", words, x="0", y=middle + 17, class_="place")
