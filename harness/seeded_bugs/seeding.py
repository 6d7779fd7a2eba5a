"""Installs a seeded bug on nodes: Byteman's agent, the bug's script, and the JVM option for both."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from harness.cluster.images import Progress
from harness.cluster.images.maven import Coordinate, resolve_jar
from harness.seeded_bugs.catalogue import bug_named
from harness.seeded_bugs.header import SeededBug
from harness.seeded_bugs.script import script_of
from harness.vocabulary.topology import Node, NodeFile, Topology

BYTEMAN = Coordinate("org.jboss.byteman", "byteman", "4.0.25")
BYTEMAN_SHA512 = (
    "489d667185c4ff3e691586a4568b0f4b2cdfdb70fee87750e72ab0e0e805c10e"
    "13dce37cf75f08addf7309e3205865f3327f777ddf908453ac7526be7d7a2b80"
)
SCRIPT_FILE = "seeded-bug.btm"
"""Name of the script in the run's folder."""
_AGENT_AT = "/opt/krucible-bug/byteman.jar"
_SCRIPT_AT = "/opt/krucible-bug/bug.btm"
_OPTION = f"-javaagent:{_AGENT_AT}=script:{_SCRIPT_AT}"


def byteman(progress: Progress) -> Path:
    """Byteman's jar, from Maven Central; it is never part of krucible.

    Raises:
        KrucibleError: it can't be had, or is not the one that is known here.
    """
    return resolve_jar(BYTEMAN, BYTEMAN_SHA512, progress)


def with_bug(topology: Topology, name: str, version: str, folder: Path, progress: Progress) -> Topology:
    """The topology with a bug in each node that has one of the roles the bug is for.

    Args:
        topology: the cluster.
        name: name of the bug; empty for none.
        version: the version of Kafka.
        folder: folder of the run, which gets the script.
        progress: receives messages about downloads.

    Raises:
        UsageError: there is no such bug for that version.
        KrucibleError: Byteman can't be had.
    """
    if not name:
        return topology
    bug = bug_named(name, version)
    agent, script = byteman(progress), folder / SCRIPT_FILE
    script.write_text(script_of(bug, version))
    given = topology.node_jvm_options
    options = {node.name: (*given.get(node.name, ()), _OPTION) for node in nodes_with(bug, topology.nodes())}
    return msgspec.structs.replace(
        topology,
        node_files=(
            *topology.node_files,
            NodeFile(str(agent.resolve()), _AGENT_AT),
            NodeFile(str(script.resolve()), _SCRIPT_AT),
        ),
        node_jvm_options=given | options,
    )


def nodes_with(bug: SeededBug, nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Those of the nodes that get a bug."""
    return tuple(node for node in nodes if set(bug.nodes) & set(node.roles))
