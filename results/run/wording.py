"""Words of an anomaly's summary that are the same whenever a defect shows, whatever the run."""

import re
from collections.abc import Iterator
from itertools import islice

from checkers.verdict.verdict import Anomaly

_IDS = re.compile(
    r"(?<![\w-])(?:(?=[\w-]*\d)|(?=(?:[^A-Z\s]*[A-Z]){6})(?=(?:[^a-z\s]*[a-z]){4}))[A-Za-z0-9_-]{22}(?![\w-])"
)
"""Kafka's ids of topics, directories and clusters.  One in 40 has no digit; then its capitals, which are more
than those of a class's name, tell."""
_NUMBERS = re.compile(r"\d[\d,.]*(?<![,.])")
_LISTS = re.compile(r"#(?:, #)+")
_CIRCLE = re.compile(r"( transactions in a circle \([^)]*\):).*", re.DOTALL)
"""The id of the anomaly tells which edges a circle needs; others, their order and their number vary."""
_WRITTEN = re.compile(r"was returned to a reader at")
"""The same loss may first show by a record that was acknowledged, or by one that a reader had got."""
_LIST = re.compile(r"\S*#\S*(?: (?:and|or) \S*#\S*)+")
_VALUE = re.compile(
    r"(?<![^\s(\[])(?:None|null|nil|true|false|True|False|\[\]|\{\}|set\(\))(?=[.,:;)\]]*(?:\s|$))"
)
"""A value without a digit, which stands where others have numbers."""
_AROUND = ".,:;"
_LOGGED = "nodes"
"""The checker whose summaries quote lines of nodes' logs, which are cut at a number of characters."""
_LOGGED_WORDS = 20


def normalised(summary: str) -> str:
    """A sentence with ``#`` for each number, list of numbers, and id of Kafka."""
    return _LISTS.sub("#", _NUMBERS.sub("#", _IDS.sub("#", summary)))


def words_of(checker: str, anomaly: Anomaly) -> Iterator[str]:
    """The words of a summary that do not depend on the run.

    Words with digits are left out, such as names of nodes and offsets, and so are lists of them, values,
    ids of Kafka, and the names of topics and groups that are the anomaly's subject.

    Args:
        checker: the checker that found it; only the first words of a quoted line of a log are returned.
        anomaly: the anomaly.
    """
    text = _WRITTEN.sub("was acknowledged at", _CIRCLE.sub(r"\1", anomaly.summary))
    text = _LIST.sub("#", _VALUE.sub("#", normalised(text)))
    named = _names_in(anomaly.subject)
    kept = (word for word in text.split() if "#" not in word and word.strip(_AROUND) not in named)
    return islice(kept, _LOGGED_WORDS) if checker == _LOGGED else kept


def _names_in(subject: str | None) -> frozenset[str]:
    """The names of topic and group, if the subject is one, the other, a partition or an offset of it."""
    place = (subject or "").partition("@")[0]
    group, _, partition = place.rpartition(": ")
    if " " in group or " " in partition:
        return frozenset()
    return frozenset(filter(None, (group, partition, partition.rpartition("/")[0])))
