"""The directed pairs of nodes that a partition cuts, or that lose packets; pure."""

from harness.vocabulary.faults import LossPattern, Pattern

Pair = tuple[str, str]
"""From sender to receiver."""


def cuts(
    pattern: Pattern, names: tuple[str, ...], target: str, draw: int, *, inward: bool = False
) -> tuple[Pair, ...]:
    """The directed pairs that a pattern cuts, sorted.

    Args:
        pattern: which nodes are cut off from each other.
        names: the nodes among which the pattern applies, including the target.
        target: the node at its centre.
        draw: decides which nodes are on the target's side.
        inward: whether one-way patterns cut packets to the target, and not packets from it.
    """
    others = _rotated([name for name in names if name != target], draw)
    match pattern:
        case Pattern.ISOLATE_ONE:
            pairs = _between([target], others)
        case Pattern.LINK:
            pairs = _between([target], others[:1])
        case Pattern.ONE_WAY_LINK:
            pairs = {(other, target) if inward else (target, other) for other in others[:1]}
        case Pattern.HALVES:
            minority = [target, *others[: max(0, (len(names) - 1) // 2 - 1)]]
            pairs = _between(minority, [name for name in others if name not in minority])
        case Pattern.MAJORITY_RING:
            pairs = _outside_ring([target, *others])
        case Pattern.BRIDGE:
            half = len(others) // 2
            pairs = _between(others[:half], others[half:])
        case Pattern.ONE_WAY_PACKETS | Pattern.ONE_WAY_CALLS:
            pairs = {(other, target) if inward else (target, other) for other in others}
    return tuple(sorted(pairs))


def lossy(pattern: LossPattern, names: tuple[str, ...], target: str, draw: int) -> tuple[Pair, ...]:
    """The directed pairs of nodes that lose packets, sorted; empty if only clients' packets are lost.

    Args:
        pattern: between which nodes packets are lost.
        names: the nodes among which the pattern applies, including the target.
        target: the node at its centre.
        draw: decides which node is at the other end of a link.
    """
    match pattern:
        case LossPattern.LINK:
            return cuts(Pattern.LINK, names, target, draw)
        case LossPattern.NODE:
            return cuts(Pattern.ISOLATE_ONE, names, target, draw)
        case LossPattern.MESH:
            return tuple(sorted((a, b) for a in names for b in names if a != b))
        case LossPattern.CLIENTS:
            return ()


def drawn_to(names: tuple[str, ...], target: str, end: str) -> int:
    """The draw by which a link is cut between a target and this other node.

    Args:
        names: the nodes among which the link is drawn, including both.
        target: one end of the link.
        end: its other end.

    Raises:
        LookupError: the other end is the target, or is not among the nodes.
    """
    others = [name for name in names if name != target]
    if end not in others:
        raise LookupError(f"there is no link from {target} to {end}")
    return others.index(end)


def linked(names: tuple[str, ...], target: str, draw: int, taken: frozenset[str]) -> int | None:
    """The draw by which a link is cut to a free node; None if all other nodes are taken.

    Args:
        names: the nodes among which the link is drawn, including the target.
        target: one end of the link.
        draw: decides which other node is tried first.
        taken: nodes that must not be the other end.
    """
    others = [name for name in names if name != target]
    free = next((name for name in _rotated(others, draw) if name not in taken), None)
    return None if free is None else others.index(free)


def _rotated(names: list[str], draw: int) -> list[str]:
    start = draw % len(names) if names else 0
    return names[start:] + names[:start]


def _between(left: list[str], right: list[str]) -> set[Pair]:
    return {pair for a in left for b in right for pair in ((a, b), (b, a))}


def _outside_ring(ring: list[str]) -> set[Pair]:
    """Pairs that are too far apart on the ring to be in a node's majority; on a ring of three, one link."""
    size = len(ring)
    if size <= 3:  # noqa: PLR2004 - on a ring of three every node already sees every other
        return _between(ring[:1], ring[-1:])
    reach = (size // 2 + 1) // 2
    return {
        (a, b)
        for i, a in enumerate(ring)
        for j, b in enumerate(ring)
        if reach < min((i - j) % size, (j - i) % size)
    }
