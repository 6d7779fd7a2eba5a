"""The setup operation of a history: the started cluster, its load, and the expectations.

The harness writes a `SetupOf`, checkers read a `Setup`.  Every field has a default, because histories of
other harnesses and of older runs lack some.  `setup_of` refuses histories that lack the values by which
assumptions are judged.
"""

import re
from collections.abc import Collection, Iterable
from typing import Annotated, Any, Generic, TypeVar

import msgspec

from checkers.history.fields import LARGEST, written
from checkers.history.operations import OK, History, once
from checkers.history.validity import Validity

SETUP = "setup"
"""Function with which the runner records the configuration of the run."""

_W = TypeVar("_W")
COMPACT = "compact"
"""Value of `cleanup.policy` with which batches may be rewritten."""


class SetupNode(msgspec.Struct, frozen=True):
    """One Kafka process: its name in the history, its ``node.id`` and its ``process.roles``."""

    name: str
    id: int
    roles: tuple[str, ...] = ()


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic that the run created.

    Attributes:
        name: its name.
        topic_id: the id that Kafka assigned; None if the history does not report it.
        partitions: number of partitions at its creation.
        replication_factor: number of replicas of each partition; 0 if the history does not report it.
        config: configs that override those of the cluster.
        loaded: whether the load writes records to each of its partitions.
        read: false if the final readers leave it out; otherwise unset.
    """

    name: str
    topic_id: str | None = None
    partitions: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    replication_factor: int = 0
    config: dict[str, Any] = {}
    loaded: bool = True
    read: bool | msgspec.UnsetType = msgspec.UNSET

    @property
    def cleanup(self) -> frozenset[str]:
        """The topic's cleanup policies, such as ``compact``; ``delete`` if ``cleanup.policy`` is not set."""
        return frozenset(part.strip() for part in str(self.config.get("cleanup.policy", "delete")).split(","))


class LoadSetup(msgspec.Struct, frozen=True):
    """The configuration of the load; Kafka's own defaults (KIP-679) if the history has no value.

    Attributes:
        kind: name of the workload.
        acks: the acks setting of producers.
        idempotent: whether they are idempotent.
        pipelined: whether they have several batches in flight to one partition.
        consumers: number of consumers that poll during the load; none if the history has no value.
        workers: difference between the numbers of a process and its successor; 0 if there are no successors.
        durable_processes: processes whose producers, with their successors', are idempotent and use acks=all.
        keys: in compacted topics, the key of a record is its value modulo this.
        tombstones: every n-th record of a key is a tombstone there (`columns.Tombstones`); 0: none is.
        transactors: number of transactional producers; 0 if the history has no value.
        transaction_timeout_ms: time after which the coordinator aborts a transaction that was not ended;
            None: unknown.
        writers: number of OS processes that produce, in a bulk load.
        groups: ids of the groups that must be drained; of the workload ``offsets``, how many it has.
        modern: those of them that use KIP-848's protocol.
        mixed: those of them that have members of both protocols.
        static: those of them whose members are static, each with an instance id of its own (KIP-345).
        members: number of members of each group.
        session_ms: time without a heartbeat after which a group removes a member.
        delivery_limit: how often a share group may deliver a record; 0 if the history has no value.
        lock_ms: how long a member of a share group may hold a record without an acknowledgement.
        committed: the share groups that get records of committed transactions only.
        alter_interval_ms: mean time between changes of a share group's start offsets; 0: there are none.
        dead_letters: whether each share group has a dead-letter queue.
        application: id of the application of Kafka Streams; empty if there is none.
        counters: number of keys that it counts; the key of a record is its value modulo this number.
        recreated_share: share of topics that are created under a name that existed before.
    """

    kind: str = "log"
    acks: str | int = "all"
    idempotent: bool = True
    pipelined: bool = False
    consumers: int = 0
    workers: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)] = 0
    durable_processes: tuple[int, ...] = ()
    keys: Annotated[int, msgspec.Meta(ge=1, le=LARGEST)] | None = None
    tombstones: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)] = 0
    transactors: int = 0
    transaction_timeout_ms: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)] | None = None
    writers: int = 0
    groups: tuple[str, ...] | int = ()
    modern: tuple[str, ...] = ()
    mixed: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    members: int = 0
    session_ms: int = 0
    delivery_limit: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)] = 0
    lock_ms: Annotated[int, msgspec.Meta(ge=0, le=2**31)] = 0
    committed: tuple[str, ...] = ()
    alter_interval_ms: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)] = 0
    dead_letters: bool = False
    application: str = ""
    counters: Annotated[int, msgspec.Meta(ge=1, le=LARGEST)] = 1
    recreated_share: float = 0.0

    def is_durable(self, process: int | str) -> bool:
        """Whether a process, or one of its predecessors, is among the durable processes."""
        if isinstance(process, str) or not self.workers:
            return process in self.durable_processes
        return process % self.workers in {number % self.workers for number in self.durable_processes}


class RequiredNumbers(msgspec.Struct, frozen=True):
    """Minimum numbers that a run must reach for a valid verdict.

    Attributes:
        acked_before: least number of records acknowledged before each fault.
        acked_after: least number of records acknowledged after each fault's heal.
        invoked_during: least number of records whose send began during each fault.
        fault_held_ms: least time for which each fault is in force.
        recovery_ms: longest time of recovery after healing.
        why_lowered: the reason, if the scenario lowered one of them.
    """

    acked_before: int
    acked_after: int
    invoked_during: int
    fault_held_ms: int
    recovery_ms: int
    why_lowered: str | None = None


class ReadyAfter(msgspec.Struct, frozen=True):
    """Duration of each step of the cluster's start, in seconds since the wait for it began."""

    controller_s: float
    brokers_s: float
    write_s: float


class SetupOf(msgspec.Struct, Generic[_W], frozen=True, kw_only=True, omit_defaults=True):
    """The value of a setup operation, in the order in which its fields are written.

    Attributes:
        kafka_version: version of the run, e.g. ``4.3.1``; nodes have it unless `node_versions` or
            `later_versions` states another one.
        scenario: name of the scenario; empty if krucible did not make the run.
        seed: seed of its schedule.
        mode: whether nodes are brokers and controllers at once.
        quorum: whether the quorum's voters are fixed by configuration.
        features: finalized feature levels when the load began.
        nodes: every Kafka process of the cluster.
        topics: every topic that the run created for its workload.
        config: properties that the scenario gave to every node.
        node_config: node name to properties that override these on that node.
        node_versions: node name to the Kafka version with which it begins, if it differs.
        later_versions: Kafka versions that upgrades and downgrades of the schedule bring.
        promises: KIPs whose promises this run requires although its version does not keep them yet.
        workload: how producers and consumers were configured.
        controller_fetch_timeout_ms: Kafka's ``controller.quorum.fetch.timeout.ms``.
        observe_interval_ms: interval of observers' requests.
        assumptions: the scenario's numbers.
        planned_faults: number of faults in the schedule, without gambits and blinks; None if not recorded.
        planned_gambits: number of gambits in it.
        planned_blinks: number of blinks in it.
        drawn_faults: whether the schedule's faults were drawn at random, and not given by the scenario.
        operations_min: kind of random admin operations to how many of them must have been answered; None if
            none were drawn.
        seeded_bug: name of the bug that was put into Kafka; empty if it ran as it was released.
        controls: names of the scripts that must have been carried out as written.
        final_readers: least number of pairs of client and isolation level that read all records at the end.
        evidence: the evidence that the run must gather at its end.
        producers_end: whether each close of a transactional producer is recorded, and an instance of any
            library sends nothing once its close is recorded as ended.
        ready: how long the cluster took to become ready.
        expected: the verdict that the scenario expects for this version, if any.
        expected_anomalies: ids of anomalies; if invalid is expected, at least one of them must be found; if
            valid is expected, they may be found nevertheless.
        expected_consequences: ids of anomalies that may be found too if one of those is found.
    """

    kafka_version: str = ""
    scenario: str = ""
    seed: int = written(0)
    mode: str = ""
    quorum: str = ""
    features: dict[str, int] = written({})
    nodes: tuple[SetupNode, ...] = written(())
    topics: tuple[Topic, ...] = written(())
    config: dict[str, Any] = written({})
    node_config: dict[str, dict[str, Any]] = written({})
    node_versions: dict[str, str] = written({})
    later_versions: tuple[str, ...] = ()
    promises: tuple[str, ...] = written(())
    workload: _W
    controller_fetch_timeout_ms: int = written(0)
    observe_interval_ms: int = written(0)
    assumptions: RequiredNumbers = written(RequiredNumbers(0, 0, 0, 0, 0))
    planned_faults: int | None = written(None)
    planned_gambits: int = 0
    planned_blinks: int = 0
    drawn_faults: bool = False
    operations_min: dict[str, int] | None = None
    seeded_bug: str = ""
    controls: tuple[str, ...] = written(())
    final_readers: int = written(0)
    evidence: tuple[str, ...] = written(())
    producers_end: bool = False
    ready: ReadyAfter | None = None
    expected: Validity | None = written(None)
    expected_anomalies: tuple[str, ...] = written(())
    expected_consequences: tuple[str, ...] = ()

    @property
    def versions(self) -> frozenset[str]:
        """Every Kafka version that any node may have had at any time of the run."""
        return frozenset((self.kafka_version, *self.node_versions.values(), *self.later_versions))

    @property
    def oldest_version(self) -> tuple[int, ...]:
        """The oldest Kafka version of any node at any time as numbers, e.g. (4, 3, 1).

        Only for rules whose events have no time: `checkers.evidence.kafka_versions` has the versions by time.
        """
        return min(map(numbers_of, self.versions))

    @property
    def names(self) -> dict[int, str]:
        """Names of all nodes by id."""
        return {node.id: node.name for node in self.nodes}

    @property
    def controllers(self) -> dict[int, str]:
        """Names of the nodes with the role of a controller, by id."""
        return {node.id: node.name for node in self.nodes if "controller" in node.roles}

    def is_set(self, name: str, node: str) -> bool:
        """Whether the scenario gave a node the property ``name=true``."""
        value = self.node_config.get(node, {}).get(name, self.config.get(name))
        return str(value).lower() == "true"

    def is_of_topic(self, topic: str, topic_id: str | None) -> bool:
        """Whether a log belongs to the topic that the run created, and not to another one of that name."""
        ids = {made.topic_id for made in self.topics if made.name == topic}
        return topic_id is None or topic_id in ids or not ids - {None}

    def is_compacted(self, topic: str) -> bool:
        """Whether batches of a topic may be rewritten."""
        policies = [made.config.get("cleanup.policy") for made in self.topics if made.name == topic]
        policy = next((text for text in policies if text), self.config.get("log.cleanup.policy", ""))
        return COMPACT in str(policy)


class Setup(SetupOf[LoadSetup], frozen=True, kw_only=True):
    """A setup as it is read; its workload has only the fields that checkers need."""

    workload: LoadSetup = LoadSetup()


_REQUIRED = ("kafka_version", "nodes", "controller_fetch_timeout_ms", "observe_interval_ms", "assumptions")


@once
def recorded_setup(history: History) -> Setup:
    """The history's first setup; defaults if it has none.

    Raises:
        msgspec.ValidationError: a field is of another type than docs/histories.md says.
    """
    for operation in history.of(SETUP):
        return msgspec.convert({} if operation.value is None else operation.value, Setup)
    return Setup()


@once
def setup_of(history: History) -> Setup | None:
    """The run's setup, with all values that assumptions need; None if the history has none.

    Raises:
        msgspec.ValidationError: a field is missing or of another type than docs/histories.md says.
    """
    for operation in history.of(SETUP):
        if operation.type is OK:
            setup = msgspec.convert(operation.value, Setup)
            _require_whole(operation.value, operation.value.get("nodes", ()))
            return setup
    return None


def numbers_of(version: str) -> tuple[int, ...]:
    """A version of Kafka as numbers, e.g. (4, 3, 1); empty if it is unknown."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _require_whole(value: Collection[str], nodes: Iterable[Collection[str]]) -> None:
    missing = [name for name in _REQUIRED if name not in value]
    missing += [f"nodes[{n}].roles" for n, node in enumerate(nodes) if "roles" not in node]
    if missing:
        raise msgspec.ValidationError(f"Object missing required field `{missing[0]}`")
