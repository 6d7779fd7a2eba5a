"""States of the whole cluster: how the quorum stands while partitions stand otherwise."""

import numpy as np

from checkers.history import History
from checkers.partition_changes import partition_changes
from results.states.partitions import ACTORS, ISR, logged
from results.states.quorum import WORDS as QUORUM_WORDS
from results.states.tracks import ALWAYS_NS, Track, Visited, Word, beside, walked

ACTOR = "cluster"
_OF_QUORUM = 4
"""So many of the quorum's words: its leader, voters, their change, a rival."""
_UNMADE = Track(np.array([ALWAYS_NS]), np.array([[ISR.index("full"), 0, 0, 0, 0, 0]]))
_NOBODY = 5
"""Column of what `logged` tells."""
WORDS = (
    *(word._replace(name=f"quorum-{word.name}") for word in QUORUM_WORDS[:_OF_QUORUM]),
    Word("least-isr", ISR),
    Word("led", ("", "not-all")),
    Word("elr", ("", "some")),
    Word("moving", ("", "yes")),
    Word("coordinators", ("", "not-all")),
)
"""The quorum's words mean what they mean there.  Least ISR: of all partitions of the run's topics.  Led,
ELR, moving: whether any of those has no leader, has an ELR, moves.  Coordinators: whether any partition that
keeps a coordinator's state has no leader."""


def cluster_visited(history: History, quorum: Track) -> Visited:
    """States and transitions of the cluster.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    found = logged(partition_changes(history))
    own = [_from_always(one) for name, one in found.items() if name.topic not in ACTORS]
    internal = [_from_always(one) for name, one in found.items() if name.topic in ACTORS]
    laid = beside(quorum, _UNMADE, *own, *internal)
    told = [one.rows[place] for one, place in zip((_UNMADE, *own, *internal), laid.places[1:], strict=True)]
    isr, elr, moving, _, _, nobody = np.moveaxis(np.stack(told[: len(own) + 1]), 2, 0)
    unled = np.stack([_UNMADE.rows[laid.places[1]], *told[len(own) + 1 :]])[:, :, _NOBODY]
    columns = (isr.min(axis=0), *(one.max(axis=0) for one in (nobody, elr, moving, unled)))
    rows = np.concatenate((quorum.rows[laid.places[0], :_OF_QUORUM], np.stack(columns, axis=1)), axis=1)
    return walked(ACTOR, WORDS, rows, ("",), np.zeros(len(rows), np.int64))


def _from_always(one: Track) -> Track:
    """A partition as if it had been well before it was made, so that later ones hide nothing of others."""
    return Track(np.concatenate((_UNMADE.time_ns, one.time_ns)), np.concatenate((_UNMADE.rows, one.rows)))
