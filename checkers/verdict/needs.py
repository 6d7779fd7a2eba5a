"""The sources that the rules of a checker need from a history.

A rule *looks at* sources: if one of them is missing, the rule may miss anomalies.  A rule *rests on* a source
if it assumes that events that are not recorded there did not happen, for example that a value was not sent,
that a node was not killed, or that an election was not requested.  If such a source is missing, the judge
drops the rule's findings.  Other anomalies are kept.

Each checker states its needs in its entry.  Rules that the needs do not list rest only on the sources on
which all rules of the checker rest.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from checkers.history.sources import Source

PERMITTED = (Source.FAULTS, Source.ADMIN, Source.MOVES, Source.DISKS)
"""Sources of licences: faults, requests, configs changed by scripts, and elections in the metadata log."""


class Needs(NamedTuple):
    """The sources that the rules of one checker need.

    Attributes:
        looks_at: sources that the rules look at.
        rest_on: rule to the sources that it rests on.
        all_rest_on: sources that every rule rests on.
        workloads: kinds of workloads for which the checker has something to judge; empty for all kinds.
        of_workload: kind of workload to the additional sources that rules rest on.
        not_deleted: rules that require a record whose deletion was not requested.
    """

    looks_at: tuple[Source, ...]
    rest_on: Mapping[str, tuple[Source, ...]] = {}
    all_rest_on: tuple[Source, ...] = ()
    workloads: frozenset[str] = frozenset()
    of_workload: Mapping[str, Mapping[str, tuple[Source, ...]]] = {}
    not_deleted: frozenset[str] = frozenset()

    @property
    def rules(self) -> frozenset[str]:
        """Every rule that the needs list."""
        return self.not_deleted.union(self.rest_on, *self.of_workload.values())

    @property
    def sources(self) -> frozenset[Source]:
        """Every source that the needs list."""
        return frozenset(chain(self.looks_at, self.all_rest_on, *self._sources()))

    def _sources(self) -> Iterator[tuple[Source, ...]]:
        for rules in (self.rest_on, *self.of_workload.values()):
            yield from rules.values()


NOTHING = Needs(())
"""For a checker that needs no journal, or that reports itself what it can't decide without a journal."""
EVERYTHING = Needs(tuple(Source), all_rest_on=tuple(Source))
"""Needs of a checker that states none: if any journal is missing, it decides nothing."""
