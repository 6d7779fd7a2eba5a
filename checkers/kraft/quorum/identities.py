"""Identities of disks: cluster id and directory id, which meta.properties keeps across restarts."""

from collections.abc import Iterable
from itertools import pairwise

from checkers.evidence.faults import FaultWindow
from checkers.kraft.quorum.views import StateFile
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

CLUSTER_ID_CHANGED = AnomalyKind(
    id="cluster-id-changed",
    meaning="The cluster id on a node's disk changed.",
    guarantee="A cluster keeps the id that it was formatted with.",
    source="KIP-78; KIP-595, Cluster Id",
)
DIRECTORY_ID_CHANGED = AnomalyKind(
    id="directory-id-changed",
    meaning="The id of a node's metadata directory changed although no fault had hit its disk.",
    guarantee="A directory keeps the id that it was formatted with. A voter is identified by this "
    "id and its node id.",
    source="KIP-858, directory.id in meta.properties; KIP-853, Replica Directory Id",
)


def cluster_ids_changed(files: Iterable[StateFile]) -> list[Anomaly]:
    """The first disk of each node that has another cluster id than the first one that was read."""
    ordered = sorted((f for f in files if f.cluster_id), key=lambda file: (file.time_ns, file.index))
    found: dict[str, Anomaly] = {}
    for file in ordered:
        first = ordered[0]
        if file.cluster_id != first.cluster_id and file.node not in found:
            summary = f"The disk of {file.node} belongs to cluster {file.cluster_id}, not {first.cluster_id}."
            values = (f"cluster id {first.cluster_id}", f"cluster id {file.cluster_id}")
            found[file.node] = _another(CLUSTER_ID_CHANGED, summary, (first, file), values)
    return list(found.values())


def directory_ids_changed(files: Iterable[StateFile], windows: Iterable[FaultWindow]) -> list[Anomaly]:
    """The first directory id of each node that replaces another one without a fault of its disk."""
    disk_faults = [window for window in windows if window.hits_disks]
    readings: dict[str, list[StateFile]] = {}
    for file in sorted((f for f in files if f.directory_id), key=lambda f: (f.time_ns, f.index)):
        readings.setdefault(file.node, []).append(file)
    found: list[Anomaly] = []
    for node, node_files in readings.items():
        changed = (
            (before, after)
            for before, after in pairwise(node_files)
            if before.directory_id != after.directory_id
            and not any(
                hit.concerns(node) and hit.overlaps(before.began_ns, after.time_ns) for hit in disk_faults
            )
        )
        found += [_other_directory(*pair) for pair in changed][:1]
    return found


def _other_directory(before: StateFile, after: StateFile) -> Anomaly:
    summary = (
        f"The directory of {after.node} had the id {before.directory_id}, and then {after.directory_id}."
    )
    values = (f"directory id {before.directory_id}", f"directory id {after.directory_id}")
    return _another(DIRECTORY_ID_CHANGED, summary, (before, after), values)


def _another(
    kind: AnomalyKind, summary: str, files: tuple[StateFile, StateFile], values: tuple[str, str]
) -> Anomaly:
    """Two files that should agree about a disk, and the value of each."""
    first, second = files
    return kind.found(
        summary,
        subject=second.node,
        time_ns=second.time_ns,
        witness=(first.index, second.index),
        explanation=tuple(
            f"At {file.time_ns / 1e9:.3f} s meta.properties of {file.node} had {what}."
            for file, what in zip(files, values, strict=True)
        ),
    )
