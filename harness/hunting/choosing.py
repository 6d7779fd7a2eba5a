"""Which run comes next: the one expected to show most that no run has shown, per second that it takes.

That is Good-UCB of Bubeck, Ernst and Garivier, "Optimal discovery with probabilistic expert advice" (JMLR
14, 2013): experts draw items, and one wants to have seen as many items as possible.  How likely an expert's
next draw is new is told by what was seen exactly once so far, and by that expert (Good and Turing's
estimator); a bonus shrinks with the number of its draws, so that nobody is given up too early.

Two things differ.  A draw here is a run, which shows a set of items and takes time: the next run of a kind is
expected to add as many items a second as its runs alone showed, each by itself (Chao's estimator for
incidences).  And there are more kinds of runs than a night has time for.  So kinds are leaves of a tree
(drawn or scripted, scenario, mode, faults), and of a kind that never ran the same is asked one level higher:
how much did the runs of its scenario show that runs of one mode alone showed?  A branch of which only one
twig was tried can't tell; it is taken to keep as large a part of what it alone has shown as others do.
"""

import math
import random
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

Path = tuple[str, ...]
"""From the coarsest branch of the tree to the leaf; all paths are as long."""
BONUS = 0.3
"""Weight of the bonus: less than the proof asks for, which has to hold for experts of any kind."""


class Done(NamedTuple):
    """A run that there was: of which kind, what it showed, and how long it took, seconds."""

    path: Path
    items: frozenset[Hashable]
    took_s: float


class Choice(NamedTuple):
    """What comes next.

    Attributes:
        kind: place of the kind of run.
        expected: how many new items the run is expected to show.
        like: the part of its path that ran before.
        runs: how many runs below that were asked what to expect.
        of_kind: how many runs there were of this very kind.
    """

    kind: int
    expected: float
    like: Path
    runs: int
    of_kind: int


def choose(kinds: Sequence[tuple[Path, float]], done: Sequence[Done], source: random.Random) -> Choice:
    """The kind of run that comes next; which one of equals is drawn.

    Args:
        kinds: path of every kind of run, and how long a run takes, seconds.
        done: all runs so far.
        source: of chance.
    """
    branches = [(*run.path, str(place)) for place, run in enumerate(done)]
    levels = range(len(kinds[0][0]) + 1)
    alone = [_alone(branches, done, depth) for depth in (*levels, len(levels))]
    parted = [_parted(branches, depth) for depth in levels]
    kept = [_sum(alone[level + 1], parted[level]) / _sum(alone[level], parted[level]) for level in levels]
    ran = Counter(branch[:depth] for branch in branches for depth in levels)

    def expected(kind: int) -> Choice:
        path, takes_s = kinds[kind]
        level = max((level for level in levels if path[:level] in ran), default=0)
        below = [place for place, branch in enumerate(branches) if branch[:level] == path[:level]]
        parts = set(below) <= parted[level]
        new = _sum(alone[level + 1], below) if parts else kept[level] * _sum(alone[level], below)
        took_s = sum(done[place].took_s for place in below) + 1
        return Choice(kind, new / took_s * takes_s, path[:level], len(below), ran[path])

    def score(choice: Choice) -> float:
        bonus = rate * math.sqrt(math.log(len(done) + math.e) / (choice.of_kind + 1))
        return choice.expected / kinds[choice.kind][1] + BONUS * bonus

    rate = _sum(alone[-1], range(len(done))) / (sum(run.took_s for run in done) + 1)
    choices = [expected(kind) for kind in range(len(kinds))]
    source.shuffle(choices)
    return max(choices, key=score)


def _sum(counts: Sequence[int], places: Iterable[int]) -> int:
    """Of some runs together, and one more, as what was never seen may be next."""
    return sum(counts[place] for place in places) + 1


def _alone(branches: Sequence[Path], done: Sequence[Done], depth: int) -> list[int]:
    """How many items of each run no other branch of that depth showed."""
    shown: dict[Hashable, set[Path]] = {}
    for branch, run in zip(branches, done, strict=True):
        for item in run.items:
            shown.setdefault(item, set()).add(branch[:depth])
    return [sum(len(shown[item]) == 1 for item in run.items) for run in done]


def _parted(branches: Sequence[Path], depth: int) -> set[int]:
    """Places of the runs below those branches of a depth of which several twigs were tried."""
    parts: dict[Path, set[Path]] = {}
    for branch in branches:
        parts.setdefault(branch[:depth], set()).add(branch[: depth + 1])
    return {place for place, branch in enumerate(branches) if len(parts[branch[:depth]]) > 1}
