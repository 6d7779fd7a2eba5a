"""The types of offsets that members of groups commit, and of where a group is to go on.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

import msgspec
from msgspec import UNSET, UnsetType

from checkers.history.fields import Offset, Partition
from checkers.history.polls import Membership


class Committing(msgspec.Struct, frozen=True, kw_only=True):
    """An offset that a group is to continue from, committed by a member or by an outsider.

    A member's commit does not have `outsider`.
    """

    client: str | UnsetType = UNSET
    topic: str
    offsets: list[tuple[Partition, Offset]]
    membership: Membership | None = None
    outsider: bool | UnsetType = UNSET


class GroupRequested(msgspec.Struct, frozen=True):
    """Which topic a group's offsets are asked for."""

    topic: str


class GroupFound(GroupRequested, frozen=True):
    """Where a group is to go on; None where it committed nothing."""

    offsets: list[tuple[Partition, Offset | None]]
