"""The setup operation of a history, as a typed record: what was started and what was expected of it."""

import re
from typing import Any

import msgspec

from checkers.history.operations import OK, History, once
from checkers.history.shapes import Topic, Workload
from checkers.verdict.verdict import Validity


class SetupNode(msgspec.Struct, frozen=True):
    """One Kafka process: its name in the history, its ``node.id`` and its ``process.roles``."""

    name: str
    id: int
    roles: tuple[str, ...]


class RequiredNumbers(msgspec.Struct, frozen=True):
    """Numbers without which a verdict means nothing.

    Attributes:
        acked_before: records acknowledged before each fault, at least.
        acked_after: records acknowledged after each fault's heal, at least.
        invoked_during: records whose sending began during each fault, at least.
        fault_held_ms: how long each fault is in force, at least.
        recovery_ms: how long recovery may take after healing.
    """

    acked_before: int
    acked_after: int
    invoked_during: int
    fault_held_ms: int
    recovery_ms: int


class Setup(msgspec.Struct, frozen=True):
    """What checkers need of the setup operation; its other fields are left alone.

    Attributes:
        kafka_version: e.g. ``4.3.1``.
        scenario: name of the scenario that krucible ran; empty where it did not.
        nodes: every Kafka process of the cluster.
        features: finalized feature levels when the load began.
        config: properties that the scenario gave to every node.
        node_config: node name to properties that override these there.
        node_versions: node name to the Kafka version of that node, where it is another one.
        promises: KIPs that this run holds Kafka to although its version does not keep them yet.
        topics: every topic that the run created for its workload.
        workload: how producers and consumers were configured.
        controller_fetch_timeout_ms: Kafka's ``controller.quorum.fetch.timeout.ms``.
        observe_interval_ms: how often observers ask.
        assumptions: the scenario's numbers.
        planned_faults: how many faults the schedule has beside gambits and blinks; None where the run did
            not say.
        planned_gambits: how many gambits it has.
        planned_blinks: how many blinks it has.
        drawn_faults: whether chance drew the schedule's faults, and not the scenario.
        operations_min: kind of drawn admin operations to how many of them must have been answered.
        final_readers: how many pairs of client and isolation level read everything at the end, at least.
        controls: names of the scripts that must have been played as they are written.
        expected: what the scenario expects of this version, if anything.
        expected_anomalies: ids of which at least one is to be found where invalid is expected; where valid,
            those that may be found all the same.
    """

    kafka_version: str
    nodes: tuple[SetupNode, ...]
    controller_fetch_timeout_ms: int
    observe_interval_ms: int
    assumptions: RequiredNumbers
    scenario: str = ""
    features: dict[str, int] = {}
    config: dict[str, Any] = {}
    node_config: dict[str, dict[str, Any]] = {}
    node_versions: dict[str, str] = {}
    promises: tuple[str, ...] = ()
    topics: tuple[Topic, ...] = ()
    workload: Workload = Workload()
    planned_faults: int | None = None
    planned_gambits: int = 0
    planned_blinks: int = 0
    drawn_faults: bool = False
    operations_min: dict[str, int] = {}
    final_readers: int = 0
    controls: tuple[str, ...] = ()
    expected: Validity | None = None
    expected_anomalies: tuple[str, ...] = ()

    @property
    def oldest_version(self) -> tuple[int, ...]:
        """The oldest Kafka version of any node as numbers, e.g. (4, 3, 1)."""
        versions = (self.kafka_version, *self.node_versions.values())
        return min(tuple(int(number) for number in re.findall(r"\d+", text)[:3]) for text in versions)

    @property
    def controllers(self) -> dict[int, str]:
        """Names of the nodes with the role of a controller, by id."""
        return {node.id: node.name for node in self.nodes if "controller" in node.roles}

    def is_set(self, name: str, node: str) -> bool:
        """Whether the scenario gave a node the property ``name=true``."""
        value = self.node_config.get(node, {}).get(name, self.config.get(name))
        return str(value).lower() == "true"


@once
def setup_of(history: History) -> Setup | None:
    """The run's setup; None if the history has none.

    Raises:
        msgspec.ValidationError: a field is missing or of another type than docs/histories.md says.
    """
    for operation in history.of("setup"):
        if operation.type is OK:
            return msgspec.convert(operation.value, Setup)
    return None
