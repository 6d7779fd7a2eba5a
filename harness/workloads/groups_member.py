"""The common part of all processes that are members of a consumer group, and their records."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec import UNSET

from checkers.history.commits import Committing
from checkers.history.operations import OperationType
from checkers.history.polls import GroupPollRequested, Isolation, Membership, Polled
from harness.clients.administrator import AdminAnswer
from harness.clients.group import Assigned, GroupMember, MemberOptions, PolledRecords
from harness.clients.group_opening import Join
from harness.clients.interface import ClientFailedError, ClientKind, ReadError
from harness.record.journal import Recorder
from harness.vocabulary import Workload
from harness.workloads.consuming import POLL_WAIT_S, grouped
from harness.workloads.context import WorkloadContext
from harness.workloads.worker import Worker

_REMAKE_PAUSE_S = 0.25

Commit = Callable[[Mapping[int, int]], AdminAnswer]


class Former(NamedTuple):
    """A member's membership before its last assignment, and how far it had read."""

    membership: Membership
    positions: dict[int, int]


class Membered(Worker):
    """One process that is a member of a group; the common part of all kinds.

    Args:
        context: context of the run.
        number: number of the process.
        kind: library of the member.
        options: options of the member.
        join: makes members.
    """

    def __init__(
        self,
        context: WorkloadContext[Workload],
        number: int,
        kind: ClientKind,
        options: MemberOptions,
        join: Join,
    ) -> None:
        super().__init__(f"member-{number}")
        self._context = context
        self._join = join
        self._recorder: Recorder = context.recorder(number, "member")
        self.options = options
        self.group = options.group
        self._kind = kind
        self._codec = context.codec
        self._member: GroupMember | None = None
        self.membership: Membership | None = None
        self.former: Former | None = None
        self.pending: dict[int, int] = {}
        self.positions: dict[int, int] = {}

    def joined(self) -> GroupMember | None:
        """The member, which is made if there is none; None if it can't be made."""
        if self._member is None:
            try:
                self._member = self._join(self._kind, self.options)
            except ClientFailedError:
                self.stopping.wait(_REMAKE_PAUSE_S)
        return self._member

    def poll_once(self, member: GroupMember) -> bool:
        """Poll, and remember the offsets to commit; returns whether this member may continue."""
        asked = GroupPollRequested(self._kind, Isolation.READ_UNCOMMITTED, self.group)
        self._recorder.invoke("poll", self._context.topic, asked)
        try:
            gathered = member.poll(POLL_WAIT_S)
        except ReadError as error:
            self._recorder.complete(OperationType.INFO, asked, str(error))
            return False
        self._recorder.complete(OperationType.OK, self._polled(gathered))
        if gathered.assigned is not None:
            self._begin(gathered.assigned)
        elif gathered.membership is not None:
            self._go_on(gathered.membership)
        after = {message.partition: message.offset + 1 for message in gathered.messages}
        self.positions |= after
        self.pending = {p: offset for p, offset in (self.pending | after).items() if p in member.owned}
        return True

    def _polled(self, gathered: PolledRecords) -> Polled:
        assigned = gathered.assigned
        return Polled(
            client=self._kind,
            isolation=Isolation.READ_UNCOMMITTED,
            group=self.group,
            records=grouped(gathered.messages, self._codec),
            assigned=None if assigned is None else list(assigned.starts.items()),
            membership=(gathered.membership or UNSET) if assigned is None else assigned.membership,
        )

    def _begin(self, assigned: Assigned) -> None:
        before, now = self.membership, assigned.membership
        if before is not None and now is not None and before.member == now.member and self.positions:
            self.former = Former(before, self.positions)
        self.pending = {}
        self.positions = dict(assigned.starts)
        self.membership = assigned.membership

    def _go_on(self, membership: Membership) -> None:
        """Continue with the same assignment in a new epoch."""
        if self.membership is not None and self.positions:
            self.former = Former(self.membership, dict(self.positions))
        self.membership = membership

    def commit_once(self, commit: Commit) -> OperationType | None:
        """Commit pending offsets; returns the outcome, or None if there was nothing to commit."""
        offsets, self.pending = self.pending, {}
        return self.committed(offsets, self.membership, commit) if offsets else None

    def reset(self, offsets: Mapping[int, int], commit: Commit) -> OperationType:
        """Commit offsets as a non-member of the group; returns the outcome."""
        return self.committed(offsets, None, commit, outsider=True)

    def committed(
        self,
        offsets: Mapping[int, int],
        membership: Membership | None,
        commit: Commit,
        *,
        outsider: bool = False,
    ) -> OperationType:
        """Commit offsets, as a member unless this is an outsider; returns the outcome."""
        value = Committing(
            client=self._kind,
            topic=self._context.topic,
            offsets=list(offsets.items()),
            membership=membership,
            outsider=outsider or UNSET,
        )
        self._recorder.invoke("commit", self.group, value)
        answer = commit(offsets)
        self._recorder.complete(answer.outcome, value, answer.error)
        return answer.outcome

    def leave(self) -> bool:
        """Close the member; returns whether it has ended."""
        member, self._member = self._member, None
        return self.dismiss(member)
