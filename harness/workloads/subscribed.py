"""Consumers of the log workload: some assign all partitions to themselves, some subscribe with a group."""

from checkers.history.operations import OperationType
from harness.clients.group import MemberOptions
from harness.clients.group_opening import Join
from harness.clients.interface import EMBEDDED
from harness.workloads.consuming import POLL_PAUSE_S, ConsumerWorker
from harness.workloads.context import REQUEST_MS, LogContext
from harness.workloads.groups_member import Membered
from harness.workloads.worker import Worker


class SubscribedWorker(Membered):
    """The only member of its group, which reads everything and commits after every poll.

    Args:
        context: the run's.
        index: which of the consumers.
        join: how members are made.
    """

    def __init__(self, context: LogContext, index: int, join: Join) -> None:
        number = context.workload.producers + index
        options = MemberOptions(context.bootstrap, f"consumer-{number}", context.topic, request_ms=REQUEST_MS)
        super().__init__(context, number, EMBEDDED[index % len(EMBEDDED)], options, join)

    def work(self) -> None:
        """Read and commit until stopped."""
        try:
            while not self.stopping.is_set():
                member = self.joined()
                if member is not None and not (
                    self.poll_once(member) and self.commit_once(member.commit) is not OperationType.INFO
                ):
                    self.leave()
                self.stopping.wait(POLL_PAUSE_S)
        finally:
            self.leave()


def consumer_workers(context: LogContext, join: Join | None = None) -> list[Worker]:
    """All consumers of a log workload; the last ones subscribe, as members that `join` makes."""
    workload, join = context.workload, join or context.clients.member
    assigning = workload.consumers - workload.subscribed
    return [
        ConsumerWorker(context, index) if index < assigning else SubscribedWorker(context, index, join)
        for index in range(workload.consumers)
    ]
