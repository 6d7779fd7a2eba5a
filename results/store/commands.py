"""Commands that are printed to be pasted: they name the store wherever it is not the default one."""

import os
from pathlib import Path
from shlex import quote

from checkers.history.identity import RunIdentity
from results.markup.cleaning import clean

DEFAULT_STORE = "runs"
"""The store that the command line takes where none is named."""
STORE_VARIABLE = "KRUCIBLE_RUNS"
"""The environment's variable that names another one."""
_PATH_MAX = 4_096


def store_option(root: Path) -> str:
    """What a printed command needs so that it uses a store: `` --runs DIR``, empty for the default store.

    A store that `STORE_VARIABLE` names is named too: the command may be pasted into another shell.
    """
    assumed = os.environ.get(STORE_VARIABLE) or DEFAULT_STORE
    same = os.path.realpath(root)
    if same == os.path.realpath(DEFAULT_STORE) == os.path.realpath(assumed):
        return ""
    return f" --runs {clean(quote(str(root)), _PATH_MAX)}"


def option_of_store_of(folder: Path, identity: RunIdentity | None) -> str:
    """`store_option` of the store that a run's folder is in; empty where it is in none, as a copy of a run.

    Args:
        folder: the run's folder.
        identity: names the scenario, below which the store has the run; None where it can't be read.
    """
    parts = () if identity is None else Path(identity.scenario).parts
    if not parts or folder.parent.parts[-len(parts) :] != parts or len(folder.parents) <= len(parts):
        return ""
    return store_option(folder.parents[len(parts)])


def command_to_list(root: Path) -> str:
    """The command that lists the runs of a store."""
    return f"krucible list{store_option(root)}"
