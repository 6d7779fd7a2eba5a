"""Groups whose last member has left, and that a member of the other protocol joins then.

A member of KIP-848's protocol joins a group, commits, and leaves.  Before it leaves, a classic member asks
for an id, with which it joins the group once it is empty.  A library does the same if its second request is
late.  A coordinator must either refuse that member, or convert the group in its log.  The committed offset
stays.

Then nobody joins the group, or a classic member without an id, or another member of KIP-848's protocol.  The
group is fetched at the end, when its coordinator may have read it again from the log.

One process sends all these requests, one after the other, as `harness.workloads.offsets_erasing` does.
"""

import random
import uuid
from enum import StrEnum
from typing import Literal

import msgspec

from checkers.history.error_codes import ErrorCode
from checkers.history.group_offsets import Joining
from checkers.history.operations import OperationType
from checkers.history.polls import Membership
from harness.clients.raw_groups import Joined, join_classic, join_modern, leave_classic, leave_modern
from harness.kafka.wire import Connection, WireError
from harness.record.journal import Recorder
from harness.workloads.offsets_erasing import Erasing, OffsetsContext
from harness.workloads.values import Values
from harness.workloads.worker import Worker

EMPTIED = tuple(f"emptied-{number}" for number in range(120))
"""The groups, used one after the other, each once."""
_PARTITIONS = (0, 1)
_REFUSED = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.NOT_COORDINATOR})
"""Errors with which a coordinator refuses a member before it writes anything."""


class Follower(StrEnum):
    """Who joins the group after the classic member that had an id."""

    NOBODY = "nobody"
    CLASSIC = "classic"
    """A classic member without an id, as a refused one tries next."""
    MODERN = "modern"
    """Another member of KIP-848's protocol, which commits and leaves."""


FOLLOWERS = tuple(Follower)
"""The followers, in the order in which they are used."""


class Memberships:
    """Joins and leaves groups, one recorded request at a time.

    Args:
        context: context of the run.
        erasing: finds coordinators.
        recorder: writes as this process.
    """

    def __init__(self, context: OffsetsContext, erasing: Erasing, recorder: Recorder) -> None:
        self._topic = context.topic
        self._erasing = erasing
        self._recorder = recorder

    def join(self, protocol: Literal["classic", "consumer"], group: str, member: str) -> Joined | None:
        """Join a group; returns the answer, None if there is none."""

        def ask(connection: Connection) -> Joined:
            join = join_classic if protocol == "classic" else join_modern
            return join(connection, group, member, self._topic)

        reached = self._reached(group)
        if reached is None:
            return None
        to, connection = reached
        asked = Joining(protocol=protocol, member=member, to=to)
        with connection, self._recorder.operation("join-group", group, asked) as outcome:
            try:
                answer = ask(connection)
            except WireError as failed:
                outcome.error = str(failed)
                return None
            given, epoch = answer.membership
            joined = msgspec.structs.replace(asked, code=answer.code, given=given, epoch=epoch)
            outcome.end(_fate(answer.code), joined, _error(answer.code))
        return answer

    def leave(self, protocol: Literal["classic", "consumer"], group: str, member: str) -> bool:
        """Leave a group; returns whether the coordinator confirmed it."""
        reached = self._reached(group)
        if reached is None:
            return False
        to, connection = reached
        asked = Joining(protocol=protocol, member=member, to=to)
        with connection, self._recorder.operation("leave-group", group, asked) as outcome:
            leave = leave_classic if protocol == "classic" else leave_modern
            try:
                code = leave(connection, group, member)
            except WireError as failed:
                outcome.error = str(failed)
                return False
            outcome.end(_fate(code), msgspec.structs.replace(asked, code=code), _error(code))
        return not code

    def _reached(self, group: str) -> tuple[int, Connection] | None:
        """The id of the group's coordinator, and a connection to it; None if it can't be reached."""
        try:
            to = self._erasing.coordinator(group)
            return to, self._erasing.connected(to)
        except WireError:
            return None


class EmptyingWorker(Worker):
    """Empties groups and joins them again.

    Args:
        context: context of the run.
        number: number of the process.
    """

    def __init__(self, context: OffsetsContext, number: int) -> None:
        super().__init__("emptying")
        recorder = context.recorder(number, "emptier")
        self._erasing = Erasing(context, recorder)
        self._memberships = Memberships(context, self._erasing, recorder)
        self._pause_s = context.workload.emptied_interval_ms / 1000
        self._random = random.Random(f"emptying {number}")
        self._values = Values(number)

    def work(self) -> None:
        """Use each group once, as long as the load lasts."""
        for number, group in enumerate(EMPTIED):
            if self.stopping.wait(self._random.uniform(0.5, 1.5) * self._pause_s):
                return
            self.empty(group, FOLLOWERS[number % len(FOLLOWERS)])

    def empty(self, group: str, follower: Follower) -> bool:
        """Empty a group and join it again.

        Returns:
            Whether everything was answered; otherwise the rest was left out.
        """
        first = self._modern(group)
        if first is None:
            return False
        named = self._memberships.join("classic", group, "")
        left = self._memberships.leave("consumer", group, first.member)
        if named is None or named.code != ErrorCode.MEMBER_ID_REQUIRED or not left:
            return False
        self._erasing.fetch(group)
        again = self._memberships.join("classic", group, named.membership.member)
        if again is not None and not again.code:
            self._memberships.leave("classic", group, named.membership.member)
        self._erasing.fetch(group)
        return again is not None and self._follow(group, follower)

    def _follow(self, group: str, follower: Follower) -> bool:
        answered = True
        if follower is Follower.CLASSIC:
            answered = self._memberships.join("classic", group, "") is not None
        elif follower is Follower.MODERN:
            second = self._modern(group)
            answered = second is not None and self._memberships.leave("consumer", group, second.member)
        return self._erasing.fetch(group) and answered

    def _modern(self, group: str) -> Membership | None:
        """A new member of KIP-848's protocol, which has committed; None if it could not join."""
        member = str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        joined = self._memberships.join("consumer", group, member)
        if joined is None or joined.code:
            return None
        self._erasing.commit(group, self._random.choice(_PARTITIONS), self._values.draw(), joined.membership)
        return joined.membership


def _fate(code: int) -> OperationType:
    if not code:
        return OperationType.OK
    return OperationType.FAIL if code in _REFUSED else OperationType.INFO


def _error(code: int) -> str | None:
    return f"error {code}" if code else None
