"""The topology of a run: its scenario's topology, with the values that options replace."""

from collections.abc import Mapping, Sequence

import msgspec

from harness.vocabulary.topology import Mode, NodeFile, Quorum, Topology
from harness.vocabulary.version import FIRST_DYNAMIC_QUORUM, parse_version


def topology_of(
    topology: Topology,
    version: str,
    *,
    mode: Mode | None = None,
    controllers: int | None = None,
    brokers: int | None = None,
    quorum: Quorum | None = None,
    feature: Mapping[str, int] | Sequence[tuple[str, int]] = (),
    config: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    jvm_option: Sequence[str] = (),
    node_file: Sequence[NodeFile] = (),
    from_version: str | None = None,
) -> Topology:
    """A topology with some values replaced; None keeps a value.

    In combined mode the numbers of controllers and brokers are equal, so one of them is enough.
    """
    chosen = mode or topology.mode
    if chosen is Mode.COMBINED:
        controllers, brokers = controllers or brokers, brokers or controllers
    begins = from_version or topology.start_version
    kept = quorum or _quorum(topology, begins or version)
    voting, count = topology.initial_voters, controllers or topology.controllers
    return msgspec.structs.replace(
        topology,
        # In a static quorum every controller is a voter.
        initial_voters=None if voting is None or kept is Quorum.STATIC else min(voting, count),
        mode=chosen,
        controllers=count,
        brokers=brokers or topology.brokers,
        quorum=kept,
        features=topology.features | dict(feature),
        config=topology.config | dict(config),
        jvm_options=topology.jvm_options + tuple(jvm_option),
        node_files=topology.node_files + tuple(node_file),
        start_version=begins,
    )


def _quorum(topology: Topology, version: str) -> Quorum:
    """The scenario's kind of quorum, or static if the first version of the nodes supports no other."""
    return topology.quorum if parse_version(version) >= FIRST_DYNAMIC_QUORUM else Quorum.STATIC
