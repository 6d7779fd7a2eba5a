"""The place of an anomaly, derived from its subject: a partition, a group, or an epoch of the quorum."""

import re
from typing import NamedTuple

QUORUM = "quorum"
"""The place of anomalies about an epoch of the metadata quorum, on any node."""
_SUBJECT_MAX = 300
_AT_OFFSET = re.compile(r"(?P<place>.+)@(?P<offset>\d{1,18}|\?)")
_IN_EPOCH = re.compile(r"(?:[^,]*, )?epoch (?P<epoch>\d{1,18})(?:, .*)?")
_IN_GENERATION = re.compile(r"(?P<place>.+) generation (?P<epoch>-?\d{1,18})")


class AnomalyPlace(NamedTuple):
    """The place of an anomaly.

    Attributes:
        name: name of a partition, a group, a node or another subject.
        offset: offset in that partition's log; None if the subject has none.
        epoch: epoch of the quorum, or generation of a group; None if the subject has none.
    """

    name: str
    offset: int | None = None
    epoch: int | None = None


def place_of(subject: str | None, checker: str) -> AnomalyPlace:
    """The place in a subject; without a subject, the name of the checker that reported the anomaly."""
    text = (subject or "").strip()[:_SUBJECT_MAX]
    if not text:
        return AnomalyPlace(checker)
    if found := _AT_OFFSET.fullmatch(text):
        return AnomalyPlace(found["place"], None if found["offset"] == "?" else int(found["offset"]))
    if found := _IN_EPOCH.fullmatch(text):
        return AnomalyPlace(QUORUM, None, int(found["epoch"]))
    if found := _IN_GENERATION.fullmatch(text):
        return AnomalyPlace(found["place"], None, int(found["epoch"]))
    return AnomalyPlace(text)
