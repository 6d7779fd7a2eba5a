"""The log workload: producers and consumers of unique values over many partitions."""

from harness.workloads.context import LogContext
from harness.workloads.producing import ProducerWorker
from harness.workloads.subscribed import consumer_workers
from harness.workloads.worker import Worker


def log_workers(context: LogContext) -> list[Worker]:
    """Producers, then consumers."""
    return [
        *(ProducerWorker(context, number) for number in range(context.workload.producers)),
        *consumer_workers(context),
    ]
