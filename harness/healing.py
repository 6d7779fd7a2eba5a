"""`krucible heal`: undo what a harness that was killed left behind, and touch nothing else."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from harness.cluster.cluster import Cluster, find_cluster
from harness.cluster.containers import (
    FOLDER_LABEL,
    KEPT_LABEL,
    OWNER_LABEL,
    RunContainers,
    labelled_runs,
)
from harness.cluster.engine import Engine
from harness.errors import KrucibleError
from harness.faults.contract import Bench
from harness.faults.partition import remove_chain
from harness.ledger import FaultUndone, Ledger, RunRemoved, Undo, pending_undos, read_ledger
from harness.ownership import owner_from_label

Say = Callable[[str], None]


class Leftover(msgspec.Struct, frozen=True):
    """A run that still has containers or networks.

    Attributes:
        run: its id.
        folder: its folder.
        live: whether the harness that started it still runs.
        kept: whether it was meant to stay.
    """

    run: str
    folder: Path
    live: bool
    kept: bool


def leftovers(client: Engine) -> tuple[Leftover, ...]:
    """Every run of ours that the engine still knows."""
    return tuple(
        Leftover(
            run=run,
            folder=Path(labels[FOLDER_LABEL]),
            live=owner_from_label(labels[OWNER_LABEL]).is_alive,
            kept=labels[KEPT_LABEL] == "true",
        )
        for run, labels in sorted(labelled_runs(client).items())
    )


def heal(client: Engine, named: tuple[str, ...], say: Say) -> list[str]:
    """Undo pending faults and remove what is left, run by run; ids of the runs that were healed.

    A run whose harness is alive, or that was kept, is left alone unless it is named by id.

    Raises:
        KrucibleError: if a name fits no run; nothing was touched then.
        EngineError: if the engine refuses.
    """
    found = leftovers(client)
    strangers = sorted(set(named) - {leftover.run for leftover in found})
    if strangers:
        raise KrucibleError(
            f"no run {', '.join(strangers)} has anything left",
            expected=", ".join(leftover.run for leftover in found) or "none, all is clean",
            next_step="krucible cluster status",
        )
    healed = []
    for leftover in found:
        reason = _left_alone_because(leftover, named)
        if reason is None:
            _heal_one(client, leftover, say)
            healed.append(leftover.run)
        else:
            say(f"run {leftover.run}: left alone, {reason}")
    return healed


def bench_of(cluster: Cluster) -> Bench:
    """What faults work on."""
    return Bench(nodes=cluster.nodes, containers=cluster.containers, addresses=cluster.addresses)


def _left_alone_because(leftover: Leftover, named: tuple[str, ...]) -> str | None:
    if leftover.run in named or not (leftover.live or leftover.kept):
        return None
    why = "its harness is running" if leftover.live else "it was kept"
    return f"{why}; krucible heal {leftover.run} takes it down all the same"


def _heal_one(client: Engine, leftover: Leftover, say: Say) -> None:
    entries = read_ledger(leftover.folder)
    if (leftover.folder / "cluster.json").exists():
        cluster = find_cluster(client, leftover.folder)
        ledger = Ledger(leftover.folder)
        for fault in pending_undos(entries):
            for undo in fault.undo:
                _undo(cluster, undo)
            ledger.write(FaultUndone(fault=fault.fault))
            say(f"run {leftover.run}: undid {fault.fault}")
        cluster.remove()
        ledger.write(RunRemoved())
        ledger.close()
    else:
        RunContainers(client, leftover.run).remove()
    say(f"run {leftover.run}: removed its containers and network; its history stays in {leftover.folder}")


def _undo(cluster: Cluster, undo: Undo) -> None:
    """One step back; a node whose containers are gone has nothing to undo, none is started to be removed."""
    containers = cluster.containers.get(undo.node)
    if containers is None or not containers.has_namespace:
        return
    if undo.action == "remove-chain":
        remove_chain(bench_of(cluster), undo.node, undo.chain)
    elif undo.action == "unpause":
        containers.unpause()
