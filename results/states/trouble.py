"""What befalls each node at which time, by the faults that a probe proved."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from checkers.faults import FaultWindow, fault_windows
from checkers.history import History
from checkers.setup import Setup
from results.states.tracks import Booleans, Track, spans

TROUBLES = ("well", "cut", "paused", "down", "disk")
"""What may befall a node, the gravest last; a node that several faults befall has the gravest."""
WELL = 0
_OF_KIND = {
    "partition": 1,
    "hold": 1,
    "lost-answers": 1,
    "held-requests": 1,
    "held-reports": 1,
    "pause": 2,
    "kill": 3,
    "stop": 3,
    "torn-write": 3,
    "power-loss": 4,
    "wipe-disk": 4,
    "dead-disk": 4,
}
CLUSTER_TROUBLES = tuple(
    "+".join(name for bit, name in enumerate(TROUBLES[1:]) if mask & 1 << bit) or TROUBLES[WELL]
    for mask in range(1 << len(TROUBLES) - 1)
)
"""What may befall any nodes at one time, by the number that has a bit for each."""


class Trouble(NamedTuple):
    """What befalls whom.

    Attributes:
        places: column of each node in `nodes`, by its ``node.id``.
        nodes: the gravest that befalls each node, shape (n, nodes + 1), `WELL` in the last column, which
            stands for nobody.
        cluster: what befalls any node, shape (n, 1), a place in `CLUSTER_TROUBLES`.
    """

    places: dict[int, int]
    nodes: Track
    cluster: Track

    @property
    def nobody(self) -> int:
        """The column of nobody, which stands for nodes that the set-up does not name, too."""
        return len(self.places)

    def columns(self, ids: Sequence[int]) -> list[int]:
        """Columns of nodes by their ids."""
        return [self.places.get(one, self.nobody) for one in ids]


def trouble_of(history: History, setup: Setup) -> Trouble:
    """What befell the nodes of a run; a fault counts from when it was injected until it was seen healed.

    Raises:
        KeyError, msgspec.ValidationError: a fault is not as docs/histories.md says.
    """
    names = {node.name: place for place, node in enumerate(setup.nodes)}
    width, kinds = len(names), len(TROUBLES)
    found = [
        (names[node] * kinds + _OF_KIND.get(window.kind, 1), window.invoked_ns, window.end_ns)
        for window in fault_windows(history)
        if window.proven
        for node in _befallen(window)
        if node in names
    ]
    open_ = spans(found, width * kinds)
    there = open_.rows.reshape(-1, width, kinds) > 0
    gravest = (there * np.arange(kinds)).max(axis=2, initial=WELL)
    nodes = np.concatenate((gravest, np.full((len(gravest), 1), WELL)), axis=1)
    befalling: Booleans = np.any(there, axis=1)
    masks = (befalling[:, 1:] << np.arange(kinds - 1)).sum(axis=1, dtype=np.int64)
    places = {node.id: place for place, node in enumerate(setup.nodes)}
    return Trouble(places, Track(open_.time_ns, nodes), Track(open_.time_ns, masks[:, None]))


def _befallen(window: FaultWindow) -> tuple[str, ...]:
    """Targets; of a cut without any, everybody whom something can't reach."""
    return window.targets or tuple(dict.fromkeys(to for _, to in window.cut))
