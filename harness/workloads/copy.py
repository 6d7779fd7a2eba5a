"""The copy workload: consume, transform, produce, exactly once (KIP-98, KIP-447).

Members of one group copy the records of a topic to the same partition of another one, each as a new value,
and commit the group's offsets in the same transactions.  The group uses the classic protocol or KIP-848's.
Some transactions are aborted on purpose and repeated.  After an error a member leaves, initialises again and
begins at the group's offsets.

From time to time some members keep a transaction open until the coordinator has aborted it.  Then they
continue as if it had not been aborted: with the remaining copies, the offsets and the commit.

Now and then a member leaves the group when it has sent the offsets of a transaction, and ends this later.
Whoever gets its partitions must wait for that end before it reads where to continue (KIP-447).
"""

import random
import time
from collections.abc import Callable, Iterable

from checkers.history.commits import GroupFound, GroupRequested
from checkers.history.operations import OperationType
from harness.clients.interface import ClientFailedError, ClientKind, Message, ReadError
from harness.clients.transactional import GroupConsumer, GroupOffsets, GroupOptions
from harness.clients.transactional_confluent import committed_offsets
from harness.vocabulary import CopyWorkload
from harness.workloads.consuming import ConsumerWorker, grouped
from harness.workloads.context import REQUEST_MS, WorkloadContext
from harness.workloads.old_epochs import OldEpochWorker
from harness.workloads.producing import ProducerWorker
from harness.workloads.txn_transactor import Intent, Make, Staff, Transactor, TxnRecord
from harness.workloads.values import Values
from harness.workloads.worker import Worker

COMMIT_SHARE = 0.9
_POLL_WAIT_S = 0.5
_REMAKE_PAUSE_S = 0.25
_OFFSETS_S = 5.0
_LATE_S = (0.0, 3.0)
"""Long enough for coordinators that look for timeouts once a second; a group waits longer for its members."""
_HANDOVERS_S = (10.0, 20.0)
"""Time between two transactions of a member during which the member leaves the group."""
_HANDED_OVER_S = (0.2, 2.0)
"""How long such a transaction stays open, which is less than its timeout."""

CopyContext = WorkloadContext[CopyWorkload]
Join = Callable[[ClientKind, GroupOptions], GroupConsumer]
"""Makes members of a group, as `harness.workloads.context.Clients.copier` does."""
Ask = Callable[[GroupOptions, Iterable[int], float], dict[int, int | None]]
"""Asks for a group's offsets, as `harness.clients.transactional_confluent.committed_offsets` does."""


def copy_workers(context: CopyContext, make: Make | None = None, join: Join | None = None) -> list[Worker]:
    """Producers of what is copied, consumers of either topic, those that copy, who sends in old epochs."""
    workload = context.workload
    make, join = make or context.clients.transactional, join or context.clients.copier
    kinds = len(context.libraries)
    return [
        *(ProducerWorker(context, number) for number in range(workload.producers)),
        *(
            ConsumerWorker(context, index, context.topics[index // kinds % len(context.topics)])
            for index in range(workload.consumers)
        ),
        *(CopyingWorker(context, index, make, join) for index in range(workload.transactors)),
        OldEpochWorker(context, workload.processes - 1),
    ]


def copy_final_workers(context: CopyContext, deadline: float, ask: Ask = committed_offsets) -> list[Worker]:
    """One that reads the group's offsets."""
    return [OffsetsReader(context, deadline, ask)]


class CopyingWorker(Worker):
    """One member of the group, with its own transactional id."""

    def __init__(self, context: CopyContext, index: int, make: Make, join: Join) -> None:
        super().__init__(f"copier-{index}")
        number = context.workload.first_transactor + index
        self._context = context
        self._join = join
        kinds = context.workload.copiers
        self._kind = ClientKind(kinds[index % len(kinds)])
        self._values = Values(number)
        self._random = random.Random(number)
        staff = Staff(context.recorder(number, "copier"), self.stopping, self.dismiss)
        workload = context.workload
        lapses = index >= workload.transactors - workload.lapsing
        timeout_ms = workload.lapsing_timeout_ms if lapses else None
        self._lapses = _Lapses(workload, number) if lapses else None
        self._transactor = Transactor(
            context, staff, self._kind, f"copy-{index}", make, timeout_ms=timeout_ms
        )
        self._member: GroupConsumer | None = None
        self._leaves_at = self._next_handover()

    def work(self) -> None:
        """Copy all records that arrive, until the worker is stopped."""
        try:
            while not self.stopping.is_set():
                member = self._opened()
                if member is None:
                    self.stopping.wait(_REMAKE_PAUSE_S)
                elif not self._copy_once(member):
                    self._leave()
        finally:
            self._leave()
            self._transactor.give_up()

    def _opened(self) -> GroupConsumer | None:
        """The current member or a new one; None if the member or its producer can't be made."""
        if not self._transactor.ready and not self._transactor.initialise():
            return None
        if self._member is None:
            try:
                self._member = self._join(self._kind, group_options(self._context))
            except ClientFailedError:
                return None
        return self._member

    def _copy_once(self, member: GroupConsumer) -> bool:
        """Copy the records of one poll; returns whether this member may continue."""
        try:
            messages = member.poll(_POLL_WAIT_S)
            if not messages:
                return True
            intent = self._intent(messages, member.membership())
            if not self._transactor.carry_out(intent):
                return False
            if self._member is None:
                return True
            if not intent.commits:
                member.rewind(_firsts(messages))
        except ReadError:
            return False
        return True

    def _intent(self, messages: list[Message], membership: object) -> Intent:
        source, target = self._context.topics
        sends = tuple(TxnRecord(target, message.partition, self._values.draw()) for message in messages)
        positions = {message.partition: message.offset + 1 for message in messages}
        consumed = [(source, *stretch) for stretch in grouped(messages, self._context.codec)]
        intent = Intent(
            sends,
            commits=self._random.random() < COMMIT_SHARE,
            offsets=GroupOffsets(self._context.workload.group, source, positions, membership),
            consumed=consumed,
        )
        lapsing = intent if self._lapses is None else self._lapses.perhaps(intent)
        return lapsing if lapsing.pause_s else self._perhaps_handed_over(intent)

    def _perhaps_handed_over(self, intent: Intent) -> Intent:
        """The same transaction; if a departure is due, this member leaves the group during it."""
        if time.monotonic() < self._leaves_at:
            return intent
        self._leaves_at = self._next_handover()
        return intent._replace(pause_s=self._random.uniform(*_HANDED_OVER_S), meanwhile=self._leave)

    def _next_handover(self) -> float:
        return time.monotonic() + self._random.uniform(*_HANDOVERS_S)

    def _leave(self) -> None:
        member, self._member = self._member, None
        self.dismiss(member)


class _Lapses:
    """Draws which transactions of a member are kept open past their timeout, at irregular times."""

    def __init__(self, workload: CopyWorkload, number: int) -> None:
        self._random = random.Random(number)
        self._mean_s = workload.lapsing_interval_ms / 1000
        self._timeout_s = workload.lapsing_timeout_ms / 1000
        self._due = self._next()

    def perhaps(self, intent: Intent) -> Intent:
        """The same transaction; if one is due to time out, its commit is requested after the timeout."""
        if time.monotonic() < self._due:
            return intent
        open_s = self._timeout_s + self._random.uniform(*_LATE_S)
        self._due = self._next() + open_s
        late = self._random.randrange(len(intent.sends))
        return intent._replace(commits=True, pause_s=open_s, late=late)

    def _next(self) -> float:
        return time.monotonic() + self._random.uniform(0.5, 1.5) * self._mean_s


class OffsetsReader(Worker):
    """Reads the group's committed offsets after all members have ended."""

    def __init__(self, context: CopyContext, deadline: float, ask: Ask) -> None:
        super().__init__("offsets-reader")
        self._context = context
        self._deadline = deadline
        self._ask = ask
        self._recorder = context.recorder(context.first_final_worker, "final reader")

    def work(self) -> None:
        """Ask until there is an answer or no time left."""
        asked = GroupRequested(self._context.topic)
        self._recorder.invoke("committed-offsets", self._context.workload.group, asked)
        failure = "no time was left"
        while time.monotonic() < self._deadline:
            try:
                found = self._ask(
                    group_options(self._context), range(self._context.workload.partitions), _OFFSETS_S
                )
            except (ClientFailedError, ReadError) as error:
                failure = str(error)
                self.stopping.wait(_REMAKE_PAUSE_S)
                continue
            committed = GroupFound(self._context.topic, list(found.items()))
            self._recorder.complete(OperationType.OK, committed)
            return
        self._recorder.complete(OperationType.INFO, asked, failure)


def group_options(context: CopyContext) -> GroupOptions:
    """How the group's members behave."""
    workload = context.workload
    return GroupOptions(
        context.bootstrap,
        workload.group,
        context.topic,
        poll_records_max=workload.poll_records_max,
        request_ms=REQUEST_MS,
        modern=workload.modern,
    )


def _firsts(messages: list[Message]) -> dict[int, int]:
    """The first offset of each partition."""
    firsts: dict[int, int] = {}
    for message in messages:
        firsts.setdefault(message.partition, message.offset)
    return firsts
