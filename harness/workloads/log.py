"""The log workload: producers and consumers of unique values over many partitions, started and stopped."""

from harness.workloads.consuming import ConsumerWorker
from harness.workloads.context import LogContext
from harness.workloads.producing import ProducerWorker
from harness.workloads.worker import Worker, join_all, raise_failures

STOP_BOUND_S = 30.0


class LogLoad:
    """The load of one run; every worker is a thread with its own journal.

    Args:
        context: the run's; its topic exists.
    """

    def __init__(self, context: LogContext) -> None:
        self._workers: list[Worker] = [
            *(ProducerWorker(context, number) for number in range(context.workload.producers)),
            *(ConsumerWorker(context, index) for index in range(context.workload.consumers)),
        ]

    def start(self) -> None:
        """Let the workers begin."""
        for worker in self._workers:
            worker.start()

    def check(self) -> None:
        """Raise if a worker has died; cheap, to be called now and then.

        Raises:
            JournalError: one could not write its history.
            WorkloadError: one died of anything else.
        """
        raise_failures(self._workers)

    def stop(self, bound_s: float = STOP_BOUND_S) -> list[str]:
        """Let the workers finish what is outstanding and end; complaints about clients that would not close.

        Raises:
            JournalError: a worker could not write its history.
            WorkloadError: one died of anything else, or did not end within `bound_s`.
        """
        for worker in self._workers:
            worker.stopping.set()
        return join_all(self._workers, bound_s)
