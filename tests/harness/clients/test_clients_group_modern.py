"""The member of KIP-848's protocol, over a consumer of librdkafka's that does as the test says."""

import re
import struct
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest
from confluent_kafka import KafkaException, TopicPartition

from checkers.history.operations import OperationType
from checkers.history.polls import Membership
from harness.clients import group_confluent
from harness.clients.group import MemberOptions, PolledRecords
from harness.clients.group_modern import ModernMember, pattern_of
from harness.clients.group_opening import join_group
from harness.clients.group_outdated import commit_as
from harness.clients.interface import ClientFailedError, ClientKind, Message, ReadError
from harness.kafka.wire import Connection
from tests.harness.fakes.group_broker import FakeGroupBroker
from tests.harness.fakes.modern_broker import FakeModernBroker
from tests.harness.waiting import BOUND_S, wait_until

OPTIONS = MemberOptions(("127.0.0.1:9",), "group-0", "log-0", modern=True)


def places(*partitions: int) -> list[TopicPartition]:
    return [TopicPartition("log-0", partition) for partition in partitions]


class StubMessage:
    """A record that librdkafka returned."""

    def __init__(self, partition: int, offset: int) -> None:
        self.partition = lambda: partition
        self.offset = lambda: offset
        self.error = lambda: None
        self.value = lambda: b"v"


class StubConsumer:
    """Tells of an epoch, and plays what is due at the next poll, or with the rest of its records."""

    def __init__(self, member: ModernMember) -> None:
        self.member = member
        self.epoch = 5
        self.starts: dict[int, int] = {}
        self.at: dict[int, int] = {}
        self.due: list[Callable[[], None]] = []
        self.due_later: list[Callable[[], None]] = []
        self.first: StubMessage | None = None
        self.refuses: str | None = None
        self.moves_on = False

    def poll(self, _wait_s: float) -> Any:
        while self.due:
            self.due.pop(0)()
        return self.first

    def consume(self, num_messages: int, timeout: float) -> list[Any]:
        assert (num_messages, timeout) == (199, 0)
        while self.due_later:
            self.due_later.pop(0)()
        return []

    def assigns(self, *partitions: int) -> None:
        self.member._on_assign(cast("Any", self), places(*partitions))

    def revokes(self, *partitions: int) -> None:
        self.member._on_revoke(cast("Any", self), places(*partitions))

    def committed(self, partitions: list[Any], timeout: float) -> list[Any]:
        assert timeout > 0
        self.raising("committed")
        return [TopicPartition("log-0", one.partition, self.starts[one.partition]) for one in partitions]

    def incremental_assign(self, partitions: list[Any]) -> None:
        self.at |= {one.partition: one.offset for one in partitions}

    def incremental_unassign(self, partitions: list[Any]) -> None:
        for one in partitions:
            del self.at[one.partition]

    def seek(self, place: Any) -> None:
        self.raising("seek")
        assert place.partition in self.at
        self.at[place.partition] = place.offset

    def consumer_group_metadata(self) -> bytes:
        self.raising("metadata")
        return b"CGMDv2:" + struct.pack("=i", self.epoch) + b"group-0\0m-1\0\1"

    def commit(self, offsets: list[Any], asynchronous: bool) -> list[Any]:  # noqa: FBT001 - the library's way
        assert not asynchronous
        self.epoch += self.moves_on
        return [TopicPartition("log-0", one.partition, one.offset) for one in offsets]

    def raising(self, what: str) -> None:
        if self.refuses == what:
            raise KafkaException(what)

    def close(self) -> None:
        pass


def test_a_static_member_gives_librdkafka_its_instance_id(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, object]] = []

    def made(_kind: object, config: dict[str, object]) -> StubConsumer:
        given.append(config)
        raise ClientFailedError("enough")

    monkeypatch.setattr(group_confluent, "made", made)
    for options in (OPTIONS, msgspec.structs.replace(OPTIONS, instance="group-0-1")):
        with pytest.raises(ClientFailedError):
            ModernMember(options)
    assert [config.get("group.instance.id") for config in given] == [None, "group-0-1"]


def joined_with(broker: FakeModernBroker, **options: Any) -> PolledRecords:
    """What a member that joins a real socket's group is given first."""
    asked = MemberOptions((broker.bootstrap,), "group-0", "log-0", request_ms=30_000, modern=True, **options)
    member = ModernMember(asked)

    def poll_with_assignment() -> PolledRecords | None:
        gathered = member.poll(0.1)
        return gathered if gathered.assigned else None

    try:
        return wait_until(poll_with_assignment)
    finally:
        member.close(BOUND_S)


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_a_member_asks_the_coordinator_for_its_favourite_assignor(assignor: str) -> None:
    with FakeModernBroker() as broker:
        gathered = joined_with(broker, assignors=(assignor, "another"))
        assert gathered.assigned is not None
        assert gathered.assigned.starts == {0: 0, 1: 0}
        assert broker.joining.server_assignor == assignor
        assert broker.joining.subscribed_topic_names == ["log-0"]


def test_a_regular_expression_is_sent_to_the_coordinator() -> None:
    with FakeModernBroker() as broker:
        gathered = joined_with(broker, pattern=True)
        assert gathered.assigned is not None
        assert gathered.assigned.starts == {0: 0, 1: 0}
        assert broker.joining.subscribed_topic_names == []
        assert broker.joining.subscribed_topic_regex == "(^log-0$)"


def test_only_the_topic_matches_its_pattern() -> None:
    pattern = re.compile(pattern_of("groups.0-a"))
    assert pattern.fullmatch("groups.0-a")
    assert not any(map(pattern.fullmatch, ("groups-0-a", "groups.0-ab", "__groups.0-a", "")))


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> StubConsumer:
    made = join_group(ClientKind.CONFLUENT, OPTIONS)
    assert isinstance(made, ModernMember)
    made.close(BOUND_S)
    stub = StubConsumer(made)
    monkeypatch.setattr(made, "_consumer", stub)
    stub.starts = {0: 3, 1: -1001, 2: 7}
    return stub


def assigned(stub: StubConsumer, *partitions: int) -> PolledRecords:
    stub.due.append(lambda: stub.assigns(*partitions))
    return stub.member.poll(0.1)


def test_an_assignment_that_grows_is_reported_whole_and_begins_anew(stub: StubConsumer) -> None:
    first = assigned(stub, 0, 1).assigned
    assert first is not None
    assert first.starts == {0: 3, 1: 0}
    assert first.membership == Membership("m-1", 5)
    stub.at[0], stub.starts[0], stub.epoch = 9, 6, 6
    second = assigned(stub, 2).assigned
    assert second is not None
    assert second.starts == {0: 6, 1: 0, 2: 7}
    assert second.membership == Membership("m-1", 6)
    assert stub.at == {0: 6, 1: 0, 2: 7}
    assert stub.member.owned == {0, 1, 2}


def test_what_is_taken_back_is_not_owned_any_more_and_the_rest_goes_on(stub: StubConsumer) -> None:
    assigned(stub, 0, 1)
    stub.due.append(lambda: stub.revokes(1))
    stub.first = StubMessage(0, 3)
    assert stub.member.poll(0.1) == PolledRecords([Message(0, 3, b"v")])
    assert stub.member.owned == {0}
    assert stub.at == {0: 3}


def test_an_epoch_that_moves_on_alone_is_reported_once(stub: StubConsumer) -> None:
    assert stub.member.poll(0.1) == PolledRecords([]), "it has no partition yet"
    assigned(stub, 0)
    stub.epoch = 8
    assert stub.member.poll(0.1) == PolledRecords([], None, Membership("m-1", 8))
    assert stub.member.poll(0.1) == PolledRecords([])
    stub.refuses = "metadata"
    assert stub.member.poll(0.1) == PolledRecords([])


def test_a_commit_counts_where_its_epoch_is_known(stub: StubConsumer) -> None:
    assigned(stub, 0)
    assert stub.member.commit({0: 4}).outcome is OperationType.OK
    stub.moves_on = True
    assert stub.member.commit({0: 4}).outcome is OperationType.INFO
    assert stub.member.commit({0: 4}).outcome is OperationType.FAIL, "no poll has reported this epoch"


def test_an_assignment_within_a_batch_of_records_ends_the_member(stub: StubConsumer) -> None:
    stub.first = StubMessage(0, 3)
    stub.due_later.append(lambda: stub.assigns(0))
    with pytest.raises(ReadError, match="within a batch"):
        stub.member.poll(0.1)


@pytest.mark.parametrize(
    ("refuses", "text"), [("committed", "no committed offsets"), ("seek", "not set back")]
)
def test_where_to_begin_is_not_answered_or_not_accepted(stub: StubConsumer, refuses: str, text: str) -> None:
    assigned(stub, 0)
    stub.refuses = refuses
    with pytest.raises(ReadError, match=text):
        assigned(stub, 2)
    assert set(stub.at) == {0, 2}, "librdkafka waits until what was assigned is taken"


@pytest.mark.parametrize(("modern", "version"), [(False, 8), (True, 9)])
def test_a_late_commit_is_of_a_version_that_reports_its_groups_errors(
    monkeypatch: pytest.MonkeyPatch, version: int, *, modern: bool
) -> None:
    asked: list[int] = []
    ask = Connection.ask

    def noting(connection: Connection, request: Any, response: Any, *, at_most: int = 99) -> Any:
        asked.append(at_most)
        return ask(connection, request, response, at_most=at_most)

    monkeypatch.setattr(Connection, "ask", noting)
    with FakeGroupBroker() as broker:
        options = MemberOptions((broker.bootstrap,), "group-0", "log-0", modern=modern)
        assert commit_as(options, Membership("m-1", 4), {0: 1}).outcome is OperationType.OK
    assert asked[-1] == version
