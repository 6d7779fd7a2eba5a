"""Short names on pages: the seed if no other run has it, else a part of the folder's name."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from results.serve.listing import ListedRun
from results.store.naming import runs_meant, seed_in
from results.store.runs import LATEST

_DAY_CHARACTERS = len("20261120T")
"""Minimum length of a prefix; a shorter one could be a seed, or match another run later."""


def short_names(entries: Iterable[ListedRun]) -> dict[str, str]:
    """By place, the shortest unambiguous name of each run, or the place if there is none."""
    known = tuple(entries)
    seeds = {entry.place: seed_in(entry.name) for entry in known}
    times = Counter(seeds.values())
    beginnings = dict(_beginnings(known))
    return {
        place: str(seed) if seed is not None and times[seed] == 1 else beginnings.get(place, place)
        for place, seed in seeds.items()
    }


def run_named(entries: Iterable[ListedRun], name: str) -> ListedRun | None:
    """The run that a name means, as in `store.runs.find_run`; None unless it means exactly one.

    Args:
        entries: all runs of the store.
        name: ``latest`` or a short name, alone or after the scenario's name.
    """
    scenario, _, short = name.rpartition("/")
    if short == LATEST:
        below = f"{scenario}/" if scenario else ""
        return max((one for one in entries if one.place.startswith(below)), key=_age, default=None)
    own = (one for one in entries if scenario in {"", one.place.rpartition("/")[0]})
    alike = runs_meant(short, own, lambda entry: entry.name)
    return alike[0] if len(alike) == 1 else None


def _age(entry: ListedRun) -> tuple[str, str]:
    return entry.name, entry.place


def _beginnings(entries: Sequence[ListedRun]) -> Iterator[tuple[str, str]]:
    """By place, the shortest unique prefix of each folder's name."""
    ordered = sorted(entries, key=lambda entry: entry.name)
    shared = [0, *(_shared(one.name, other.name) for one, other in pairwise(ordered)), 0]
    for entry, before, after in zip(ordered, shared, shared[1:], strict=False):
        needed = max(before + 1, after + 1, _DAY_CHARACTERS)
        if needed <= len(entry.name) and not entry.name[:needed].isdigit():
            yield entry.place, entry.name[:needed]


def _shared(one: str, other: str) -> int:
    """Length of the common prefix."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))
