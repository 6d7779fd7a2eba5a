"""Sorts versions of Kafka: 3.10 after 3.9, a release after its candidates."""

from pyspark.sql import Column
from pyspark.sql import functions as F

_NUMBERS = 4


def version_key(name: str) -> Column:
    """Sort key of a column of versions: an array of numbers, always of the same length.

    Texts that are not versions come first.
    """
    text = F.col(name)
    numbers = F.split(F.regexp_extract(text, r"^(\d{1,9}(\.\d{1,9})*)", 1), r"\.")
    padded = [_number(F.try_element_at(numbers, F.lit(place))) for place in range(1, _NUMBERS + 1)]
    candidate = F.regexp_extract(text, r"(?i)rc-?(\d{1,9})", 1)
    final = F.when(text.rlike(r"^\d+(\.\d+)*$"), 1).otherwise(0)
    return F.array(*padded, final, _number(candidate))


def _number(text: Column) -> Column:
    return F.coalesce(text.try_cast("int"), F.lit(0))
