"""Short names of runs: the seed where no other run has it, else the beginning of the folder's name."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from results.serve.listing import Entry

_DAY_CHARACTERS = len("20261120T")
"""A shorter beginning could be a seed, or mean another run tomorrow."""


def short_names(entries: Iterable[Entry]) -> dict[str, str]:
    """By place, the shortest name that means one run alone; the place itself where none does."""
    known = tuple(entries)
    seeds = Counter(entry.summary.seed for entry in known)
    beginnings = dict(_beginnings(known))
    return {
        entry.place: str(entry.summary.seed)
        if entry.summary.seed is not None and seeds[entry.summary.seed] == 1
        else beginnings.get(entry.place, entry.place)
        for entry in known
    }


def run_named(entries: Iterable[Entry], name: str) -> Entry | None:
    """The one run that a seed, or the beginning of a folder's name, means; None if that is not one."""
    known = tuple(entries)
    for alike in (
        [entry for entry in known if str(entry.summary.seed) == name],
        [entry for entry in known if len(name) >= _DAY_CHARACTERS and entry.name.startswith(name)],
    ):
        if len(alike) == 1:
            return alike[0]
    return None


def _beginnings(entries: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    """By place, as much of each folder's name as no other one begins with."""
    ordered = sorted(entries, key=lambda entry: entry.name)
    shared = [0, *(_shared(one.name, other.name) for one, other in pairwise(ordered)), 0]
    for entry, before, after in zip(ordered, shared, shared[1:], strict=False):
        needed = max(before + 1, after + 1, _DAY_CHARACTERS)
        if needed <= len(entry.name) and not entry.name[:needed].isdigit():
            yield entry.place, entry.name[:needed]


def _shared(one: str, other: str) -> int:
    """With how many equal characters both begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))
