"""All libraries' members of a copying group, for real, against a coordinator that fails as configured."""

import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from checkers.history.polls import Membership
from harness.clients import ClientFailedError, ClientKind, Message, ReadError
from harness.clients.confluent import available
from harness.clients.confluent_groups import membership_of
from harness.clients.opening import open_member
from harness.clients.transactional import GroupConsumer, GroupOptions
from harness.clients.transactional_confluent import ConfluentGroupConsumer
from harness.clients.transactional_kafka_python import KafkaPythonGroupConsumer
from tests.harness.fakes.broker import FETCH
from tests.harness.fakes.group_broker import FETCH_OFFSETS, HEARTBEAT, JOIN, MEMBER, SYNC, FakeGroupBroker
from tests.harness.java import running
from tests.harness.waiting import BOUND_S, wait_until

UNKNOWN_MEMBER, REBALANCE_IN_PROGRESS, TOPIC_AUTHORIZATION, GROUP_AUTHORIZATION = 25, 27, 29, 30
UNSTABLE_OFFSET_COMMIT = 88
READ_COMMITTED = 1
NOBODY = "127.0.0.1:9"
EVERYTHING = [Message(0, 1, b"b"), Message(0, 2, b"c"), Message(1, 0, b"d")]
"""What a group that is to go on at 1 and that has not begun has not read yet."""


class AttentiveBroker(FakeGroupBroker):
    """Keeps the requests of some kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[int, list[Any]] = {}
        for key in (FETCH, FETCH_OFFSETS, JOIN):
            self.answers[key] = self._keeping(key, self.answers[key])

    def _keeping(self, key: int, answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
        kept = self.kept.setdefault(key, [])

        def answered(request: Any) -> Any:
            kept.append(request)
            return answer(request)

        return answered


@pytest.fixture
def broker() -> Iterator[AttentiveBroker]:
    with AttentiveBroker() as made:
        made.records = [[b"a", b"b", b"c"], [b"d"]]
        made.offsets = {0: 1}
        yield made


def options(*bootstrap: str, request_ms: int = 30_000) -> GroupOptions:
    """Of a member to whom no answer comes late; where none comes, its bound must be shorter."""
    return GroupOptions(
        bootstrap, "group-0", "log-0", session_ms=6_000, request_ms=request_ms, connect_ms=30_000
    )


@pytest.fixture
def member(broker: AttentiveBroker, kind: ClientKind) -> Iterator[GroupConsumer]:
    made = open_member(kind, options(broker.bootstrap), running())
    yield made
    made.close(BOUND_S)


def read(broker: AttentiveBroker, member: GroupConsumer, count: int) -> list[Message]:
    """So many records, in order; committed as a transaction would commit them."""
    found: list[Message] = []

    def enough() -> bool:
        for message in member.poll(0.2):
            broker.offsets[message.partition] = message.offset + 1
            found.append(message)
        return len(found) >= count

    wait_until(enough)
    return sorted(found)


def membership_from(kind: ClientKind, membership: Any) -> Membership | None:
    """A library's own word for a member, read."""
    if kind is ClientKind.CONFLUENT:
        return membership_of(membership)
    if kind is ClientKind.JAVA:
        assert isinstance(membership, Membership)
        return membership
    assert membership.group_id == "group-0"
    return Membership(membership.member_id, membership.generation_id)


def test_a_member_begins_where_the_groups_offsets_say_or_at_the_earliest(
    broker: AttentiveBroker, member: GroupConsumer
) -> None:
    assert read(broker, member, 3) == EVERYTHING
    assert member.poll(0.1) == []


def test_a_member_reads_what_is_committed_and_commits_nothing_by_itself(
    broker: AttentiveBroker, kind: ClientKind
) -> None:
    member = open_member(kind, options(broker.bootstrap), running())
    read(broker, member, 3)
    member.close(BOUND_S)
    assert {request.isolation_level for request in broker.kept[FETCH]} == {READ_COMMITTED}
    assert broker.committers == []


def test_the_coordinator_learns_how_long_a_member_may_be_silent(
    broker: AttentiveBroker, member: GroupConsumer
) -> None:
    read(broker, member, 3)
    timeouts = {(one.group_id, one.session_timeout_ms, one.rebalance_timeout_ms) for one in broker.kept[JOIN]}
    assert timeouts == {("group-0", 6_000, 10_000)}


def test_one_poll_returns_no_more_than_was_asked_for(broker: AttentiveBroker, kind: ClientKind) -> None:
    broker.records = [[bytes([number]) for number in range(40)], []]
    member = open_member(kind, options(broker.bootstrap), running())
    polls: list[list[Message]] = []

    def enough() -> bool:
        polls.append(member.poll(0.2))
        broker.offsets |= {message.partition: message.offset + 1 for message in polls[-1]}
        return sum(map(len, polls)) >= 39

    wait_until(enough)
    member.close(BOUND_S)
    assert max(map(len, polls)) <= options(NOBODY).poll_records_max
    assert [message.offset for messages in polls for message in messages] == list(range(1, 40))


def test_what_is_rewound_is_read_again_and_the_rest_is_not(
    broker: AttentiveBroker, member: GroupConsumer
) -> None:
    read(broker, member, 3)
    broker.offsets[0] = 2
    member.rewind({0: 2})
    assert read(broker, member, 1) == [Message(0, 2, b"c")]
    assert member.poll(0.1) == []


def test_a_partition_that_is_not_owned_is_not_rewound(broker: AttentiveBroker, member: GroupConsumer) -> None:
    with pytest.raises(ReadError):
        member.rewind({0: 0})
    read(broker, member, 3)
    with pytest.raises(ReadError):
        member.rewind({7: 0})


def test_offsets_are_committed_as_the_member_of_the_current_generation(
    broker: AttentiveBroker, kind: ClientKind, member: GroupConsumer
) -> None:
    read(broker, member, 3)
    assert membership_from(kind, member.membership()) == Membership(MEMBER, broker.generation)


@pytest.mark.slow
@pytest.mark.parametrize(
    "refusals",
    [{HEARTBEAT: UNKNOWN_MEMBER}, {HEARTBEAT: REBALANCE_IN_PROGRESS, JOIN: UNKNOWN_MEMBER}],
    ids=["while it polls", "while it joins again"],
)
def test_a_member_that_the_group_went_on_without_begins_where_the_group_is(
    broker: AttentiveBroker, kind: ClientKind, member: GroupConsumer, refusals: dict[int, int | None]
) -> None:
    read(broker, member, 3)
    first = membership_from(kind, member.membership())
    assert first is not None
    broker.offsets = {0: 2, 1: 1}
    broker.errors |= refusals
    again: list[Message] = []

    def joined_again() -> bool:
        again.extend(member.poll(0.1))
        return sum(not one.member_id for one in broker.kept[JOIN]) >= 2

    wait_until(joined_again)
    broker.errors.clear()
    assert (again or read(broker, member, 1))[:1] == [Message(0, 2, b"c")]
    second = membership_from(kind, member.membership())
    assert second is not None
    assert second.generation > first.generation


@pytest.mark.parametrize(
    "refuse",
    [
        lambda broker: broker.errors.update({FETCH_OFFSETS: GROUP_AUTHORIZATION}),
        lambda broker: broker.errors.update({JOIN: GROUP_AUTHORIZATION}),
        lambda broker: setattr(broker, "fetch_error", TOPIC_AUTHORIZATION),
    ],
    ids=["offsets", "joining", "records"],
)
def test_a_refusal_ends_the_member(
    broker: AttentiveBroker, kind: ClientKind, refuse: Callable[[AttentiveBroker], object]
) -> None:
    refuse(broker)
    member = open_member(kind, options(broker.bootstrap), running())
    with pytest.raises(ReadError, match=r"(?i)authorization"):
        read(broker, member, 1)
    member.close(BOUND_S)


def test_a_join_that_outlasts_its_poll_is_ended_by_the_next(broker: AttentiveBroker) -> None:
    member = KafkaPythonGroupConsumer(options(broker.bootstrap))
    read(broker, member, 3)
    assert [member.poll(0.3), member.poll(0.3)] == [[], []]
    answered, joined, released = broker.answers[SYNC], len(broker.kept[JOIN]), threading.Event()
    broker.answers[SYNC] = lambda request: answered(request) if released.wait(BOUND_S) else None
    broker.records.append([b"e"])
    member._consumer._client.cluster.request_update()
    wait_until(lambda: member.poll(0.05) or len(broker.kept[JOIN]) > joined)
    assert member.poll(0.1) == []
    released.set()
    assert read(broker, member, 1) == [Message(2, 0, b"e")]
    member.close(BOUND_S)


@pytest.mark.parametrize("key", [JOIN, FETCH_OFFSETS])
def test_a_silent_coordinator_holds_up_neither_a_poll_nor_the_end(
    broker: AttentiveBroker, kind: ClientKind, key: int
) -> None:
    broker.in_order = kind is ClientKind.JAVA  # it takes later answers for wrong ones
    broker.errors[key] = None
    member = open_member(kind, options(broker.bootstrap, request_ms=500), running())
    assert [member.poll(0.3), member.poll(0.3)] == [[], []]
    member.close(BOUND_S)


def test_a_coordinator_that_was_silent_is_asked_again(broker: AttentiveBroker, kind: ClientKind) -> None:
    broker.in_order = kind is ClientKind.JAVA  # it takes later answers for wrong ones
    broker.errors[FETCH_OFFSETS] = None
    member = open_member(kind, options(broker.bootstrap, request_ms=1_500), running())
    assert member.poll(0.8) == []
    broker.errors[FETCH_OFFSETS] = 0
    assert read(broker, member, 3) == EVERYTHING
    member.close(BOUND_S)


@pytest.mark.slow
def test_offsets_of_an_open_transaction_are_awaited_through_rebalances(
    broker: AttentiveBroker, kind: ClientKind
) -> None:
    broker.errors[FETCH_OFFSETS] = UNSTABLE_OFFSET_COMMIT
    member = open_member(kind, options(broker.bootstrap), running())
    polled: list[Message] = []

    def poll_until_more(key: int, more: int) -> None:
        wanted = len(broker.kept[key]) + more

        def met() -> bool:
            polled.extend(member.poll(0.1))
            return len(broker.kept[key]) >= wanted

        wait_until(met)

    for _ in range(3):
        poll_until_more(FETCH_OFFSETS, 2)
        broker.errors[HEARTBEAT] = REBALANCE_IN_PROGRESS
        poll_until_more(JOIN, 1)
        broker.errors[HEARTBEAT] = 0
    assert polled == []
    broker.errors[FETCH_OFFSETS] = 0
    assert read(broker, member, 3) == EVERYTHING
    member.close(BOUND_S)


def test_a_record_from_before_a_revocation_is_not_read_with_later_records() -> None:
    """By then the group may have given its partition to another member, who has begun there."""
    revoked: list[int] = []

    class Library:
        def poll(self, _max_wait_s: float) -> str:
            return "first"

        def consume(self, **_limits: int) -> list[str]:
            revoked.append(1)
            return ["later"]

    assert available(Library(), 0.1, 10, lambda: len(revoked)) == ["later"]
    assert available(Library(), 0.1, 10) == ["first", "later"]


def test_an_assignment_that_the_library_refuses_is_an_error_of_the_poll() -> None:
    class Library:
        def committed(self, asked: list[TopicPartition], timeout: float) -> list[TopicPartition]:
            assert timeout > 0
            return asked

        def assign(self, _places: list[TopicPartition]) -> None:
            raise KafkaException(KafkaError(KafkaError._FATAL))

    member = ConfluentGroupConsumer(options(NOBODY))
    made, member._consumer = member._consumer, Library()
    member._unstarted = [0]
    with pytest.raises(ReadError, match="_FATAL"):
        member.poll(0.1)
    made.close()


def test_closing_leaves_the_group(broker: AttentiveBroker, kind: ClientKind) -> None:
    member = open_member(kind, options(broker.bootstrap), running())
    read(broker, member, 3)
    member.close(BOUND_S)
    assert broker.left == 1


def test_a_member_of_confluent_kafka_that_is_closed_says_so() -> None:
    member = open_member(ClientKind.CONFLUENT, options(NOBODY))
    member.close(BOUND_S)
    for ask in (lambda: member.poll(0.1), lambda: member.rewind({0: 0}), member.membership):
        with pytest.raises(ReadError, match="RuntimeError"):
            ask()


def test_without_any_broker_one_library_makes_no_member_and_the_other_reads_nothing() -> None:
    with pytest.raises(ClientFailedError):
        open_member(ClientKind.KAFKA_PYTHON, options(NOBODY))
    member = open_member(ClientKind.CONFLUENT, options(NOBODY))
    assert member.poll(0.1) == []
    assert membership_of(cast("bytes", member.membership())) is None
    member.close(BOUND_S)
