"""Journals that are gone, emptied or cut: unknown, by the name of what is missing, and no anomaly."""

import json
from collections.abc import Callable

from checkers.history.operations import History
from tests.mutations.edits import Edit
from tests.mutations.recordings import decoded, journals
from tests.mutations.suite import MUTATIONS, Must, Mutation, unknown

KINDS = {
    "a-producer": "worker-0",
    "a-consumer": "worker-3",
    "a-final-reader": "worker-13",
    "the-nemesis": "nemesis",
    "the-admin": "admin",
    "the-states-of-nodes": "nodes",
    "a-brokers-views": "observer-partitions-",
    "answers-of-the-quorum": "observer-quorum-n",
    "quorum-state-files": "observer-quorum-state",
    "reassignments": "observer-reassignments",
    "disks": "replicas",
    "the-runner": "runner",
    "the-deleter": "worker-6",
    "offsets-that-leaders-told": "observer-offsets",
    "ends-of-logs": "observer-ends",
    "who-erases-offsets": "worker-18",
    "who-lets-transactions-lapse": "worker-12",
    "who-has-them-described": "worker-13",
    "a-member-of-a-share-group": "worker-5",
    "who-drains-share-groups": "worker-12",
}
"""Whose journal, and how its name begins."""
RUNS = {
    "chaos": ("a-producer", "the-nemesis", "the-admin", "a-brokers-views", "quorum-state-files", "disks"),
    "smoke": ("a-producer", "a-consumer", "the-nemesis", "the-states-of-nodes", "disks", "the-runner"),
    "txn": ("a-producer", "a-consumer", "a-final-reader", "answers-of-the-quorum", "disks"),
    "copy": ("a-producer", "a-consumer", "a-brokers-views", "disks"),
    "groups": ("a-producer", "a-consumer", "the-nemesis", "quorum-state-files"),
    "offsets": ("a-producer", "a-consumer", "answers-of-the-quorum", "the-nemesis"),
    "metadata": ("a-producer", "a-consumer", "a-brokers-views", "disks"),
    "compacted": ("a-producer", "a-consumer", "disks"),
    "moves": ("the-admin", "reassignments", "a-producer", "a-brokers-views"),
    "disks": ("the-nemesis", "a-producer", "disks"),
    "voters": ("the-admin", "quorum-state-files", "a-producer"),
    "deletions": (
        "the-deleter",
        "the-nemesis",
        "disks",
        "the-runner",
        "a-brokers-views",
        "the-states-of-nodes",
    ),
    "listed-txn": ("offsets-that-leaders-told",),
    "ends": ("ends-of-logs",),
    "erasures": ("who-erases-offsets",),
    "lapses": ("who-has-them-described", "who-lets-transactions-lapse"),
    "elections": ("quorum-state-files", "the-admin", "the-runner"),
    "share": ("a-member-of-a-share-group", "who-drains-share-groups"),
}
"""Of each run the journals that are maimed."""


def gone(_: bytes) -> bytes | None:
    """Its file is gone."""
    return None


def emptied(_: bytes) -> bytes | None:
    """Its file is empty."""
    return b""


def cut_after_half(content: bytes) -> bytes | None:
    """It ends after half of its lines."""
    lines = content.splitlines(keepends=True)
    return b"".join(lines[: len(lines) // 2])


def cut_within_a_line(content: bytes) -> bytes | None:
    """It ends in the middle of a line."""
    lines = content.splitlines(keepends=True)
    return b"".join(lines[: len(lines) // 2]) + lines[len(lines) // 2][:40]


def header_alone(content: bytes) -> bytes | None:
    """It has its header, and no operation."""
    return content.splitlines(keepends=True)[0]


def operations_emptied(content: bytes) -> bytes | None:
    """It has its header and its last line, and no operation between them."""
    lines = content.splitlines(keepends=True)
    end = json.loads(lines[-1]) | {"index": 0}
    return lines[0] + json.dumps(end).encode() + b"\n"


_MAIMED = (gone, emptied, cut_after_half, cut_within_a_line, header_alone, operations_emptied)


def _maimed(run: str, prefix: str, maim: Callable[[bytes], bytes | None]) -> Callable[[Edit], History]:
    def change(edit: Edit) -> History:
        files = dict(journals(run))
        found = [file for file in sorted(files) if file.startswith(f"history-{prefix}")]
        if not found:
            edit.give_up(f"no journal {prefix}")
        content = maim(files.pop(found[0]))
        return decoded(files if content is None else files | {found[0]: content})

    return change


def _register() -> None:
    for number, (run, kinds) in enumerate(RUNS.items()):
        for at, kind in enumerate(kinds):
            for step in range(3):
                maim = _MAIMED[(number + at + 2 * step) % len(_MAIMED)]
                MUTATIONS.append(
                    Mutation(
                        "missing",
                        f"{kind}-{maim.__name__.replace('_', '-')}",
                        f"The journal of {kind.replace('-', ' ')}: {(maim.__doc__ or '').lower()}",
                        _must(KINDS[kind]),
                        (run,),
                        1,
                        _maimed(run, KINDS[kind], maim),
                    )
                )


def _must(prefix: str) -> Must:
    return unknown(prefix)


_register()
