"""The metadata workload: configs as registers, topics that are created and deleted, lists of topics."""

import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from checkers.history.changing_topics import TopicConfigured, TopicCreated, TopicRequested
from checkers.history.error_codes import error_name
from checkers.history.operations import OperationType
from checkers.history.requested import PartitionsAdded
from checkers.registers.stored_registers import LAGS_NS
from harness.clients.administrator_opening import Make, open_administrator
from harness.clients.interface import EMBEDDED
from harness.clients.metadata_views import configured, described_config, grown, listed_topics
from harness.kafka.wire import Connection, UnsupportedError, WireError
from harness.record.journal import Recorder, describe
from harness.vocabulary import MetadataWorkload
from harness.workloads.context import Address, WorkloadContext
from harness.workloads.metadata_records import RecordsOfTopics
from harness.workloads.producing import Pace
from harness.workloads.registers import FinalRegisterReader, ReconnectingClient, Register, RegisterWorker
from harness.workloads.worker import Worker

MetadataContext = WorkloadContext[MetadataWorkload]
T = TypeVar("T")

CONFIG_KEYS = ("max.compaction.lag.ms", "delete.retention.ms", "flush.ms")
"""64-bit configs whose values have no effect in a run, unlike `retention.ms`, which deletes records at 78."""
PREFIX = "made-"
"""Prefix of the names of topics that are created and deleted."""
_PARTITIONS_MAX = 3
_COPIES = 2
"""Replicas of such a topic: two, so that it can be created while a broker is down."""
_ASK_TIMEOUT_S = 1.5
_VIEW_PAUSE_S = 0.2
_UNCHANGED_S = 45.0
"""If all brokers answer as they did this long ago, they are not expected to agree later.

Nothing is changed any more.
"""
_LISTING_SHARE = 0.5
_GROWN_SHARE = 0.3
"""Share of created topics that get more partitions."""
_CONFIG_MAX = 2**40


def metadata_workers(context: MetadataContext, make: Make = open_administrator) -> list[Worker]:
    """Processes that alter and describe configs, that create and delete topics, and that view metadata."""
    workload, registers = context.workload, config_registers(context)
    clients = workload.clients
    return [
        *(RegisterWorker(context, number, clients, registers, make) for number in range(clients)),
        *(CreatorWorker(context, index, make) for index in range(workload.creators)),
        *(ViewerWorker(context, index) for index in range(workload.viewers)),
    ]


def metadata_final_workers(
    context: MetadataContext,
    deadline: float,
    make: Make = open_administrator,
    lag_ns: int = LAGS_NS["metadata"],
) -> list[Worker]:
    """For each library a reader of all registers, and one worker that queries every node for all of them."""
    registers = config_registers(context)
    readers = [
        FinalRegisterReader(context, index, registers, deadline, make, lag_ns=lag_ns)
        for index in range(len(EMBEDDED))
    ]
    return [*readers, FinalViewer(context, len(EMBEDDED), deadline)]


def config_registers(context: MetadataContext) -> list[Register]:
    """``config/<topic>/<key>`` for every topic of the workload."""
    return [_register(topic, key) for topic in context.topics for key in CONFIG_KEYS]


def _register(topic: str, key: str) -> Register:
    return Register(
        f"config/{topic}/{key}",
        lambda client, value: client.alter_config(topic, key, value),
        lambda client: client.config(topic, key),
    )


class CreatorWorker(Worker):
    """Creates topics under its own names, deletes the oldest of them, and creates some of those again."""

    def __init__(self, context: MetadataContext, index: int, make: Make) -> None:
        super().__init__(f"creator-{index}")
        workload = context.workload
        self._number = workload.clients + index
        self._recorder = context.recorder(self._number, "creator")
        self._random = random.Random(self._number)
        self._pace = Pace(workload.creators / workload.topic_rate, index / workload.topic_rate)
        self._client = ReconnectingClient(self, context, EMBEDDED[index % len(EMBEDDED)], make)
        self._copies = min(_COPIES, workload.replication_factor)
        self._kept: deque[str] = deque()
        self._kept_max = workload.topics_kept
        self._again: deque[str] = deque()
        self._ids: dict[str, str] = {}
        self._listeners = client_listeners(context)
        self._records = RecordsOfTopics(self._recorder, self._number, context.codec, self._listeners)
        self._again_share = workload.recreated_share
        self._configured_share = workload.configured_share
        self._named = 0

    def work(self) -> None:
        """Create or delete at every turn."""
        try:
            while self._pace.turn(self.stopping):
                if len(self._kept) > self._kept_max:
                    self.delete_once()
                else:
                    self.create_once()
        finally:
            self._client.dismiss()

    def create_once(self) -> None:
        """Create one topic; whatever the outcome, the topic is deleted later."""
        name = self._again.popleft() if self._again else self._new_name()
        partitions = self._random.randint(1, _PARTITIONS_MAX)
        asked = TopicRequested(partitions, self._copies)
        self._recorder.invoke("create-topic", name, asked)
        answer = self._client.ask(lambda client: client.create_topic(name, partitions, self._copies))
        created = TopicCreated(partitions, self._copies, answer.value)
        self._recorder.complete(answer.outcome, created, answer.error)
        if answer.outcome is not OperationType.FAIL:
            self._kept.append(name)
        if answer.value is not None:
            self._ids[name] = answer.value
        if answer.outcome is OperationType.OK and self._listeners:
            if self._random.random() < _GROWN_SHARE:
                self._grow(name, partitions + self._random.randint(1, _PARTITIONS_MAX))
            if self._configured_share and self._random.random() < self._configured_share:
                self._configure(name, self._random.choice(CONFIG_KEYS), self._random.randint(1, _CONFIG_MAX))

    def _grow(self, name: str, count: int) -> None:
        """Add partitions to a topic that was just created."""
        asked = PartitionsAdded(count=count)
        self._recorder.invoke("create-partitions", name, asked)
        self._change(asked, lambda it: grown(it, name, count))

    def _configure(self, name: str, config: str, value: int) -> None:
        """Set a config of a topic that was just created; a later topic of this name must not have it."""
        asked = TopicConfigured(config, str(value))
        self._recorder.invoke("configure-topic", name, asked)
        self._change(asked, lambda it: configured(it, name, config, str(value)))

    def _change(self, asked: PartitionsAdded | TopicConfigured, change: Callable[[Connection], int]) -> None:
        """Request a change once, through one broker, which forwards the request.

        A broker that forwards a request may send it twice, so a refusal does not prove that nothing was
        changed.
        """
        found = _asked(self._random.choice(self._listeners), change)
        if isinstance(found, WireError) or found:
            error = str(found) if isinstance(found, WireError) else error_name(found)
            self._recorder.complete(OperationType.INFO, asked, error)
        else:
            self._recorder.complete(OperationType.OK, asked)

    def delete_once(self) -> None:
        """Delete the oldest topic, in one attempt; whether its name is used again is random.

        If the topic's id is known, a record is appended first; the next topic of this name must not have it.
        """
        name = self._kept.popleft()
        topic_id = self._ids.pop(name, None)
        if topic_id is not None:
            self._records.touch(name, topic_id)
        self._recorder.invoke("delete-topic", name)
        answer = self._client.ask(lambda client: client.delete_topic(name))
        self._recorder.complete(answer.outcome, None, answer.error)
        if answer.outcome is not OperationType.FAIL and self._random.random() < self._again_share:
            self._again.append(name)

    def _new_name(self) -> str:
        self._named += 1
        return f"{PREFIX}{self._number}-{self._named}"


class Viewing:
    """Queries single nodes for their own copies of the metadata, and records the answers.

    Args:
        recorder: writes as the process that sends the requests.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def list_topics(self, address: Address) -> list[tuple[str, str | None]] | None:
        """Topics that are created and deleted, as one broker reports them; None without an answer."""
        listener = _text(address)
        self._recorder.invoke("list-topics", listener)
        found = _asked(address, lambda connection: listed_topics(connection, PREFIX))
        if isinstance(found, WireError):
            self._recorder.complete(OperationType.FAIL, None, str(found))
            return None
        self._recorder.complete(OperationType.OK, found)
        return found

    def read(self, address: Address, topic: str, key: str) -> bool:
        """Read one register from one node; returns whether this is done: it answered, or it never will.

        Controllers do not know the request before 3.7 (KIP-919).
        """
        self._recorder.invoke("read", f"config/{topic}/{key}")
        found = _asked(address, lambda connection: described_config(connection, topic, key))
        if isinstance(found, WireError):
            self._recorder.complete(OperationType.FAIL, None, f"{_text(address)}: {found}")
            return isinstance(found, UnsupportedError)
        self._recorder.complete(OperationType.OK, found)
        return True


class ViewerWorker(Worker):
    """Queries random brokers, one after the other, for their topics or for one config."""

    def __init__(self, context: MetadataContext, index: int) -> None:
        super().__init__(f"viewer-{index}")
        workload = context.workload
        number = workload.clients + workload.creators + index
        self._viewing = Viewing(context.recorder(number, "viewer"))
        self._random = random.Random(number)
        self._topics = context.topics
        self._listeners = client_listeners(context)

    def work(self) -> None:
        """Send requests until stopped."""
        while not self.stopping.wait(_VIEW_PAUSE_S):
            address = self._random.choice(self._listeners)
            if self._random.random() < _LISTING_SHARE:
                self._viewing.list_topics(address)
            else:
                topic, key = self._random.choice(self._topics), self._random.choice(CONFIG_KEYS)
                self._viewing.read(address, topic, key)


class FinalViewer(Worker):
    """Queries every node for every register, and every broker for its topics until all answers agree.

    Brokers that keep their different lists are not asked until the end of the time.
    """

    def __init__(self, context: MetadataContext, index: int, deadline: float) -> None:
        super().__init__("final-viewer")
        self._viewing = Viewing(context.recorder(context.first_final_worker + index, "final reader"))
        self._context = context
        self._deadline = deadline

    def work(self) -> None:
        """Send requests until all that nodes know were answered, or no time is left."""
        nodes = (*client_listeners(self._context), *self._context.controllers)
        left = [(node, topic, key) for node in nodes for topic in self._context.topics for key in CONFIG_KEYS]
        while left and self._has_time():
            left = [place for place in left if not (self._has_time() and self._viewing.read(*place))]
            if left:
                self.stopping.wait(_VIEW_PAUSE_S)
        last, since_s = self._lists(), time.monotonic()
        while self._has_time() and not _agreed(last) and time.monotonic() - since_s < _UNCHANGED_S:
            self.stopping.wait(_VIEW_PAUSE_S)
            listed = self._lists()
            if listed != last or None in listed:
                last, since_s = listed, time.monotonic()

    def _lists(self) -> list[list[tuple[str, str | None]] | None]:
        """What each broker lists; None for one without an answer, and for all if no time is left."""
        return [
            self._viewing.list_topics(address) if self._has_time() else None
            for address in client_listeners(self._context)
        ]

    def _has_time(self) -> bool:
        return time.monotonic() < self._deadline


def _agreed(listed: Sequence[list[tuple[str, str | None]] | None]) -> bool:
    return None not in listed and all(one == listed[0] for one in listed)


def client_listeners(context: MetadataContext) -> Sequence[Address]:
    """Every broker's CLIENT listener."""
    pairs = (server.rpartition(":") for server in context.bootstrap)
    return [(host, int(port)) for host, _, port in pairs]


def _asked(address: Address, question: Callable[[Connection], T]) -> T | WireError:
    try:
        with Connection(*address, _ASK_TIMEOUT_S) as connection:
            return question(connection)
    except WireError as error:
        return error
    except (LookupError, ValueError) as error:
        # The answer lacks the requested entry, or has another one instead.
        return WireError(describe(error))


def _text(address: Address) -> str:
    return f"{address[0]}:{address[1]}"
