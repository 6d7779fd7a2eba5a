"""The bulk workload: OS processes that produce at a requested rate, supervised by threads."""

import select
import subprocess
import sys
import tempfile
from contextlib import suppress
from typing import IO

import msgspec

from harness.clients.interface import ProducerOptions
from harness.errors import KrucibleError
from harness.record.events import RecordsAcknowledged
from harness.record.journal import JournalError
from harness.vocabulary import BulkWorkload
from harness.workloads.bulk_writer import EXIT_JOURNAL, WriterPlan
from harness.workloads.context import DELIVERY_MS, REQUEST_MS, WorkloadContext
from harness.workloads.worker import Worker

_LOOK_S = 0.1
_STDERR_MAX = 500
_DEATHS_MAX = 20
"""With more deaths than this, something ends every process that is started."""

BulkContext = WorkloadContext[BulkWorkload]


def bulk_workers(context: BulkContext) -> list[Worker]:
    """One thread for each OS process; the partitions are distributed among them."""
    return [BulkWriter(context, number) for number in range(context.workload.writers)]


class BulkWriter(Worker):
    """Starts one process, passes on its reports, and ends it by closing its input.

    A process that a signal ends, for example for lack of memory, is replaced: its outstanding operations have
    an unknown outcome, and the load continues.
    """

    def __init__(self, context: BulkContext, number: int) -> None:
        super().__init__(f"bulk-writer-{number}")
        self._journals = context.journals
        self._plan = _plan(context, number)

    def work(self) -> None:
        """Supervise the process, and its successors, until it ends by itself.

        Raises:
            JournalError: it could not write its history.
            KrucibleError: it failed by itself, or several processes in a row were killed.
        """
        self._journals.expect(self._plan.header.journal, "producer")
        for _ in range(_DEATHS_MAX):
            code = self._run_once()
            if code >= 0:
                return
            self.complaints.append(f"{self.name}: a process ended by signal {-code} was replaced")
            self._plan = msgspec.structs.replace(self._plan, succeeds=True)
        raise KrucibleError(f"{self.name} was killed {_DEATHS_MAX} times", got=self.complaints[-1])

    def _run_once(self) -> int:
        """Run one process to its end; returns its exit status, negative if a signal ended it.

        Raises:
            JournalError: it could not write its history.
            KrucibleError: it died of another error, and not of a signal.
        """
        with tempfile.TemporaryFile() as complaints:
            process = subprocess.Popen(
                [sys.executable, "-m", "harness.workloads.bulk_writer"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                bufsize=0,  # a line that is read leaves none behind that select would not see
                start_new_session=True,  # Ctrl-C is for the harness, which ends its processes itself
            )
            with process:
                self._look_after(process)
            self._conclude(process.returncode, complaints)
        return process.returncode

    def _look_after(self, process: "subprocess.Popen[bytes]") -> None:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("a process without pipes")
        with suppress(BrokenPipeError):  # one that was killed at once; its output ends too
            process.stdin.write(msgspec.json.encode(self._plan) + b"\n")
        while True:
            if self.stopping.is_set() and not process.stdin.closed:
                process.stdin.close()
            if not select.select([process.stdout], [], [], _LOOK_S)[0]:
                continue
            line = process.stdout.readline()
            if not line.endswith(b"\n"):
                return
            self._journals.announce(RecordsAcknowledged(int(line)))

    def _conclude(self, code: int, complaints: IO[bytes]) -> None:
        complaints.seek(0)
        stderr = complaints.read().decode(errors="replace").strip()[-_STDERR_MAX:]
        if code == EXIT_JOURNAL:
            raise JournalError("the history can't be written", got=stderr, where=self._plan.folder)
        if code > 0:
            raise KrucibleError(f"{self.name} ended with {code}", got=stderr)
        if stderr:
            self.complaints.append(f"{self.name}: {stderr}")


def _plan(context: BulkContext, number: int) -> WriterPlan:
    workload, journals = context.workload, context.journals
    return WriterPlan(
        folder=str(journals.folder),
        header=journals.header(f"bulk-{number}"),
        began_ns=journals.clock.began_ns,
        options=ProducerOptions(
            context.bootstrap, context.topic, delivery_ms=DELIVERY_MS, request_ms=REQUEST_MS
        ),
        lanes=tuple((p, p) for p in range(workload.partitions) if p % workload.writers == number),
        workers=context.workers,
        batch=workload.batch,
        rate=workload.rate / workload.writers,
    )
