"""Finds, for each run, signatures of failures that no earlier run of the store had."""

from collections.abc import Iterable
from typing import NamedTuple


class Signed(NamedTuple):
    """The failures of one run.

    Attributes:
        run: the caller's key of the run, such as its place in the store.
        began: sorts runs by time; runs with the same time are sorted by `run`.
        signatures: texts from `results.failures.signatures`; empty for a run that is as expected.
    """

    run: str
    began: str
    signatures: tuple[str, ...]


def new_signatures(runs: Iterable[Signed]) -> dict[str, tuple[str, ...]]:
    """By run, the signatures that no earlier run has; runs without new signatures are left out.

    The earliest run can't be compared with earlier ones, so it has no new signatures.

    Args:
        runs: all judged runs of the store, in any order.
    """
    past: set[str] = set()
    found: dict[str, tuple[str, ...]] = {}
    for number, one in enumerate(sorted(runs, key=lambda run: (run.began, run.run))):
        new = tuple(signature for signature in one.signatures if signature not in past)
        if number and new:
            found[one.run] = new
        past.update(one.signatures)
    return found
