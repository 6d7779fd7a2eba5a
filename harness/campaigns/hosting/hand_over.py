"""Makes a run on a local disk of its host, then moves its whole folder to the store."""

import hashlib
import shutil
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import click

from harness.campaigns.hosting.orders import Site
from harness.cluster.engine import connect, engine_errors_named
from harness.cluster.leftovers import leftovers
from harness.errors import disk_errors_named
from harness.record.folder import place_run
from harness.run.healing import heal
from results.store.runs import run_folders


def hand_over(folder: Path, scratch: Path, store: Path) -> Path:
    """Move a run from a host's disk to the store, where it appears complete; returns its new place.

    Args:
        folder: the run's folder.
        scratch: the host's folder that contains it, with the layout of a store.
        store: the shared store.

    Raises:
        KrucibleError: a disk fails; the run stays in its place.
    """
    scenario = folder.resolve().parent.relative_to(scratch.resolve())
    parent = store / scenario
    # The name is the same each time, so that the partial copy of a killed process is found and removed.
    where = hashlib.sha256(f"{socket.gethostname()}:{scratch.resolve()}".encode()).hexdigest()[:12]
    arriving = parent / f".arriving-{where}"
    with disk_errors_named():
        parent.mkdir(parents=True, exist_ok=True)
        if arriving.exists():
            shutil.rmtree(arriving)
        shutil.copytree(folder, arriving, symlinks=True)
        placed = place_run(arriving, store, str(scenario), folder.name)
        shutil.rmtree(folder)
    return placed


def clear(site: Site, slot: int, say: Callable[[str], None] = click.echo) -> list[Path]:
    """Remove the clusters of killed runs in a slot of this host, for any store.

    Then move the folders of runs for this store there.  The caller holds the slot, so no other process works
    in it.

    Raises:
        KrucibleError: Docker or a disk refuses.
    """
    scratch = site.scratch_of(slot)
    place = scratch.resolve().parent
    with engine_errors_named(), closing(connect()) as client:
        dead = tuple(left.run for left in leftovers(client) if left.folder.is_relative_to(place))
        if dead:
            heal(client, dead, say)
    return [hand_over(folder, scratch, site.store) for folder in list(run_folders(scratch))]
