"""The streams workload: an application of Kafka Streams counts records exactly once (KIP-1071, KIP-129).

Producers write the input.  Each member worker has one member of the application at a time, in a process of
its own, and asks it every second what it does.  At drawn times a member is closed, so that it commits and
leaves the group, or its process is killed, so that its transaction stays open and its group has to notice.
Then the worker starts another member, which restores the counts of its tasks from the changelog.
"""

import random
import time

from checkers.history.operations import OperationType
from checkers.history.streams import StreamsEnding, StreamsReported
from checkers.history.streams import StreamsMember as Member
from harness.clients.interface import ClientFailedError, ReadError
from harness.clients.java.process import StartCancelledError
from harness.clients.streams import RUNNING, StreamsMember, StreamsOptions
from harness.record.journal import Recorder
from harness.vocabulary.streams import StreamsWorkload
from harness.workloads.consuming import ConsumerWorker
from harness.workloads.context import REQUEST_MS, WorkloadContext
from harness.workloads.producing import ProducerWorker
from harness.workloads.worker import Worker

StreamsContext = WorkloadContext[StreamsWorkload]
CLOSE_S = 8.0
"""How long a member may take to commit and leave; it waits for its coordinators meanwhile."""
_STATUS_PAUSE_S = 1.0
_REMAKE_PAUSE_S = 1.0
_START_S = 30.0
"""How long a member may take to run; then its drawn time begins all the same."""
_KILLED = 0.6
"""Share of the members that are killed."""


def streams_workers(context: StreamsContext) -> list[Worker]:
    """Producers and consumers of the input, and the members of the application."""
    workload = context.workload
    return [
        *(ProducerWorker(context, number) for number in range(workload.producers)),
        *(ConsumerWorker(context, index) for index in range(workload.consumers)),
        *(MemberWorker(context, index) for index in range(workload.members)),
    ]


class MemberWorker(Worker):
    """Has one member after the other."""

    def __init__(self, context: StreamsContext, index: int) -> None:
        number = context.workload.first_member + index
        super().__init__(f"member-{number}")
        self._context = context
        self._number = number
        self._lives = 0
        self._random = random.Random(number)
        self._recorder = context.recorder(number, "member of an application")

    def work(self) -> None:
        """Start members, and close or kill them, until the worker is stopped; the last one is closed."""
        while not self.stopping.is_set():
            self._lives += 1
            name = f"{self._context.workload.application}-{self._number}-{self._lives}"
            try:
                client = self._context.clients.streams_member(
                    member_options(self._context, name), self.stopping
                )
            except StartCancelledError:
                return
            except ClientFailedError as error:
                self._not_made(Member(name, last=False), error)
                self.stopping.wait(_REMAKE_PAUSE_S)
                continue
            member = RecordedMember(self._context, self._recorder, client, Member(name, last=False))
            self._live(member)
            if not self.stopping.is_set() and self._random.random() < _KILLED:
                member.kill()
            else:
                member.close()

    def _not_made(self, who: Member, error: ClientFailedError) -> None:
        """Record why a member was not made: it is one that does not report its state."""
        self._recorder.invoke("streams-status", self._context.workload.application, who)
        self._recorder.complete(OperationType.FAIL, who, f"it was not made: {error}")

    def _live(self, member: "RecordedMember") -> None:
        """Let a member work for a drawn time, which begins when it is running; less if it does not answer."""
        workload = self._context.workload
        life_s = self._random.uniform(workload.life_min_ms, workload.life_max_ms) / 1000
        ends_at = time.monotonic() + _START_S + life_s
        running = False
        while time.monotonic() < ends_at and not self.stopping.wait(_STATUS_PAUSE_S):
            state = member.report()
            if state is None:
                return
            if state == RUNNING and not running:
                running = True
                ends_at = time.monotonic() + life_s


class RecordedMember:
    """A member whose reports and whose end are recorded.

    Args:
        context: the run's.
        recorder: the recorder of the worker that has it.
        client: the member.
        who: how the history names it.
    """

    def __init__(
        self, context: StreamsContext, recorder: Recorder, client: StreamsMember, who: Member
    ) -> None:
        self._group = context.workload.application
        self._recorder = recorder
        self._client = client
        self._who = who

    def report(self) -> str | None:
        """Ask it for its state; None if it does not answer."""
        self._recorder.invoke("streams-status", self._group, self._who)
        try:
            found = self._client.status()
        except ReadError as error:
            self._recorder.complete(OperationType.FAIL, self._who, str(error))
            return None
        reported = StreamsReported(
            self._who.member, self._who.last, found.state, found.processed, found.error
        )
        self._recorder.complete(OperationType.OK, reported)
        return found.state

    def kill(self) -> None:
        """Kill its process."""
        ending = StreamsEnding(self._who.member, self._who.last, "kill")
        self._recorder.invoke("end-member", self._group, ending)
        self._client.kill()
        self._recorder.complete(OperationType.OK, ending)

    def close(self) -> None:
        """Close it; one that does not close in time is killed, which the history shows."""
        ending = StreamsEnding(self._who.member, self._who.last, "close")
        self._recorder.invoke("end-member", self._group, ending)
        try:
            self._client.close(CLOSE_S)
        except ClientFailedError as error:
            self._recorder.complete(OperationType.INFO, ending, str(error))
        else:
            self._recorder.complete(OperationType.OK, ending)


def member_options(context: StreamsContext, name: str) -> StreamsOptions:
    """How a member of the application behaves."""
    workload = context.workload
    return StreamsOptions(
        context.bootstrap,
        workload.application,
        name,
        context.topic,
        workload.output,
        request_ms=REQUEST_MS,
        transaction_timeout_ms=workload.transaction_timeout_ms,
    )
