"""The log ends and high watermarks that leaders of the quorum reported, with the times of the answers."""

from bisect import bisect_right
from collections.abc import Iterable

from checkers.history.operations import History, once
from checkers.kraft.metadata.logged import LoggedRecord
from checkers.kraft.quorum.views import NONE, LeaderClaim, views_of


class LeaderOffsets:
    """The answers of each epoch's leader, in the order of the requests.

    Args:
        claims: answers of leaders.
    """

    def __init__(self, claims: Iterable[LeaderClaim]) -> None:
        self._by_epoch: dict[int, list[LeaderClaim]] = {}
        # Answers whose high watermark is below that of an earlier answer of the same epoch.
        self._decreased: set[int] = set()
        highest: dict[int, int] = {}
        for claim in sorted(claims, key=lambda claim: (claim.began_ns, claim.index)):
            self._by_epoch.setdefault(claim.epoch, []).append(claim)
            if claim.high_watermark < highest.get(claim.epoch, NONE):
                self._decreased.add(claim.index)
            highest[claim.epoch] = max(highest.get(claim.epoch, NONE), claim.high_watermark)

    def not_appended(self, record: LoggedRecord) -> int | None:
        """Index of the last answer that shows that a record had not been appended; None if there is none."""
        denials = (
            claim.index
            for claim in reversed(self._by_epoch.get(record.epoch, ()))
            if NONE < claim.end_offset <= record.offset
        )
        return next(denials, None)

    def denied(self, record: LoggedRecord, after_ns: int) -> int | None:
        """The operation after a time whose answer shows that a record was not committed, or None.

        The leader is that of the record's epoch, or a later one.  For each leader the first answer with a
        high watermark counts, because it never decreases within an epoch.  A high watermark that decreased
        proves nothing here; another rule reports it.
        """
        for epoch, claims in self._by_epoch.items():
            if epoch >= record.epoch:
                place = bisect_right(claims, after_ns, key=_asked_ns)
                marked = (claim for claim in claims[place:] if claim.high_watermark > NONE)
                first = next((claim for claim in marked if claim.index not in self._decreased), None)
                if first is not None and first.high_watermark <= record.offset:
                    return first.index
        return None


def _asked_ns(claim: LeaderClaim) -> int:
    return claim.began_ns


@once
def leader_offsets_of(history: History) -> LeaderOffsets:
    """All reports of leaders."""
    return LeaderOffsets(views_of(history).claims)
