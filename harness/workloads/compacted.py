"""The compacted workload: the log workload with keys, and transactors that write some of the same keys.

A compacted log keeps the last committed record of each key.  Its cleaner leaves out the records of aborted
transactions, and removes their markers only when it has removed their records (KIP-98, KIP-534).
"""

from harness.vocabulary import CompactedWorkload
from harness.workloads.context import WorkloadContext
from harness.workloads.log import log_workers
from harness.workloads.txn import FencingWorker, TransactionWorker
from harness.workloads.txn_transactor import Make
from harness.workloads.worker import Worker


def compacted_workers(context: WorkloadContext[CompactedWorkload], make: Make | None = None) -> list[Worker]:
    """Workers for plain records, then transactors and a worker that fences them, if there are any."""
    make = make or context.clients.transactional
    transactors = [TransactionWorker(context, index, make) for index in range(context.workload.transactors)]
    fencing = [FencingWorker(context, make)] if transactors else []
    return [*log_workers(context), *transactors, *fencing]
