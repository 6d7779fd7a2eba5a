"""The last member of a group: it gets all partitions and reads the records that are left.

Before it leaves, it requests the deletion of the group, as an administrator does: Kafka must refuse.
"""

import time
from collections.abc import Callable

from checkers.history.operations import OperationType
from checkers.history.polls import Isolation
from harness.clients.administrator import AdminAnswer
from harness.clients.group import GroupMember, MemberOptions
from harness.clients.group_opening import Join
from harness.clients.group_outdated import remove_group
from harness.clients.interface import ClientFailedError, LogConsumer, ReadError
from harness.workloads.consuming import POLL_PAUSE_S
from harness.workloads.groups import GroupsContext, kind_of, options_of
from harness.workloads.groups_member import Membered

Remove = Callable[[MemberOptions], AdminAnswer]
"""Deletes a group, as `harness.clients.group_outdated.remove_group` does."""
_OFFSETS_TIMEOUT_S = 5.0
_AGAIN_PAUSE_S = 0.25
PATIENCE_S = 15.0
"""Time without partitions after which a member is replaced, seconds; longer than any session or rebalance.

kafka-python 3.0 was seen to stop its heartbeats after an empty assignment, and never to join again.  A client
that is stuck proves nothing about the group, so one member alone does not show whether the group is stuck.
"""


class DrainWorker(Membered):
    """Reads and commits until the group has nothing left to read, or the deadline.

    Args:
        context: the run's.
        group: index of the group in the workload's.
        deadline: time of the monotonic clock by which it ends.
        join: how members are made.
        remove: how the group is deleted.
        patience_s: how long a member may go without partitions.
    """

    def __init__(
        self,
        context: GroupsContext,
        group: int,
        deadline: float,
        join: Join,
        remove: Remove = remove_group,
        *,
        patience_s: float = PATIENCE_S,
    ) -> None:
        number = context.first_final_worker + group
        kind = kind_of(context.workload, group)
        super().__init__(context, number, kind, options_of(context, group), join)
        self._deadline = deadline
        self._remove = remove
        self._patience_s = patience_s
        self._owned_s = time.monotonic()

    def work(self) -> None:
        """Read to the end offsets that are listed first."""
        ends = self._ends()
        try:
            while time.monotonic() < self._deadline and not self.drained(ends):
                member = self.joined()
                if member is not None and (not self._turn(member) or self._stranded(member)):
                    self.leave()
                    self.positions = {}
                    self._owned_s = time.monotonic()
                self.stopping.wait(POLL_PAUSE_S)
            if self.drained(ends) and self._member is not None:
                self._ask_to_remove(self._member)
        finally:
            self.leave()

    def drained(self, ends: dict[int, int]) -> bool:
        """Whether it has read every partition to its end and has committed the end offsets."""
        reached = all(self.positions.get(partition, -1) >= end for partition, end in ends.items())
        return bool(ends) and reached and not self.pending

    def _ask_to_remove(self, member: GroupMember) -> None:
        """Commit once more, which shows that this is a member, and request the deletion of the group."""
        if self.committed(self.positions, self.membership, member.commit) is not OperationType.OK:
            return
        self._recorder.invoke("delete-group", self.group)
        answer = self._remove(self.options)
        self._recorder.complete(answer.outcome, None, answer.error)

    def _turn(self, member: GroupMember) -> bool:
        if not self.poll_once(member):
            return False
        outcome = self.commit_once(member.commit)
        return outcome is None or outcome == "ok"

    def _stranded(self, member: GroupMember) -> bool:
        """Whether it has been without partitions for too long."""
        if member.owned:
            self._owned_s = time.monotonic()
        return time.monotonic() - self._owned_s > self._patience_s

    def _ends(self) -> dict[int, int]:
        """The end offset of each partition; empty if not all were answered in time."""
        while time.monotonic() < self._deadline:
            client = None
            try:
                client = self._reader()
                listed = client.offsets(range(self._context.workload.partitions), _OFFSETS_TIMEOUT_S)
                return {partition: end for partition, (_, end) in listed.items()}
            except (ClientFailedError, ReadError):
                # No operation has begun; the request is repeated until the deadline.
                self.stopping.wait(_AGAIN_PAUSE_S)
            finally:
                self.dismiss(client)
        return {}

    def _reader(self) -> LogConsumer:
        return self._context.clients.consumer(self._kind, self._context.topic, Isolation.READ_UNCOMMITTED)
