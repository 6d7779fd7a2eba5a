"""The txn workload: transactions over several partitions, and producers that fence each other.

A transactor keeps its producer instance until an error.  From time to time it keeps a transaction open for a
while.  Meanwhile another process takes over one of their ids after the other.  So an old instance continues
in the middle of a transaction, or begins one, after it was fenced.  That process also continues with
instances that were fenced by the former owners of the ids.
"""

import random

from harness.vocabulary import TxnWorkload
from harness.vocabulary.transactional import DrawnTransactions
from harness.workloads.context import WorkloadContext
from harness.workloads.log import log_workers
from harness.workloads.old_epochs import OldEpochWorker
from harness.workloads.producing import Pace
from harness.workloads.txn_timeouts import TransactionTimeoutWorker
from harness.workloads.txn_transactor import Intent, Make, Staff, Transactor, TxnRecord
from harness.workloads.values import Values
from harness.workloads.worker import Worker

_SENDS_MAX = 4
_PARTITIONS_MAX = 3
_OPEN_SHARE = 0.15
_OPEN_S = (0.1, 0.8)
_REUSE_SHARE = 0.5
_REMAKE_PAUSE_S = 0.25

TxnContext = WorkloadContext[TxnWorkload]
DrawnContext = WorkloadContext[DrawnTransactions]


def txn_workers(context: TxnContext, make: Make | None = None) -> list[Worker]:
    """Workers for plain records, transactors, and workers for fencing, timeouts and old epochs."""
    workload = context.workload
    make = make or context.clients.transactional
    transactors = [TransactionWorker(context, index, make) for index in range(workload.transactors)]
    lapsing = TransactionTimeoutWorker(context, workload.first_transactor + workload.transactors + 1)
    others = (FencingWorker(context, make), lapsing, OldEpochWorker(context, workload.processes - 1))
    return [*log_workers(context), *transactors, *others]


class Drawing:
    """Draws the content of transactions, with a worker's number as seed."""

    def __init__(self, context: DrawnContext, number: int) -> None:
        workload = context.workload
        self.random = random.Random(number)
        self._topic = context.topic
        self._partitions = range(workload.partitions)
        self._values = Values(number, workload.is_resting)
        self._commit_share = workload.commit_share

    def intent(self) -> Intent:
        """The next transaction: 1 to 4 records to at most 3 partitions."""
        count = self.random.randint(1, _SENDS_MAX)
        breadth = min(self.random.randint(1, _PARTITIONS_MAX), len(self._partitions))
        where = self.random.sample(self._partitions, breadth)
        sends = tuple(
            TxnRecord(self._topic, self.random.choice(where), self._values.draw()) for _ in range(count)
        )
        commits = self.random.random() < self._commit_share
        stays_open = self.random.random() < _OPEN_SHARE
        return Intent(sends, commits, self.random.uniform(*_OPEN_S) if stays_open else 0.0)


class TransactionWorker(Worker):
    """One process with its own transactional id; it makes a new producer after anything but success."""

    def __init__(self, context: DrawnContext, index: int, make: Make) -> None:
        super().__init__(f"transactor-{index}")
        workload = context.workload
        number = workload.first_transactor + index
        self._drawing = Drawing(context, number)
        rate = workload.transaction_rate
        self._pace = Pace(workload.transactors / rate, index / rate)
        staff = Staff(context.recorder(number, "transactor"), self.stopping, self.dismiss)
        kind = context.libraries[index % len(context.libraries)]
        self._transactor = Transactor(context, staff, kind, _name(index), make)

    def work(self) -> None:
        """Carry out a transaction at every turn."""
        try:
            while self._pace.turn(self.stopping):
                if self._transactor.ready or self._transactor.initialise():
                    self._transactor.carry_out(self._drawing.intent())
                else:
                    self.stopping.wait(_REMAKE_PAUSE_S)
        finally:
            self._transactor.give_up()


class FencingWorker(Worker):
    """Takes over others' transactional ids, and continues with its instances that were fenced later."""

    def __init__(self, context: DrawnContext, make: Make) -> None:
        super().__init__("fencing")
        self._context = context
        self._make = make
        number = context.workload.first_transactor + context.workload.transactors
        self._drawing = Drawing(context, number)
        self._staff = Staff(context.recorder(number, "transactor"), self.stopping, self.dismiss)
        self._kept: Transactor | None = None

    def work(self) -> None:
        """Take over an id, or use the one that was taken over before, at irregular times."""
        mean_s = self._context.workload.fencing_interval_ms / 1000
        try:
            while not self.stopping.wait(self._drawing.random.uniform(0.5, 1.5) * mean_s):
                if self._kept is None or self._drawing.random.random() >= _REUSE_SHARE:
                    self._take_over()
                if self._kept is not None and not self._kept.carry_out(self._drawing.intent()):
                    self._kept = None
        finally:
            self._let_go()

    def _take_over(self) -> None:
        self._let_go()
        name = _name(self._drawing.random.randrange(self._context.workload.transactors))
        kind = self._drawing.random.choice(self._context.libraries)
        taken = Transactor(self._context, self._staff, kind, name, self._make)
        self._kept = taken if taken.initialise() else None

    def _let_go(self) -> None:
        if self._kept is not None:
            self._kept.give_up()
        self._kept = None


def _name(index: int) -> str:
    return f"txn-{index}"
