"""The log workload: producers and consumers of unique values over many partitions."""

from harness.workloads.context import LogContext
from harness.workloads.deleting import DeletingWorker
from harness.workloads.producing import ProducerWorker
from harness.workloads.subscribed import consumer_workers
from harness.workloads.worker import Worker


def log_workers(context: LogContext) -> list[Worker]:
    """Producers, then consumers, then the worker that deletes records."""
    workload = context.workload
    deletes = workload.deletions_interval_ms > 0
    return [
        *(ProducerWorker(context, number) for number in range(workload.producers)),
        *consumer_workers(context),
        *([DeletingWorker(context, workload.producers + workload.consumers)] if deletes else []),
    ]
