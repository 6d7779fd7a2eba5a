"""Versions of Kafka on the nodes of a run, at first and after the upgrades of its schedule."""

import msgspec

from harness.cluster.rendering import problems_with
from harness.plan.schedule import Planned, faults_of
from harness.vocabulary.faults import Upgrade
from harness.vocabulary.topology import Topology
from harness.vocabulary.version import VersionShapeError, parse_version
from harness.vocabulary.workloads import OLDEST_VERSION


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
    schedule: Planned,
    topology: Topology,
    version: str,
    seeded_bug: str | None,
    load_since: str = OLDEST_VERSION,
) -> list[str]:
    """All reasons why the nodes' versions don't support the topology, the bug or the load.

    Args:
        schedule: has the upgrades.
        topology: has the versions that nodes begin with.
        version: the run's.
        seeded_bug: name of a bug that is put into Kafka; None without one.
        load_since: the first version that supports the load; each node must have it all the time.
    """
    found: list[str] = []
    begins = set(topology.first_versions(version).values())
    if begins == {version} and later_versions(schedule, version) == (version,):
        found.append(f"nodes begin on Kafka {version}, and every upgrade is to that version")
    versions = versions_of(schedule, topology, version)
    if seeded_bug and len(versions) > 1:
        several = ", ".join(sorted(versions))
        found.append(f"a seeded bug is of one version of Kafka, these nodes have {several}")
    alike = msgspec.structs.replace(topology, start_version=None, node_versions={})
    later = later_versions(schedule, version)
    for each in sorted(versions):
        try:
            found += problems_with(alike, each) if each in later else []
            if parse_version(each) < parse_version(load_since):
                found.append(f"some node has Kafka {each}, and {load_since} is the first that has this load")
        except VersionShapeError as error:
            found.append(str(error))
    return found
