"""Texts for a name that is no run: what came, what was expected, where, and the next step."""

import difflib
import os
from collections.abc import Iterable
from pathlib import Path

from results.markup.cleaning import clean
from results.store.commands import command_to_list, store_option

_NAME_MAX = 200


def no_runs_text(root: Path, latest: str) -> str:
    """The store has no run at all."""
    return (
        f"no run is called {latest!r}: there are no runs yet\n"
        f"  expected: a folder that holds runs\n  where:    {root}\n"
        f"  next:     make a run: krucible run smoke/partition{store_option(root)}; "
        "or name another folder with --runs"
    )


def not_found_text(root: Path, name: str, wanted: str, places: Iterable[Path]) -> str:
    """No run has the name.

    Args:
        root: the store.
        name: what was asked for.
        wanted: what a scenario must have, such as ``runs``.
        places: folders of the store's runs.
    """
    hint = _hint(name, {place.parent.relative_to(root).as_posix() for place in places})
    got = f"  got:      {hint}\n" if hint else ""
    return (
        f"no run is called {clean(repr(name), _NAME_MAX)}\n{got}"
        f"  expected: 'latest', a scenario with {wanted}, a run's folder, its seed or its time\n"
        f"  where:    {root}\n  next:     {command_to_list(root)}"
    )


def _hint(name: str, scenarios: Iterable[str]) -> str:
    """What the name may have been meant for; empty if nothing is like it."""
    if os.path.isfile(name):  # noqa: PTH113 - False, not an error, for whatever can't be one
        return f"a file; its folder is {clean(str(Path(name).parent), _NAME_MAX)}"
    near = difflib.get_close_matches(name, sorted(scenarios), n=1)
    return f"{clean(name, _NAME_MAX)}; did you mean {clean(near[0], _NAME_MAX)}?" if near else ""
