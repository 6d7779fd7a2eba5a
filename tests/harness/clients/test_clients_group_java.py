"""The member of kafka-clients in groups of KIP-848's protocol, and how its process serves it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from checkers.history.operations import OperationType
from checkers.history.polls import Membership
from harness.clients.administrator import AdminAnswer
from harness.clients.group import Assigned, GroupMember, MemberOptions, PolledRecords
from harness.clients.group_opening import join_group
from harness.clients.interface import ClientFailedError, ClientKind, Message, NotOfferedError, ReadError
from harness.clients.java.grouping import JavaMember
from harness.clients.java.process import JavaProcess
from harness.clients.schemas import ConsumerGroupHeartbeatResponse
from tests.harness.fakes.group_broker import COMMIT, FETCH_OFFSETS
from tests.harness.fakes.modern_broker import HEARTBEAT, TOPIC_ID, FakeModernBroker
from tests.harness.waiting import BOUND_S, wait_until

OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO
FENCED, FULL, GROUP_AUTHORIZATION = 110, 81, 30
GROUP_VERSION = 9
"""The first version of OffsetCommit that answers errors of KIP-848; OffsetFetch is asked for one group."""


@pytest.fixture
def broker() -> Iterator[FakeModernBroker]:
    with FakeModernBroker() as made:
        made.records = [[b"a", b"b", b"c"], [b"d"]]
        made.offsets = {0: 1}
        made.versions[COMMIT] = GROUP_VERSION
        yield made


@contextmanager
def joined(process: JavaProcess, broker: FakeModernBroker, **more: Any) -> Iterator[GroupMember]:
    """A member to whom no answer comes late, and who is not late itself."""
    options = MemberOptions(
        (broker.bootstrap,),
        "group-0",
        "log-0",
        poll_interval_ms=300_000,
        connect_ms=30_000,
        commit_ms=30_000,
        modern=True,
        **more,
    )
    made = join_group(ClientKind.JAVA, options, process)
    yield made
    made.close(BOUND_S)


def polled(member: GroupMember) -> PolledRecords:
    """The first poll that reports an assignment."""

    def poll_with_assignment() -> PolledRecords | None:
        gathered = member.poll(0.2)
        return gathered if gathered.assigned is not None else None

    return wait_until(poll_with_assignment)


def heartbeats(broker: FakeModernBroker, *, epoch: int, error: int = 0, given: Any = None) -> None:
    """From now on heartbeats are answered so."""

    def answer(request: Any) -> Any:
        broker.heartbeats.append(request)
        places = ConsumerGroupHeartbeatResponse.Assignment
        one = places.TopicPartitions(topic_id=TOPIC_ID, partitions=given)
        return ConsumerGroupHeartbeatResponse(
            throttle_time_ms=0,
            error_code=error,
            error_message=None,
            member_id=request.member_id,
            member_epoch=epoch,
            heartbeat_interval_ms=100,
            assignment=None if given is None else places(topic_partitions=[one]),
        )

    broker.answers[HEARTBEAT] = answer


def test_an_assignment_begins_where_the_group_is_and_is_committed_in_its_epoch(
    java_process: JavaProcess, broker: FakeModernBroker
) -> None:
    with joined(java_process, broker, assignors=("uniform", "range"), instance="group-0-1") as member:
        assert member.owned == frozenset()
        first = polled(member)
        assert first.assigned is not None
        assert dict(first.assigned.starts) == {0: 1, 1: 0}
        assert member.owned == {0, 1}
        messages = set(first.messages)
        while len(messages) < 3:
            messages |= set(member.poll(0.2).messages)
        assert messages == {Message(0, 1, b"b"), Message(0, 2, b"c"), Message(1, 0, b"d")}
        assert member.commit({0: 3, 1: 1}) == AdminAnswer(OK)
        assert broker.committers == [first.assigned.membership]
    assert broker.joining.server_assignor == "uniform"
    assert broker.joining.instance_id == "group-0-1"
    assert broker.heartbeats[-1].member_epoch == -2, "a static member keeps its place"


def test_a_regular_expression_is_sent_to_the_coordinator(
    java_process: JavaProcess, broker: FakeModernBroker
) -> None:
    with joined(java_process, broker, pattern=True) as member:
        polled(member)
    assert not broker.joining.subscribed_topic_names
    assert broker.joining.subscribed_topic_regex == "^log-0$"
    assert broker.heartbeats[-1].member_epoch == -1, "it left"


def test_an_assignment_that_grows_is_reported_whole_and_begins_anew(
    java_process: JavaProcess, broker: FakeModernBroker
) -> None:
    heartbeats(broker, epoch=1, given=[0])
    with joined(java_process, broker) as member:
        first = polled(member).assigned
        assert first is not None
        assert dict(first.starts) == {0: 1}
        broker.offsets = {0: 2}
        heartbeats(broker, epoch=4, given=[0, 1])
        second = polled(member).assigned
        assert second is not None
        assert dict(second.starts) == {0: 2, 1: 0}
        assert second.membership is not None
        assert second.membership.generation == 4


def test_what_is_taken_back_is_not_owned_any_more_and_a_new_epoch_is_reported_once(
    java_process: JavaProcess, broker: FakeModernBroker
) -> None:
    with joined(java_process, broker) as member:
        polled(member)
        heartbeats(broker, epoch=1, given=[1])
        wait_until(lambda: member.poll(0.1).assigned is None and member.owned == {1})
        heartbeats(broker, epoch=7)
        moved = wait_until(lambda: member.poll(0.1).membership)
        assert moved == Membership(broker.joining.member_id, 7)
        assert member.poll(0.1).membership is None


class EpochGrows(JavaMember):
    """Gets an assignment in epoch 3, and epoch 5 before its poll ends; without a JVM."""

    def __init__(self) -> None:
        self._options = MemberOptions(("localhost:1",), "group-0", "log-0", modern=True)
        self._failure, self._early, self._newly_set = None, [], False
        self._owned, self._assigned, self._membership = frozenset(), None, None

    def _received(self, max_wait_s: float) -> list[Message]:
        del max_wait_s
        self._owned, self._membership = frozenset({0}), Membership("m", 3)
        self._assigned = Assigned({0: 7}, self._membership)
        return []

    def _told(self) -> Membership:
        return Membership("m", 5)


def test_an_assignment_has_the_epoch_in_which_its_poll_ended() -> None:
    gathered, owned = EpochGrows().poll(0.1)
    assert gathered == PolledRecords([], Assigned({0: 7}, Membership("m", 5)), None)
    assert owned == {0}


def test_a_member_that_was_fenced_has_no_commit(java_process: JavaProcess, broker: FakeModernBroker) -> None:
    """The library sends one as a client that is in no group, which a coordinator may accept."""
    with joined(java_process, broker) as member:
        polled(member)
        assert member.commit({0: 2}).outcome is OK
        heartbeats(broker, epoch=0, error=FENCED)
        fenced = len(broker.heartbeats)
        wait_until(lambda: len(broker.heartbeats) > fenced)
        assert wait_until(lambda: unless_ok(member.commit({0: 2}))).outcome is INFO
        assert broker.committers[-1][1] == -1


def unless_ok(answer: AdminAnswer) -> AdminAnswer | None:
    """The answer, if the fencing had reached the member."""
    return None if answer.outcome is OK else answer


def test_a_commit_before_any_assignment_is_not_sent(
    java_process: JavaProcess, broker: FakeModernBroker
) -> None:
    with joined(java_process, broker) as member:
        assert member.commit({0: 1}).outcome is FAIL
    assert broker.committers == []


def test_a_commit_that_is_refused_may_have_been_appended_before(
    java_process: JavaProcess, broker: FakeModernBroker
) -> None:
    with joined(java_process, broker) as member:
        polled(member)
        broker.errors[COMMIT] = GROUP_AUTHORIZATION
        answer = member.commit({0: 3})
        assert answer.outcome is INFO
        assert "GroupAuthorizationException" in str(answer.error)


def test_committed_offsets_that_cannot_be_read_end_the_member(
    java_process: JavaProcess, broker: FakeModernBroker
) -> None:
    broker.errors[FETCH_OFFSETS] = GROUP_AUTHORIZATION
    with joined(java_process, broker, request_ms=30_000) as member:
        with pytest.raises(ReadError, match=r"no committed offsets: .*authorization"):
            polled(member)
        assert member.owned == frozenset()


def test_a_full_group_is_reported_by_kafkas_name(java_process: JavaProcess, broker: FakeModernBroker) -> None:
    """`checkers.groups.refusing` looks for this name."""
    heartbeats(broker, epoch=0, error=FULL)
    with joined(java_process, broker) as member, pytest.raises(ReadError, match="GROUP_MAX_SIZE_REACHED"):
        polled(member)


def test_a_member_that_cannot_be_made_is_reported(java_process: JavaProcess) -> None:
    with pytest.raises(ClientFailedError):
        join_group(ClientKind.JAVA, MemberOptions(("nowhere",), "group-0", "log-0"), java_process)


def test_without_its_process_no_member_is_made() -> None:
    with pytest.raises(NotOfferedError):
        join_group(ClientKind.JAVA, MemberOptions((), "group-0", "log-0"))
