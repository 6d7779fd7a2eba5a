"""Reports of nodes about feature levels, compared with each other and with the requests.

In KRaft the epoch of a report is the offset of the metadata image that the levels are from.  So the reports
of all nodes have one order.  ``kraft.version`` is not part of the image: only its own rule judges it.  After
a fault that may take records from a disk, nothing is judged by epochs, because offsets may be used again.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from checkers.administration.features.anomalies import BEHIND, DIVERGENT, EPOCH_BACK, UNREQUESTED, WENT_BACK
from checkers.administration.features.loading import Report, Story
from checkers.evidence.faults import FOREVER_NS, fault_windows
from checkers.evidence.features import KRAFT_VERSION, FeatureRequest
from checkers.evidence.processes import gone, not_running
from checkers.history.runner import OPENED
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

_BOUND_NS = 15_000_000_000
"""An applied record takes milliseconds; the rest is for a busy machine."""
_GAP_NS = 3_000_000_000
"""A node that answers is recorded once a second at least; with longer gaps the host is too slow for it."""
_JOURNAL = re.compile(r"observer-features-(.+)")
"""The journal of the reports of one node."""


def find_in_reports(story: Story) -> Iterator[Anomaly]:
    """All findings about reports."""
    ordered = _in_epochs(story)
    for feature in sorted({name for one in ordered for name in one.seen.levels} | set(story.first)):
        if feature != KRAFT_VERSION:
            yield from _find_in_epochs(story, ordered, feature)
    for node in sorted({one.node for one in story.reports}):
        yield from _find_in_process(story, [one for one in story.reports if one.node == node])
    for asked in story.requests:
        yield from _find_behind(story, asked)


def unheard(story: Story) -> str | None:
    """Which nodes were asked for their levels, and did not answer after a change; None if there are none.

    A node is left out if its process has ended, or if the reports of all nodes end soon after the change.
    Nodes were not asked in older runs, and not in runs of other harnesses.
    """
    if not any(one.changes for one in story.requests):
        return None
    opened = (_JOURNAL.fullmatch(str(operation.key)) for operation in story.history.of(OPENED))
    asked = {match[1] for match in opened if match is not None}
    last_ns = {one.node: one.began_ns for one in story.reports}
    changed_ns = max((one.request.to_ns for one in story.requests if one.acknowledged), default=0)
    lasted = max(last_ns.values(), default=0) >= changed_ns + _BOUND_NS
    late = {node for node, at_ns in last_ns.items() if lasted and at_ns < changed_ns}
    silent = sorted((asked - last_ns.keys()) | ((asked & late) - gone(story.history)))
    return f"{', '.join(silent)} did not report feature levels after a change" if silent else None


def _in_epochs(story: Story) -> list[Report]:
    """Reports of known levels in the order of their epochs, from the first report of a ready broker on."""
    until_ns = min(
        (window.invoked_ns for window in fault_windows(story.history) if window.hits_disks),
        default=FOREVER_NS,
    )
    brokers = {node.name for node in story.setup.nodes if "broker" in node.roles}
    first = next(
        (one.seen.epoch for one in story.reports if one.node in brokers and one.seen.epoch >= 0), None
    )
    if first is None:
        return []
    known = (one for one in story.reports if one.seen.epoch >= first and one.time_ns < until_ns)
    return sorted(known, key=lambda one: (one.seen.epoch, one.time_ns))


def _find_in_epochs(story: Story, ordered: list[Report], feature: str) -> Iterator[Anomaly]:
    """The first level that neither the level before it nor a request explains."""
    level, since_ns, last = story.first.get(feature, 0), 0, None
    before = {level}
    for report in ordered:
        now = report.seen.levels.get(feature, 0)
        if now != level:
            if last is not None and last.seen.epoch == report.seen.epoch:
                yield _found(DIVERGENT, feature, (last, report), (level, now))
                return
            causes = [
                one.request.from_ns
                for one in story.of(feature)
                if one.level == now and one.request.from_ns < report.time_ns and one.request.to_ns >= since_ns
            ]
            if not causes:
                kind = WENT_BACK if now in before else UNREQUESTED
                yield _found(kind, feature, (last, report), (level, now))
                return
            level, since_ns = now, min(causes)
            before.add(now)
        last = report


def _found(
    kind: AnomalyKind, feature: str, reports: tuple[Report | None, Report], levels: tuple[int, int]
) -> Anomaly:
    (last, report), (before, now) = reports, levels
    earlier = "at first" if last is None else f"in epoch {last.seen.epoch}, according to {last.node}"
    asked = f"No request that Kafka may have accepted since then was for level {now}."
    return kind.found(
        f"{report.node} reported {feature} {now} in epoch {report.seen.epoch}; it was {before} {earlier}",
        subject=feature,
        time_ns=report.time_ns,
        witness=sorted({one.op for one in reports if one is not None}),
        explanation=[] if kind is DIVERGENT else [asked],
    )


def _find_in_process(story: Story, reports: list[Report]) -> Iterator[Anomaly]:
    """Epochs, and levels of ``kraft.version``, that go back between two reports of one process."""
    formatted = story.first.get(KRAFT_VERSION, 0)
    last: Report | None = None
    for report in reports:
        if last is not None and not _interrupted(story, last, report):
            if 0 <= report.seen.epoch < last.seen.epoch:
                yield EPOCH_BACK.found(
                    f"{report.node} reported epoch {report.seen.epoch} after {last.seen.epoch}",
                    subject=report.node,
                    time_ns=report.time_ns,
                    witness=(last.op, report.op),
                )
            before, now = (one.seen.levels.get(KRAFT_VERSION, 0) for one in (last, report))
            if now < before <= formatted:
                yield _found(WENT_BACK, KRAFT_VERSION, (last, report), (before, now))
        last = report


def _interrupted(story: Story, last: Report, report: Report) -> bool:
    """Whether two reports of a node may be of different processes."""
    ended = any(
        window.ends_processes
        and window.concerns(report.node)
        and window.overlaps(last.began_ns, report.time_ns)
        for window in fault_windows(story.history)
    )
    spans = not_running(story.history).get(report.node, ())
    return ended or any(from_ns <= report.time_ns and to_ns >= last.began_ns for from_ns, to_ns in spans)


def _find_behind(story: Story, asked: FeatureRequest) -> Iterator[Anomaly]:
    """The first report of each node that lacks a level although it was acknowledged long before."""
    if not asked.acknowledged or _overlapped(story, asked):
        return
    done_ns = asked.request.to_ns
    until_ns = min(
        (one.request.from_ns for one in _others(story, asked) if one.request.from_ns > asked.request.from_ns),
        default=FOREVER_NS,
    )
    for node in sorted({one.node for one in story.reports}):
        own = [one for one in story.reports if one.node == node and done_ns <= one.began_ns]
        late = next((one for one in own if _lacks(one, asked, until_ns)), None)
        if late is None or not _told(story, node, asked.feature):
            continue
        if _answered(own, done_ns, late) and not _hindered(story, node, done_ns, late.time_ns):
            yield BEHIND.found(
                f"{node} reported {asked.feature} {late.seen.levels.get(asked.feature, 0)} "
                f"{(late.began_ns - done_ns) / 1e9:.1f} s after {asked.level} was acknowledged",
                subject=asked.feature,
                time_ns=late.time_ns,
                witness=(*asked.request.operations, late.op),
            )


def _lacks(report: Report, asked: FeatureRequest, until_ns: int) -> bool:
    """Whether a report lacks a level although nothing else was requested and the bound has passed."""
    late = asked.request.to_ns + _BOUND_NS <= report.began_ns and report.time_ns < until_ns
    return late and report.seen.epoch >= 0 and report.seen.levels.get(asked.feature, 0) != asked.level


def _answered(reports: list[Report], from_ns: int, last: Report) -> bool:
    """Whether a node answered all the time, so that the host was not too slow for it."""
    times = [from_ns, *(one.began_ns for one in reports if one.began_ns <= last.began_ns)]
    return all(after - before <= _GAP_NS for before, after in pairwise(times))


def _overlapped(story: Story, asked: FeatureRequest) -> bool:
    """Whether another request may have changed the feature meanwhile, or may change it at any later time."""
    return any(
        one.request.from_ns <= asked.request.to_ns and one.request.to_ns >= asked.request.from_ns
        for one in _others(story, asked)
    )


def _others(story: Story, asked: FeatureRequest) -> list[FeatureRequest]:
    """Requests that may have given the feature another level."""
    return [one for one in story.of(asked.feature) if one.level != asked.level]


def _told(story: Story, node: str, feature: str) -> bool:
    """Whether a node reports a feature at all; some roles and versions leave out ``kraft.version``."""
    return feature != KRAFT_VERSION or any(
        feature in one.seen.levels for one in story.reports if one.node == node
    )


def _hindered(story: Story, node: str, from_ns: int, to_ns: int) -> bool:
    """Whether a fault anywhere, or a process that did not run, may have kept records from a node."""
    if any(window.overlaps(from_ns, to_ns) for window in fault_windows(story.history)):
        return True
    return any(
        begun <= to_ns and ended >= from_ns for begun, ended in not_running(story.history).get(node, ())
    )
