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
    RandomSchedule,
    Scenario,
    Step,
)
from harness.vocabulary.topology import Mode, Node, NodeFile, Quorum, Role, Topology
from harness.vocabulary.workloads import (
    BulkWorkload,
    CompactedWorkload,
    CopyWorkload,
    GroupsWorkload,
    LogWorkload,
    MetadataWorkload,
    OffsetsWorkload,
    Script,
    ScriptedTransactions,
    TransactionalWorkload,
    TxnWorkload,
    Workload,
    WorkloadTopic,
)

__all__ = [
    "Among",
    "Assumptions",
    "BulkWorkload",
    "CompactedWorkload",
    "CopyWorkload",
    "Expectation",
    "Fault",
    "FixedSchedule",
    "Flavour",
    "GroupsWorkload",
    "Kill",
    "LogWorkload",
    "MetadataWorkload",
    "Mode",
    "Node",
    "NodeFile",
    "OffsetsWorkload",
    "Partition",
    "Pattern",
    "Pause",
    "Quorum",
    "RandomSchedule",
    "Role",
    "Scenario",
    "Script",
    "ScriptedTransactions",
    "Step",
    "Stop",
    "Target",
    "Topology",
    "TransactionalWorkload",
    "TxnWorkload",
    "Workload",
    "WorkloadTopic",
]
