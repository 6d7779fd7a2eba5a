"""The presets of a qualification: which scenarios are run, with how many seeds."""

from collections.abc import Mapping
from typing import NamedTuple

from harness.vocabulary.topology import Mode


class PresetScenario(NamedTuple):
    """One scenario of a preset.

    Attributes:
        scenario: the name of the scenario.
        modes: modes of the topology; None: the scenario's own.
        seeds: number of seeds; they begin with 1 if the night is 0.
        duration_s: duration of the load, for random schedules; None: the scenario's.
        from_versions: for upgrades, the versions that nodes begin with; empty: the scenario's own.
        in_turn: whether each night has only one of these versions, the next one on the next night.
    """

    scenario: str
    modes: tuple[Mode | None, ...] = (None,)
    seeds: int = 1
    duration_s: int | None = None
    from_versions: tuple[str, ...] = ()
    in_turn: bool = False

    def begins(self, night: int) -> tuple[str | None, ...]:
        """The versions that nodes begin with on a night; None stands for the scenario's own."""
        if not self.from_versions:
            return (None,)
        return (self.from_versions[night % len(self.from_versions)],) if self.in_turn else self.from_versions


class Preset(NamedTuple):
    """The runs of candidate and baseline.

    Attributes:
        summary: its purpose, in one sentence.
        entries: the scenarios that every host can run.
        java_entries: the scenarios that need kafka-clients. `krucible sensitivity` uses them only for bugs
            that need a load of kafka-clients.
        controls: tickets of known outcomes; None: all of them.
        control_seeds: number of runs of each side of a control.
        required: states of `results.run.coverage` that the candidate must reach for a decision.
    """

    summary: str
    entries: tuple[PresetScenario, ...]
    java_entries: tuple[PresetScenario, ...] = ()
    controls: tuple[str, ...] | None = None
    control_seeds: int = 1
    required: tuple[str, ...] = ()


_BOTH = (Mode.COMBINED, Mode.ISOLATED)
_WORKLOADS = ("txn", "copy", "offsets", "groups", "compacted", "metadata", "deletions")
_GAMBITS = (
    "gambits", "gambits-txn", "gambits-copy", "gambits-offsets", "gambits-groups",
    "gambits-compacted", "gambits-deletions", "gambits-metadata", "gambits-configs",
    "gambits-reassignments", "gambits-copies-power", "gambits-power", "gambits-pipelined",
    "gambits-groups-modern", "gambits-held", "gambits-voters", "gambits-retention",
    "gambits-epochs", "gambits-features",
)  # fmt: skip
_KIPS = (
    "kip-1066-cordoned", "kip-1312-unregister-controller", "kip-195-partitions-added",
    "kip-455-cancel-and-override", "kip-455-controller-killed", "kip-455-move", "kip-455-throttled",
    "kip-460-during-failover", "kip-460-preferred-out-of-sync", "kip-460-unclean-election",
    "kip-500-unregister-broker", "kip-595-one-way", "kip-853-add-under-partition",
    "kip-853-disk-replacement", "kip-853-grow", "kip-853-leader-killed-midway", "kip-853-old-disk",
    "kip-853-one-at-a-time", "kip-853-remove-leader", "kip-853-shrink", "kip-853-static-to-dynamic",
)  # fmt: skip
_DISKS = (
    "broker-replaced", "leader-replaced", "one-of-two", "power-loss", "replaced-during-reassignment",
    "two-of-three-controllers", "voter-replaced-during-voter-change",
)  # fmt: skip
_PATHS = ("3.9.0", "4.1.1", "4.3.1", "3.7.1")
"""Versions from which clusters are upgraded, in the order of the nights."""
_UPGRADES = ("rolled-back", "rolling")
_UPGRADES_UNDER_LOADS = (
    PresetScenario("exploratory/upgrade-txn", (None,), 2, from_versions=_PATHS),
    PresetScenario("exploratory/upgrade-groups", (None,), 2, from_versions=_PATHS),
    PresetScenario("exploratory/upgrade-groups-modern", (None,), 2, from_versions=("4.1.1", "4.3.1")),
    PresetScenario("exploratory/upgrade-failures", (None,), 2, from_versions=_PATHS),
    PresetScenario("exploratory/upgrade-power", (None,), 2, from_versions=_PATHS),
    PresetScenario("upgrades/chain"),
    PresetScenario("upgrades/chain-combined"),
    PresetScenario("upgrades/features-lowered"),
    PresetScenario("upgrades/static-to-dynamic"),
)
"""Upgrades for which a night has no time; paths begin with versions that support the load."""
_MORE_GAMBITS = tuple(
    PresetScenario(f"exploratory/gambits-{name}", (None,), 6, 90) for name in ("groups-mixed", "operations")
)
"""Gambits for which a night has no time."""
_JAVA_FOR_RELEASES = (
    "copy-java", "gambits-copy-modern", "gambits-groups-java", "gambits-share", "offsets-java",
    "share-dead-letters", "streams", "txn-java-old",
)  # fmt: skip
_MORE_JAVA = (
    *(PresetScenario(f"exploratory/{name}", (None,), 6, 90) for name in _JAVA_FOR_RELEASES),
    PresetScenario("exploratory/share-moves"),
    PresetScenario("exploratory/upgrade-share", (None,), 2, from_versions=("4.2.1", "4.3.1")),
)
"""Loads of kafka-clients for which a night has no time."""
_JAVA = ("chaos-java", "share", "share-altered", "share-committed", "share-renewed", "txn-java")
"""Loads of kafka-clients that a night has.

Four scenarios have share groups, because each does what the others do not (docs/unseen-bugs.md).
"""
_REACHED = ("leader_changes", "elections", "isr_shrinks")
_REACHED_ALL = (*_REACHED, "faults_of_disks", "voter_sets", "unclean_elections", "requests", "completed")


def _entries(
    *, chaos: int, workloads: int, gambits: int, scripts: int, upgrades: int, duration_s: int, in_turn: bool
) -> tuple[PresetScenario, ...]:
    """All scenarios that a version must pass, with a number of seeds for each kind and mode."""
    return (
        PresetScenario("exploratory/chaos", _BOTH, chaos, duration_s),
        *(PresetScenario(f"exploratory/{name}", _BOTH, workloads, duration_s) for name in _WORKLOADS),
        PresetScenario("exploratory/bulk", _BOTH, workloads),
        PresetScenario("exploratory/no-majority", (None,), workloads, duration_s),
        PresetScenario("exploratory/disks", (None,), workloads, duration_s),
        *(PresetScenario(f"exploratory/{name}", (None,), gambits, duration_s) for name in _GAMBITS),
        *(PresetScenario(f"kips/{name}", (None,), scripts) for name in _KIPS),
        *(PresetScenario(f"disks/{name}", (None,), scripts) for name in _DISKS),
        PresetScenario("exploratory/upgrade", (None,), upgrades, from_versions=_PATHS, in_turn=in_turn),
        *(PresetScenario(f"upgrades/{name}") for name in _UPGRADES),
    )


def _java_entries(seeds: int, duration_s: int) -> tuple[PresetScenario, ...]:
    return tuple(PresetScenario(f"exploratory/{name}", (None,), seeds, duration_s) for name in _JAVA)


PRESETS: Mapping[str, Preset] = {
    "smoke": Preset(
        "A quarter of an hour for each version: finds what is obviously broken.",
        (
            PresetScenario("exploratory/chaos", _BOTH, 2, 75),
            PresetScenario("exploratory/txn", (Mode.COMBINED,), 1, 75),
            PresetScenario("exploratory/groups", (Mode.ISOLATED,), 1, 75),
            PresetScenario("exploratory/copy", (Mode.COMBINED,), 1, 75),
        ),
        controls=("KAFKA-15489",),
        required=_REACHED,
    ),
    "nightly": Preset(
        "Six hours: each workload in both modes and under gambits, every script once, every known bug.",
        _entries(chaos=2, workloads=1, gambits=2, scripts=1, upgrades=1, duration_s=75, in_turn=True),
        _java_entries(1, 75),
        required=(*_REACHED, "faults_of_disks", "voter_sets", "completed"),
    ),
    "release": Preset(
        "A day of machine time, in shards: as nightly, with enough seeds to compare figures.",
        (
            *_entries(chaos=16, workloads=6, gambits=11, scripts=6, upgrades=2, duration_s=90, in_turn=False),
            *_MORE_GAMBITS,
            *_UPGRADES_UNDER_LOADS,
        ),
        (*_java_entries(6, 90), *_MORE_JAVA),
        control_seeds=3,
        required=_REACHED_ALL,
    ),
}
"""All presets; ``krucible qualify --plan`` and `expected_ms` report how long one takes."""
