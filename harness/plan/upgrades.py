"""Versions of Kafka that nodes of a run have, at first and after the upgrades of its schedule."""

import msgspec

from harness.cluster.rendering import problems_with
from harness.plan.schedule import Planned, faults_of
from harness.vocabulary.faults import Upgrade
from harness.vocabulary.topology import Topology
from harness.vocabulary.version import VersionShapeError


def other_versions(topology: Topology, version: str) -> dict[str, str]:
    """Node name to the version that it begins with, of nodes that do not begin with the run's."""
    first = topology.first_versions(version)
    return {name: own for name, own in first.items() if own != version}


def later_versions(schedule: Planned, version: str) -> tuple[str, ...]:
    """Versions that upgrades and downgrades bring, sorted, given the run's."""
    upgrades = (fault for fault in faults_of(schedule) if isinstance(fault, Upgrade))
    return tuple(sorted({upgrade.version or version for upgrade in upgrades}))


def versions_of(schedule: Planned, topology: Topology, version: str) -> set[str]:
    """Every version that any node has at any time, the run's among them."""
    return {version, *topology.first_versions(version).values(), *later_versions(schedule, version)}


def upgrade_problems(
    schedule: Planned, topology: Topology, version: str, seeded_bug: str | None
) -> list[str]:
    """What versions that nodes have can't do of a topology or with a bug, all at once; empty if nothing."""
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
