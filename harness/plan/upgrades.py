"""Versions of Kafka on the nodes of a run, at first and after the upgrades of its schedule."""

import msgspec

from harness.cluster.rendering import problems_with
from harness.plan.schedule import Planned, faults_of
from harness.vocabulary.faults import Upgrade
from harness.vocabulary.topology import Topology
from harness.vocabulary.version import VersionShapeError


def other_versions(topology: Topology, version: str) -> dict[str, str]:
    """Node name to first version, for nodes that start with another version than the run's."""
    first = topology.first_versions(version)
    return {name: own for name, own in first.items() if own != version}


def later_versions(schedule: Planned, version: str) -> tuple[str, ...]:
    """Versions that upgrades and downgrades install, sorted, given the run's version."""
    upgrades = (fault for fault in faults_of(schedule) if isinstance(fault, Upgrade))
    return tuple(sorted({upgrade.version or version for upgrade in upgrades}))


def versions_of(schedule: Planned, topology: Topology, version: str) -> set[str]:
    """All versions that any node has at any time, including the run's."""
    return {version, *topology.first_versions(version).values(), *later_versions(schedule, version)}


def upgrade_problems(
    schedule: Planned, topology: Topology, version: str, seeded_bug: str | None
) -> list[str]:
    """All reasons why the nodes' versions don't support the topology or the bug; empty if there are none."""
    found: list[str] = []
    begins = set(topology.first_versions(version).values())
    if begins == {version} and later_versions(schedule, version) == (version,):
        found.append(f"nodes begin on Kafka {version}, and every upgrade is to that version")
    versions = versions_of(schedule, topology, version)
    if seeded_bug and len(versions) > 1:
        several = ", ".join(sorted(versions))
        found.append(f"a seeded bug is of one version of Kafka, these nodes have {several}")
    for later in later_versions(schedule, version):
        try:
            alike = msgspec.structs.replace(topology, start_version=None, node_versions={})
            found += problems_with(alike, later)
        except VersionShapeError as error:
            found.append(str(error))
    return found
