"""Requested changes of the voters: AddRaftVoter and RemoveRaftVoter (KIP-853) in the history."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from checkers.evidence.administration import AdminOperation, requests_of
from checkers.evidence.faults import FOREVER_NS
from checkers.evidence.features import KRAFT_VERSION, feature_requests
from checkers.history.operations import FAIL, INFO, OK, History, OperationType
from checkers.history.requested import VoterRequested

ADD, REMOVE = "add-voter", "remove-voter"


class VoterChange(msgspec.Struct, frozen=True):
    """One request to add or remove a voter.

    Attributes:
        f: ``add-voter`` or ``remove-voter``.
        id: the voter's ``node.id``.
        directory_id: the voter's directory id.
        invoked_ns: when it was requested.
        outcome: ok, fail (certainly not done) or info, also for a request without completion.
        completed_ns: when the answer arrived; `FOREVER_NS` if there is none.
        operations: indices into the history of its invocation and completion.
    """

    f: str
    id: int
    directory_id: str | None
    invoked_ns: int
    outcome: OperationType
    completed_ns: int
    operations: tuple[int, ...]

    @property
    def acknowledged(self) -> bool:
        """Whether it was certainly committed when it was answered."""
        return self.outcome is OK

    @property
    def possible(self) -> bool:
        """Whether it may have been appended to the log."""
        return self.outcome is not FAIL

    @property
    def done_by_ns(self) -> int:
        """The latest time at which it took effect.

        Without an answer, its record may be committed at any later time.
        """
        return self.completed_ns if self.acknowledged else FOREVER_NS

    def concerns(self, voter: int, directory_id: str | None) -> bool:
        """Whether it is about this voter with this directory id; an unknown directory id matches any."""
        return self.id == voter and (
            self.directory_id == directory_id or None in (self.directory_id, directory_id)
        )


def voter_changes(history: History) -> tuple[VoterChange, ...]:
    """All requests to change the voters, in the order of their invocations.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    requests = [*requests_of(history, ADD), *requests_of(history, REMOVE)]
    return tuple(sorted(map(_change, requests), key=lambda change: change.operations))


def _change(request: AdminOperation) -> VoterChange:
    asked, ended = request.began, request.ended
    return VoterChange(
        f=asked.f,
        id=msgspec.convert(asked.key, int),
        directory_id=msgspec.convert(asked.value, VoterRequested).directory_id,
        invoked_ns=request.from_ns,
        outcome=INFO if ended is None or request.unknown else ended.type,
        completed_ns=FOREVER_NS if ended is None else ended.time_ns,
        operations=request.operations,
    )


def by_outcome(changes: Iterable[VoterChange], f: str) -> dict[str, int]:
    """Numbers of requests of one kind, by outcome."""
    return dict(sorted(Counter(change.outcome.value for change in changes if change.f == f).items()))


def dynamic_since_ns(history: History, features: dict[str, int]) -> int:
    """The time since which voters may be identified by directory ids too: since ``kraft.version`` 1.

    This is the time of the request for that version, or the start of the run.  A voter of a static quorum is
    identified by its id alone.
    """
    if features.get(KRAFT_VERSION, 0) > 0:
        return 0
    return min(
        (
            asked.request.from_ns
            for asked in feature_requests(history)
            if asked.feature == KRAFT_VERSION and asked.changes and asked.level > 0
        ),
        default=FOREVER_NS,
    )
