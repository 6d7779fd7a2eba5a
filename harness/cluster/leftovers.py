"""Finds runs whose containers or networks still exist, by labels."""

from pathlib import Path

import msgspec

from harness.cluster.containers import FOLDER_LABEL, KEPT_LABEL, OWNER_LABEL, labelled_runs
from harness.cluster.engine import Engine
from harness.record.ownership import Owner, owner_from_label


class Leftover(msgspec.Struct, frozen=True):
    """A run that still has containers or networks.

    Attributes:
        run: its id.
        folder: its folder.
        live: whether the harness that started it still runs.
        kept: whether its cluster is to be kept.
    """

    run: str
    folder: Path
    live: bool
    kept: bool


def leftovers(client: Engine, owner: Owner | None = None) -> tuple[Leftover, ...]:
    """Every run of krucible that the engine still has parts of, or only those of one owner."""
    return tuple(
        Leftover(
            run=run,
            folder=Path(labels[FOLDER_LABEL]),
            live=owner_from_label(labels[OWNER_LABEL]).is_alive,
            kept=labels[KEPT_LABEL] == "true",
        )
        for run, labels in sorted(labelled_runs(client).items())
        if owner is None or labels[OWNER_LABEL] == owner.label()
    )
