"""`krucible heal`: undoes faults of a killed harness and removes its clusters, and changes nothing else."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

from harness.cluster.cluster import Cluster, find_cluster, remove_run
from harness.cluster.containers import RunContainers
from harness.cluster.engine import Engine
from harness.cluster.leftovers import Leftover, leftovers
from harness.cluster.logs import LOG_FILE, save_logs
from harness.errors import EngineError, KrucibleError, UsageError, disk_errors_named
from harness.faults.chained import remove_chain
from harness.faults.contract import Bench
from harness.record.ledger import (
    Entry,
    FaultPlanned,
    FaultUndone,
    Ledger,
    RunOpened,
    RunRemoved,
    Undo,
    pending_undos,
    read_ledger,
)
from harness.record.ownership import Owner

Say = Callable[[str], None]


def heal(client: Engine, named: tuple[str, ...], say: Say) -> list[str]:
    """Undo pending faults and remove clusters, run by run; returns ids of the healed runs.

    A run whose harness is alive, or whose cluster was kept, is not changed unless it is named by id.

    Raises:
        UsageError: if a name fits no run; then nothing was changed.
        EngineError: if the engine refuses.
    """
    found = leftovers(client)
    strangers = sorted(set(named) - {leftover.run for leftover in found})
    if strangers:
        raise UsageError(
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


def heal_after(client: Engine, owner: Owner, folders: Iterable[Path], say: Say) -> tuple[Leftover, ...]:
    """Heal and remove the runs of an ended process; returns what was healed.

    Runs that are to be kept are not changed.

    Args:
        client: client of Docker.
        owner: the process.
        folders: folders of runs; if only disks of a run are left, Docker does not know of them.
        say: receives messages about each step.

    Raises:
        EngineError: if the engine refuses.
        KrucibleError: if a disk can't be removed.
    """
    of_folders = {left.run: left for left in _unremoved(folders, owner)}
    found = of_folders | {left.run: left for left in leftovers(client, owner)}
    healed = []
    for leftover in found.values():
        reason = _left_alone_because(leftover, ())
        if reason is not None:
            say(f"run {leftover.run}: left alone, {reason}")
            continue
        _heal_one(client, leftover, say)
        healed.append(leftover)
    return tuple(healed)


def _unremoved(folders: Iterable[Path], owner: Owner) -> Iterator[Leftover]:
    """Runs of an ended owner whose ledgers do not record their removal."""
    for folder in folders:
        try:
            entries = read_ledger(folder)
        except OSError:  # its owner is unknown; its containers and networks are found by their labels
            continue
        if any(isinstance(entry, RunRemoved) for entry in entries):
            continue
        for entry in entries:
            if isinstance(entry, RunOpened) and entry.owner == owner:
                yield Leftover(entry.run, folder.absolute(), live=owner.is_alive, kept=entry.kept)


def _keep_logs(client: Engine, leftover: Leftover, say: Say) -> None:
    """Save the logs of nodes if they are not saved yet, because they are removed with the containers.

    The containers are removed even if this fails.
    """
    if list(leftover.folder.glob(f"nodes/*/{LOG_FILE}")):
        return
    try:
        logs = save_logs(RunContainers(client, leftover.run).nodes(), leftover.folder)
        for complaint in logs.complaints():
            say(f"run {leftover.run}: {complaint}")
    except (KrucibleError, OSError) as error:
        say(f"run {leftover.run}: logs of its nodes could not be saved: {error}")


def bench_of(cluster: Cluster) -> Bench:
    """The bench of a cluster, which faults change."""
    return Bench(
        nodes=cluster.nodes,
        containers=cluster.containers,
        addresses=cluster.addresses,
        homes={node.name: cluster.home(node) for node in cluster.nodes},
        images=cluster.images,
        version=cluster.version,
    )


def _left_alone_because(leftover: Leftover, named: tuple[str, ...]) -> str | None:
    if leftover.run in named or not (leftover.live or leftover.kept):
        return None
    why = "its harness is running" if leftover.live else "it was kept"
    return f"{why}; krucible heal {leftover.run} removes it nevertheless"


def _heal_one(client: Engine, leftover: Leftover, say: Say) -> None:
    """Undo faults and remove the cluster; containers are removed even if the run's folder is incomplete."""
    _keep_logs(client, leftover, say)
    cluster = _described(client, leftover)
    if cluster is None:
        _remove_undescribed(client, leftover)
        say(f"run {leftover.run}: removed its containers and network; {leftover.folder} does not describe it")
        return
    undone = [fault for fault in _pending(leftover) if _undid(cluster, fault, leftover, say)]
    remove_run(client, leftover.run, leftover.folder)
    _note(leftover, (*(FaultUndone(fault=fault.fault) for fault in undone), RunRemoved()), say)
    say(f"run {leftover.run}: removed its containers and network; its history stays in {leftover.folder}")


def _remove_undescribed(client: Engine, leftover: Leftover) -> None:
    """Remove a run without a description; disks only if the folder's ledger shows that they belong to it."""
    with disk_errors_named():
        entries = read_ledger(leftover.folder)
    if any(isinstance(entry, RunOpened) and entry.run == leftover.run for entry in entries):
        remove_run(client, leftover.run, leftover.folder)
    else:
        RunContainers(client, leftover.run).remove()


def _described(client: Engine, leftover: Leftover) -> Cluster | None:
    """The cluster by its description; None if the description is missing, damaged, or of another run."""
    try:
        cluster = find_cluster(client, leftover.folder)
    except KrucibleError:
        return None
    return cluster if cluster.description.run == leftover.run else None


def _pending(leftover: Leftover) -> tuple[FaultPlanned, ...]:
    with disk_errors_named():
        return pending_undos(read_ledger(leftover.folder))


def _undid(cluster: Cluster, fault: FaultPlanned, leftover: Leftover, say: Say) -> bool:
    """Undo a fault; returns whether no step failed.  Failed steps end with the containers."""
    try:
        steps = [_undo(cluster, undo) for undo in fault.undo]
    except EngineError as error:
        say(f"run {leftover.run}: {fault.fault} could not be undone ({error.got}), but goes with its nodes")
        return False
    how = f"undid {fault.fault}" if any(steps) else f"{fault.fault} ends with its nodes, which are removed"
    say(f"run {leftover.run}: {how}")
    return True


def _note(leftover: Leftover, entries: tuple[Entry, ...], say: Say) -> None:
    """Record what was done; a failure to write, for example on a full disk, is no error."""
    try:
        with disk_errors_named(), closing(Ledger(leftover.folder)) as ledger:
            for entry in entries:
                ledger.write(entry)
    except KrucibleError as error:
        say(f"run {leftover.run}: healed, but its ledger could not be written: {error.got}")


def _undo(cluster: Cluster, undo: Undo) -> bool:
    """Undo one step; returns whether there was something to undo.

    A node that is down is not started, because it is about to be removed.
    """
    containers = cluster.containers.get(undo.node)
    if containers is None or not containers.has_namespace:
        return False
    match undo.action:
        case "remove-chain":
            remove_chain(bench_of(cluster), undo.node, undo.chain)
        case "unpause":
            containers.unpause()
        case "start":
            return False
    return True
