"""The frame of the timeline's lanes: width, time axis, and the type of a lane."""

import math
from collections.abc import Iterable

import msgspec
import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from checkers.history.units import NS_PER_S
from results.report.drawing import svg
from results.run.text import at_seconds

GUTTER = 72.0
"""Width of the space left of the plot, for the names of rows."""
PLOT = 966.0
RIGHT = 12.0
WIDTH = GUTTER + PLOT + RIGHT
HEAD = 17.0
"""Height of a lane's caption, above its body."""
INSET = 6.0
"""Space above an axis with numbers."""
_CHARACTER = 6.2
"""Estimated width of a character in the timeline; most are narrower."""
_TICKS = 10
_TICKS_MAX = 12


class TimelineLane(msgspec.Struct, frozen=True):
    """One band of the timeline.

    Attributes:
        name: the caption.
        note: text in a lighter colour after the caption.
        height: height of the body, without the caption.
        body: drawn from y = 0 downwards, with x on the frame.
        legend: drawn on the line of the caption; ends at x = 0.
        inset: space between caption and body, for the label of the upper end of an axis.
    """

    name: str
    note: str
    height: float
    body: Markup
    legend: Markup = svg.EMPTY
    inset: float = 0.0


class Frame(msgspec.Struct, frozen=True):
    """Maps the run's time to x.

    Attributes:
        begin_ns: the left edge, not negative.
        end_ns: the right edge, later than the left one.
        timed: False if the history has no times: a second then stands for one operation.
    """

    begin_ns: int
    end_ns: int
    timed: bool = True

    def x(self, time_ns: float) -> float:
        """Position of a time; a time outside the run is drawn at the edge."""
        share = (time_ns - self.begin_ns) / (self.end_ns - self.begin_ns)
        return GUTTER + PLOT * min(max(share, 0.0), 1.0)

    def places(self, times_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """`x` of many times."""
        share = (times_ns - self.begin_ns) / (self.end_ns - self.begin_ns)
        return GUTTER + PLOT * np.clip(share, 0.0, 1.0)

    def span(self, begin_ns: float, end_ns: float) -> tuple[float, float]:
        """Position (x) and width of a time span, with a minimum width so that it is visible."""
        x = self.x(begin_ns)
        return x, max(self.x(end_ns) - x, 1.5)

    def bar(self, begin_ns: float, end_ns: float) -> dict[str, float | None]:
        """Attributes of a rectangle for a time span; they include the true width if it is drawn wider.

        The page's script uses that width when the timeline is zoomed in.
        """
        x, width = self.span(begin_ns, end_ns)
        exact = self.x(end_ns) - x
        return {"x": x, "width": width, "data_w": exact if exact < width else None}

    def at(self, time_ns: int) -> str:
        """A time as text, e.g. ``12.3 s``, or ``operation 12`` in a history without times."""
        return moment_text(time_ns, timed=self.timed)

    def from_to(self, begin_ns: int, end_ns: int) -> str:
        """A time span as text, e.g. ``from 1.0 to 12.3 s``."""
        if not self.timed:
            return f"from operation {begin_ns // NS_PER_S:,} to {end_ns // NS_PER_S:,}"
        return f"from {begin_ns / NS_PER_S:,.1f} to {at_seconds(end_ns)}"

    def ticks(self) -> list[tuple[float, str]]:
        """Position (x) and label (seconds) of each tick of the axis."""
        begin_s, end_s = self.begin_ns / NS_PER_S, self.end_ns / NS_PER_S
        step = nice_step((end_s - begin_s) / _TICKS)
        numbers = range(math.ceil(begin_s / step), math.floor(end_s / step) + 1)
        return [(self.x(number * step * NS_PER_S), f"{number * step:g}") for number in numbers[:_TICKS_MAX]]


def nice_step(least: float) -> float:
    """Round a positive number up to 1, 2 or 5 times a power of ten."""
    magnitude = 10.0 ** math.floor(math.log10(least))
    return next(magnitude * factor for factor in (1, 2, 5, 10) if magnitude * factor >= least * 0.999_999)


ROW_NAME_MAX = 10
"""Characters of a row's name that fit left of the plot."""


def width_of(content: str) -> float:
    """Estimated width of a text in the timeline."""
    return len(content) * _CHARACTER


def row_name(name: str, y: float) -> Markup:
    """The name of a row, left of the plot."""
    return svg.text(GUTTER - 8, y, name, class_="row")


def label_in(content: str, x: float, y: float, width: float) -> Markup:
    """A centred text in a bar; empty if it does not fit."""
    if width_of(content) + 4 > width:
        return svg.EMPTY
    return svg.text(x + width / 2, y, content, class_="in")


def row(parts: Iterable[str], y: float) -> Markup:
    """Move parts that are drawn from y = 0 downwards to a row."""
    return svg.group(parts, transform=f"translate(0 {svg.number(y)})")


def moment_text(time_ns: int, *, timed: bool) -> str:
    """A time as text, e.g. ``12.3 s``; ``operation 12`` if a second stands for one operation."""
    return at_seconds(time_ns) if timed else f"operation {time_ns // NS_PER_S:,}"
