"""Which signatures of failures the past of a store did not have, run by run."""

from collections.abc import Iterable
from typing import NamedTuple


class Signed(NamedTuple):
    """What one run failed with.

    Attributes:
        run: what the caller knows it by, such as its place in the store.
        began: sorts runs by time; runs that began together are sorted by `run`.
        signatures: of `results.failures.signatures`, as texts; empty of a run that is as expected.
    """

    run: str
    began: str
    signatures: tuple[str, ...]


def new_signatures(runs: Iterable[Signed]) -> dict[str, tuple[str, ...]]:
    """By run, those of its signatures that no earlier run has; runs without any are left out.

    The earliest run of all has no past that it could be compared with, so nothing of it is new.

    Args:
        runs: every run of the store that was judged, in any order.
    """
    past: set[str] = set()
    found: dict[str, tuple[str, ...]] = {}
    for number, one in enumerate(sorted(runs, key=lambda run: (run.began, run.run))):
        new = tuple(signature for signature in one.signatures if signature not in past)
        if number and new:
            found[one.run] = new
        past.update(one.signatures)
    return found
