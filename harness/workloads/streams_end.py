"""The end of the streams workload: the last member of the application, and what has become of the output.

It begins once all faults are healed and all members of the load have ended.  It asks for the group's offsets
first: they show how far the members of the load came.  Then a last member processes what is left.  At the end
the group's offsets are asked for again, and the output is read.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping

import msgspec

from checkers.history.commits import GroupFound, GroupRequested
from checkers.history.operations import OperationType
from checkers.history.polls import Isolation
from checkers.history.streams import Counted, OutputRead, OutputRequested, OutputRow, PartitionEnd
from checkers.history.streams import StreamsMember as Member
from harness.clients.interface import ClientFailedError, ClientKind, Message, ReadError
from harness.clients.java.process import StartCancelledError
from harness.clients.transactional import GroupOptions
from harness.clients.transactional_confluent import committed_offsets
from harness.record.journal import describe
from harness.workloads.context import REQUEST_MS
from harness.workloads.final_read import PartitionReader
from harness.workloads.streams import RecordedMember, StreamsContext, member_options
from harness.workloads.values import ValueCodec
from harness.workloads.worker import Worker

Ask = Callable[[GroupOptions, Iterable[int], float], dict[int, int | None]]
"""Asks for a group's offsets, as `harness.clients.transactional_confluent.committed_offsets` does."""
_OFFSETS_S = 5.0
_FIRST_OFFSETS_S = 25.0
"""Transactions of killed members keep the offsets unstable until they time out."""
_PAUSE_S = 0.5
_KEPT_S = 40.0
"""How much of the time is kept for closing the last member, for the offsets and for the output."""
_KEPT_FOR_OUTPUT_S = 20.0


def streams_final_workers(
    context: StreamsContext, deadline: float, ask: Ask = committed_offsets
) -> list[Worker]:
    """One that does everything, in its order."""
    return [StreamsEnd(context, deadline, ask)]


class StreamsEnd(PartitionReader):
    """Has the last member, and reads offsets and output."""

    def __init__(self, context: StreamsContext, deadline: float, ask: Ask) -> None:
        kind = ClientKind.CONFLUENT
        super().__init__(context, "streams-end", kind, Isolation.READ_COMMITTED, deadline)
        self._streams = context
        self._ask = ask
        self._recorder = context.recorder(context.first_final_worker, "reader of an application's output")

    def work(self) -> None:
        """Ask for the offsets, process what is left, ask again, read the output, and ask once more.

        What the group had passed before the output was read must be in the output.  What is in the output,
        the group must have passed afterwards.
        """
        self._topic = self._streams.topic
        self._offsets(min(time.monotonic() + _FIRST_OFFSETS_S, self._deadline - _KEPT_S))
        self._process()
        self._offsets(self._deadline - _KEPT_FOR_OUTPUT_S)
        self._topic = self._streams.workload.output
        try:
            for partition in self._streams.partitions_of(self._topic):
                self._read_output(partition)
        finally:
            self._disconnect()
        self._topic = self._streams.topic
        self._offsets(self._deadline)
        for topic in sorted(self._streams.workload.unread):
            for partition in self._streams.partitions_of(topic):
                self._list_end(topic, partition)

    def _offsets(self, until: float) -> dict[int, int | None] | None:
        """Ask for the group's offsets until they are known; None if they are not."""
        workload = self._streams.workload
        options = GroupOptions(
            self._streams.bootstrap,
            workload.application,
            self._streams.topic,
            poll_records_max=1,
            request_ms=REQUEST_MS,
        )
        asked = GroupRequested(self._streams.topic)
        self._recorder.invoke("committed-offsets", workload.application, asked)
        failure = "no time was left"
        while time.monotonic() < until:
            try:
                found = self._ask(options, self._streams.partitions_of(self._streams.topic), _OFFSETS_S)
            except (ClientFailedError, ReadError) as error:
                failure = str(error)
                self.stopping.wait(_PAUSE_S)
                continue
            answer = GroupFound(self._streams.topic, list(found.items()))
            self._recorder.complete(OperationType.OK, answer)
            return found
        self._recorder.complete(OperationType.INFO, asked, failure)
        return None

    def _process(self) -> None:
        """Let the last member work until the group has processed the input, or no time is left."""
        ends = self._listed(list(self._streams.partitions_of(self._topic)))
        self._disconnect()
        name = f"{self._streams.workload.application}-last"
        until = self._deadline - _KEPT_S
        late = threading.Event()
        timer = threading.Timer(max(0.0, until - time.monotonic()), late.set)
        timer.start()
        try:
            client = self._streams.clients.streams_member(member_options(self._streams, name), late)
        except (ClientFailedError, StartCancelledError) as error:
            self.complaints.append(f"{self.name}: the last member was not made: {describe(error)}")
            return
        finally:
            timer.cancel()
        member = RecordedMember(self._streams, self._recorder, client, Member(name, last=True))
        while time.monotonic() < until and member.report() is not None:
            found = self._offsets(min(until, time.monotonic() + _OFFSETS_S))
            if found is not None and not isinstance(ends, str) and _reaches(found, ends):
                break
            self.stopping.wait(_PAUSE_S)
        member.close()

    def _read_output(self, partition: int) -> None:
        """Read one partition to its end, once no transaction is open in it."""
        asked = OutputRequested(partition)
        self._recorder.invoke("read-output", self._topic, asked)
        failure = "no time was left"
        while time.monotonic() < self._deadline:
            stable, limits = self._listed([partition]), self._limits(self._topic, partition)
            if isinstance(stable, str) or isinstance(limits, str):
                failure = stable if isinstance(stable, str) else str(limits)
                self.stopping.wait(_PAUSE_S)
                continue
            start, end = stable[partition]
            if end < limits[1]:
                failure = f"a transaction is open: the last stable offset is {end}, the end {limits[1]}"
                self.stopping.wait(_PAUSE_S)
                continue
            messages, position, why = self._read_until(partition, start, end)
            if position >= end:
                rows, foreign = decoded(messages, self._streams.codec)
                read = OutputRead(partition, start, end, rows, foreign)
                self._recorder.complete(OperationType.OK, read)
                return
            failure = why or "the end was not reached in time"
        self._recorder.complete(OperationType.FAIL, asked, failure)

    def _list_end(self, topic: str, partition: int) -> None:
        """Record the end of a partition that final readers leave out."""
        asked = OutputRequested(partition)
        self._recorder.invoke("list-end", topic, asked)
        failure = "no time was left"
        while time.monotonic() < self._deadline:
            limits = self._limits(topic, partition)
            if not isinstance(limits, str):
                self._recorder.complete(OperationType.OK, PartitionEnd(partition, *limits))
                return
            failure = limits
            self.stopping.wait(_PAUSE_S)
        self._recorder.complete(OperationType.FAIL, asked, failure)

    def _limits(self, topic: str, partition: int) -> tuple[int, int] | str:
        """First offset and high watermark of a partition, or the reason why there are none."""
        client = None
        try:
            client = self._streams.clients.consumer(self._kind, topic, Isolation.READ_UNCOMMITTED)
            return client.offsets([partition], _OFFSETS_S)[partition]
        except (ClientFailedError, ReadError) as error:
            return str(error)
        finally:
            self.dismiss(client)


def _reaches(found: Mapping[int, int | None], ends: Mapping[int, tuple[int, int]]) -> bool:
    return all((found.get(partition) or 0) >= end for partition, (_, end) in ends.items())


def decoded(messages: Iterable[Message], codec: ValueCodec) -> tuple[list[OutputRow], list[tuple[int, str]]]:
    """The records of the output in the form of the history, and those that the application did not write."""
    rows: list[OutputRow] = []
    foreign: list[tuple[int, str]] = []
    for message in messages:
        try:
            one = msgspec.json.decode(message.value or b"", type=Counted)
        except (msgspec.DecodeError, UnicodeDecodeError):
            foreign.append((message.offset, str(codec.decode(message.value))))
            continue
        value = codec.decode(one.value.encode())
        rows.append((message.offset, one.member, one.partition, one.offset, one.key, one.count, value))
    return rows, foreign
