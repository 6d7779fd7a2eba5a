"""Groups that are deleted and created again, and groups that commit once.

If a lost offset is soon committed again, the loss is not noticed.  So there are groups that commit once,
named ``still-…``, whose offset must be returned from then on.

One process sends all requests for these groups, one after the other, so that the correct answers follow from
its own requests.  None of the groups has members.
"""

import random
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from checkers.history.group_offsets import OffsetCommitted, OffsetsDeleted, OffsetsFetched, OffsetsWanted
from checkers.history.operations import OperationType
from checkers.history.polls import Membership
from harness.clients.administrator_errors import classify_commit, classify_deletion
from harness.clients.raw_offsets import (
    NOBODY,
    commit_offset,
    delete_group,
    delete_offset,
    fetch_offsets,
    find_group,
)
from harness.kafka.wire import Connection, WireError
from harness.record.journal import Recorder
from harness.vocabulary import OffsetsWorkload
from harness.workloads.context import WorkloadContext
from harness.workloads.values import Values
from harness.workloads.worker import Worker

T = TypeVar("T")
OffsetsContext = WorkloadContext[OffsetsWorkload]

GROUPS = tuple(f"gone-{number}" for number in range(8))
STILL = tuple(f"still-{number}" for number in range(240))
"""Groups that commit once, one after the other; each is read at the end."""
_PARTITIONS = (0, 1)
_ASK_S = 2.0
_AGAIN_PAUSE_S = 0.2
_STILL_SHARE, _COMMIT_SHARE, _GROUP_SHARE, _FETCH_SHARE = 0.4, 0.5, 0.5, 0.7


class Erasing:
    """Requests of one process to the groups' coordinators.

    Args:
        context: context of the run.
        recorder: writes as this process.
    """

    def __init__(self, context: OffsetsContext, recorder: Recorder) -> None:
        self._topic = context.topic
        self._recorder = recorder
        pairs = (server.rpartition(":") for server in context.bootstrap)
        self._listeners = tuple((host, int(port)) for host, _, port in pairs)
        self._random = random.Random(f"erasing {recorder.process}")

    def commit(self, group: str, partition: int, offset: int, membership: Membership = NOBODY) -> None:
        """Commit one offset, by default without being a member."""
        topic = self._topic

        def ask(connection: Connection) -> int:
            return commit_offset(connection, group, topic, partition, offset, membership=membership)

        def asked(to: int) -> OffsetCommitted:
            return OffsetCommitted(topic=topic, partition=partition, offset=offset, to=to)

        self._change("commit-offset", group, asked, ask, _fate_of_commit)

    def delete(self, group: str, partition: int | None) -> None:
        """Delete one offset, or the group."""
        topic = self._topic

        def ask(connection: Connection) -> int:
            if partition is None:
                return delete_group(connection, group)
            return delete_offset(connection, group, topic, partition)

        def asked(to: int) -> OffsetsDeleted:
            return OffsetsDeleted(topic=topic, partition=partition, to=to)

        self._change("delete-offsets", group, asked, ask, classify_deletion)

    def fetch(self, group: str) -> bool:
        """Fetch a group's committed offsets; returns whether there was an answer."""
        try:
            to = self.coordinator(group)
        except WireError:
            return False
        asked = OffsetsWanted(topic=self._topic, to=to)
        with self._recorder.operation("fetch-offsets", group, asked) as outcome:
            outcome.end(OperationType.FAIL, asked)
            try:
                with self.connected(to) as connection:
                    fetched = fetch_offsets(connection, group, self._topic, _PARTITIONS)
            except WireError as failed:
                outcome.error = str(failed)
                return False
            outcome.ok(OffsetsFetched(topic=self._topic, to=to, offsets=tuple(fetched)))
        return True

    def _change(
        self,
        f: str,
        group: str,
        asked: Callable[[int], OffsetCommitted | OffsetsDeleted],
        ask: Callable[[Connection], int],
        fate: Callable[[int], tuple[OperationType, str]],
    ) -> None:
        """Send one request; without a known coordinator nothing is recorded."""
        try:
            to = self.coordinator(group)
            connection = self.connected(to)
        except WireError:
            return
        value = asked(to)
        with connection, self._recorder.operation(f, group, value) as outcome:
            try:
                code = ask(connection)
            except WireError as failed:
                outcome.error = str(failed)
                return
            answered = msgspec.structs.replace(value, code=code)
            if code:
                kind, error = fate(code)
                outcome.end(kind, answered, error)
            else:
                outcome.ok(answered)

    def coordinator(self, group: str) -> int:
        """Id of the broker that coordinates a group, according to any broker.

        Raises:
            WireError: no answer, or an error.
        """
        with Connection(*self._random.choice(self._listeners), _ASK_S) as connection:
            return find_group(connection, group)

    def connected(self, broker: int) -> Connection:
        """A connection to a broker.

        Raises:
            WireError: it can't be connected, or does not exist.
        """
        if not 0 < broker <= len(self._listeners):
            raise WireError(f"there is no broker {broker}")
        return Connection(*self._listeners[broker - 1], _ASK_S)


class ErasingWorker(Worker):
    """Commits and deletes offsets, and fetches them.

    Args:
        context: context of the run.
        number: number of the process.
    """

    def __init__(self, context: OffsetsContext, number: int) -> None:
        super().__init__("erasing")
        self._erasing = Erasing(context, context.recorder(number, "eraser"))
        self._pause_s = context.workload.erasing_interval_ms / 1000
        self._random = random.Random(number)
        self._values = Values(number)
        self._unused = list(reversed(STILL))
        self._used: list[str] = []

    def work(self) -> None:
        """Work on random groups, one after the other."""
        while not self.stopping.wait(self._random.uniform(0.5, 1.5) * self._pause_s):
            if self._random.random() < _STILL_SHARE:
                self.commit_still()
            else:
                self.change()

    def commit_still(self) -> None:
        """Commit once for the next such group, if any is left, and fetch the offset of an earlier one."""
        if self._unused:
            self._used.append(group := self._unused.pop())
            self._erasing.commit(group, self._random.choice(_PARTITIONS), self._values.draw())
        self._erasing.fetch(self._random.choice(self._used))

    def change(self) -> None:
        """Change one of the groups that are created again, and often fetch its offsets."""
        group, partition = self._random.choice(GROUPS), self._random.choice(_PARTITIONS)
        if self._random.random() < _COMMIT_SHARE:
            self._erasing.commit(group, partition, self._values.draw())
        else:
            self._erasing.delete(group, None if self._random.random() < _GROUP_SHARE else partition)
        if self._random.random() < _FETCH_SHARE:
            self._erasing.fetch(group)


class FinalErasureReader(Worker):
    """Fetches the offsets of all groups of both kinds until each was answered, or no time is left.

    Args:
        context: the run's.
        index: which of the workload's final workers.
        deadline: time of the monotonic clock by which it ends.
        others: further groups to fetch.
    """

    def __init__(
        self, context: OffsetsContext, index: int, deadline: float, others: Sequence[str] = ()
    ) -> None:
        super().__init__("final-erasure-reader")
        self._others = others
        recorder = context.recorder(context.first_final_worker + index, "final reader")
        self._erasing = Erasing(context, recorder)
        self._deadline = deadline

    def work(self) -> None:
        """Fetch until all were answered."""
        left = [*GROUPS, *STILL, *self._others]
        while left and time.monotonic() < self._deadline:
            left = [group for group in left if not self._erasing.fetch(group)]
            if left:
                self.stopping.wait(_AGAIN_PAUSE_S)


def _fate_of_commit(code: int) -> tuple[OperationType, str]:
    return classify_commit(code, f"error {code}", only_attempt=True)
