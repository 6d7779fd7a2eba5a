"""Maps the type of a workload to its implementation; the only module that imports all of them."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from harness.vocabulary import (
    BulkWorkload,
    CompactedWorkload,
    CopyWorkload,
    GroupsWorkload,
    LogWorkload,
    MetadataWorkload,
    OffsetsWorkload,
    ScriptedTransactions,
    ShareWorkload,
    StreamsWorkload,
    TxnWorkload,
    Workload,
)
from harness.workloads.bulk import bulk_workers
from harness.workloads.compacted import compacted_workers
from harness.workloads.context import WorkloadContext
from harness.workloads.copy import copy_final_workers, copy_workers
from harness.workloads.groups_opening import groups_final_workers, groups_workers
from harness.workloads.log import log_workers
from harness.workloads.metadata import metadata_final_workers, metadata_workers
from harness.workloads.offsets import offsets_final_workers, offsets_workers
from harness.workloads.scripted import scripted_workers
from harness.workloads.shares_drain import share_final_workers, share_workers
from harness.workloads.streams import streams_workers
from harness.workloads.streams_end import streams_final_workers
from harness.workloads.txn import txn_workers
from harness.workloads.worker import Worker


class Implementation(NamedTuple):
    """How a kind of workload is carried out.

    Attributes:
        workers: the load's workers, which continue until they are stopped.
        final_workers: workers of the phase final-read in addition to the readers of all records, given the
            time of the monotonic clock by which they must end by themselves; `WorkloadContext.workers` has
            numbers for all of them.
    """

    workers: Callable[[WorkloadContext[Any]], list[Worker]]
    final_workers: Callable[[WorkloadContext[Any], float], list[Worker]] = lambda _context, _deadline: []


IMPLEMENTATIONS: Mapping[type[Workload], Implementation] = {
    LogWorkload: Implementation(log_workers),
    BulkWorkload: Implementation(bulk_workers),
    ScriptedTransactions: Implementation(scripted_workers),
    TxnWorkload: Implementation(txn_workers),
    CompactedWorkload: Implementation(compacted_workers),
    MetadataWorkload: Implementation(metadata_workers, metadata_final_workers),
    OffsetsWorkload: Implementation(offsets_workers, offsets_final_workers),
    CopyWorkload: Implementation(copy_workers, copy_final_workers),
    GroupsWorkload: Implementation(groups_workers, groups_final_workers),
    ShareWorkload: Implementation(share_workers, share_final_workers),
    StreamsWorkload: Implementation(streams_workers, streams_final_workers),
}


def implementation_of(workload: Workload) -> Implementation:
    """The implementation of a kind of workload."""
    return IMPLEMENTATIONS[type(workload)]
