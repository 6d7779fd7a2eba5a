"""Members of share groups: each polls, and acknowledges what it was given, before it polls again."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import UNSET

from checkers.history.operations import OperationType
from checkers.history.polls import Isolation
from checkers.history.shares import (
    Acknowledged,
    AcknowledgeType,
    Acknowledging,
    SharePolled,
    SharePollRequested,
    is_not_held,
)
from checkers.history.units import MS_PER_S
from harness.clients.interface import ClientFailedError, ClientKind, ReadError
from harness.clients.metadata_views import group_configs
from harness.clients.share import ShareAdminOptions, ShareConsumer, SharedRecord, ShareOptions
from harness.kafka.wire import Connection, WireError
from harness.record.journal import Recorder
from harness.vocabulary import ShareWorkload
from harness.vocabulary.shares import dead_letter_topic
from harness.workloads.consuming import POLL_PAUSE_S, POLL_WAIT_S
from harness.workloads.context import REQUEST_MS, Address, WorkloadContext
from harness.workloads.shares_break import Break
from harness.workloads.values import ValueCodec
from harness.workloads.worker import Worker

ShareContext = WorkloadContext[ShareWorkload]
Ask = Callable[[Address, str], Mapping[str, str | None]]
"""Asks a broker for the configs of a group; raises a `WireError`."""
TYPES: tuple[AcknowledgeType, ...] = ("accept", "release", "reject")
WEIGHTS = (80, 17, 3)
"""How often a member chooses each type."""
LEAVE_SHARE = 0.04
"""Share of polls after which a member leaves without an acknowledgement, and comes back."""
STALL_SHARE = 0.01
"""Share of polls after which a member acknowledges only when its locks have ended."""
_REMAKE_PAUSE_S = 0.25
STALL = 1.25
"""How long it waits then, in locks."""
RENEW_AFTER = 0.6
"""How long a member waits before it renews its locks, and before it then acknowledges, in locks.

So it holds the records for longer than one lock, and a request may take some time before the lock ends.
"""
RENEWALS_MAX = 3
"""How often it renews them at most."""


def configs_at(address: Address, group: str) -> Mapping[str, str | None]:
    """The configs of a group by the broker at this address; as promised by `Ask`."""
    connection = Connection(*address, timeout_s=REQUEST_MS / MS_PER_S)
    try:
        return group_configs(connection, group)
    finally:
        connection.close()


class Sharing(Worker):
    """One process that is a member of a share group; the common part of all kinds.

    Args:
        context: the run's.
        number: number of the process.
        group: id of its group.
    """

    def __init__(self, context: ShareContext, number: int, group: str) -> None:
        super().__init__(f"member-{number}")
        self._context = context
        self._group = group
        self._recorder: Recorder = context.recorder(number, "member")
        self._codec: ValueCodec = context.codec
        self._consumer: ShareConsumer | None = None
        self._opened = -1

    def joined(self) -> ShareConsumer | None:
        """The consumer, made where there is none; None if it can't be made."""
        if self._consumer is None:
            try:
                self._consumer = self._context.clients.share_consumer(self._options())
            except ClientFailedError:
                self.stopping.wait(_REMAKE_PAUSE_S)
                return None
            self._opened += 1
        return self._consumer

    def poll_once(self, consumer: ShareConsumer) -> list[SharedRecord] | None:
        """Poll; what was returned, None if the consumer is to be given up."""
        asked = SharePollRequested(ClientKind.JAVA, self._group, self._opened, prefetches=False)
        self._recorder.invoke("share-poll", self._context.topic, asked)
        try:
            records = consumer.poll(POLL_WAIT_S)
        except ReadError as error:
            self._recorder.complete(OperationType.INFO, asked, str(error))
            return None
        polled = SharePolled(
            asked.client,
            asked.group,
            asked.consumer,
            asked.prefetches,
            records=runs_of([record for record in records if not record.renewed], self._codec),
            renewed=places_of(record for record in records if record.renewed) or UNSET,
        )
        self._recorder.complete(OperationType.OK, polled)
        for partition, offsets, *_ in polled.records:
            self._context.highest.received(self._group, partition, max(offsets))
        return records

    def acknowledge(
        self, consumer: ShareConsumer, records: Sequence[SharedRecord], types: Sequence[AcknowledgeType]
    ) -> Mapping[int, str] | None:
        """Acknowledge records of the last poll.

        Returns:
            The partitions whose acknowledgements are refused, with the error; None if the consumer is to be
            given up.
        """
        acknowledgements = [
            (record.partition, record.offset, kind) for record, kind in zip(records, types, strict=True)
        ]
        runs: dict[int, tuple[list[int], list[AcknowledgeType]]] = {}
        for partition, offset, kind in acknowledgements:
            offsets, kinds = runs.setdefault(partition, ([], []))
            offsets.append(offset)
            kinds.append(kind)
        listed = [(partition, *run) for partition, run in runs.items()]
        asked = Acknowledging(ClientKind.JAVA, self._group, self._opened, listed)
        self._recorder.invoke("acknowledge", self._context.topic, asked)
        try:
            refused = consumer.acknowledge(acknowledgements)
        except ReadError as error:
            self._recorder.complete(OperationType.INFO, asked, str(error))
            return None
        answer = Acknowledged(asked.client, asked.group, asked.consumer, listed, list(refused.items()))
        self._recorder.complete(OperationType.OK, answer)
        return refused

    def leave(self) -> None:
        """Close the consumer."""
        consumer, self._consumer = self._consumer, None
        self.dismiss(consumer)

    def _options(self) -> ShareOptions:
        return ShareOptions(
            self._context.bootstrap,
            self._group,
            self._context.topic,
            self._context.workload.request_ms,
            self._context.workload.poll_records_max,
        )


class ShareMember(Sharing):
    """A member under load, which also releases, rejects, renews, stalls and leaves.

    It ends before the producers, so that new records are left for the last member of the group.

    Args:
        context: the run's.
        index: which of the members of all groups.
        break_: the breaks of its group, in which it leaves; None: there are none.
        ask: asks a broker for the configs of a group.
    """

    ends_first = True

    def __init__(
        self, context: ShareContext, index: int, break_: Break | None = None, ask: Ask = configs_at
    ) -> None:
        workload = context.workload
        number = workload.first_member + index
        super().__init__(context, number, workload.groups[index // workload.members])
        self._random = random.Random(number)
        self._break = break_
        self._ask = ask

    def work(self) -> None:
        """Poll and acknowledge until stopped."""
        try:
            self._prepare()
            while not self.stopping.is_set():
                if self._break is not None and self._break.is_called:
                    self.leave()
                    self._break.rest(self.stopping)
                    continue
                consumer = self.joined()
                if consumer is not None and not self._turn(consumer):
                    self.leave()
                self.stopping.wait(POLL_PAUSE_S)
        finally:
            self.leave()

    def _prepare(self) -> None:
        """Configure the group before any of its members polls, and wait until every broker knows it.

        The group begins at the start of the log.  A leader without these configs would begin at its end, or
        return records of aborted transactions.
        """
        configs = {"share.auto.offset.reset": "earliest"}
        if self._group in self._context.workload.committed:
            configs["share.isolation.level"] = Isolation.READ_COMMITTED.value
        if self._context.workload.dead_letters:
            configs["errors.deadletterqueue.topic.name"] = dead_letter_topic(self._group)
            configs["errors.deadletterqueue.copy.record.enable"] = "true"
        options = ShareAdminOptions(self._context.bootstrap, REQUEST_MS)
        while not self.stopping.is_set():
            admin = None
            try:
                admin = self._context.clients.share_admin(options)
                admin.configure(self._group, configs)
            except (ClientFailedError, ReadError):
                # No operation has begun, so none has failed; it is tried again until the load ends.
                self.stopping.wait(_REMAKE_PAUSE_S)
            else:
                self._await_known(configs)
                return
            finally:
                self.dismiss(admin)

    def _await_known(self, configs: Mapping[str, str]) -> None:
        """Wait until every broker reports these configs of the group, or the load ends."""
        left = list(self._context.brokers)
        while left and not self.stopping.is_set():
            try:
                known = self._ask(left[-1], self._group)
            except WireError:
                # A broker that does not answer may become a leader later, so it is asked again.
                known = {}
            if configs.items() <= known.items():
                left.pop()
            else:
                self.stopping.wait(_REMAKE_PAUSE_S)

    def _turn(self, consumer: ShareConsumer) -> bool:
        """Poll once, and acknowledge; whether the consumer goes on."""
        records = self.poll_once(consumer)
        if not records:
            return records is not None
        chance = self._random.random()
        if chance < LEAVE_SHARE:
            return False
        workload = self._context.workload
        if chance < LEAVE_SHARE + STALL_SHARE:
            self.stopping.wait(STALL * workload.lock_ms / MS_PER_S)
        elif chance < LEAVE_SHARE + STALL_SHARE + workload.renew_share:
            held = self._renewed(consumer, records)
            if not held:
                return held is not None
            records = held
        types = self._random.choices(TYPES, WEIGHTS, k=len(records))
        return self.acknowledge(consumer, records, types) is not None

    def _renewed(self, consumer: ShareConsumer, records: list[SharedRecord]) -> list[SharedRecord] | None:
        """Renew the locks of records up to `RENEWALS_MAX` times.

        If a broker refuses a renewal, the client drops the records, and its next poll returns others.  If an
        answer is missing, the client goes on fetching while it holds records, so the consumer is given up.

        Returns:
            The records of the last poll; None if the consumer is to be given up.
        """
        wait_s = RENEW_AFTER * self._context.workload.lock_ms / MS_PER_S
        for _ in range(self._random.randint(1, RENEWALS_MAX)):
            self.stopping.wait(wait_s)
            refused = self.acknowledge(consumer, records, ["renew"] * len(records))
            if refused is None or not all(map(is_not_held, refused.values())):
                return None
            found = self.poll_once(consumer)
            if not found:
                return found
            records = found
        self.stopping.wait(wait_s)
        return records


def runs_of(
    records: Sequence[SharedRecord], codec: ValueCodec
) -> list[tuple[int, list[int], list[int | str], list[int]]]:
    """Records as a history has them: ``[partition, [offset, …], [value, …], [count, …]]``."""
    runs: dict[int, tuple[list[int], list[int | str], list[int]]] = {}
    for record in records:
        offsets, values, counts = runs.setdefault(record.partition, ([], [], []))
        offsets.append(record.offset)
        values.append(codec.decode(record.value))
        counts.append(record.delivery_count)
    return [(partition, *run) for partition, run in runs.items()]


def places_of(records: Iterable[SharedRecord]) -> list[tuple[int, list[int]]]:
    """The places of records as a history has them: ``[partition, [offset, …]]``."""
    runs: dict[int, list[int]] = {}
    for record in records:
        runs.setdefault(record.partition, []).append(record.offset)
    return list(runs.items())
