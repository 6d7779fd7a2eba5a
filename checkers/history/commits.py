"""The types of offsets that members of groups commit, and of committed offsets that are fetched.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

import msgspec
from msgspec import UNSET, UnsetType

from checkers.history.fields import Offset, Partition
from checkers.history.polls import Membership


class Committing(msgspec.Struct, frozen=True, kw_only=True):
    """An offset from which a group should continue, committed by a member or by an outsider.

    A member's commit does not have the field `outsider`.
    """

    client: str | UnsetType = UNSET
    topic: str
    offsets: list[tuple[Partition, Offset]]
    membership: Membership | None = None
    outsider: bool | UnsetType = UNSET


class GroupRequested(msgspec.Struct, frozen=True):
    """A request for the offsets of a group in a topic."""

    topic: str


class GroupFound(GroupRequested, frozen=True):
    """The committed offsets of a group; None if it committed none."""

    offsets: list[tuple[Partition, Offset | None]]
