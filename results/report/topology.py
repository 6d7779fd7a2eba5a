"""Draws the nodes and links of the cluster, with the times at which links were cut and nodes were down.

The page's script shows the state at the cursor, or at the marked time.
"""

from collections.abc import Container, Iterable, Mapping
from itertools import combinations
from math import cos, pi, sin
from typing import NamedTuple

from markupsafe import Markup

from checkers.history.units import NS_PER_S
from results.markup.cleaning import clean
from results.report.drawing import svg
from results.report.reading.spans import LeaderSpan, StateSpan, changes, leader_spans, longest
from results.report.size_limits import DisplayLimits
from results.run.observation import FaultSeen, Observed

NODES_MAX = 12
"""Maximum number of nodes, the same as in the timeline; a larger cluster shows the first ones."""
_WIDTH, _HEIGHT = 300.0, 156.0
_ACROSS, _DOWN = 122.0, 56.0
_RADIUS = 14.0
_NAME_MAX = 5
_PARTITION = "partition"
Pair = tuple[str, str]
Times = list[tuple[int, int]]


class ClusterDrawing(NamedTuple):
    """Input of the template.

    Attributes:
        drawing: nodes and links, with their times in seconds.
        faults: for each attempted fault, when it was in force, and its label.
        faults_left_out: number of later faults that are not included.
        states_left_out: number of time spans (leader, dead, paused) that are not in the drawing.
        times_of_links: how often links were cut or disturbed, if that is too often to draw; else 0.
    """

    drawing: Markup
    faults: tuple[tuple[str, str], ...] = ()
    faults_left_out: int = 0
    states_left_out: int = 0
    times_of_links: int = 0


class _States(NamedTuple):
    """When a node was dead, was paused, and led the quorum, and the number of spans left out."""

    dead: list[StateSpan[str]]
    paused: list[StateSpan[str]]
    ruled: list[LeaderSpan]
    left_out: int


def topology(observed: Observed, limits: DisplayLimits) -> ClusterDrawing | None:
    """The drawing; None if the history names no node."""
    roles = _nodes(observed)
    if not roles:
        return None
    places = dict(zip(roles, _places(len(roles)), strict=True))
    cut, disturbed = (_pairs(observed, places, partitions=only) for only in (True, False))
    times = sum(map(len, (*cut.values(), *disturbed.values())))
    if times > limits.links:
        return ClusterDrawing(svg.EMPTY, times_of_links=times)
    states = {name: _states(name, observed, limits) for name in roles}
    drawing = svg.element(
        "svg",
        *_links(places, cut, disturbed),
        *(_node(name, roles[name], places[name], states[name]) for name in roles),
        viewBox=f"0 0 {svg.number(_WIDTH)} {svg.number(_HEIGHT)}",
        width=_WIDTH,
        height=_HEIGHT,
        aria_hidden="true",  # the text next to it says the same
    )
    attempted = [fault for fault in observed.faults if fault.attempted]
    faults = tuple(_faults(attempted[: limits.segments], observed.end_ns))
    states_left_out = sum(one.left_out for one in states.values())
    return ClusterDrawing(drawing, faults, len(attempted) - len(faults), states_left_out)


def _nodes(observed: Observed) -> dict[str, tuple[str, ...]]:
    """Names of nodes with their roles, controllers first."""
    nodes = observed.setup.get("nodes")
    rows = [row for row in nodes if isinstance(row, dict)] if isinstance(nodes, list) else []
    found = {str(row.get("name")): _roles(row) for row in rows}
    for name in sorted({*observed.statuses, *observed.claims} - {*found}):
        found[name] = ("controller",) if name in observed.claims else ("broker",)
    ordered = sorted(found, key=lambda name: "controller" not in found[name])
    return {name: found[name] for name in ordered[:NODES_MAX]}


def _roles(row: Mapping[str, object]) -> tuple[str, ...]:
    roles = row.get("roles")
    return tuple(map(str, roles)) if isinstance(roles, list) else ()


def _places(count: int) -> list[tuple[float, float]]:
    """Positions (x, y) on an ellipse, clockwise, the upper half first."""
    angles = [pi + (number + 0.5) * 2 * pi / count for number in range(count)]
    return [(_WIDTH / 2 + _ACROSS * cos(a), _HEIGHT / 2 + _DOWN * sin(a)) for a in angles]


def _links(
    places: Mapping[str, tuple[float, float]], cut: Mapping[Pair, Times], disturbed: Mapping[Pair, Times]
) -> Iterable[Markup]:
    """A line for each pair of nodes; all links that were never cut or disturbed are one path."""
    calm = []
    for a, b in combinations(places, 2):
        ends = (places[a], places[b])
        both = {(a, b), (b, a)}
        if both & (cut.keys() | disturbed.keys()):
            yield _link((a, b), ends, cut, disturbed)
        else:
            calm.append(
                "".join(f"{c}{svg.number(x)} {svg.number(y)}" for c, (x, y) in zip("ML", ends, strict=True))
            )
    if calm:
        yield svg.element("path", d="".join(calm), class_="link")


def _link(
    pair: Pair,
    ends: tuple[tuple[float, float], tuple[float, float]],
    cut: Mapping[Pair, Times],
    disturbed: Mapping[Pair, Times],
) -> Markup:
    """Draw a link; its path length is fixed, so that a dash pattern can leave out the middle."""
    (x1, y1), (x2, y2) = ends
    a, b = pair
    return svg.element(
        "line",
        x1=x1,
        y1=y1,
        x2=x2,
        y2=y2,
        pathLength=100,
        class_="link",
        data_a=clean(a, 40),
        data_b=clean(b, 40),
        data_cut=_seconds(cut.get((a, b), [])),
        data_back=_seconds(cut.get((b, a), [])),
        data_disturbed=_seconds([*disturbed.get((a, b), []), *disturbed.get((b, a), [])]),
    )


def _pairs(observed: Observed, names: Container[str], *, partitions: bool) -> dict[Pair, Times]:
    """When proven faults cut the link from one node to another, or else lost or delayed packets."""
    found: dict[Pair, Times] = {}
    for fault in observed.faults:
        if fault.effective_ns is None or (fault.kind == _PARTITION) is not partitions:
            continue
        for a, b in fault.cut:
            if a in names and b in names:
                times = (fault.effective_ns, fault.healed_ns or observed.end_ns)
                found.setdefault((a, b), []).append(times)
    return found


def _states(name: str, observed: Observed, limits: DisplayLimits) -> _States:
    """The longest time spans of each state."""
    spans = changes(sorted(observed.statuses.get(name, [])), observed.end_ns)
    down = [span for span in spans if span.state != "running"]
    dead, dead_left = longest([span for span in down if span.state != "paused"], limits.segments)
    paused, paused_left = longest([span for span in down if span.state == "paused"], limits.segments)
    ruled, ruled_left = longest(leader_spans({name: observed.claims.get(name, [])}), limits.segments)
    return _States(dead, paused, ruled, dead_left + paused_left + ruled_left)


def _node(name: str, roles: tuple[str, ...], place: tuple[float, float], states: _States) -> Markup:
    """A circle, double for a controller, with the marks of its states: a cross, two bars, a star."""
    x, y = place
    parts = [
        svg.element("circle", r=_RADIUS, class_="ground"),
        svg.element("circle", r=_RADIUS - 3, class_="inner") if "controller" in roles else svg.EMPTY,
        svg.text(0, 3.5, clean(name, _NAME_MAX)[: _NAME_MAX + 1]),
        svg.element("path", d="M-9 -9L9 9M9 -9L-9 9", class_="cross"),
        svg.element("path", d="M-5 -8V8M5 -8V8", class_="bars"),
        svg.element(
            "path",
            d="M0 -7L2 -2H7L3 1L4.500 6L0 3L-4.500 6L-3 1L-7 -2H-2Z",
            class_="crown",
            transform="translate(15 -13)",
        ),
    ]
    return svg.group(
        parts,
        class_="node",
        transform=f"translate({svg.number(x)} {svg.number(y)})",
        data_name=clean(name, 40),
        data_dead=_seconds((span.begin_ns, span.end_ns) for span in states.dead),
        data_paused=_seconds((span.begin_ns, span.end_ns) for span in states.paused),
        data_leads=" ".join(f"{_second(r.begin_ns)}-{_second(r.end_ns)}-{r.epoch}" for r in states.ruled)
        or None,
    )


def _faults(attempted: Iterable[FaultSeen], end_ns: int) -> Iterable[tuple[str, str]]:
    """Time span of each fault, until healed, and its label; unproven faults are marked."""
    for fault in attempted:
        unproven = "" if fault.effective_ns is not None else ", not proven"
        times = (fault.invoked_ns, fault.healed_ns or end_ns)
        yield _seconds([times]) or "", fault.label + unproven


def _seconds(times: Iterable[tuple[int, int]]) -> str | None:
    """Time spans as text, e.g. ``1.5-2.25 7-9``; None for an empty list."""
    return " ".join(f"{_second(begin)}-{_second(end)}" for begin, end in sorted(times)) or None


def _second(time_ns: int) -> str:
    return f"{time_ns / NS_PER_S:.3f}".rstrip("0").rstrip(".")
