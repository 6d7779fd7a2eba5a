"""Gathers causes that are the same at several places, so that a text shows them once."""

from collections.abc import Sequence
from itertools import islice

import msgspec

from results.run.causes import Cause, cause_line, cause_name, kinds_text
from results.run.wording import words_of

_NAMES_MAX = 4


class AlikeCauses(msgspec.Struct, frozen=True):
    """Causes whose witnesses have the same words, such as those of all partitions that did not recover.

    Attributes:
        causes: at least one, in the order of `results.run.causes.causes_of`.
    """

    causes: tuple[Cause, ...]

    @property
    def first(self) -> Cause:
        """The cause that is shown for all of them."""
        return self.causes[0]

    def line(self) -> str:
        """One cause as `cause_line` writes it; several with the names of the first ones."""
        if len(self.causes) == 1:
            return cause_line(self.first)
        names = [cause_name(cause) for cause in islice(self.causes, _NAMES_MAX)]
        more = len(self.causes) - len(names)
        places = ", ".join(names) + (f" and {more:,} more" if more else "")
        legal = "" if self.first.illegal else " (legal)"
        kinds = kinds_text(msgspec.structs.replace(self.first, kinds=self._kinds()))
        return f"{len(self.causes):,} places alike ({places}): {kinds}{legal}"

    def _kinds(self) -> tuple[tuple[str, int], ...]:
        """Total number of anomalies of each kind."""
        counts = [dict(cause.kinds) for cause in self.causes]
        return tuple((name, sum(each[name] for each in counts)) for name, _ in self.first.kinds)


def alike(causes: Sequence[Cause]) -> tuple[AlikeCauses, ...]:
    """Group causes that differ only in their places; groups are ordered by their first causes.

    A cause with offsets is a group of its own, because its offsets identify records.  So is a cause without a
    witness, because it has no words to compare.
    """
    groups: dict[object, list[Cause]] = {}
    for number, cause in enumerate(causes):
        groups.setdefault(_key(cause) or number, []).append(cause)
    return tuple(AlikeCauses(tuple(some)) for some in groups.values())


def _key(cause: Cause) -> tuple[object, ...] | None:
    witness = cause.witness
    if witness is None or cause.offsets is not None:
        return None
    words = tuple(words_of(witness.checker, witness.anomaly))
    kinds = tuple(name for name, _ in cause.kinds)
    return (cause.illegal, kinds, witness.checker, words) if words else None
