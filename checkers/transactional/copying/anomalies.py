"""The anomalies of records that should be copied exactly once."""

from checkers.history.sources import Source
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import PERMITTED, Needs

_GUARANTEE = (
    "The copies of a transaction and the group's offsets are committed together or not at all, so "
    "that each record is copied exactly once."
)
_SOURCE = "KIP-98 (sendOffsetsToTransaction), KIP-447"

DUPLICATED = AnomalyKind(
    "copy-duplicated",
    "Several copies of one record are visible to readers of committed records.",
    _GUARANTEE,
    _SOURCE,
)
LOST = AnomalyKind(
    "copy-lost",
    "A record has no visible copy, and the group has gone past it, or a copy's commit was acknowledged.",
    _GUARANTEE,
    _SOURCE,
)
WITHOUT_OFFSETS = AnomalyKind(
    "copy-without-offsets",
    "A copy is visible, and the group's offset, which its transaction also committed, is not past "
    "the record.",
    _GUARANTEE,
    _SOURCE,
)

UNASKED = AnomalyKind(
    "committed-offset-unasked",
    "A group's committed offset is one that no transaction had asked to commit.",
    "A group continues at an offset that one of its members committed.",
    "Kafka documentation, Distribution, Consumer Offset Tracking; KIP-98 (sendOffsetsToTransaction)",
)

ANOMALIES = by_id(DUPLICATED, LOST, WITHOUT_OFFSETS, UNASKED)
"""All anomalies, by id."""
NEEDS = Needs(
    (Source.CLIENTS,),
    {
        "copy-lost": (Source.CLIENTS,),
        "copy-without-offsets": (Source.CLIENTS,),
        "committed-offset-unasked": (Source.CLIENTS,),
    },
    PERMITTED,
    frozenset({"copy"}),
)
"""The journals that the checker's rules need."""
