"""Printed commands; they name the store unless it is the default one."""

import os
from pathlib import Path
from shlex import quote

from checkers.history.identity import RunIdentity
from results.markup.cleaning import clean

DEFAULT_STORE = "runs"
"""The default store of the command line."""
STORE_VARIABLE = "KRUCIBLE_RUNS"
"""The environment variable that names another store."""
_PATH_MAX = 4_096


def store_option(root: Path) -> str:
    """The option with which a printed command uses a store: `` --runs DIR``, empty for the default store.

    A store from `STORE_VARIABLE` is named too, because the command may be pasted into another shell.
    """
    assumed = os.environ.get(STORE_VARIABLE) or DEFAULT_STORE
    same = os.path.realpath(root)
    if same == os.path.realpath(DEFAULT_STORE) == os.path.realpath(assumed):
        return ""
    return f" --runs {clean(quote(str(root)), _PATH_MAX)}"


def option_of_store_of(folder: Path, identity: RunIdentity | None) -> str:
    """`store_option` of the store that contains a run's folder; empty if it is in no store, such as a copy.

    Args:
        folder: the run's folder.
        identity: the run's identity, whose scenario is a part of the path; None if it can't be read.
    """
    parts = () if identity is None else Path(identity.scenario).parts
    if not parts or folder.parent.parts[-len(parts) :] != parts or len(folder.parents) <= len(parts):
        return ""
    return store_option(folder.parents[len(parts)])


def command_to_list(root: Path) -> str:
    """The command that lists the runs of a store."""
    return f"krucible list{store_option(root)}"
