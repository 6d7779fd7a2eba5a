"""Mutations, the cases that they make of the recorded runs, and whether the judge finds what it must."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from checkers.history.operations import History
from checkers.judge import ENTRIES, illegal_ids, judge, result_by
from checkers.verdict.verdict import Validity, Verdict
from results.pipeline.rows.tabulating import no_collection
from tests.mutations.edits import Edit
from tests.mutations.recordings import names, recorded

Change = Callable[[Edit], History | None]


class Must(NamedTuple):
    """How an honest judge judges a mutated history.

    Attributes:
        validity: the verdict.
        names: of an invalid one, illegal anomalies of which at least one is named.
        reason: of an unknown one, a regular expression that one of the reasons matches.
        as_expected: whether it is as expected; None if that does not matter.
    """

    validity: Validity
    names: tuple[str, ...] = ()
    reason: str = ""
    as_expected: bool | None = None


def invalid(*names: str) -> Must:
    """A promise of Kafka is broken; any of these is its name."""
    return Must(Validity.INVALID, names=names)


def unknown(words: str, *, as_expected: bool | None = None) -> Must:
    """What would be needed to judge is not there; one reason names it, in words that match."""
    return Must(Validity.UNKNOWN, reason=words, as_expected=as_expected)


VALID = Must(Validity.VALID)
"""Nothing that matters was changed."""


class Mutation(NamedTuple):
    """One way of changing a history.

    Attributes:
        family: of what kind of evidence.
        name: unique among all.
        means: what it changes, in a sentence.
        must: how the result has to be judged.
        runs: names of the recorded runs that it is made of.
        places: at how many places of each.
        change: makes the change.
    """

    family: str
    name: str
    means: str
    must: Must
    runs: tuple[str, ...]
    places: int
    change: Change


class Case(NamedTuple):
    """A mutation of one run at one place."""

    mutation: Mutation
    run: str
    place: int

    @property
    def id(self) -> str:
        """Its name in tests and tables."""
        return f"{self.mutation.family}-{self.mutation.name}-{self.run}-{self.place}"

    def history(self) -> History:
        """The mutated history."""
        edit = Edit(recorded(self.run), self.run, self.mutation.name, self.place, self.mutation.places)
        made = self.mutation.change(edit)
        return edit.history() if made is None else made

    @no_collection()
    def wrong(self) -> str:
        """What is wrong with the judge's verdict; empty where nothing is.

        Checkers that can't decide it are not asked: one invalid result makes the verdict invalid.
        """
        history = self.history()
        return "" if is_named(self.mutation.must, history) else misjudged(self.mutation.must, judge(history))

    @no_collection()
    def wrong_by_all(self) -> str:
        """What is wrong with the judge's verdict, every checker having been asked."""
        return misjudged(self.mutation.must, judge(self.history()))


MUTATIONS: list[Mutation] = []
"""All mutations, filled by the modules of the families."""


def mutation(family: str, must: Must, runs: Sequence[str], places: int = 1) -> Callable[[Change], Change]:
    """Register a function as a mutation; its name and its docstring tell what it does."""

    def registered(change: Change) -> Change:
        means = " ".join((change.__doc__ or "").split())
        name = change.__name__.replace("_", "-")
        MUTATIONS.append(Mutation(family, name, means, must, tuple(runs), places, change))
        return change

    return registered


def cases() -> Iterator[Case]:
    """Every case of every mutation."""
    there = set(names())
    for one in MUTATIONS:
        for run in one.runs:
            if run in there:
                yield from (Case(one, run, place) for place in range(one.places))


def is_named(must: Must, history: History) -> bool:
    """Whether a verdict must be invalid, and one checker alone makes it so by an anomaly to be named."""
    wanted = set(must.names)
    asked = (entry for entry in ENTRIES if wanted & entry.anomalies.keys())
    results = (result_by(entry.name, entry.check, history) for entry in asked)
    return any(result.validity is Validity.INVALID and wanted & illegal_ids([result]) for result in results)


def misjudged(must: Must, verdict: Verdict) -> str:
    """Why a verdict is not what it must be, in a line; empty where it is."""
    found = illegal_ids(verdict.results)
    actual = f"{verdict.validity}: {sorted(found) or list(verdict.reasons)[:4]}"
    if verdict.validity is not must.validity:
        return f"must be {must.validity} {list(must.names) or must.reason or ''}, is {actual}"
    if must.names and not found & set(must.names):
        return f"must name one of {list(must.names)}, is {actual}"
    if must.reason and not any(re.search(must.reason, reason) for reason in verdict.reasons):
        return f"must say {must.reason!r}, is {actual}"
    if must.as_expected not in (None, verdict.as_expected):
        return f"must be {'' if must.as_expected else 'not '}as expected, is {actual}"
    return ""
