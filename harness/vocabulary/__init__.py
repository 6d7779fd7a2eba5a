"""The words that scenarios are written in: topologies, workloads, faults, schedules, expectations.

Everything here is a frozen value that can be written to JSON and read back; nothing here does anything.
"""

from harness.vocabulary.faults import (
    Among,
    Fault,
    Flavour,
    Kill,
    Partition,
    Pattern,
    Pause,
    Stop,
    Target,
)
from harness.vocabulary.scenario import (
    Assumptions,
    Expectation,
    FixedSchedule,
    LogWorkload,
    RandomSchedule,
    Scenario,
    Step,
)
from harness.vocabulary.topology import Mode, Node, NodeFile, Quorum, Role, Topology

__all__ = [
    "Among",
    "Assumptions",
    "Expectation",
    "Fault",
    "FixedSchedule",
    "Flavour",
    "Kill",
    "LogWorkload",
    "Mode",
    "Node",
    "NodeFile",
    "Partition",
    "Pattern",
    "Pause",
    "Quorum",
    "RandomSchedule",
    "Role",
    "Scenario",
    "Step",
    "Stop",
    "Target",
    "Topology",
]
