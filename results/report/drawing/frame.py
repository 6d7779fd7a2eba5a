"""The frame that all lanes of the timeline share: its width, its time axis, and what a lane is."""

import math
from collections.abc import Iterable

import msgspec
import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from checkers.history.units import NS_PER_S
from results.markup.cleaning import clean
from results.report.drawing import svg
from results.run.observation import FaultSeen

GUTTER = 58.0
"""Left of the plot, for the names of rows."""
PLOT = 980.0
RIGHT = 12.0
WIDTH = GUTTER + PLOT + RIGHT
HEAD = 17.0
"""Above each lane, for its caption."""
INSET = 6.0
"""Room above an axis with numbers."""
_CHARACTER = 6.2
"""Width of an average character of the timeline's type, generously."""
_TICKS = 10
_TICKS_MAX = 12


class TimelineLane(msgspec.Struct, frozen=True):
    """One band of the timeline.

    Attributes:
        name: its caption.
        note: what the caption adds in lighter type.
        height: of its body, without the caption.
        body: drawn from y = 0 downwards, x on the frame.
        legend: drawn on the caption's line, ending at x = 0.
        inset: room between caption and body, for the label of an axis's upper end.
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
    """

    begin_ns: int
    end_ns: int

    def x(self, time_ns: float) -> float:
        """Where a moment is drawn; moments outside the run at its edges."""
        share = (time_ns - self.begin_ns) / (self.end_ns - self.begin_ns)
        return GUTTER + PLOT * min(max(share, 0.0), 1.0)

    def places(self, times_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """`x` of many moments."""
        share = (times_ns - self.begin_ns) / (self.end_ns - self.begin_ns)
        return GUTTER + PLOT * np.clip(share, 0.0, 1.0)

    def span(self, begin_ns: float, end_ns: float) -> tuple[float, float]:
        """Place (x) and width of a time, at least wide enough to be seen."""
        x = self.x(begin_ns)
        return x, max(self.x(end_ns) - x, 1.5)

    def bar(self, begin_ns: float, end_ns: float) -> dict[str, float | None]:
        """Attributes of a rectangle for a time; if it is drawn wider than that, they include the true width.

        The page's script uses that width when the timeline is zoomed in.
        """
        x, width = self.span(begin_ns, end_ns)
        exact = self.x(end_ns) - x
        return {"x": x, "width": width, "data_w": exact if exact < width else None}

    def ticks(self) -> list[tuple[float, str]]:
        """Place (x) and label of the axis's ticks, in seconds."""
        begin_s, end_s = self.begin_ns / NS_PER_S, self.end_ns / NS_PER_S
        step = nice_step((end_s - begin_s) / _TICKS)
        numbers = range(math.ceil(begin_s / step), math.floor(end_s / step) + 1)
        return [(self.x(number * step * NS_PER_S), f"{number * step:g}") for number in numbers[:_TICKS_MAX]]


def nice_step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below a positive number."""
    magnitude = 10.0 ** math.floor(math.log10(least))
    return next(magnitude * factor for factor in (1, 2, 5, 10) if magnitude * factor >= least * 0.999_999)


def at_seconds(time_ns: int) -> str:
    """A moment for reading, e.g. ``12.3 s``."""
    return f"{time_ns / NS_PER_S:,.1f} s"


def width_of(content: str) -> float:
    """About how wide a text will be drawn."""
    return len(content) * _CHARACTER


def fault_label(fault: FaultSeen) -> str:
    """Id, kind and targets, e.g. ``f1 partition n1``."""
    return clean(" ".join((fault.id, fault.kind, ", ".join(fault.targets) or "(target not known)")), 60)


def row_name(name: str, y: float) -> Markup:
    """A row's name in the gutter."""
    return svg.text(GUTTER - 8, y, name, class_="row")


def label_in(content: str, x: float, y: float, width: float) -> Markup:
    """A text inside a bar, centred; nothing where it does not fit."""
    if width_of(content) + 4 > width:
        return svg.EMPTY
    return svg.text(x + width / 2, y, content, class_="in")


def row(parts: Iterable[str], y: float) -> Markup:
    """What is drawn from y = 0 downwards, moved down to a row."""
    return svg.group(parts, transform=f"translate(0 {svg.number(y)})")


def from_to(begin_ns: int, end_ns: int) -> str:
    """A time for reading, e.g. ``from 1.0 to 12.3 s``."""
    return f"from {begin_ns / NS_PER_S:,.1f} to {at_seconds(end_ns)}"
