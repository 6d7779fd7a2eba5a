"""Short names of runs: the seed, or a part of the folder's name, if only one run has it; pure functions."""

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

_RUN_NAME = re.compile(r"\d{4}-?\d{2}-?\d{2}T[\d:.-]+Z?-(?P<seed>\d{1,20})", re.ASCII)
_BEGINNING_MIN = len("20261120")
"""Minimum length of a prefix: a date. A shorter one could be a seed, and would match almost all runs."""
_Run = TypeVar("_Run")


def is_run_name(folder: str) -> bool:
    """Whether a folder has the name of a run: start time and seed."""
    return _RUN_NAME.fullmatch(folder) is not None


def seed_in(folder: str) -> int | None:
    """The seed in a folder's name; None if it is not the name of a run."""
    matched = _RUN_NAME.fullmatch(folder)
    return int(matched["seed"]) if matched else None


def runs_meant(short: str, runs: Iterable[_Run], folder_of: Callable[[_Run], str]) -> list[_Run]:
    """All runs that match a short name; the name is valid if it matches one run.

    A seed must match completely; a prefix of a seed does not match.

    Args:
        short: the short name.
        runs: candidates.
        folder_of: the name of a run's folder.
    """
    known = tuple(runs)
    seeds = (seed_in(folder_of(run)) for run in known)
    seeded = [run for run, seed in zip(known, seeds, strict=True) if seed is not None and str(seed) == short]
    return seeded or [run for run in known if _abbreviates(short, folder_of(run))]


def _abbreviates(short: str, folder: str) -> bool:
    """Whether a text is a prefix of a folder's name, or a suffix that begins before the seed."""
    if len(short) >= _BEGINNING_MIN and folder.startswith(short):
        return True
    return short[:1].isdigit() and "-" in short and folder.endswith(short)
