"""Which versions of Kafka a node may have run at a time, in runs that change versions of nodes.

An old version ends when a probe has confirmed that the node is down for its upgrade.  Whatever starts the
node later starts the new version.  Without a probe, the node may have either version afterwards.

A rule that depends on the version asks for the nodes and the time that its event depends on:

- A promise that Kafka makes since some version is required if all these nodes had at least that version all
  this time (`KafkaVersions.oldest`).
- A behaviour that Kafka permits since some version is permitted if one of them may have had it at any moment
  of this time (`KafkaVersions.newest`).

The time begins with the first act on which the event depends, for example with the request and not with its
answer.  What a node of an older version wrote, or lost, stays as it is after the upgrade.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from checkers.evidence.faults import FOREVER_NS, FaultWindow, fault_windows, recorded_faults
from checkers.history.operations import History, once
from checkers.history.setup import Setup, numbers_of, recorded_setup
from checkers.history.sources import Source, lacking

UPGRADE = "upgrade"
"""Kind of the faults that change a node's version."""

Version = tuple[int, ...]
"""A version as numbers, e.g. (4, 3, 1); empty if unknown."""


class VersionSpan(NamedTuple):
    """A version that a node may have run from one time to another, both included; nanoseconds."""

    node: str
    version: Version
    from_ns: int
    to_ns: int


class KafkaVersions:
    """The versions that nodes may have run.

    Args:
        setup: the nodes, the versions with which nodes began, and all that the run may have.
        spans: the spans of each node of the set-up.
    """

    def __init__(self, setup: Setup, spans: Collection[VersionSpan]) -> None:
        self.setup = setup
        self._known = {node.name for node in setup.nodes}
        self._spans = tuple(spans)
        self._all = frozenset(map(numbers_of, setup.versions))

    def oldest(self, from_ns: int, to_ns: int, nodes: Collection[str] | None = None) -> Version:
        """The oldest version that one of the nodes may have run between two times.

        Args:
            from_ns: nanoseconds.
            to_ns: nanoseconds.
            nodes: names of nodes; None: all.  If one of them is unknown, all versions of the run count.
        """
        return min(self._possible(from_ns, to_ns, nodes))

    def newest(self, from_ns: int, to_ns: int, nodes: Collection[str] | None = None) -> Version:
        """The newest version that one of the nodes may have run between two times.

        The arguments are those of `oldest`.
        """
        return max(self._possible(from_ns, to_ns, nodes))

    def times_of(self, least: Version, nodes: Collection[str] | None = None) -> list[tuple[int, int]]:
        """Times at which one of the nodes may have run at least a version; they may overlap."""
        if self._unknown(nodes):
            return [(0, FOREVER_NS)] if max(self._all) >= least else []
        return [
            (span.from_ns, span.to_ns)
            for span in self._spans
            if span.version >= least and _is_of(span, nodes)
        ]

    def _possible(self, from_ns: int, to_ns: int, nodes: Collection[str] | None) -> frozenset[Version]:
        if self._unknown(nodes):
            return self._all
        return frozenset(
            span.version
            for span in self._spans
            if span.from_ns <= to_ns and from_ns <= span.to_ns and _is_of(span, nodes)
        )

    def _unknown(self, nodes: Collection[str] | None) -> bool:
        """Whether the set-up does not have all of these nodes, or has none."""
        wanted = self._known if nodes is None else set(nodes)
        return not wanted or not wanted <= self._known


@once
def kafka_versions(history: History) -> KafkaVersions:
    """Find the versions that nodes may have run.

    A version of the set-up that no recorded upgrade brought may have been in force at any time: an upgrade
    may be missing in an incomplete history.  If records of faults are missing, so may each of its versions.

    Raises:
        msgspec.ValidationError: a fault, or the setup, is not as docs/histories.md says.
    """
    setup = recorded_setup(history)
    upgrades = [
        (window, numbers_of(_version(history, window) or setup.kafka_version))
        for window in fault_windows(history)
        if window.kind == UPGRADE
    ]
    first = {node.name: setup.node_versions.get(node.name, setup.kafka_version) for node in setup.nodes}
    brought = {version for _, version in upgrades}.union(map(numbers_of, first.values()))
    anywhere = set(map(numbers_of, setup.versions))
    if lacking(history, Source.FAULTS) is None:
        anywhere -= brought
    spans = [span for node, begins in first.items() for span in _spans(node, numbers_of(begins), upgrades)]
    spans += [VersionSpan(node, version, 0, FOREVER_NS) for node in first for version in anywhere]
    return KafkaVersions(setup, spans)


def _version(history: History, window: FaultWindow) -> str | None:
    """The version that an upgrade brings; None: the run's."""
    return recorded_faults(history, window)[0].planned.version


def _spans(node: str, begins: Version, upgrades: list[tuple[FaultWindow, Version]]) -> Iterator[VersionSpan]:
    """The spans of one node; several are open as long as it is unknown which version runs."""
    going_on = [(begins, 0)]
    for window, version in upgrades:
        if not window.concerns(node):
            continue
        if window.effective_ns is not None and window.targets:
            yield from (VersionSpan(node, old, from_ns, window.effective_ns) for old, from_ns in going_on)
            going_on.clear()
        going_on.append((version, window.invoked_ns))
    yield from (VersionSpan(node, version, from_ns, FOREVER_NS) for version, from_ns in going_on)


def _is_of(span: VersionSpan, nodes: Collection[str] | None) -> bool:
    return nodes is None or span.node in nodes
