"""One OS process of the bulk workload: ``python -m harness.workloads.bulk_writer``.

It reads its plan from the first line of its input and ends when its input ends, so it ends with the harness
that started it.  It prints how many records were acknowledged since its last line.  A process that replaces a
killed one continues its journal, with other process numbers.
"""

import sys
import threading
import time
from pathlib import Path

import msgspec
from confluent_kafka import Producer

from checkers.history.operations import JournalHeader, OperationType
from harness.clients.bounded import within
from harness.clients.interface import ClientFailedError, ProducerOptions
from harness.record.journal import Clock, Journal, JournalError, Recorder
from harness.record.unfinished_journals import NOTHING, UnfinishedJournal, conclude, left_in
from harness.workloads.bulk_lanes import Lane
from harness.workloads.values import ValueCodec

EXIT_JOURNAL = 4
_IDLE_S = 0.001
"""Pause if no report has arrived and no batch may begin."""
_COUNT_INTERVAL_S = 0.2
_CLOSE_BOUND_S = 5.0
_CATCH_UP_S = 0.2


class WriterPlan(msgspec.Struct, frozen=True):
    """The plan of one process.

    Attributes:
        folder: folder of the run.
        header: header of its journal.
        began_ns: the run's beginning on the host's monotonic clock.
        options: options of its producer.
        lanes: worker number and partition of each lane.
        workers: difference between the numbers of a process and its successor.
        batch: records per operation.
        rate: records per second, of all its lanes.
        succeeds: whether it continues the journal of another process, which was killed.
    """

    folder: str
    header: JournalHeader
    began_ns: int
    options: ProducerOptions
    lanes: tuple[tuple[int, int], ...]
    workers: int
    batch: int
    rate: float
    succeeds: bool = False


def journal_path(plan: WriterPlan) -> Path:
    """File of a process's journal."""
    return Path(plan.folder) / f"history-{plan.header.journal}.jsonl"


class Writer:
    """Keeps its lanes busy, as far as the rate allows.

    Args:
        plan: plan of the process.
        left: content of the journal that another process began; None: the journal must be begun.
        stopping: set when no further batch may begin.

    Raises:
        JournalError: the history could not be written.
    """

    def __init__(self, plan: WriterPlan, left: UnfinishedJournal | None, stopping: threading.Event) -> None:
        written = None if left is None else left.operations
        self._journal = journal = Journal(
            journal_path(plan), plan.header, Clock(plan.began_ns), operations=written
        )
        left = left or NOTHING
        conclude(left, journal)
        prefix = ValueCodec(plan.header.run).prefix
        self._plan = plan
        self._stopping = stopping
        self._lanes = [
            Lane(_recorder(journal, left, worker, plan), partition, plan.options, prefix, plan.batch)
            for worker, partition in plan.lanes
        ]
        self._closing: list[threading.Thread] = []
        self._credit = 0.0
        self._acked = 0

    def work(self) -> None:
        """Send until stopped, then wait for outstanding operations.

        Raises:
            JournalError: the history could not be written.
        """
        earned_s = counted_s = time.monotonic()
        while any(lane.busy for lane in self._lanes) or not self._stopping.is_set():
            now_s = time.monotonic()
            most = self._plan.rate * _CATCH_UP_S + self._plan.batch
            self._credit = min(self._credit + self._plan.rate * (now_s - earned_s), most)
            earned_s = now_s
            if not self._turn():
                time.sleep(_IDLE_S)
            if now_s - counted_s > _COUNT_INTERVAL_S:
                counted_s = now_s
                self._write_count()
        self._write_count()
        for lane in self._lanes:
            self._close(lane)
        self._journal.end()
        for thread in self._closing:
            thread.join()

    def _turn(self) -> bool:
        """Check every lane once; returns whether any batch began or ended."""
        moved = False
        for lane in self._lanes:
            if lane.busy:
                lane.poll()
                moved |= self._ended(lane)
            elif not self._stopping.is_set() and self._credit >= self._plan.batch:
                self._credit -= self._plan.batch
                lane.begin()
                moved = True
        return moved

    def _ended(self, lane: Lane) -> bool:
        ended = lane.finish()
        if ended is None:
            return False
        kind, acked = ended
        self._acked += acked
        if kind is not OperationType.OK:
            self._close(lane)
        return True

    def _write_count(self) -> None:
        if self._acked:
            sys.stdout.write(f"{self._acked}\n")
            sys.stdout.flush()
            self._acked = 0

    def _close(self, lane: Lane) -> None:
        """Close the lane's producer in parallel, so that the other lanes continue."""
        producer = lane.retire()
        if producer is None:
            return
        thread = threading.Thread(target=_end, args=(producer,), daemon=True)
        thread.start()
        self._closing.append(thread)


def _recorder(journal: Journal, left: UnfinishedJournal, worker: int, plan: WriterPlan) -> Recorder:
    recorder = Recorder(journal, worker, plan.workers)
    recorder.process = left.next_after(worker, plan.workers)
    return recorder


def _end(producer: Producer) -> None:
    def close() -> None:
        producer.purge(blocking=False)
        producer.close()

    try:
        within(_CLOSE_BOUND_S, "closing confluent-kafka's producer", close)
    except ClientFailedError as error:
        sys.stderr.write(f"{error}\n")


def main() -> int:
    """Carry out the plan from the input; returns the exit status."""
    plan = msgspec.json.decode(sys.stdin.readline(), type=WriterPlan)
    stopping = threading.Event()

    def await_end() -> None:
        sys.stdin.read()
        stopping.set()

    threading.Thread(target=await_end, daemon=True).start()
    try:
        left = left_in(journal_path(plan)) if plan.succeeds else None
        if left is None or not left.ended:
            Writer(plan, left, stopping).work()
    except JournalError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_JOURNAL
    return 0


if __name__ == "__main__":
    sys.exit(main())
