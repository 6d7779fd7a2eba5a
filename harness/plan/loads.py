"""Loads that are impossible, each with the reason."""

from collections.abc import Collection, Iterator
from itertools import chain

from harness.clients.interface import EMBEDDED, ClientKind
from harness.plan.removals import OF_BROKERS, removals_in
from harness.vocabulary.scenario import Scenario
from harness.vocabulary.shares import ShareWorkload
from harness.vocabulary.streams import StreamsWorkload
from harness.vocabulary.topology import Topology
from harness.vocabulary.version import VersionShapeError, parse_version
from harness.vocabulary.workloads import (
    OLDEST_VERSION,
    GroupsWorkload,
    LogWorkload,
    OffsetsWorkload,
)

ACKS = ("all", "1", "0")
EAGER = ("range", "roundrobin")
"""Client-side assignors by which members of groups revoke everything, as the harness's clients do."""
SERVER_SIDE = ("uniform", "range")
"""Kafka's own assignors of groups with KIP-848's protocol (``group.consumer.assignors``)."""


def problems_of_load(scenario: Scenario) -> list[str]:
    """Reasons why a scenario's load is impossible on its topology; empty if it is possible."""
    workload = scenario.workload
    found: list[str] = []
    if isinstance(workload, LogWorkload) and workload.acks not in ACKS:
        found.append(f"acks is {workload.acks!r}, expected one of {', '.join(ACKS)}")
    elif isinstance(workload, LogWorkload) and workload.idempotent and workload.acks != "all":
        found.append(f"idempotence needs acks=all, got acks={workload.acks}")
    brokers = {node.id for node in scenario.topology.nodes() if node.is_broker}
    if strangers := {one for replicas in workload.assignments for one in replicas} - brokers:
        found.append(f"replicas are assigned to broker {min(strangers)}, there are {len(brokers)} brokers")
    libraries = workload.libraries if isinstance(workload, LogWorkload | OffsetsWorkload) else None
    named = [*workload.final_clients, *(libraries or ())]
    if isinstance(workload, GroupsWorkload):
        named += chain.from_iterable(workload.member_libraries.values())
    if unknown := {*named} - {*ClientKind}:
        known = ", ".join(ClientKind)
        found.append(f"there is no client library {min(unknown)!r}, expected one of {known}")
    found += _version_problems(workload.java_version, named)
    if libraries == ():
        found.append("libraries is empty, expected at least one client library")
    if workload.rate < 1:
        found.append(f"rate is {workload.rate}, expected at least 1 send operation a second")
    found += _group_problems(scenario)
    return found


def _group_problems(scenario: Scenario) -> Iterator[str]:
    """Reasons why the groups of a workload are impossible."""
    workload, topology = scenario.workload, scenario.topology
    if isinstance(workload, GroupsWorkload):
        yield from _assignor_problems(workload)
        yield from _member_problems(workload)
    if isinstance(workload, ShareWorkload) and (others := {*workload.committed} - {*workload.groups}):
        yield f"committed has {min(others)}, expected some of {', '.join(workload.groups)}"
    if isinstance(workload, StreamsWorkload):
        yield from _application_problems(workload)
        yield from (
            f"{what}, by which records of the application may be removed; drop it"
            for what in _removals(scenario, workload)
        )
    if isinstance(workload, ShareWorkload | StreamsWorkload):
        yield from _config_problems(workload, topology)


_OF_COORDINATORS = ("__consumer_offsets", "__transaction_state")
"""Topics whose records an application needs to go on where it was."""


def _application_problems(workload: StreamsWorkload) -> Iterator[str]:
    """An application is judged by all records that it read and wrote, so none may be lost."""
    if workload.life_min_ms > workload.life_max_ms:
        yield f"life_min_ms is {workload.life_min_ms}, life_max_ms only {workload.life_max_ms}"
    if workload.acks != "all" and workload.acks in ACKS:
        yield f"an application of Kafka Streams needs acks=all, got acks={workload.acks}"
    if workload.config:
        yield f"config has {min(workload.config)}, expected nothing: the application's topics have no configs"


def _removals(scenario: Scenario, workload: StreamsWorkload) -> Iterator[str]:
    """What may remove records: configs of brokers, the load, and the schedule."""
    topology = scenario.topology
    for where, config in {"the topology": topology.config, **topology.node_config}.items():
        yield from (f"{where} has {name}" for name in sorted(config) if name.startswith(OF_BROKERS))
    if workload.deletions_interval_ms:
        yield f"deletions_interval_ms is {workload.deletions_interval_ms}"
    yield from removals_in(scenario, {*_OF_COORDINATORS, *(topic.name for topic in workload.topics)})


def _assignor_problems(workload: GroupsWorkload) -> Iterator[str]:
    """Members of groups need an assignor, and can use only some."""
    for name, given, known in (
        ("assignors", workload.assignors, SERVER_SIDE),
        ("offered", workload.offered, EAGER),
    ):
        if not given or not {*given} <= {*known}:
            yield f"{name} is {', '.join(given) or 'empty'}, expected some of {', '.join(known)}"


def _member_problems(workload: GroupsWorkload) -> Iterator[str]:
    """Protocols and libraries are of groups that exist, and members can use the protocols of their groups."""
    named = {
        "member_libraries": workload.member_libraries,
        "modern": workload.modern,
        "mixed": workload.mixed,
        "static": workload.static,
    }
    for name, groups in named.items():
        for group in groups:
            if group not in workload.groups:
                yield f"{name} names {group!r}, which is not among groups"
    for group, names in workload.member_libraries.items():
        if not names:
            yield f"member_libraries of {group} is empty, expected at least one client library"
    for index, group in enumerate(workload.groups):
        # Without names the members of a group use the library that `GroupsWorkload` describes.
        used = workload.member_libraries.get(group, (EMBEDDED[index % len(EMBEDDED)],))
        if group not in (*workload.modern, *workload.mixed):
            continue
        for kind in (ClientKind.KAFKA_PYTHON, ClientKind.OTHER_JAVA):
            if kind in used:
                yield f"{group} uses KIP-848's protocol, which {kind} does not offer"


def _version_problems(version: str | None, libraries: Collection[str]) -> Iterator[str]:
    """A version of kafka-clients is named if it is used, and it can be had."""
    used = ClientKind.OTHER_JAVA in libraries
    if version is None:
        if used:
            yield f"{ClientKind.OTHER_JAVA} is used, expected its version as java_version"
        return
    if not used:
        yield f"java_version is {version!r}, but no client uses {ClientKind.OTHER_JAVA}"
    try:
        if parse_version(version) < parse_version(OLDEST_VERSION):
            yield f"java_version is {version!r}, expected {OLDEST_VERSION} or newer"
    except VersionShapeError as error:
        yield f"java_version: {error}"


def _config_problems(workload: ShareWorkload | StreamsWorkload, topology: Topology) -> Iterator[str]:
    """Configs of brokers that differ from those that the workload needs, by which its groups are judged."""
    for name, expected in workload.broker_config.items():
        for where, config in {"the topology": topology.config, **topology.node_config}.items():
            given = config.get(name) if where == "the topology" else config.get(name, expected)
            if given != expected:
                found = f"has {name}={given}" if given is not None else f"does not set {name}"
                yield f"{where} {found}, expected {expected} as the workload has it"
