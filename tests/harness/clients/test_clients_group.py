"""Both libraries' members, for real, against a coordinator that fails as the test decides."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import msgspec
import pytest
from confluent_kafka import TopicPartition
from kafka.errors import CommitFailedError, IllegalGenerationError, NotCoordinatorError, for_code

from checkers.history.operations import OperationType
from checkers.history.polls import Membership
from harness.clients.administrator import AdminAnswer
from harness.clients.confluent_groups import membership_of
from harness.clients.group import GroupMember, MemberOptions, PolledRecords
from harness.clients.group_confluent import ConfluentMember
from harness.clients.group_kafka_python import KafkaPythonMember, refused
from harness.clients.group_opening import join_group
from harness.clients.group_outdated import answered, commit_as, remove_group, reset_offsets
from harness.clients.interface import ClientFailedError, ClientKind, Message, ReadError
from tests.harness.fakes.broker import COORDINATOR
from tests.harness.fakes.group_broker import (
    COMMIT,
    DELETE_GROUPS,
    FETCH_OFFSETS,
    HEARTBEAT,
    MEMBER,
    FakeGroupBroker,
)
from tests.harness.java import running
from tests.harness.waiting import BOUND_S, wait_until

OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO
ILLEGAL_GENERATION, UNKNOWN_MEMBER, NOT_COORDINATOR, GROUP_AUTHORIZATION = 22, 25, 16, 30
NOBODY = "127.0.0.1:9"


@pytest.fixture
def broker() -> Iterator[FakeGroupBroker]:
    with FakeGroupBroker() as made:
        made.records = [[b"a", b"b", b"c"], [b"d"]]
        made.offsets = {0: 1}
        yield made


def options(broker: FakeGroupBroker, request_ms: int = 30_000, commit_ms: int = 30_000) -> MemberOptions:
    """Of a member to whom no answer comes late; where none comes, its bounds must be shorter."""
    return MemberOptions(
        (broker.bootstrap,),
        "group-0",
        "log-0",
        heartbeat_ms=100,
        request_ms=request_ms,
        connect_ms=30_000,
        commit_ms=commit_ms,
    )


def impatient(broker: FakeGroupBroker) -> MemberOptions:
    """Of a member that gives up in the end; by then a slow machine has asked."""
    return options(broker, request_ms=1_500, commit_ms=2_500)


def polled(member: GroupMember) -> PolledRecords:
    """The first poll that says anything."""

    def poll_with_content() -> PolledRecords | None:
        gathered = member.poll(0.2)
        return gathered if gathered.assigned is not None or gathered.messages else None

    return wait_until(poll_with_content)


@contextmanager
def joined(kind: ClientKind, chosen: MemberOptions) -> Iterator[GroupMember]:
    made = join_group(kind, chosen, running())
    yield made
    made.close(BOUND_S)


@pytest.fixture
def member(broker: FakeGroupBroker, kind: ClientKind) -> Iterator[GroupMember]:
    with joined(kind, options(broker)) as made:
        yield made


def everything(member: GroupMember, first: PolledRecords) -> list[Message]:
    """What was given by the time that nothing is missing; a member that joins again is given it again."""
    messages = set(first.messages)
    while len(messages) < 3:
        messages |= set(wait_until(lambda: member.poll(0.2).messages))
    return sorted(messages)


def test_an_assignment_begins_where_the_group_is(broker: FakeGroupBroker, member: GroupMember) -> None:
    assert member.owned == frozenset()
    first = polled(member)
    assert first.assigned is not None
    assert dict(first.assigned.starts) == {0: 1, 1: 0}
    assert first.assigned.membership == Membership(MEMBER, broker.generation)
    assert everything(member, first) == [Message(0, 1, b"b"), Message(0, 2, b"c"), Message(1, 0, b"d")]
    assert member.owned == {0, 1}


def test_a_commit_names_the_member_and_its_generation(broker: FakeGroupBroker, member: GroupMember) -> None:
    polled(member)
    assert member.commit({0: 3, 1: 1}) == AdminAnswer(OK)
    assert broker.offsets == {0: 3, 1: 1}
    assert broker.committers == [(MEMBER, broker.generation)]


@pytest.mark.slow
@pytest.mark.parametrize("code", [ILLEGAL_GENERATION, UNKNOWN_MEMBER, NOT_COORDINATOR, None])
def test_a_commit_that_is_refused_fails_only_where_it_was_sent_once(
    broker: FakeGroupBroker, kind: ClientKind, code: int | None
) -> None:
    broker.in_order = kind is ClientKind.JAVA
    ends_it = code in {ILLEGAL_GENERATION, UNKNOWN_MEMBER}
    with joined(kind, options(broker) if ends_it else impatient(broker)) as member:
        polled(member)
        broker.errors[COMMIT] = code
        answer = member.commit({0: 3})
        assert answer.outcome is (FAIL if kind is ClientKind.KAFKA_PYTHON and ends_it else INFO)
        assert answer.error
        broker.errors[COMMIT] = 0


@pytest.mark.parametrize("code", [GROUP_AUTHORIZATION, None])
def test_committed_offsets_that_cannot_be_read_end_the_member(
    broker: FakeGroupBroker, kind: ClientKind, code: int | None
) -> None:
    broker.in_order = kind is ClientKind.JAVA
    broker.errors[FETCH_OFFSETS] = code
    with joined(kind, impatient(broker)) as member:
        with pytest.raises(ReadError, match=r"no committed offsets|GroupAuthorizationFailed"):
            polled(member)
        assert member.owned == frozenset()


def test_a_member_that_the_group_went_on_without_joins_again(
    broker: FakeGroupBroker, member: GroupMember
) -> None:
    first = polled(member)
    assert first.assigned is not None
    assert first.assigned.membership is not None
    broker.errors[HEARTBEAT] = UNKNOWN_MEMBER
    assert generation_after(member, first.assigned.membership.generation) > 7
    broker.errors[HEARTBEAT] = 0


def generation_after(member: GroupMember, generation: int) -> int:
    """The generation of the first assignment after another one."""

    def next_one() -> int | None:
        assigned = member.poll(0.1).assigned
        later = assigned is not None and assigned.membership and assigned.membership.generation
        return later if later and later > generation else None

    return wait_until(next_one) or 0


def test_closing_leaves_the_group(broker: FakeGroupBroker, kind: ClientKind) -> None:
    made = join_group(kind, options(broker), running())
    polled(made)
    made.close(BOUND_S)
    assert broker.left == 1


@pytest.mark.parametrize("kind", [ClientKind.CONFLUENT, ClientKind.JAVA], indirect=True)
def test_a_member_offers_its_favourite_assignor_first(broker: FakeGroupBroker, kind: ClientKind) -> None:
    chosen = msgspec.structs.replace(options(broker), assignors=("roundrobin", "range"))
    with joined(kind, chosen) as member:
        assigned = polled(member).assigned
    assert assigned is not None
    assert assigned.starts == {0: 1, 1: 0}
    assert broker.offered[0] == ["roundrobin", "range"]


def test_kafka_python_finds_no_coordinator(broker: FakeGroupBroker) -> None:
    member = KafkaPythonMember(impatient(broker))
    try:
        broker.errors[COORDINATOR] = GROUP_AUTHORIZATION
        answer = member.commit({0: 1})
        assert (answer.outcome, broker.committers) == (FAIL, [])
        assert "nothing sent" in str(answer.error)
        broker.errors[COORDINATOR] = None
        assert member.commit({0: 1}).outcome is FAIL
    finally:
        member.close(BOUND_S)


def test_kafka_python_needs_a_broker() -> None:
    with pytest.raises(ClientFailedError):
        KafkaPythonMember(MemberOptions((NOBODY,), "group-0", "log-0"))


def test_confluent_kafka_commits_nothing_where_it_is_no_member(broker: FakeGroupBroker) -> None:
    member = ConfluentMember(options(broker))
    try:
        answer = member.commit({0: 1})
        assert (answer.outcome, broker.committers) == (FAIL, [])
    finally:
        member.close(BOUND_S)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (CommitFailedError(IllegalGenerationError()), FAIL),
        (for_code(14)(), FAIL),
        (NotCoordinatorError(), INFO),
        (ConnectionError("broken"), INFO),
    ],
)
def test_what_kafka_python_says_of_its_only_attempt(error: Exception, outcome: OperationType) -> None:
    assert refused(error).outcome is outcome


class StubConsumer:
    """A consumer of librdkafka's that rebalances between the two calls that one poll makes."""

    def __init__(self, member: ConfluentMember) -> None:
        self.member = member
        self.waiting: list[Any] = []
        self.later: list[Any] = []
        self.assigned: list[Any] = []

    def poll(self, _wait_s: float) -> Any:
        return self.waiting.pop(0) if self.waiting else None

    def consume(self, num_messages: int, timeout: float) -> list[Any]:
        assert (num_messages, timeout) == (199, 0)
        if self.later:
            self.member._on_revoke(cast("Any", self), [])
            self.member._on_assign(cast("Any", self), [TopicPartition("log-0", 0)])
        return self.later

    def committed(self, partitions: list[Any], timeout: float) -> list[Any]:
        assert timeout > 0
        return [TopicPartition("log-0", one.partition, 5) for one in partitions]

    def assign(self, partitions: list[Any]) -> None:
        self.assigned = [(one.partition, one.offset) for one in partitions]

    def unassign(self) -> None:
        self.assigned = []

    def consumer_group_metadata(self) -> bytes:
        return b"CGMDv2:" + struct.pack("=i", 5) + b"group-0\0m-1\0\1"

    def commit(self, offsets: list[Any], asynchronous: bool) -> list[Any]:  # noqa: FBT001 - the library's way
        assert not asynchronous
        return [TopicPartition("log-0", one.partition, one.offset) for one in offsets][1:]

    def close(self) -> None:
        pass


class StubMessage:
    """A record that librdkafka returned."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def error(self) -> None:
        return None

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def value(self) -> bytes:
        return b"v"


@pytest.fixture
def stubbed(monkeypatch: pytest.MonkeyPatch) -> tuple[ConfluentMember, StubConsumer]:
    made = ConfluentMember(MemberOptions((NOBODY,), "group-0", "log-0"))
    made.close(BOUND_S)
    stub = StubConsumer(made)
    monkeypatch.setattr(made, "_consumer", stub)
    return made, stub


def test_records_of_two_assignments_are_returned_by_two_polls(
    stubbed: tuple[ConfluentMember, StubConsumer],
) -> None:
    member, stub = stubbed
    stub.waiting, stub.later = [StubMessage(3)], [StubMessage(5)]
    assert member.poll(0.1) == PolledRecords([Message(0, 3, b"v")])
    assert member.owned == frozenset()
    second = member.poll(0.1)
    assert member.owned == {0}
    assert second.messages == [Message(0, 5, b"v")]
    assert second.assigned is not None
    assert dict(second.assigned.starts) == {0: 5}
    assert stub.assigned == [(0, 5)]


def test_a_commit_that_is_answered_in_part_may_have_happened(
    stubbed: tuple[ConfluentMember, StubConsumer],
) -> None:
    member, stub = stubbed
    stub.waiting, stub.later = [StubMessage(3)], [StubMessage(5)]
    member.poll(0.1)
    assert member.commit({0: 6}).outcome is INFO


def test_a_consumer_that_is_closed_cannot_be_polled() -> None:
    member = ConfluentMember(MemberOptions((NOBODY,), "group-0", "log-0"))
    member.close(BOUND_S)
    with pytest.raises(ReadError, match="RuntimeError"):
        member.poll(0.1)


def test_librdkafkas_metadata_of_a_group() -> None:
    head = b"CGMDv2:" + struct.pack("=i", 5)
    assert membership_of(head + b"group-0\0m-1\0\1") == Membership("m-1", 5)
    assert membership_of(head + b"group-0\0\0\1") is None
    assert membership_of(b"CGMDv2:" + struct.pack("=i", -1) + b"group-0\0m-1\0\1") is None
    assert membership_of(b"CGMDv9:") is None
    assert membership_of(None) is None


# -- commits of members that are none any more ---------------------------------------------------------------

LATE = Membership("member-of-old", 3)


def test_a_late_commit_is_sent_as_what_the_member_was(broker: FakeGroupBroker) -> None:
    broker.errors[COMMIT] = UNKNOWN_MEMBER
    answer = commit_as(options(broker), LATE, {0: 3, 1: 1})
    assert answer.outcome is FAIL
    assert "error 25" in str(answer.error)
    assert broker.committers == [LATE]
    broker.errors[COMMIT] = 0
    assert commit_as(options(broker), LATE, {0: 3}).outcome is OK
    assert broker.offsets == {0: 3}


def test_offsets_are_set_as_no_member_of_no_generation(broker: FakeGroupBroker) -> None:
    assert reset_offsets(options(broker), {0: 3}).outcome is OK
    assert (broker.committers, broker.offsets) == ([("", -1)], {0: 3})
    broker.errors[COMMIT] = UNKNOWN_MEMBER
    assert reset_offsets(options(broker), {0: 3}).outcome is FAIL


@pytest.mark.parametrize(("error", "outcome"), [(0, OK), (68, FAIL), (16, INFO), (None, INFO)])
def test_a_group_is_asked_to_be_deleted(
    broker: FakeGroupBroker, error: int | None, outcome: OperationType
) -> None:
    broker.errors[DELETE_GROUPS] = error
    answer = remove_group(impatient(broker) if error is None else options(broker))
    assert answer.outcome is outcome
    assert error is None or (f"error {error}" in str(answer.error)) == bool(error)


def test_a_group_without_a_coordinator_is_not_asked_to_be_deleted() -> None:
    nobody = MemberOptions((), "group-0", "log-0")
    assert remove_group(nobody) == AdminAnswer(FAIL, error="no broker to ask, nothing sent")


def test_a_late_commit_without_an_answer_may_have_happened(broker: FakeGroupBroker) -> None:
    broker.errors[COMMIT] = None
    assert commit_as(impatient(broker), LATE, {0: 3}).outcome is INFO


@pytest.mark.parametrize("error", [15, None])
def test_a_late_commit_without_a_coordinator_is_not_sent(broker: FakeGroupBroker, error: int | None) -> None:
    broker.errors[COORDINATOR] = error
    answer = commit_as(impatient(broker), LATE, {0: 3})
    assert (answer.outcome, broker.committers) == (FAIL, [])


def test_a_late_commit_asks_another_broker(broker: FakeGroupBroker) -> None:
    broker.errors[COMMIT] = ILLEGAL_GENERATION
    both = MemberOptions((NOBODY, broker.bootstrap), "group-0", "log-0", request_ms=30_000)
    assert "error 22" in str(commit_as(both, LATE, {0: 3}).error)
    nobody = MemberOptions((), "group-0", "log-0")
    assert commit_as(nobody, LATE, {0: 3}) == AdminAnswer(FAIL, error="no broker to ask, nothing sent")


@pytest.mark.parametrize(
    ("codes", "outcome"),
    [([0, 0], OK), ([22, 22], FAIL), ([0, 22], INFO), ([22, 15], INFO), ([16], INFO)],
)
def test_codes_of_several_partitions_count_together(codes: list[int], outcome: OperationType) -> None:
    assert answered(codes).outcome is outcome
