"""Draws the messages of a witness: lanes for clients and nodes, one row for each event, time downwards.

Each row has its own height, so that labels of events at almost the same time do not overlap.  The labels are
in a column next to the lanes.  They contain all the information in the drawing.
"""

import textwrap
from collections.abc import Sequence

from markupsafe import Markup

from results.report.cards.flow.flow_events import CLUSTER, OTHERS, Flow, FlowEvent
from results.report.drawing import glyphs, svg
from results.report.drawing.frame import WIDTH
from results.run.observation import FaultSeen

_TIME = 84.0
"""Width of the column of times."""
_HEAD = 34.0
_LINE = 13.5
_PADDING = 7.0
_WIDE, _NARROW = 78.0, 70.0
_FEW = 6
_CHARACTER = 5.9
"""Estimated width of a character of a label; most are narrower."""
_NAME_CHARACTER = 6.8
"""Estimated width of a (bold) character of a lane's name; most are narrower."""
_LINES_MAX = 3
_LEADER = 5.0
_INSET = 5.0
_NS_PER_S = 1_000_000_000


class _Rows:
    """Positions of the rows of a drawing.

    Attributes:
        lanes: centre (x) of each lane, by name.
        pitch: distance between two lanes.
        text_x: left edge of the labels.
        tops: upper edge of each row.
        lines: text of each row, split into lines.
        end: lower edge of the last row.
    """

    def __init__(self, flow: Flow) -> None:
        names = (*flow.clients, *flow.nodes)
        self.pitch = _WIDE if len(names) <= _FEW else _NARROW
        self.lanes = {name: _TIME + self.pitch * (place + 0.5) for place, name in enumerate(names)}
        self.text_x = _TIME + self.pitch * len(names) + 10
        characters = int((WIDTH - self.text_x) / _CHARACTER)
        self.lines = [_wrapped(event.text, characters) for event in flow.events]
        self.tops: list[float] = []
        y = _HEAD
        for lines in self.lines:
            self.tops.append(y)
            y += len(lines) * _LINE + _PADDING
        self.end = y

    def x(self, lane: str) -> float | None:
        """Centre of a lane; processes without their own lane share one."""
        return self.lanes.get(lane, self.lanes.get(OTHERS, self.lanes.get(CLUSTER)))

    def middle(self, row: int) -> float:
        """Vertical position of a row's arrow, on the first line of the label."""
        return self.tops[row] + _PADDING / 2 + _LINE / 2


def draw_flow(flow: Flow) -> Markup:
    """The drawing, as SVG without ids, with cleaned and escaped texts."""
    rows = _Rows(flow)
    parts = [_head(flow, rows)]
    parts += [_band(fault, flow, rows) for fault in flow.faults]
    parts += [_reign(number, flow, rows) for number in range(len(flow.led))]
    parts += [_busy(call, flow.events, rows) for call in dict.fromkeys(e.call for e in flow.events)]
    parts += [_row(number, event, rows) for number, event in enumerate(flow.events)]
    return svg.element(
        "svg",
        *parts,
        class_="drawn flow",
        role="group",
        aria_label="Message flow: requests, answers, elections and faults in the order of time",
        viewBox=f"0 0 {svg.number(WIDTH)} {svg.number(rows.end + 2)}",
    )


def _head(flow: Flow, rows: _Rows) -> Markup:
    """Names of the lanes, and their lines."""
    parts = []
    for name, x in rows.lanes.items():
        kind = "node" if name in flow.nodes else "client"
        parts.append(svg.element("line", x1=x, x2=x, y1=_HEAD, y2=rows.end, class_=f"lifeline {kind}"))
        parts.append(_lane_name(name, x, kind, int((rows.pitch - 6) / _NAME_CHARACTER)))
    return svg.group(parts)


def _lane_name(name: str, x: float, kind: str, characters: int) -> Markup:
    """The name of a lane, one word per line; if a word is cut, a tooltip has the whole name."""
    words = name.split(" ", 1)
    shortened = [_short(word, characters) for word in words]
    hint = [svg.title(name)] if shortened != words else []
    lines = [
        svg.element("tspan", f"{word} ", x=x, y=_HEAD - 8 - (len(shortened) - 1 - at) * 12)
        for at, word in enumerate(shortened)
    ]
    return svg.element("text", *hint, *lines, class_=f"lifeline-name {kind}", text_anchor="middle")


def _band(fault: FaultSeen, flow: Flow, rows: _Rows) -> Markup:
    """A fault as a band over the lanes of its targets, from the row of its start to the row of its end."""
    row, end_row = (_row_of(flow.events, kinds, fault.id) for kinds in (("fault", "passing"), ("healed",)))
    top, end = rows.middle(row or 0), rows.end
    if end_row is not None:
        end = rows.middle(end_row)
    elif row is not None and flow.events[row].kind == "passing":
        top, end = rows.tops[row] + 1, rows.tops[row] + _LINE + _PADDING - 1
    depth = _depth(fault, flow.faults)
    width = max(rows.pitch - 8 - depth * _INSET * 2, 12.0)
    targets = [lane for lane in flow.nodes if lane in fault.targets] or [
        lane for lane in flow.nodes if lane != CLUSTER
    ]
    parts = [svg.title(fault.label)]
    for lane in targets:
        x = rows.lanes[lane]
        place = {"x": x - width / 2, "y": top, "width": width, "height": max(end - top, 2.0), "rx": 2.0}
        parts.append(svg.element("rect", **place, class_="flow-fault"))
        parts.append(glyphs.fault(fault.kind, x - width / 2 + 7, top + 7, fault.glyph))
    return svg.group(parts)


def _depth(fault: FaultSeen, faults: Sequence[FaultSeen]) -> int:
    """How many faults of the same nodes are in force when it begins; their bands are wider."""
    return sum(
        other.id != fault.id
        and (other.invoked_ns, other.id) < (fault.invoked_ns, fault.id)
        and (other.healed_ns is None or other.healed_ns > fault.invoked_ns)
        and (not fault.targets or not other.targets or not set(fault.targets).isdisjoint(other.targets))
        for other in faults
    )


def _reign(number: int, flow: Flow, rows: _Rows) -> Markup:
    """A thick line on the lane of a leader, until it stopped leading or the next leader began."""
    led = flow.led[number]
    x = rows.lanes.get(led.node)
    later = flow.led[number + 1] if number + 1 < len(flow.led) else None
    until_ns = led.until_ns if led.until_ns is not None else None if later is None else later.time_ns
    top, end = _y_at(led.time_ns, flow.events, rows), rows.end
    if until_ns is not None:
        end = _y_at(until_ns, flow.events, rows)
    if x is None or end <= _HEAD or end <= top:
        return svg.EMPTY
    hint = svg.title(f"{led.node} {led.text}")
    place = {"x": x - _LEADER / 2, "y": top, "width": _LEADER, "height": end - top}
    return svg.element("rect", hint, **place, class_="flow-leader")


def _y_at(time_ns: int, events: Sequence[FlowEvent], rows: _Rows) -> float:
    """Vertical position of a time: its own row, or between the rows before and after it."""
    for number, event in enumerate(events):
        if event.time_ns is None or event.time_ns > time_ns:
            return rows.tops[number]
        if event.time_ns == time_ns and event.kind == "leader":
            return rows.middle(number)
    return rows.end


def _busy(call: int, events: Sequence[FlowEvent], rows: _Rows) -> Markup:
    """The time from a request to its answer, on the lane of the client."""
    of_it = [number for number, event in enumerate(events) if event.call == call]
    if call < 0 or len(of_it) < 2:  # noqa: PLR2004 - a request that has no second row
        return svg.EMPTY
    x = rows.x(events[of_it[0]].source)
    if x is None:
        return svg.EMPTY
    top, end = rows.middle(of_it[0]), rows.middle(of_it[-1])
    return svg.element("rect", x=x - 2.5, y=top, width=5, height=end - top, class_="flow-busy")


def _row(number: int, event: FlowEvent, rows: _Rows) -> Markup:
    y = rows.middle(number)
    when = "" if event.time_ns is None else f"{event.time_ns / _NS_PER_S:,.3f} s"
    base = rows.tops[number] + _PADDING / 2 + _LINE - 3.5
    parts = [svg.text(_TIME - 12, base, when, class_="tick when")]
    if event.kind == "broke":
        parts.append(svg.element("line", x1=_TIME - 8, x2=rows.text_x - 6, y1=y, y2=y, class_="anomaly-line"))
        parts.append(glyphs.anomaly(illegal=True, x=_TIME - 4, y=y))
    elif event.kind == "leader":
        x = rows.lanes.get(event.source)
        if x is not None:
            parts.append(svg.element("circle", cx=x, cy=y, r=4.5, class_="flow-elected"))
    elif event.kind not in {"fault", "healed", "passing"}:
        parts.append(_arrow(event, y, rows))
    parts.append(_label(rows.lines[number], event, rows.text_x, base))
    return svg.group(parts, class_=f"on-{event.kind}")


def _arrow(event: FlowEvent, y: float, rows: _Rows) -> Markup:
    """An arrow between two lanes; for a missing answer it ends half way, with a cross."""
    begin, end = rows.x(event.source), rows.x(event.target)
    if begin is None or end is None or begin == end:
        return svg.EMPTY
    sign = 1.0 if end > begin else -1.0
    begin, end = begin + sign * 4, end - sign * 4
    if event.kind == "none":
        middle = (begin + end) / 2
        line = svg.element(
            "path", d=f"M{svg.number(begin)} {svg.number(y)}H{svg.number(middle)}", class_="msg none"
        )
        return line + glyphs.outcome("fail", middle, y)
    head = f"M{svg.number(end - sign * 6)} {svg.number(y - 3.5)}L{svg.number(end)} {svg.number(y)}"
    head += f"L{svg.number(end - sign * 6)} {svg.number(y + 3.5)}"
    line = svg.element(
        "path", d=f"M{svg.number(begin)} {svg.number(y)}H{svg.number(end)}", class_=f"msg {event.kind}"
    )
    arrow = line + svg.element("path", d=head, class_=f"msg head {event.kind}")
    if event.kind in {"info", "fail"}:
        return arrow + glyphs.outcome(event.kind, (begin + end) / 2, y)
    return arrow


def _label(lines: Sequence[str], event: FlowEvent, x: float, y: float) -> Markup:
    """A label in lines; if it is cut, a tooltip has the whole text."""
    hint = [svg.title(event.text)] if lines[-1].endswith("…") else []
    if len(lines) == 1:
        return svg.element("text", *hint, lines[0], x=x, y=y, class_="saying")
    spans = [svg.element("tspan", f"{line} ", x=x, y=y + at * _LINE) for at, line in enumerate(lines)]
    return svg.element("text", *hint, *spans, class_="saying")


def _wrapped(text: str, characters: int) -> list[str]:
    return textwrap.wrap(
        text, max(characters, 20), max_lines=_LINES_MAX, placeholder=" …", break_on_hyphens=False
    ) or [""]


def _short(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1]}…"


def _row_of(events: Sequence[FlowEvent], kinds: Sequence[str], fault: str) -> int | None:
    return next((n for n, event in enumerate(events) if event.kind in kinds and event.fault == fault), None)
