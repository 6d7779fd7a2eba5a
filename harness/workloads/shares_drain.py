"""The last member of a share group: it accepts the records that are left, until there are none for long."""

import time
from collections.abc import Mapping, Sequence

import msgspec

from checkers.history.commits import GroupFound, GroupRequested
from checkers.history.operations import OperationType
from checkers.history.polls import Isolation
from checkers.history.units import MS_PER_S
from harness.clients.interface import ClientFailedError, ReadError
from harness.clients.share import ShareAdmin, ShareAdminOptions, ShareConsumer, SharedRecord, ShareOptions
from harness.workloads.consuming import POLL_PAUSE_S
from harness.workloads.context import REQUEST_MS
from harness.workloads.last_records import last_records
from harness.workloads.producing import ProducerWorker
from harness.workloads.shares import STALL, ShareContext, ShareMember, Sharing
from harness.workloads.shares_altering import AlteringWorker
from harness.workloads.shares_break import Break
from harness.workloads.shares_letters import DeadLetterReader
from harness.workloads.txn import FencingWorker, TransactionWorker
from harness.workloads.txn_transactor import Make
from harness.workloads.worker import Worker

_AGAIN_PAUSE_S = 0.25
QUIET = 2.5
"""How long nothing may have been returned, in locks or sessions, whichever is longer.

By then members that left hold no records, and members that could not leave hold no partitions.
"""
STUCK_S = 65.0
"""How long nothing may have been returned if the group has not received the last records of a partition.

After 60 s the checker takes the group for stuck (`checkers.share_groups.settling`), if its locks and sessions
are no longer than those of the workload by default.
"""
_LASTS_TIMEOUT_S = 5.0
_POLL_RECORDS = 20
"""How many records a poll may return at least; with fewer, what is left can't be drained within the bound."""


class ShareDrain(Sharing):
    """Accepts everything until all locks and sessions must have ended and nothing was returned since.

    If no member received the last records of some partition, it goes on for so long that the group is stuck.
    The start offsets that brokers report can't show it: what is stored lags by one acknowledgement.

    It holds the first new records that it gets for longer than their locks.  They must be returned again, and
    it goes on as long for these too.  New records show most: if others were available before them, the leader
    looks for earlier records anyway (``SharePartition.nextFetchOffset``).

    Args:
        context: the run's.
        index: which of the groups.
        deadline: time of the monotonic clock by which it ends.
    """

    def __init__(self, context: ShareContext, index: int, deadline: float) -> None:
        super().__init__(context, context.first_final_worker + index, context.workload.groups[index])
        self._deadline = deadline
        self._quiet_s = QUIET * max(context.workload.lock_ms, context.workload.session_ms) / MS_PER_S
        self._busy_s = time.monotonic()
        self._held = False
        self._expired: set[tuple[int, int]] = set()

    def work(self) -> None:
        """Drain the group, and ask where it is; go on if it has not begun in some partition."""
        lasts = self._lasts()
        try:
            while time.monotonic() < self._deadline:
                self._turn()
                waits = self._expired or self._behind(lasts)
                limit_s = max(STUCK_S, self._quiet_s) if waits else self._quiet_s
                if time.monotonic() >= self._busy_s + limit_s and self._begun():
                    return
                self.stopping.wait(POLL_PAUSE_S)
        finally:
            self.leave()

    def _options(self) -> ShareOptions:
        options = super()._options()
        return msgspec.structs.replace(options, poll_records_max=max(options.poll_records_max, _POLL_RECORDS))

    def _lasts(self) -> dict[int, int]:
        """The offset of the last record of each partition; empty if they could not be read."""
        client = None
        committed = self._group in self._context.workload.committed
        isolation = Isolation.READ_COMMITTED if committed else Isolation.READ_UNCOMMITTED
        try:
            kind, topic = self._context.libraries[0], self._context.topic
            client = self._context.clients.consumer(kind, topic, isolation)
            return last_records(client, self._context.partitions_of(topic), _LASTS_TIMEOUT_S)
        except (ClientFailedError, ReadError):
            # Without them it ends earlier, and the group's last records, if they are missing, are no finding.
            return {}
        finally:
            self.dismiss(client)

    def _behind(self, lasts: Mapping[int, int]) -> bool:
        """Whether no member received the last record of some partition."""
        highest = self._context.highest
        return any(highest.of(self._group, partition) < last for partition, last in lasts.items())

    def _turn(self) -> None:
        """Poll once and accept; whatever is not an empty answer begins the quiet time again."""
        consumer = self.joined()
        records = None if consumer is None else self.poll_once(consumer)
        if records is not None and not records:
            return
        if consumer is not None and not (records and self._accepted(consumer, records)):
            self.leave()
        self._busy_s = time.monotonic()

    def _accepted(self, consumer: ShareConsumer, records: Sequence[SharedRecord]) -> bool:
        """Accept records; whether the consumer may go on. The first new ones are held until they expire.

        None are held if the time until the deadline may be too short to receive them again.  Records that
        were returned as often as the limit allows are archived when their lock ends.
        """
        self._expired.difference_update((record.partition, record.offset) for record in records)
        hold_s = STALL * self._context.workload.lock_ms / MS_PER_S
        holds = not self._held and all(record.delivery_count == 1 for record in records)
        holds &= time.monotonic() + hold_s + self._quiet_s < self._deadline
        if holds:
            self._held = True
            self.stopping.wait(hold_s)
        refused = self.acknowledge(consumer, records, ["accept"] * len(records))
        if holds and refused:
            limit = self._context.workload.delivery_limit
            left = (r for r in records if r.partition in refused and r.delivery_count < limit)
            self._expired.update((record.partition, record.offset) for record in left)
        return refused is not None

    def _begun(self) -> bool:
        """Ask for the start offsets of all partitions; whether there are some.

        Where none is stored, the coordinator of the group tries again to initialise the partition; by default
        that takes it 30 s.
        """
        topic, admin = self._context.topic, self._admin()
        if admin is None:
            return False
        self._recorder.invoke("share-offsets", self._group, GroupRequested(topic))
        try:
            found = admin.starts(self._group, topic, self._context.partitions_of(topic))
        except ReadError as error:
            self._recorder.complete(OperationType.FAIL, GroupRequested(topic), str(error))
            self.stopping.wait(_AGAIN_PAUSE_S)
            return False
        finally:
            self.dismiss(admin)
        self._recorder.complete(OperationType.OK, GroupFound(topic, list(found.items())))
        self._busy_s = time.monotonic()
        return None not in found.values()

    def _admin(self) -> ShareAdmin | None:
        options = ShareAdminOptions(self._context.bootstrap, REQUEST_MS)
        try:
            return self._context.clients.share_admin(options)
        except ClientFailedError:
            # No operation has begun; it is tried again until the deadline.
            self.stopping.wait(_AGAIN_PAUSE_S)
            return None


def share_workers(context: ShareContext, make: Make | None = None) -> list[Worker]:
    """Producers, transactors and one that fences them, members of every group, those that alter offsets."""
    workload = context.workload
    make = make or context.clients.transactional
    members = range(workload.members * len(workload.groups))
    breaks = [Break(workload.members) for _ in workload.groups if workload.alter_interval_ms]
    of_member = [breaks[index // workload.members] if breaks else None for index in members]
    transactors = [TransactionWorker(context, index, make) for index in range(workload.transactors)]
    fencing = [FencingWorker(context, make)] if transactors else []
    return [
        *(ProducerWorker(context, number) for number in range(workload.producers)),
        *transactors,
        *fencing,
        *(ShareMember(context, index, of_member[index]) for index in members),
        *(AlteringWorker(context, group, break_) for group, break_ in enumerate(breaks)),
    ]


def share_final_workers(context: ShareContext, deadline: float) -> list[Worker]:
    """One that drains each group, and then one that reads its dead-letter queue, if it has one."""
    drains = [ShareDrain(context, index, deadline) for index in range(len(context.workload.groups))]
    if not context.workload.dead_letters:
        return [*drains]
    readers = (DeadLetterReader(context, index, deadline, drain) for index, drain in enumerate(drains))
    return [*drains, *readers]
