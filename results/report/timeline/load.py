"""Lanes of the load: latency of sends and of polls, and rates of sent and polled records."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from checkers.history.units import NS_PER_MS, NS_PER_S
from results.report.drawing import glyphs, svg
from results.report.drawing.frame import (
    GUTTER,
    INSET,
    PLOT,
    Frame,
    TimelineLane,
    nice_step,
    row_name,
    width_of,
)
from results.report.size_limits import DisplayLimits
from results.report.timeline.percentiles import PERCENTILES, bin_seconds, percentile_lines
from results.run.load_results import OUTCOMES
from results.run.observation import Numbers, Observed

_LATENCY_HEIGHT = 118.0
_POLL_HEIGHT = 84.0
_RATE_HEIGHT = 84.0
_BINS_MAX = 450
_SHARE_OF_ODD_MARKS = 4
_DECADES = {
    -3: "0.001 ms",
    -2: "0.01 ms",
    -1: "0.1 ms",
    0: "1 ms",
    1: "10 ms",
    2: "100 ms",
    3: "1 s",
    4: "10 s",
}
_OUTCOME_NAMES = {"ok": "acknowledged", "info": "unknown", "fail": "failed"}
_LOAD_NAMES = {"send": "sends", "txn": "transactions", "write": "writes"}
Floats = npt.NDArray[np.float64]


class _LogScale(NamedTuple):
    """Whole decades of milliseconds, from the bottom of a lane to its top."""

    low: int
    high: int
    height: float

    def place(self, log: Floats) -> Floats:
        """Positions (y) of logarithms of milliseconds."""
        return self.height * (1 - (log - self.low) / (self.high - self.low))

    def place_ms(self, ms: Floats) -> Floats:
        """Positions (y) of milliseconds; less than a microsecond is one."""
        return self.place(np.log10(np.maximum(ms, 0.001)))

    def rules(self) -> list[Markup]:
        """A line with its name for each decade."""
        decades = np.arange(self.low, self.high + 1)
        heights = self.place(decades.astype(np.float64))
        return [_decade(*each) for each in zip(decades.tolist(), heights.tolist(), strict=True)]


def _logs(took_ns: Numbers) -> Floats:
    return np.log10(np.maximum(took_ns, 1_000) / NS_PER_MS)


def _scale(logs: Floats, height: float) -> _LogScale:
    return _LogScale(int(np.floor(logs.min())), int(np.floor(logs.max())) + 1, height)


def latency(observed: Observed, frame: Frame, limits: DisplayLimits) -> TimelineLane | None:
    """Latency of each send by its start time, on a logarithmic scale; coinciding dots are drawn once."""
    sends = observed.sends
    if not sends.began_ns.size:
        return None
    took_log = _logs(sends.took_ns)
    scale = _scale(took_log, _LATENCY_HEIGHT)
    x, y = frame.places(sends.began_ns), scale.place(took_log)
    parts = scale.rules()
    drawn = 0
    for code, name in enumerate(OUTCOMES):
        chosen = sends.outcome == code
        most = limits.marks if name == "ok" else limits.marks // _SHARE_OF_ODD_MARKS
        kept = thinned(x[chosen], y[chosen], most)
        drawn += len(kept)
        parts.append(glyphs.outcomes(name, kept.tolist()))
    parts += percentile_lines(sends, frame, scale.place_ms)
    seen = (name for code, name in enumerate(OUTCOMES) if (sends.outcome == code).any())
    legend = _key({name: name for name in PERCENTILES} | {name: _OUTCOME_NAMES[name] for name in seen})
    note = f"by when each began; lines: {_how_often(frame)}"
    if drawn < x.size:
        note += f"; {drawn:,} of {x.size:,} are drawn, one where several coincide"
    name = f"Latency of {' and '.join(_LOAD_NAMES.get(load, load) for load in observed.loads)}"
    return TimelineLane(name, note, _LATENCY_HEIGHT, svg.group(parts), legend, INSET)


def poll_latency(observed: Observed, frame: Frame, _: DisplayLimits) -> TimelineLane | None:
    """Percentiles of the latency of polls that returned records, on a logarithmic scale."""
    polls = observed.deliveries
    if not polls.began_ns.size:
        return None
    scale = _scale(_logs(polls.took_ns), _POLL_HEIGHT)
    body = svg.group([*scale.rules(), *percentile_lines(polls, frame, scale.place_ms)])
    note = f"those that returned records, by when each began; {_how_often(frame)}"
    legend = _key({name: name for name in PERCENTILES})
    return TimelineLane("Latency of polls", note, _POLL_HEIGHT, body, legend, INSET)


def _how_often(frame: Frame) -> str:
    """How many seconds a point of a line stands for."""
    seconds = bin_seconds(frame.end_ns)
    return f"every {seconds} s" if seconds > 1 else "each second"


def thinned(x: Floats, y: Floats, most: int) -> Floats:
    """At most one point in each cell of a grid, as rows; the grid is as fine as `most` allows."""
    cell = 1.0
    while True:
        cells = np.round(x / cell) * 1e6 + np.round(y / cell)
        first = np.unique(cells, return_index=True)[1]
        if first.size <= most:
            return np.stack([x[first], y[first]], axis=1)
        cell *= 1.3


def rates(observed: Observed, frame: Frame, _: DisplayLimits) -> TimelineLane | None:
    """Acknowledged and polled records per second, without the final read, which would dwarf the load."""
    bin_ns = max(NS_PER_S, float(np.ceil(frame.end_ns / _BINS_MAX)))
    acked = _per_second(observed.acks.time_ns, observed.acks.records, frame.end_ns, bin_ns)
    polled = _per_second(observed.polls.time_ns, observed.polls.records, frame.end_ns, bin_ns)
    most = float(max(acked.max(), polled.max()))
    if not most:
        return None
    step = nice_step(most / 3)
    top = step * np.ceil(most / step)
    parts = [_level(value, top) for value in np.arange(0, top + step / 2, step)]
    parts += [
        _curve(series, top, bin_ns, frame, name) for name, series in (("acked", acked), ("polled", polled))
    ]
    legend = _key({"acked": "acknowledged", "polled": "polled"})
    return TimelineLane(
        "Records per second", "final read left out", _RATE_HEIGHT, svg.group(parts), legend, INSET
    )


def _decade(decade: int, y: float) -> Markup:
    name = _DECADES.get(decade, f"{10 ** (decade - 3):,} s" if decade > 0 else f"1e{decade} ms")
    return _rule(y) + row_name(name, y + 3.5)


def _level(value: float, top: float) -> Markup:
    y = _RATE_HEIGHT * (1 - value / top)
    return _rule(y) + row_name(f"{value:,.0f}", y + 3.5)


def _rule(y: float) -> Markup:
    return svg.element("line", x1=GUTTER, x2=GUTTER + PLOT, y1=y, y2=y, class_="rule")


def _per_second(times: Numbers, weights: Numbers, end_ns: int, bin_ns: float) -> Floats:
    bins = int(end_ns // bin_ns) + 1
    counted = np.bincount((times // bin_ns).astype(np.int64), weights=weights, minlength=bins)
    return counted[:bins] / (bin_ns / NS_PER_S)


def _curve(series: Floats, top: float, bin_ns: float, frame: Frame, name: str) -> Markup:
    """A line through the middles of the bins, from the first to the last that is not empty."""
    busy = np.flatnonzero(series)
    if not busy.size:
        return svg.EMPTY
    first, last = max(int(busy[0]) - 1, 0), min(int(busy[-1]) + 2, series.size)
    heights = np.round(_RATE_HEIGHT * (1 - series / top), 1)
    points = (
        f"{svg.number(frame.x((i + 0.5) * bin_ns))} {svg.number(heights[i])}" for i in range(first, last)
    )
    return svg.element("polyline", points=" ".join(points), class_=f"curve {name}")


def _key(names: dict[str, str]) -> Markup:
    """The legend of marks and lines, from right to left."""
    parts = []
    x = 0.0
    for kind, name in reversed(names.items()):
        x -= width_of(name)
        parts.append(svg.text(x, 0, name, class_="small"))
        if kind in OUTCOMES:
            parts.append(glyphs.outcome(kind, x - 8, -3.5))
        else:
            parts.append(svg.element("line", x1=x - 26, x2=x - 6, y1=-3.5, y2=-3.5, class_=f"curve {kind}"))
        x -= 22 if kind in OUTCOMES else 40
    return svg.group(parts)
