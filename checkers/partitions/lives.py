"""Whether a broker was one process all the time: one that starts anew may know less than it did."""

from checkers.faults import ENDING_KINDS
from checkers.licences.scene import Scene
from checkers.partitions.brokers import Answer

_SEEN_WITHIN_NS = 2_000_000_000
"""How late an observer may see that a process ended, or began."""


def is_one_life(scene: Scene, before: Answer, after: Answer) -> bool:
    """Whether a broker's process certainly was the same when it told two things."""
    return one_life(scene, after.node, before.began_ns, after.time_ns)


def one_life(scene: Scene, node: str, from_ns: int, until_ns: int) -> bool:
    """Whether a broker's process certainly was the same at two times."""
    to_ns = until_ns + _SEEN_WITHIN_NS
    ended = (w for w in scene.windows if w.kind in ENDING_KINDS and w.concerns(node))
    lives = (o for o in scene.history.observed("node") if o.node == node)
    return not (
        any(window.overlaps(from_ns, to_ns) for window in ended)
        or any(from_ns <= operation.time_ns <= to_ns for operation in lives)
    )
