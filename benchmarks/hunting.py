"""Does the chooser of a hunt see more than chance?  Replays runs: ``python -m benchmarks.hunting STORE…``.

Runs that were done are dealt out again, without a cluster: each kind of run is a pile, shuffled, and choosers
take from the piles as long as the budget lasts: the hunt's, one that takes any kind with equal chance, and
one that takes the kinds in turns.  What counts is how many distinct states and transitions they have seen
after the same time.  A pile that is used up can't be chosen any more, so that in the end all have seen all.
"""

import argparse
import random
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from harness.errors import UsageError
from harness.hunting.choosing import Done, choose
from harness.hunting.kinds import path_of
from harness.planning import RunOptions
from results.measures import load_measures
from results.states.stored import visited_in
from results.store import StoreError, load_identity, run_folders

Piles = list[list[Done]]
Chooser = Callable[[Piles, Sequence[Done], random.Random], int]


def by_hunt(piles: Piles, done: Sequence[Done], source: random.Random) -> int:
    """As ``krucible hunt``."""
    return choose([(pile[0].path, _mean_s(pile)) for pile in piles], done, source).kind


def by_chance(piles: Piles, done: Sequence[Done], source: random.Random) -> int:
    """Any kind with equal chance."""
    del done
    return source.randrange(len(piles))


def in_turns(piles: Piles, done: Sequence[Done], source: random.Random) -> int:
    """The kind that was run least often, as a nightly does."""
    counts = [sum(run.path == pile[0].path for run in done) for pile in piles]
    return source.choice([place for place, count in enumerate(counts) if count == min(counts)])


def seen(piles: Piles, budget_s: float, chooser: Chooser, source: random.Random) -> int:
    """How many distinct states and transitions a chooser sees before the budget is spent."""
    left = [source.sample(pile, len(pile)) for pile in piles]
    done: list[Done] = []
    while left:
        place = chooser(left, done, source)
        run = left[place].pop()
        if not left[place]:
            del left[place]
        budget_s -= run.took_s
        if budget_s < 0:
            break
        done.append(run)
    return len(frozenset().union(*(run.items for run in done)))


def piles_of(stores: Sequence[Path]) -> Piles:
    """The runs of stores by their kinds; those that can't be read are left out."""
    piles: dict[tuple[str, ...], list[Done]] = {}
    for folder in (folder for store in stores for folder in run_folders(store)):
        try:
            identity, measures = load_identity(folder), load_measures(folder)
            path = path_of(msgspec.convert(identity.options, RunOptions))
        except (StoreError, UsageError, msgspec.ValidationError):
            continue
        found = visited_in(folder)
        if found is not None and not identity.seeded_bug and not identity.replay_of:
            path = (*path, identity.kafka_version)
            run = Done(path, found.states | found.transitions, measures.duration_ms / 1_000)
            piles.setdefault(path, []).append(run)
    return list(piles.values())


def _mean_s(pile: Sequence[Done]) -> float:
    return statistics.fmean(run.took_s for run in pile)


def main() -> None:
    """Print one line for each share of the whole time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stores", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=200)
    asked = parser.parse_args()
    piles = piles_of(asked.stores)
    whole_s = sum(run.took_s for pile in piles for run in pile)
    items = frozenset().union(*(run.items for pile in piles for run in pile))
    runs = sum(map(len, piles))
    print(f"{runs} runs of {len(piles)} kinds, {whole_s / 60:.0f} min, {len(items)} states and transitions\n")
    print("| share of the time | hunt | chance | in turns | hunt : chance | hunt : turns |")
    print("|--:|--:|--:|--:|--:|--:|")
    for share in (0.1, 0.2, 0.35, 0.5, 0.7):
        hunt, chance, turns = (
            statistics.fmean(
                seen(piles, share * whole_s, chooser, random.Random(number)) for number in range(asked.rounds)
            )
            for chooser in (by_hunt, by_chance, in_turns)
        )
        ratios = f"{hunt / chance:.2f} | {hunt / turns:.2f}"
        print(f"| {share:.0%} | {hunt:.0f} | {chance:.0f} | {turns:.0f} | {ratios} |")


if __name__ == "__main__":
    main()
