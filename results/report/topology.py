"""The cluster's nodes and links as a drawing, with the times at which links were cut and nodes were down.

The page's script shows in it the moment under the cursor, or the one that is marked.
"""

from collections.abc import Container, Iterable, Mapping
from itertools import combinations
from math import cos, pi, sin
from typing import Any, NamedTuple

from markupsafe import Markup

from checkers.history.units import NS_PER_S
from results.markup.cleaning import clean
from results.report import svg
from results.report.frame import fault_label
from results.report.limits import Limits
from results.report.spans import changes, reigns
from results.run.observation import FaultSeen, Observed

NODES_MAX = 12
"""As many as the timeline has rows for; of larger clusters the first."""
_WIDTH, _HEIGHT = 300.0, 156.0
_ACROSS, _DOWN = 122.0, 56.0
_RADIUS = 14.0
_NAME_MAX = 5
_PARTITION = "partition"
Pair = tuple[str, str]
Times = list[tuple[int, int]]


class ClusterDrawing(NamedTuple):
    """What the template needs.

    Attributes:
        drawing: nodes and links, with their times in seconds.
        faults: of each fault that was attempted, when it was in force, and its label.
        faults_left_out: how many later ones are not among them.
        times_of_links: how often links were cut or disturbed if that is too often to draw, or else 0.
    """

    drawing: Markup
    faults: tuple[tuple[str, str], ...] = ()
    faults_left_out: int = 0
    times_of_links: int = 0


def topology(observed: Observed, limits: Limits) -> ClusterDrawing | None:
    """The drawing; None where the history names no node."""
    roles = _nodes(observed)
    if not roles:
        return None
    places = dict(zip(roles, _places(len(roles)), strict=True))
    cut, disturbed = (_pairs(observed, places, partitions=only) for only in (True, False))
    times = sum(map(len, (*cut.values(), *disturbed.values())))
    if times > limits.links:
        return ClusterDrawing(svg.EMPTY, times_of_links=times)
    drawing = svg.element(
        "svg",
        *_links(places, cut, disturbed),
        *(_node(name, roles[name], places[name], observed, limits) for name in roles),
        viewBox=f"0 0 {svg.number(_WIDTH)} {svg.number(_HEIGHT)}",
        width=_WIDTH,
        height=_HEIGHT,
        aria_hidden="true",  # the text beside it says the same
    )
    attempted = [fault for fault in observed.faults if fault.attempted]
    faults = tuple(_faults(attempted[: limits.segments], observed.end_ns))
    return ClusterDrawing(drawing, faults, faults_left_out=len(attempted) - len(faults))


def _nodes(observed: Observed) -> dict[str, tuple[str, ...]]:
    """Names with their roles, those that are controllers first."""
    told = observed.setup.get("nodes")
    rows = [row for row in told if isinstance(row, dict)] if isinstance(told, list) else []
    found = {str(row.get("name")): _roles(row) for row in rows}
    for name in sorted({*observed.statuses, *observed.claims} - {*found}):
        found[name] = ("controller",) if name in observed.claims else ("broker",)
    ordered = sorted(found, key=lambda name: "controller" not in found[name])
    return {name: found[name] for name in ordered[:NODES_MAX]}


def _roles(row: Mapping[str, Any]) -> tuple[str, ...]:
    told = row.get("roles")
    return tuple(map(str, told)) if isinstance(told, list) else ()


def _places(count: int) -> list[tuple[float, float]]:
    """Places (x, y) on an ellipse, clockwise; the first half is the upper one."""
    angles = [pi + (number + 0.5) * 2 * pi / count for number in range(count)]
    return [(_WIDTH / 2 + _ACROSS * cos(a), _HEIGHT / 2 + _DOWN * sin(a)) for a in angles]


def _links(
    places: Mapping[str, tuple[float, float]], cut: Mapping[Pair, Times], disturbed: Mapping[Pair, Times]
) -> Iterable[Markup]:
    """A line for each pair of nodes; those that nothing ever happened to are one path."""
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
    """Lengths are told so that a dash can leave out the middle."""
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
    """When what one node sends another was cut, or else lost or delayed in part, by a proven fault."""
    found: dict[Pair, Times] = {}
    for fault in observed.faults:
        if fault.effective_ns is None or (fault.kind == _PARTITION) is not partitions:
            continue
        for a, b in fault.cut:
            if a in names and b in names:
                times = (fault.effective_ns, fault.healed_ns or observed.end_ns)
                found.setdefault((a, b), []).append(times)
    return found


def _node(
    name: str, roles: tuple[str, ...], place: tuple[float, float], observed: Observed, limits: Limits
) -> Markup:
    """A circle, a double one of a controller; over it what is shown when true: a cross, two bars, a star."""
    x, y = place
    spans = changes(sorted(observed.statuses.get(name, [])), observed.end_ns, limits.segments)
    paused = [(span.begin_ns, span.end_ns) for span in spans if span.state == "paused"]
    dead = [(span.begin_ns, span.end_ns) for span in spans if span.state not in ("paused", "running")]
    ruled = reigns({name: observed.claims.get(name, [])})[: limits.segments]
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
        data_dead=_seconds(dead),
        data_paused=_seconds(paused),
        data_leads=" ".join(f"{_second(r.begin_ns)}-{_second(r.end_ns)}-{r.epoch}" for r in ruled) or None,
    )


def _faults(attempted: Iterable[FaultSeen], end_ns: int) -> Iterable[tuple[str, str]]:
    """From the beginning of each until it was healed: a fault that no probe confirmed says so."""
    for fault in attempted:
        unproven = "" if fault.effective_ns is not None else ", not proven"
        times = (fault.invoked_ns, fault.healed_ns or end_ns)
        yield _seconds([times]) or "", fault_label(fault) + unproven


def _seconds(times: Iterable[tuple[int, int]]) -> str | None:
    """E.g. ``1.5-2.25 7-9``; None of no time."""
    return " ".join(f"{_second(begin)}-{_second(end)}" for begin, end in sorted(times)) or None


def _second(time_ns: int) -> str:
    return f"{time_ns / NS_PER_S:.3f}".rstrip("0").rstrip(".")
