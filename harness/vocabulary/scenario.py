"""Scenarios: what to test, why, on which cluster, and what to expect."""

from enum import StrEnum

import msgspec

from checkers.verdict.verdict import Validity
from harness.vocabulary.administration import AdminOperation
from harness.vocabulary.faults import Fault, Kill, Partition, Pause, Stop
from harness.vocabulary.gambits import Gambit
from harness.vocabulary.injected import kind_of
from harness.vocabulary.moves import Move, ScriptedSchedule
from harness.vocabulary.ranges import Count, Duration, Milliseconds, Share
from harness.vocabulary.topology import Topology
from harness.vocabulary.version import DEFAULT_VERSION
from harness.vocabulary.workloads import LogWorkload, Workload

_KINDS = tuple(kind_of(each) for each in (Partition, Kill, Pause, Stop))
"""The kinds of faults that schedules draw from by default."""


class Step(msgspec.Struct, frozen=True):
    """One fault of a schedule: when it begins, from the beginning of the load, and how long it lasts."""

    at_ms: Milliseconds
    hold_ms: Milliseconds
    fault: Fault


class TimedOperation(msgspec.Struct, frozen=True):
    """One admin operation of a schedule, and when it is requested, from the beginning of the load."""

    at_ms: Milliseconds
    operation: AdminOperation


class FixedSchedule(msgspec.Struct, frozen=True, tag_field="schedule", tag="fixed"):
    """Steps, acts, gambits and blinks at given times; the seed decides only the draws.

    Blinks are short faults in addition to all others, at nodes that no other fault affects.
    """

    steps: tuple[Step, ...]
    duration_ms: Duration
    acts: tuple[TimedOperation, ...] = ()
    gambits: tuple[Gambit, ...] = ()
    blinks: tuple[Step, ...] = ()


class Majority(StrEnum):
    """How random faults affect the majority of a quorum."""

    POSSIBLE = "possible"
    """Overlapping faults may affect several controllers; disks are lost only if a majority keeps its data."""
    LOST = "lost"
    """Simultaneous faults affect different controllers, and no majority is left; no disk is lost."""


class RandomSchedule(msgspec.Struct, frozen=True):
    """Steps and acts drawn from a seed.

    Attributes:
        duration_ms: how long the load runs, faults included.
        kinds: names of the fault kinds to draw from.
        hold_ms: shortest and longest duration of a fault.
        gap_ms: shortest and longest time between faults.
        overlap: chance that a second fault overlaps the first, if `majority` is possible.
        majority: how faults affect the majority of the quorum.
        loss_share: chance that a loss of packets replaces another fault.
        disks: kind of fault of disks to its weight; kinds that the topology can't have are not drawn.  Empty:
            no faults of disks.
        disk_share: chance that a fault of a disk replaces another fault.
        operations: kind of admin operation to its weight; empty: no operations.
        operation_gap_ms: shortest and longest time between admin operations.
        changes: kind of further admin operation to its weight.  They have their own random source and times,
            so a schedule to which they are added keeps its faults and its other operations.
        change_gap_ms: shortest and longest time between these further operations.
        gambits: name of gambit to its weight; empty: no gambits.
        gambit_share: chance that a gambit replaces a single fault.
        operations_min: kind of admin operation to how many of them Kafka must have answered in
            `duration_ms`, otherwise the verdict is unknown; never more than a third of those that were drawn.
        blinks: kind of blink to its weight; empty: no blinks.  They have their own random source, so the rest
            of a schedule to which they are added stays the same.
        blink_hold_ms: shortest and longest duration of a blink.
        blink_gap_ms: shortest and longest time between blinks.
    """

    duration_ms: Duration = 60_000
    kinds: tuple[str, ...] = _KINDS
    hold_ms: tuple[Milliseconds, Milliseconds] = (5_500, 10_000)
    gap_ms: tuple[Milliseconds, Milliseconds] = (2_000, 5_000)
    overlap: Share = 0.3
    majority: Majority = Majority.POSSIBLE
    loss_share: Share = 0.0
    disks: dict[str, Count] = {}
    disk_share: Share = 0.4
    operations: dict[str, Count] = {}
    operation_gap_ms: tuple[Milliseconds, Milliseconds] = (1_500, 6_000)
    changes: dict[str, Count] = {}
    change_gap_ms: tuple[Milliseconds, Milliseconds] = (4_000, 12_000)
    operations_min: dict[str, Count] = {}
    gambits: dict[str, Count] = {}
    gambit_share: Share = 0.75
    blinks: dict[str, Count] = {}
    blink_hold_ms: tuple[Milliseconds, Milliseconds] = (100, 900)
    blink_gap_ms: tuple[Milliseconds, Milliseconds] = (500, 3_500)


class RollingSchedule(msgspec.Struct, frozen=True):
    """A rolling upgrade drawn from a seed: each node gets the run's version, with faults in between.

    The order is that of Kafka's documentation, controllers before brokers, or another one.  At the end the
    feature levels are raised, or the upgrade is undone before all nodes have the new version.

    Attributes:
        between: moves before each node and each fault: conditions that must be met before the next one.
        during: moves while a node is away for its new version, before other nodes have faults.
        kinds: names of the fault kinds to draw from.
        hold_ms: shortest and longest duration of a fault.
        fault_chance: chance that a fault follows an upgrade of a node.
        away_chance: chance that other nodes have faults while a node is away.  In half of the cases these
            faults leave the quorum no majority.
        power_chance: chance that a node loses power right after its start, alone or with a majority of its
            role.
        mixed_chance: chance that the order of the nodes differs from the documented one.
        undone_chance: chance that the upgrade is undone.
        features: features that are raised at the end.
        duration_ms: about how long it takes; only used to show progress.
    """

    between: tuple[Move, ...]
    kinds: tuple[str, ...] = _KINDS
    hold_ms: tuple[Milliseconds, Milliseconds] = (3_000, 7_000)
    fault_chance: Share = 0.6
    mixed_chance: Share = 0.3
    undone_chance: Share = 0.3
    features: tuple[str, ...] = ("metadata.version",)
    duration_ms: Duration = 100_000
    during: tuple[Move, ...] = ()
    away_chance: Share = 0.0
    power_chance: Share = 0.0


class Assumptions(msgspec.Struct, frozen=True):
    """Conditions that a valid verdict needs; a scenario that lowers one states why.

    Attributes:
        acked_before: acknowledged records before each fault, at least.
        acked_after: acknowledged records after each fault's heal, at least.
        invoked_during: records whose sending began during each fault, at least.
        fault_held_ms: how long each fault is held, at least.
        recovery_ms: how long recovery may take after healing.
        why_lowered: the reason, if any of these is below the default.
    """

    acked_before: Count = 100
    acked_after: Count = 100
    invoked_during: Count = 20
    fault_held_ms: Milliseconds = 5_000
    recovery_ms: Milliseconds = 60_000
    why_lowered: str | None = None


class Expectation(msgspec.Struct, frozen=True):
    """What a scenario expects of some versions.

    Attributes:
        validity: the expected verdict.
        anomalies: if invalid is expected, ids of which at least one must be found; if valid is expected, ids
            that may make a run invalid nevertheless, because Kafka has them by design.
        consequences: ids that a run may have too, because the others cause them.  Many bugs cause them, so
            that a qualification doesn't take them for a sign of this one.  If valid is expected, a run may
            have them only together with one of the others.
        before: applies to Kafka versions below this one; None applies to all.  If nodes are upgraded, this is
            the version that they are upgraded to, the run's.
        start_before: applies only if a node begins on a Kafka version below this one, as before an upgrade.
        features: applies only to topologies that are formatted with these feature levels.
        why: the ticket or rule behind it.
    """

    validity: Validity
    anomalies: tuple[str, ...] = ()
    consequences: tuple[str, ...] = ()
    before: str | None = None
    start_before: str | None = None
    features: dict[str, int] = {}
    why: str = ""

    @property
    def accepted(self) -> tuple[str, ...]:
        """Ids of all anomalies that a run may have and be as expected."""
        return self.anomalies + self.consequences

    @property
    def alone(self) -> tuple[str, ...]:
        """Ids that a run may have without another one."""
        return self.accepted if self.validity is Validity.INVALID else self.anomalies

    @property
    def following(self) -> tuple[str, ...]:
        """Ids that a run may have only together with one that it may have alone."""
        return () if self.validity is Validity.INVALID else self.consequences


class Scenario(msgspec.Struct, frozen=True):
    """One scenario; its name is its module's path under ``scenarios``.

    Attributes:
        summary: what happens, in one sentence.
        why: why this triggers a defect or tests a promise, in one sentence.
        schedule: fixed, random, rolling or scripted.
        topology: the cluster.
        workload: the load.
        kafka_version: the version it runs on if no other version is requested.
        versions_min: oldest Kafka version that it supports.
        expectations: the first one that applies is used; valid if none applies.
        assumptions: conditions that a verdict needs.
        ticket: Kafka's ticket, or the KIPs whose promises it tests.
        promises: KIPs that are checked even if the Kafka version does not implement them yet, so that a
            positive control is invalid; checkers state which KIPs they know.
        keeps_draws: whether the draws of its fixed or scripted schedule are used as written, as in the
            schedule of an earlier run; by default the seed decides them.
    """

    summary: str
    why: str
    schedule: FixedSchedule | RandomSchedule | RollingSchedule | ScriptedSchedule
    topology: Topology = Topology()
    workload: Workload = LogWorkload()
    kafka_version: str = DEFAULT_VERSION
    versions_min: str = "3.6.2"
    expectations: tuple[Expectation, ...] = ()
    assumptions: Assumptions = Assumptions()
    ticket: str | None = None
    promises: tuple[str, ...] = ()
    keeps_draws: bool = False
