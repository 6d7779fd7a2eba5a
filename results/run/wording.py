"""Words of an anomaly's summary that are the same whenever a defect shows, whatever the run."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from checkers.verdict.verdict import Anomaly

_LIKE_IDS = re.compile(r"(?<![\w-])[A-Za-z0-9_-]{22}(?![\w-])")
_CAPITALS_MIN, _SMALL_MIN = 6, 4
_NUMBERS = re.compile(r"\d[\d,.]*(?<![,.])")
_LISTS = re.compile(r"#(?:, #)+")
_CIRCLE = re.compile(r"( transactions in a circle \([^)]*\):).*", re.DOTALL)
"""The id of the anomaly determines which edges a circle needs; others, their order and their number vary."""
_WRITTEN = re.compile(r"was returned to a reader at")
"""The same loss may first show by a record that was acknowledged, or by one that a reader had got."""
_VALUE = re.compile(
    r"(?<![^\s(\[])(?:None|null|nil|true|false|True|False|\[\]|\{\}|set\(\))(?=[.,:;)\]]*(?:\s|$))"
)
"""A value without a digit, which stands where others have numbers."""
_AROUND = ".,:;"
_CONJUNCTIONS = frozenset(("and", "or"))
_LOGGED = "nodes"
"""The checker whose summaries quote lines of nodes' logs, which are cut at a number of characters."""
_LOGGED_WORDS = 20


def normalised(summary: str) -> str:
    """A sentence with ``#`` for each number, list of numbers, and id of Kafka."""
    return _LISTS.sub("#", _NUMBERS.sub("#", _LIKE_IDS.sub(_without_id, summary)))


def _without_id(found: re.Match[str]) -> str:
    """``#`` for an id of a topic, a directory or a cluster; a word of as many characters stays.

    One id in 40 has no digit; it is recognised by its capitals, which are more than those of a class's name.
    """
    word = found[0]
    capitals, small = sum(map(str.isupper, word)), sum(map(str.islower, word))
    mixed = capitals >= _CAPITALS_MIN and small >= _SMALL_MIN
    return "#" if mixed or any(map(str.isdigit, word)) else word


def words_of(checker: str, anomaly: Anomaly) -> Iterator[str]:
    """The words of a summary that do not depend on the run.

    Words with digits are left out, such as names of nodes and offsets, and so are lists of them, values,
    ids of Kafka, and the names of topics and groups that are the anomaly's subject.

    Args:
        checker: the checker that found it; only the first words of a quoted line of a log are returned.
        anomaly: the anomaly.
    """
    text = _WRITTEN.sub("was acknowledged at", _CIRCLE.sub(r"\1", anomaly.summary))
    words = _without_lists(_VALUE.sub("#", normalised(text)).split())
    named = _names_in(anomaly.subject)
    kept = (word for word in words if word.strip(_AROUND) not in named)
    return islice(kept, _LOGGED_WORDS) if checker == _LOGGED else kept


def _without_lists(words: Sequence[str]) -> Iterator[str]:
    """The words without a ``#``; a conjunction between words that have one is left out with them."""
    for before, word, after in zip(("", *words), words, (*words[1:], ""), strict=False):
        if "#" not in word and not (word in _CONJUNCTIONS and "#" in before and "#" in after):
            yield word


def _names_in(subject: str | None) -> frozenset[str]:
    """The names of topic and group, if the subject is one, the other, a partition or an offset of it."""
    place = (subject or "").partition("@")[0]
    group, _, partition = place.rpartition(": ")
    if " " in group or " " in partition:
        return frozenset()
    return frozenset(filter(None, (group, partition, partition.rpartition("/")[0])))
