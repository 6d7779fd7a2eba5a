"""Lanes of the cluster's state: leader of the quorum, nodes, leaders of partitions, the smallest ISR."""

from collections.abc import Sequence

from markupsafe import Markup

from results.markup.cleaning import clean
from results.report.drawing import svg
from results.report.drawing.frame import (
    GUTTER,
    INSET,
    PLOT,
    ROW_NAME_MAX,
    Frame,
    TimelineLane,
    label_in,
    row,
    row_name,
)
from results.report.reading.spans import (
    LeaderSpan,
    PartitionLeadership,
    StateSpan,
    changes,
    leader_spans,
    left_out_text,
    longest,
    settled,
)
from results.report.size_limits import DisplayLimits
from results.run.observation import Observed, PartitionName
from results.run.text import at_seconds

_ROW = 16.0
_BAR = 12.0
_PARTITION_ROW = 13.0
_PARTITION_BAR = 11.0
_ISR_STEP = 13.0
_ISR_STEPS_MAX = 2_000
_NODES_MAX = 12
_COLOURS = 5
NO_LEADER = -1


def controllers(observed: Observed, frame: Frame, limits: DisplayLimits) -> TimelineLane | None:
    """A bar while a controller answered as leader; hatched once a later epoch had a leader."""
    if not any(claim.epoch is not None for claims in observed.claims.values() for claim in claims):
        return None
    nodes = sorted(observed.claims)[:_NODES_MAX]
    ruled = leader_spans(observed.claims)
    parts: list[Markup] = []
    left_out = 0
    for number, node in enumerate(nodes):
        own, shorter = longest([span for span in ruled if span.node == node], limits.segments)
        left_out += shorter
        drawn = [_named_row(node), *(_leader_span(span, frame) for span in own)]
        parts.append(row(drawn, number * _ROW))
    note = "by each controller's own answer, with the epoch; hatched once another led a later epoch"
    note = _nodes_noted(_noted(note, left_out), len(observed.claims))
    return TimelineLane("Quorum leader", note, len(nodes) * _ROW, svg.group(parts))


def _leader_span(span: LeaderSpan, frame: Frame) -> Markup:
    x, width = frame.span(span.begin_ns, span.end_ns)
    text = f"epoch {span.epoch}"
    hint = f"{text}, led by {clean(span.node, 40)} {frame.from_to(span.begin_ns, span.end_ns)}"
    place = frame.bar(span.begin_ns, span.end_ns)
    bar = svg.element("rect", **place, y=2, height=_BAR, class_=f"reign odd{span.epoch % 2}")
    clear = width
    parts = [bar]
    if span.superseded_ns is not None:
        clear = frame.x(span.superseded_ns) - x
        hint += f", although another led a later epoch from {at_seconds(span.superseded_ns)}"
        stale = frame.bar(span.superseded_ns, span.end_ns)
        parts.append(svg.element("rect", **stale, y=2, height=_BAR, class_="stale"))
    label = label_in(text, x, 11.5, clear) or label_in(str(span.epoch), x, 11.5, clear)
    return svg.group([svg.title(hint), *parts, label])


def nodes(observed: Observed, frame: Frame, limits: DisplayLimits) -> TimelineLane | None:
    """A thin line while a node runs, a hatched block while it is paused, an empty block after it exited."""
    names = sorted(observed.statuses)[:_NODES_MAX]
    if not names:
        return None
    parts: list[Markup] = []
    left_out = 0
    for number, name in enumerate(names):
        spans, shorter = longest(changes(sorted(observed.statuses[name]), frame.end_ns), limits.segments)
        left_out += shorter
        parts.append(row([_named_row(name), *(_status(name, span, frame) for span in spans)], number * _ROW))
    note = _noted("thin while running; blocks while paused or exited", left_out)
    note = _nodes_noted(note, len(observed.statuses))
    return TimelineLane("Nodes", note, len(names) * _ROW, svg.group(parts))


def _noted(note: str, left_out: int) -> str:
    """The note of a lane, with the number of time spans that are not drawn."""
    return f"{note}; {left_out_text(left_out, 'shortest', 'drawn')}" if left_out else note


def _nodes_noted(note: str, nodes: int) -> str:
    """The note of a lane, with the number of nodes that have no row."""
    more = nodes - _NODES_MAX
    return f"{note}; {more:,} more {'node has' if more == 1 else 'nodes have'} no row" if more > 0 else note


def _status(node: str, span: StateSpan[str], frame: Frame) -> Markup:
    x, width = frame.span(span.begin_ns, span.end_ns)
    place = frame.bar(span.begin_ns, span.end_ns)
    state = clean(span.state, 20)
    hint = svg.title(f"{state}, {clean(node, 40)} {frame.from_to(span.begin_ns, span.end_ns)}")
    if state == "running":
        return svg.element("rect", hint, **place, y=7, height=2, class_="running")
    kind = "paused" if state == "paused" else "exited"
    block = svg.element("rect", hint, **place, y=2, height=_BAR, class_=kind)
    return block + label_in(state, x, 11.5, width)


def partitions(observed: Observed, frame: Frame, limits: DisplayLimits) -> TimelineLane | None:
    """A row for each partition with its leaders and epochs; if too many, those that changed most."""
    states = settled(observed.views)
    if not states:
        return None
    chosen = sorted(states, key=lambda name: (-len(states[name]), name))[: limits.partitions]
    brokers = sorted(
        {standing.leader for moments in states.values() for _, standing in moments} - {NO_LEADER}
    )
    parts: list[Markup] = []
    left_out = 0
    for number, name in enumerate(sorted(chosen)):
        reigned = ((time_ns, (standing.leader, standing.epoch)) for time_ns, standing in states[name])
        spans, shorter = longest(changes(reigned, frame.end_ns), limits.segments)
        left_out += shorter
        drawn = [row_name(_short(name), 9.5), *(_leader(name, span, frame, brokers) for span in spans)]
        parts.append(row(drawn, number * _PARTITION_ROW))
    note = _noted("by node id, with the leader epoch; hatched without one", left_out)
    if len(states) > len(chosen):
        note += f"; {len(states) - len(chosen):,} partitions that changed less are not shown"
    return TimelineLane("Partition leaders", note, len(chosen) * _PARTITION_ROW, svg.group(parts))


def _leader(
    name: PartitionName, span: StateSpan[tuple[int, int]], frame: Frame, brokers: Sequence[int]
) -> Markup:
    x, width = frame.span(span.begin_ns, span.end_ns)
    leader, epoch = span.state
    text = "no leader" if leader == NO_LEADER else f"{leader} in epoch {epoch}"
    hint = svg.title(f"{text}, {_short(name)} {frame.from_to(span.begin_ns, span.end_ns)}")
    colour = "none" if leader == NO_LEADER else f"broker{brokers.index(leader) % _COLOURS}"
    place = frame.bar(span.begin_ns, span.end_ns)
    bar = svg.element("rect", hint, **place, height=_PARTITION_BAR, class_=f"leader {colour}")
    if leader == NO_LEADER:
        return bar
    return bar + (label_in(text, x, 9, width) or label_in(str(leader), x, 9, width))


def isr(observed: Observed, frame: Frame, _: DisplayLimits) -> TimelineLane | None:
    """The size of the smallest ISR of all partitions over time."""
    states = settled(observed.views)
    if not states:
        return None
    moments = _smallest(states)
    most = min(max(size for _, size in moments), 9)
    height = most * _ISR_STEP
    parts = [_isr_rule(size, height) for size in range(most + 1)]
    required = _min_isr(observed)
    if required is not None and 0 < required <= most:
        y = height - required * _ISR_STEP
        hint = svg.title(f"min.insync.replicas = {required}")
        parts.append(svg.element("line", hint, x1=GUTTER, x2=GUTTER + PLOT, y1=y, y2=y, class_="required"))
    spans, left_out = longest(changes(moments, frame.end_ns), _ISR_STEPS_MAX)
    path = " ".join(_step(span, height, most, frame) for span in spans)
    parts.append(svg.element("polyline", points=path, class_="curve isr"))
    note = "of all partitions" + (f"; dotted at min.insync.replicas = {required}" if required else "")
    return TimelineLane("Smallest ISR", _noted(note, left_out), height, svg.group(parts), inset=INSET)


def _isr_rule(size: int, height: float) -> Markup:
    y = height - size * _ISR_STEP
    rule = svg.element("line", x1=GUTTER, x2=GUTTER + PLOT, y1=y, y2=y, class_="rule")
    return rule + row_name(str(size), y + 3.5)


def _step(span: StateSpan[int], height: float, most: int, frame: Frame) -> str:
    y = svg.number(height - min(span.state, most) * _ISR_STEP)
    return f"{svg.number(frame.x(span.begin_ns))},{y} {svg.number(frame.x(span.end_ns))},{y}"


def _smallest(states: dict[PartitionName, list[tuple[int, PartitionLeadership]]]) -> list[tuple[int, int]]:
    """Times at which an ISR changed, with the smallest ISR size from then on."""
    news = sorted((t, name, standing.isr) for name, moments in states.items() for t, standing in moments)
    sizes: dict[PartitionName, int] = {}
    counts: dict[int, int] = {}
    smallest = []
    for time_ns, name, size in news:
        before = sizes.get(name)
        if before is not None:
            counts[before] -= 1
        sizes[name] = size
        counts[size] = counts.get(size, 0) + 1
        smallest.append((time_ns, min(value for value, count in counts.items() if count)))
    return smallest


def _min_isr(observed: Observed) -> int | None:
    """``min.insync.replicas`` of the first topic, if the setup has it."""
    try:
        return int(observed.setup["topics"][0]["config"]["min.insync.replicas"])
    except (KeyError, IndexError, TypeError, ValueError):
        return None


def _named_row(name: str) -> Markup:
    return row_name(clean(name, ROW_NAME_MAX), 11.5)


def _short(name: PartitionName) -> str:
    """``topic/partition``; only the end of a long topic name."""
    text = f"{clean(name[0], 60)}/{name[1]}"
    return text if len(text) <= ROW_NAME_MAX else f"…{text[1 - ROW_NAME_MAX :]}"
