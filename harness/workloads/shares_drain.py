"""The last member of a share group: it accepts the records that are left, until the group is past them."""

import time

from checkers.history.commits import GroupFound, GroupRequested
from checkers.history.operations import OperationType
from checkers.history.polls import Isolation
from harness.clients.interface import ClientFailedError, LogConsumer, ReadError
from harness.clients.share import ShareAdmin, ShareAdminOptions, ShareConsumer
from harness.workloads.consuming import POLL_PAUSE_S
from harness.workloads.context import REQUEST_MS
from harness.workloads.producing import ProducerWorker
from harness.workloads.shares import ShareContext, ShareMember, Sharing
from harness.workloads.worker import Worker

_OFFSETS_TIMEOUT_S = 5.0
_AGAIN_PAUSE_S = 0.25


class ShareDrain(Sharing):
    """Accepts everything until the start offsets are the ends that were listed first, or the deadline.

    Args:
        context: the run's.
        index: which of the groups.
        deadline: time of the monotonic clock by which it ends.
    """

    def __init__(self, context: ShareContext, index: int, deadline: float) -> None:
        super().__init__(context, context.first_final_worker + index, context.workload.groups[index])
        self._deadline = deadline

    def work(self) -> None:
        """Drain the group."""
        ends = self._ends()
        try:
            while time.monotonic() < self._deadline and not self._drained(ends):
                consumer = self.joined()
                if consumer is not None and not self._turn(consumer):
                    self.leave()
                self.stopping.wait(POLL_PAUSE_S)
        finally:
            self.leave()

    def _turn(self, consumer: ShareConsumer) -> bool:
        """Poll and accept until a poll returns nothing; whether the consumer goes on."""
        while time.monotonic() < self._deadline:
            records = self.poll_once(consumer)
            if not records:
                return records is not None
            if not self.acknowledge(consumer, records, ["accept"] * len(records)):
                return False
        return True

    def _drained(self, ends: dict[int, int]) -> bool:
        """Ask for the start offsets; whether they are at the ends."""
        starts = self._starts(sorted(ends))
        return bool(starts) and all((starts[p] or 0) >= end for p, end in ends.items())

    def _starts(self, partitions: list[int]) -> dict[int, int | None]:
        """Start offsets, recorded; empty if they were not answered."""
        topic, admin = self._context.topic, self._admin()
        if admin is None:
            return {}
        self._recorder.invoke("share-offsets", self._group, GroupRequested(topic))
        try:
            found = admin.starts(self._group, topic, partitions)
        except ReadError as error:
            self._recorder.complete(OperationType.FAIL, GroupRequested(topic), str(error))
            self.stopping.wait(_AGAIN_PAUSE_S)
            return {}
        finally:
            self.dismiss(admin)
        self._recorder.complete(OperationType.OK, GroupFound(topic, list(found.items())))
        return found

    def _admin(self) -> ShareAdmin | None:
        options = ShareAdminOptions(self._context.bootstrap, REQUEST_MS)
        try:
            return self._context.clients.share_admin(options)
        except ClientFailedError:
            # No operation has begun; it is tried again until the deadline.
            self.stopping.wait(_AGAIN_PAUSE_S)
            return None

    def _ends(self) -> dict[int, int]:
        """The end of each partition; empty if not all were answered in time."""
        while time.monotonic() < self._deadline:
            client: LogConsumer | None = None
            try:
                kind = self._context.final_readers[0][0]
                client = self._context.clients.consumer(kind, self._context.topic, Isolation.READ_UNCOMMITTED)
                partitions = self._context.partitions_of(self._context.topic)
                listed = client.offsets(partitions, _OFFSETS_TIMEOUT_S)
                return {partition: end for partition, (_, end) in listed.items()}
            except (ClientFailedError, ReadError):
                # No operation has begun; it is tried again until the deadline.
                self.stopping.wait(_AGAIN_PAUSE_S)
            finally:
                self.dismiss(client)
        return {}


def share_workers(context: ShareContext) -> list[Worker]:
    """Producers, then the members of every group."""
    workload = context.workload
    members = range(workload.members * len(workload.groups))
    return [
        *(ProducerWorker(context, number) for number in range(workload.producers)),
        *(ShareMember(context, index) for index in members),
    ]


def share_final_workers(context: ShareContext, deadline: float) -> list[Worker]:
    """One that drains each group."""
    return [ShareDrain(context, index, deadline) for index in range(len(context.workload.groups))]
