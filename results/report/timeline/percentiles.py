"""Lines of latency percentiles of acknowledged sends, or of polls, over time."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from checkers.history.units import NS_PER_MS, NS_PER_S
from results.report.drawing import svg
from results.report.drawing.frame import Frame
from results.run.load_results import OUTCOMES
from results.run.observation import CompletedCalls, Numbers

_BINS_MAX = 450
PERCENTILES = {"p50": 50, "p95": 95, "p99": 99}
Floats = npt.NDArray[np.float64]


def bin_seconds(end_ns: int) -> int:
    """Number of seconds per point of a line; more than one in a long run."""
    return max(int(np.ceil(end_ns / NS_PER_S / _BINS_MAX)), 1)


def percentile_lines(
    calls: CompletedCalls, frame: Frame, height_of: Callable[[Floats], Floats]
) -> list[Markup]:
    """A line for each of `PERCENTILES`, interrupted while no call began that ended with ok.

    Args:
        calls: the sends or the polls of the run.
        frame: maps times to x.
        height_of: maps latencies (ms) to y.
    """
    good = calls.outcome == OUTCOMES.index("ok")
    width_ns = bin_seconds(frame.end_ns) * NS_PER_S
    bins, levels = _levels(calls.began_ns[good] // width_ns, calls.took_ns[good])
    places = frame.places((bins * width_ns + width_ns // 2).astype(np.int64))
    lines = []
    for row, name in enumerate(PERCENTILES):
        heights = np.round(height_of(levels[row]), 1)
        for part in _unbroken(bins):
            points = [
                f"{svg.number(x)} {svg.number(y)}" for x, y in zip(places[part], heights[part], strict=True)
            ]
            points += points if len(points) == 1 else []
            lines.append(svg.element("polyline", points=" ".join(points), class_=f"curve {name}"))
    return lines


def _levels(codes: Numbers, took_ns: Numbers) -> tuple[Numbers, Floats]:
    """Bins that are not empty, in order, and a row for each percentile (ms)."""
    order = np.argsort(codes, kind="stable")
    bins, first = np.unique(codes[order], return_index=True)
    parts = np.split(took_ns[order] / NS_PER_MS, first[1:]) if bins.size else []
    levels = [np.percentile(part, list(PERCENTILES.values()), method="higher") for part in parts]
    return bins, np.array(levels, dtype=np.float64).reshape(-1, len(PERCENTILES)).T


def _unbroken(bins: Numbers) -> Iterator[slice]:
    """Ranges of positions with consecutive bins."""
    if not bins.size:
        return
    ends = [*(np.flatnonzero(np.diff(bins) > 1) + 1).tolist(), bins.size]
    begin = 0
    for end in ends:
        yield slice(begin, end)
        begin = end
