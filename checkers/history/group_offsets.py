"""The types of requests for single offsets of groups that one process commits, deletes and fetches.

Also the types of the requests with which that process joins and leaves such groups.

The fields are those of docs/histories.md, as in `checkers.history.fields`.  `to` is the id of the broker that
was asked, and `code` is Kafka's error code, unset if there is no answer.
"""

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from checkers.history.fields import written


class OffsetCommitted(msgspec.Struct, frozen=True, kw_only=True):
    """A commit of one offset."""

    topic: str
    partition: int
    offset: int
    to: int
    code: int | UnsetType = UNSET


class OffsetsDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """A deletion of one offset, or of the whole group if `partition` is None."""

    topic: str
    partition: int | None = written(None)
    to: int
    code: int | UnsetType = UNSET


class OffsetsWanted(msgspec.Struct, frozen=True, kw_only=True):
    """A fetch of a group's committed offsets."""

    topic: str
    to: int


class OffsetsFetched(OffsetsWanted, frozen=True, kw_only=True):
    """Fetched offsets: partition and offset, None if nothing is committed."""

    offsets: tuple[tuple[int, int | None], ...]


class Joining(msgspec.Struct, frozen=True, kw_only=True):
    """A request to join or to leave a group, and its answer.

    Attributes:
        protocol: ``consumer`` is KIP-848's protocol.
        member: the member's id; empty if the coordinator should make one.
        given: the id that the coordinator returned to a member that joins.
        epoch: the generation of the group, or the epoch of the member, that it returned.
    """

    protocol: Literal["classic", "consumer"]
    member: str
    to: int
    code: int | UnsetType = UNSET
    given: str | UnsetType = UNSET
    epoch: int | UnsetType = UNSET
