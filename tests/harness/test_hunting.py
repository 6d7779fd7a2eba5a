"""Which run a hunt chooses: deterministic, drawn to what is rare, never stuck, and better than chance."""

import random
import statistics
from collections import Counter

import pytest

from harness.errors import UsageError
from harness.hunting.choosing import Choice, Done, Path, choose
from harness.hunting.kinds import kinds_of, path_of
from harness.planning import plan_run
from harness.vocabulary.topology import Mode

LATEST = {"kafka_version": "4.3.1"}


def kind(*path: str, takes_s: float = 60) -> tuple[Path, float]:
    return path, takes_s


def run(path: str, items: str, took_s: float = 60) -> Done:
    return Done(tuple(path.split()), frozenset(items), took_s)


def chosen(kinds: list[tuple[Path, float]], *done: Done, seed: int = 1) -> Choice:
    return choose(kinds, done, random.Random(seed))


AB = [kind("s", "a"), kind("s", "b")]


def test_the_same_runs_and_the_same_seed_choose_the_same() -> None:
    assert chosen(AB, run("s a", "xy")) == chosen(AB, run("s a", "xy"))
    assert {chosen(AB, seed=seed).kind for seed in range(20)} == {0, 1}


def test_what_only_single_runs_showed_tells_where_more_is() -> None:
    rich = [run("s a", "xyz"), run("s a", "xuv")]
    poor = [run("s b", "opq"), run("s b", "opq")]
    choice = chosen(AB, *rich, *poor)
    assert (choice.kind, choice.like, choice.runs, choice.of_kind) == (0, ("s", "a"), 2, 2)
    assert choice.expected == pytest.approx((4 + 1) / 121 * 60)


def test_what_counts_is_by_the_time() -> None:
    fast, slow = [run("s a", "xy", 30), run("s a", "zu", 30)], [run("s b", "pq", 90), run("s b", "rt", 90)]
    assert chosen([kind("s", "a", takes_s=30), kind("s", "b", takes_s=90)], *fast, *slow).kind == 0


def test_a_kind_that_never_ran_is_told_by_its_like() -> None:
    """Modes of the one scenario show the same, those of the other do not."""
    kinds = [kind("one", "y", "2"), kind("two", "y", "2"), kind("one", "x", "1"), kind("two", "x", "1")]
    alike = [run("one x 1", "abcd"), run("one y 1", "abcd")]
    apart = [run("two x 1", "pqrs"), run("two y 1", "tuvw")]
    choice = chosen(kinds, *alike, *apart)
    assert kinds[choice.kind][0][0] == "two"


def test_nobody_is_given_up_for_ever() -> None:
    """A kind that showed nothing new is run again once others have nothing left."""
    world = {"a": "xyzuv", "b": "p"}
    done: list[Done] = []
    for number in range(60):
        place = choose(AB, done, random.Random(number)).kind
        name = AB[place][0][1]
        done.append(run(f"s {name}", random.Random(number).choice(world[name])))
    counts = Counter(one.path[1] for one in done)
    assert counts["a"] > 10
    assert counts["b"] > 10


def test_runs_that_failed_count_as_runs_that_showed_nothing() -> None:
    done = [run("s a", ""), run("s a", ""), run("s b", "x"), run("s b", "y")]
    assert chosen(AB, *done).kind == 1


def test_more_is_seen_than_by_chance() -> None:
    """Ten kinds, of which the richest have a hundred times as many rare items as the poorest."""

    def seen(by_chance: bool, seed: int) -> int:  # noqa: FBT001
        world, source = random.Random(f"{seed} world"), random.Random(f"{seed} choice")
        kinds = [kind("s", str(number)) for number in range(10)]
        done: list[Done] = []
        for _ in range(40):
            place = source.randrange(10) if by_chance else choose(kinds, done, source).kind
            count = round(20 * 0.6**place) + 1
            items = frozenset((place, int(world.paretovariate(0.7))) for _ in range(count))
            done.append(Done(kinds[place][0], items, 60))
        return len(frozenset().union(*(one.items for one in done)))

    hunted, drawn = (statistics.fmean(seen(how, seed) for seed in range(5)) for how in (False, True))
    assert hunted > 1.15 * drawn


def test_what_a_correct_kafka_bears_is_what_is_chosen_from() -> None:
    kinds = kinds_of((), 60, LATEST)
    names = {one.options.scenario for one in kinds}
    assert {"exploratory/chaos", "exploratory/gambits", "kips/kip-853-grow"} <= names
    assert not any(name.startswith("regressions/") for name in names)
    assert len({one.path for one in kinds}) == len(kinds)
    chaos = [one.options for one in kinds if one.options.scenario == "exploratory/chaos"]
    assert {options.mode for options in chaos} == {Mode.COMBINED, Mode.ISOLATED}
    assert {options.fault for options in chaos} == {(), ("partition",), ("kill",), ("pause",), ("stop",)}
    assert {options.duration_s for options in chaos} == {60}
    assert all(one.expected_ms > 20_000 for one in kinds)
    assert all(plan_run(one.options) for one in kinds)


def test_scripts_are_run_as_they_are_written_and_others_in_their_own_mode() -> None:
    (script,) = kinds_of(("kips/kip-853-grow",), 60, LATEST)
    assert script.path == ("scripted", "kips/kip-853-grow", "isolated", "all")
    assert script.options.duration_s is None
    drawn = kinds_of(("exploratory/no-majority",), 60, LATEST)
    assert {one.path[2] for one in drawn} == {"isolated"}
    assert {one.path[3] for one in drawn} == {"all", "partition", "kill", "pause"}
    gambits = kinds_of(("exploratory/gambits",), 60, LATEST)
    assert {"all", "kill", "last-in-sync"} <= {one.path[3] for one in gambits}
    (other,) = kinds_of(("smoke/*",), 60, LATEST)
    assert path_of(other.options)[:2] == ("scripted", "smoke/partition")


def test_what_a_version_can_not_bear_is_left_out() -> None:
    old = {one.options.scenario for one in kinds_of((), 60, {"kafka_version": "3.7.1"})}
    new = {one.options.scenario for one in kinds_of((), 60, LATEST)}
    assert old < new


@pytest.mark.parametrize("patterns", [("nothing/like-it",), ("kips/kip-853-grow",)])
def test_nothing_to_choose_from_is_refused(patterns: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        kinds_of(patterns, 60, {"kafka_version": "3.7.1"})
