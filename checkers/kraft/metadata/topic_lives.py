"""The lives of a topic name: a life is a creation with the deletions before the next creation.

A topic that is created under the name of a deleted one is another topic, with another id (KIP-516).  An
unanswered request may be executed later, and more than once, because the broker that forwards it retries.  So
what exists under a name is certain only while no request is open.
"""

from collections.abc import Sequence
from typing import NamedTuple

from checkers.kraft.metadata.loading import Change, Metadata, acknowledged_id


class Life(NamedTuple):
    """One topic that was requested under a name.

    Attributes:
        creation: the creation of the topic; never a failed one.
        deletions: the deletions that were requested before the next creation, including failed ones.
        topic_id: the id that its acknowledged creation reported; None if it reported none.
        settled: whether all earlier requests for the name had an answer when the creation was requested.
    """

    creation: Change
    deletions: tuple[Change, ...]
    topic_id: str | None
    settled: bool

    @property
    def deleted(self) -> Change | None:
        """The first acknowledged deletion; None if there is none."""
        return next((each for each in self.deletions if each.acknowledged), None)

    @property
    def kept(self) -> bool:
        """Whether no request since its creation can have deleted it."""
        return all(each.failed for each in self.deletions)


def lives_of(metadata: Metadata, name: str) -> list[Life]:
    """The lives of a name, in the order of their creations; failed creations are left out."""
    creations = [change for change in metadata.created.get(name, ()) if not change.failed]
    deletions = metadata.deleted.get(name, [])
    lives: list[Life] = []
    for place, creation in enumerate(creations):
        began = creation.begin.index
        ends = creations[place + 1].begin.index if place + 1 < len(creations) else None
        its = tuple(
            each
            for each in deletions
            if began < each.begin.index and (ends is None or each.begin.index < ends)
        )
        earlier = [*creations[:place], *(each for each in deletions if each.begin.index < began)]
        lives.append(Life(creation, its, acknowledged_id(creation), _answered(earlier, began)))
    return lives


def _answered(changes: Sequence[Change], before: int) -> bool:
    return all((change.acknowledged or change.failed) and change.last.index < before for change in changes)


def deleted_id(lives: Sequence[Life], deletion: Change) -> str | None:
    """The id of the topic that an acknowledged deletion removed; None if it is uncertain."""
    for life in lives:
        if deletion in life.deletions:
            before = life.deletions[: life.deletions.index(deletion)]
            created = life.creation.last.index < deletion.begin.index
            first = all(each.failed and each.last.index < deletion.begin.index for each in before)
            return life.topic_id if life.settled and created and first else None
    return None
