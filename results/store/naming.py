"""Names of runs as people type them: the seed, or a part of the folder's name, of one run alone; pure."""

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

_RUN_NAME = re.compile(r"\d{4}-?\d{2}-?\d{2}T[\d:.-]+Z?-(?P<seed>\d{1,20})", re.ASCII)
_BEGINNING_MIN = len("20261120")
"""A day: a shorter beginning would be taken for a seed, and mean nearly every run."""
_Run = TypeVar("_Run")


def is_run_name(folder: str) -> bool:
    """Whether a folder is called like a run: the time of its beginning and its seed."""
    return _RUN_NAME.fullmatch(folder) is not None


def seed_in(folder: str) -> int | None:
    """The seed in a folder's name; None where it is not called like a run."""
    matched = _RUN_NAME.fullmatch(folder)
    return int(matched["seed"]) if matched else None


def runs_meant(short: str, runs: Iterable[_Run], folder_of: Callable[[_Run], str]) -> list[_Run]:
    """Every run that a short name may mean; it is a name where that is one run alone.

    A seed counts whole: what is typed of it is no beginning of another.

    Args:
        short: what was typed.
        runs: all that it may mean.
        folder_of: the name of a run's folder.
    """
    known = tuple(runs)
    seeds = (seed_in(folder_of(run)) for run in known)
    seeded = [run for run, seed in zip(known, seeds, strict=True) if seed is not None and str(seed) == short]
    return seeded or [run for run in known if _abbreviates(short, folder_of(run))]


def _abbreviates(short: str, folder: str) -> bool:
    """Whether it begins a folder's name, or ends it and has more than digits of the seed."""
    if len(short) >= _BEGINNING_MIN and folder.startswith(short):
        return True
    return short[:1].isdigit() and "-" in short and folder.endswith(short)
