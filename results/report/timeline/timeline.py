"""The timeline: lanes over one time axis, with faults shaded through all lanes."""

from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup

from results.report.cards.cards import Card
from results.report.drawing import glyphs, svg
from results.report.drawing.frame import GUTTER, HEAD, PLOT, WIDTH, Frame, TimelineLane
from results.report.reading.calls import CallColumns
from results.report.size_limits import DisplayLimits
from results.report.timeline.cluster import controllers, isr, nodes, partitions
from results.report.timeline.events import anomalies, faults, phases
from results.report.timeline.load import latency, poll_latency, rates
from results.report.timeline.operations import operations
from results.run.observation import Observed

_GAP = 13.0
_AXIS = 34.0
_TOP = 4.0
_START_SHARE_MAX = 0.08
_States = tuple[Callable[[Observed, Frame, DisplayLimits], TimelineLane | None], ...]
_CLUSTER: _States = (controllers, nodes, partitions, isr)
_LOAD: _States = (latency, poll_latency, rates)


def timeline(
    observed: Observed,
    found: Sequence[Card],
    limits: DisplayLimits,
    calls: CallColumns | None = None,
    *,
    timed: bool = True,
) -> Markup:
    """The timeline as SVG, without lanes for which nothing was recorded.

    Args:
        observed: the observations of the history.
        found: the cards to which marks lead.
        limits: upper bounds of what is shown.
        calls: the calls of the history; without them there is no lane of operations.
        timed: False if the history has no times, as in `Frame`.
    """
    frame = _frame(observed, timed=timed)
    drawn: list[Markup] = []
    y = _TOP
    for group, lane in _lanes(observed, found, limits, calls, frame):
        if lane is not None:
            drawn.append(_placed(lane, y, group))
            y += HEAD + lane.inset + lane.height + _GAP
    behind = [_definitions(), *_windows(observed, frame, y, limits), *_anomaly_lines(found, frame, y)]
    label = "Timeline of the run: faults, anomalies, leaders, in-sync replicas, latency and rates"
    return svg.element(
        "svg",
        *behind,
        _axis(frame, y),
        *drawn,
        _cursor(y),
        id="timeline",
        role="group",  # a screen reader does not announce the links of an image
        aria_label=label,
        viewBox=f"0 0 {svg.number(WIDTH)} {svg.number(y + _AXIS)}",
        data_left=GUTTER,
        data_width=PLOT,
        data_begin_s=repr(frame.begin_ns / 1e9),
        data_end_s=repr(frame.end_ns / 1e9),
        data_timed=None if timed else "no",
    )


def _lanes(
    observed: Observed,
    found: Sequence[Card],
    limits: DisplayLimits,
    calls: CallColumns | None,
    frame: Frame,
) -> Iterator[tuple[str, TimelineLane | None]]:
    """Lanes from top to bottom, each with its group; the page can hide groups."""
    above = (phases(observed, frame, limits), faults(observed, frame, limits), anomalies(found, frame))
    acts = operations(calls, frame, limits) if calls is not None else None
    yield from (("Faults and anomalies", lane) for lane in above)
    yield from (("Cluster", draw(observed, frame, limits)) for draw in _CLUSTER)
    yield "Operations", acts
    if frame.timed:
        yield from (("Load", draw(observed, frame, limits)) for draw in _LOAD)


def _frame(observed: Observed, *, timed: bool) -> Frame:
    """The whole run; without the start of the cluster if that took long, since nothing is drawn there."""
    long = observed.begin_ns > observed.end_ns * _START_SHARE_MAX
    return Frame(observed.begin_ns if long else 0, observed.end_ns, timed)


def _placed(lane: TimelineLane, y: float, group: str) -> Markup:
    note = svg.element("tspan", lane.note, class_="note", dx=8)
    caption = svg.element("text", lane.name, note, x=0, y=10, class_="caption")
    legend = svg.group([lane.legend], transform=f"translate({svg.number(GUTTER + PLOT)} 10)")
    body = svg.group([lane.body], class_="plot", transform=f"translate(0 {svg.number(HEAD + lane.inset)})")
    parts = [caption, legend, body] if lane.legend else [caption, body]
    place = f"translate(0 {svg.number(y)})"
    return svg.group(parts, class_="lane", transform=place, data_group=group)


def _windows(observed: Observed, frame: Frame, height: float, limits: DisplayLimits) -> list[Markup]:
    attempted = [fault for fault in observed.faults if fault.attempted]
    return [
        svg.element("rect", **frame.bar(begin_ns, end_ns), height=height, class_="window")
        for begin_ns, end_ns in (
            (fault.invoked_ns, fault.healed_ns or frame.end_ns) for fault in attempted[: limits.segments]
        )
    ]


def _anomaly_lines(found: Sequence[Card], frame: Frame, height: float) -> list[Markup]:
    places = sorted({round(frame.x(f.time_ns), 1) for f in found if f.illegal and f.time_ns is not None})
    return [svg.element("line", x1=x, x2=x, y1=0, y2=height, class_="anomaly-line") for x in places]


def _axis(frame: Frame, y: float) -> Markup:
    """The time axis, with its line at y = 0; the page's script moves it and redraws its ticks."""
    line = svg.element("line", x1=GUTTER, x2=GUTTER + PLOT, y1=0, y2=0, class_="axis")
    ticks = []
    for x, label in frame.ticks():
        ticks.append(svg.element("line", x1=x, x2=x, y1=-y, y2=4, class_="grid"))
        ticks.append(svg.text(x, 15, label, class_="tick"))
    unit = "seconds since the run began" if frame.timed else "position of the operation, no times recorded"
    name = svg.text(GUTTER + PLOT, 29, unit, class_="note", text_anchor="end")
    place = f"translate(0 {svg.number(y)})"
    return svg.group([line, svg.group(ticks, id="ticks"), name], id="axis", transform=place)


def _cursor(height: float) -> Markup:
    """The cursor, moved by the page's script."""
    line = svg.element("line", x1=0, x2=0, y1=0, y2=height, class_="cursor-line")
    time = svg.text(0, height + 29, "", class_="cursor-time", text_anchor="middle")
    return svg.group([line, time], id="cursor", visibility="hidden", pointer_events="none")


def _definitions() -> Markup:
    """SVG definitions for the whole page."""
    across = {"x": GUTTER - 1, "width": PLOT + 2, "y": -9_999, "height": 99_999}
    inside = svg.element("clipPath", svg.element("rect", **across), id="inside")
    hatches = (_hatch("hatch-bad"), _hatch("hatch-idle"))
    return svg.element("defs", *hatches, inside, glyphs.definitions())


def _hatch(name: str) -> Markup:
    ground = svg.element("rect", width=5, height=5, class_=f"{name}-ground")
    stroke = svg.element("line", x1=0, x2=0, y1=0, y2=5, class_=name)
    units = {"patternUnits": "userSpaceOnUse", "patternTransform": "rotate(45)"}
    return svg.element("pattern", ground, stroke, id=name, width=5, height=5, **units)
