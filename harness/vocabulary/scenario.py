"""Scenarios: what to test, why, on which cluster, and what to expect."""

from enum import StrEnum

import msgspec

from checkers.verdict.verdict import Validity
from harness.vocabulary.administration import AdminOperation
from harness.vocabulary.faults import Fault
from harness.vocabulary.gambits import Gambit
from harness.vocabulary.moves import Move, ScriptedSchedule
from harness.vocabulary.topology import Topology
from harness.vocabulary.version import DEFAULT_VERSION
from harness.vocabulary.workloads import LogWorkload, Workload


class Step(msgspec.Struct, frozen=True):
    """One fault of a schedule: when it begins after the load does, and how long it is held."""

    at_ms: int
    hold_ms: int
    fault: Fault


class TimedOperation(msgspec.Struct, frozen=True):
    """One admin operation of a schedule: when it is requested after the load began."""

    at_ms: int
    operation: AdminOperation


class FixedSchedule(msgspec.Struct, frozen=True, tag_field="schedule", tag="fixed"):
    """Steps, acts, gambits and blinks at given times; the seed decides only the draws.

    Blinks are short faults in addition to all others, at nodes that no other fault has.
    """

    steps: tuple[Step, ...]
    duration_ms: int
    acts: tuple[TimedOperation, ...] = ()
    gambits: tuple[Gambit, ...] = ()
    blinks: tuple[Step, ...] = ()


class Majority(StrEnum):
    """What drawn faults do to the majority of a quorum."""

    POSSIBLE = "possible"
    """Overlapping faults may hold several controllers; disks go only where a majority keeps what it has."""
    LOST = "lost"
    """All faults of one time are at different controllers, and leave no majority; disks stay."""


class RandomSchedule(msgspec.Struct, frozen=True):
    """Steps and acts drawn from a seed.

    Attributes:
        duration_ms: how long the load runs, faults included.
        kinds: names of the fault kinds to draw from.
        hold_ms: shortest and longest time a fault is held.
        gap_ms: shortest and longest time between faults.
        overlap: chance that a second fault overlaps the first, if a majority is to stay possible.
        majority: what faults do to the majority of the quorum.
        loss_share: chance that a loss of packets takes the place of another fault.
        disks: names of the kinds of faults of disks to draw from, by weight, as far as the topology can have
            them; none: disks stay.
        disk_share: chance that a fault of a disk takes the place of another fault.
        operations: names of the kinds of admin operations to draw from, by weight; none: none are performed.
        operation_gap_ms: shortest and longest time between admin operations.
        changes: further admin operations to draw, by weight, from a separate source and at separate times: a
            schedule that gains them keeps its faults and its other operations.
        change_gap_ms: shortest and longest time between those.
        gambits: names of the gambits to draw from, by weight; none: none are played.
        gambit_share: chance that a gambit takes the place of a single fault.
        operations_min: kind of admin operations to how many of them Kafka must have answered in
            `duration_ms`, or the verdict is unknown; never more than a third of those that were drawn.
        blinks: names of the kinds of blinks to draw from, by weight, from a separate source: a schedule that
            gains them keeps everything else; none: none are drawn.
        blink_hold_ms: shortest and longest time a blink is held.
        blink_gap_ms: shortest and longest time between blinks.
    """

    duration_ms: int = 60_000
    kinds: tuple[str, ...] = ("partition", "kill", "pause", "stop")
    hold_ms: tuple[int, int] = (5_500, 10_000)
    gap_ms: tuple[int, int] = (2_000, 5_000)
    overlap: float = 0.3
    majority: Majority = Majority.POSSIBLE
    loss_share: float = 0.0
    disks: dict[str, int] = {}
    disk_share: float = 0.4
    operations: dict[str, int] = {}
    operation_gap_ms: tuple[int, int] = (1_500, 6_000)
    changes: dict[str, int] = {}
    change_gap_ms: tuple[int, int] = (4_000, 12_000)
    operations_min: dict[str, int] = {}
    gambits: dict[str, int] = {}
    gambit_share: float = 0.75
    blinks: dict[str, int] = {}
    blink_hold_ms: tuple[int, int] = (100, 900)
    blink_gap_ms: tuple[int, int] = (500, 3_500)


class RollingSchedule(msgspec.Struct, frozen=True):
    """A rolling upgrade drawn from a seed: each node gets the run's version, with faults in between.

    The order is that of Kafka's documentation, controllers before brokers, or another one.  The upgrade ends
    with the feature levels, or is undone before all nodes have the new version.

    Attributes:
        between: moves before each node and each fault: conditions under which the next node may go.
        kinds: names of the fault kinds to draw from.
        hold_ms: shortest and longest time a fault is held.
        fault_chance: chance that a fault follows an upgrade of a node.
        mixed_chance: chance that the order of the nodes is another one than the documented one.
        undone_chance: chance that the upgrade is undone.
        features: features that are raised at the end.
        duration_ms: about how long it takes; for progress alone.
    """

    between: tuple[Move, ...]
    kinds: tuple[str, ...] = ("partition", "kill", "pause", "stop")
    hold_ms: tuple[int, int] = (3_000, 7_000)
    fault_chance: float = 0.6
    mixed_chance: float = 0.3
    undone_chance: float = 0.3
    features: tuple[str, ...] = ("metadata.version",)
    duration_ms: int = 100_000


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

    acked_before: int = 100
    acked_after: int = 100
    invoked_during: int = 20
    fault_held_ms: int = 5_000
    recovery_ms: int = 60_000
    why_lowered: str | None = None


class Expectation(msgspec.Struct, frozen=True):
    """What a scenario expects of some versions.

    Attributes:
        validity: the expected verdict.
        anomalies: if invalid is expected, ids of which at least one must be found; if valid is expected, ids
            that may make a run invalid nevertheless, because Kafka has them by design.
        before: applies to Kafka versions below this one; None applies to all.  If nodes are upgraded, this is
            the version that they are upgraded to, the run's.
        start_before: applies only if a node begins on a Kafka version below this one, as before an upgrade.
        features: applies only to topologies that are formatted with these feature levels.
        why: the ticket or rule behind it.
    """

    validity: Validity
    anomalies: tuple[str, ...] = ()
    before: str | None = None
    start_before: str | None = None
    features: dict[str, int] = {}
    why: str = ""


class Scenario(msgspec.Struct, frozen=True):
    """One scenario; its name is its module's path under ``scenarios``.

    Attributes:
        summary: what happens, in a sentence.
        why: why it triggers that, in a sentence.
        schedule: fixed, random, rolling or scripted.
        topology: the cluster.
        workload: the load.
        kafka_version: the version it runs on unless another is named.
        versions_min: oldest Kafka version that it supports.
        expectations: the first that applies counts; valid if none does.
        assumptions: what a verdict needs.
        ticket: Kafka's ticket, or the KIPs whose promises it tests.
        promises: KIPs that Kafka is checked against here even if its version does not keep them yet, so that
            a positive control is invalid; checkers state which KIPs they know.
        keeps_draws: whether the draws of its fixed or scripted schedule stay as they are written, as in one
            that a run carried out; by default the seed decides them.
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
