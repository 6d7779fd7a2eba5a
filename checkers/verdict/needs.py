"""What the rules of a checker need of a history; the judge withholds what rests on a journal that is missing.

A rule *looks at* what some sources recorded: where one of them is lacking, it may miss what it should find.
A rule *rests on* a source where it takes what is not recorded there for what did not happen: nobody sent that
value, nobody killed that node, nobody requested that election.  Where such a source is lacking, the rule
finds nothing.  Anything that was found beside stays.

Each checker states its needs in its entry.  The rules that it does not name there rest only on what all its
rules rest on.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from checkers.history.sources import Source

PERMITTED = (Source.FAULTS, Source.ADMIN, Source.MOVES, Source.DISKS)
"""Where licences stand: faults, requests, what scripts configured, and elections in the metadata log."""


class Needs(NamedTuple):
    """What the rules of one checker need.

    Attributes:
        looks_at: what they look at.
        rest_on: rule to what it rests on.
        all_rest_on: what every rule rests on.
        workloads: kinds of workloads that give it something to judge; every kind where there are none.
        of_workload: kind of workload to what rules rest on there, beside the rest.
        not_deleted: rules by which a record has to be there that nobody asked to delete.
    """

    looks_at: tuple[Source, ...]
    rest_on: Mapping[str, tuple[Source, ...]] = {}
    all_rest_on: tuple[Source, ...] = ()
    workloads: frozenset[str] = frozenset()
    of_workload: Mapping[str, Mapping[str, tuple[Source, ...]]] = {}
    not_deleted: frozenset[str] = frozenset()

    @property
    def rules(self) -> frozenset[str]:
        """Every rule that is named."""
        return self.not_deleted.union(self.rest_on, *self.of_workload.values())

    @property
    def sources(self) -> frozenset[Source]:
        """Every source that is named."""
        return frozenset(chain(self.looks_at, self.all_rest_on, *self._told()))

    def _told(self) -> Iterator[tuple[Source, ...]]:
        for rules in (self.rest_on, *self.of_workload.values()):
            yield from rules.values()


NOTHING = Needs(())
"""Of a checker that rests on no journal, or says itself that it can't decide without one."""
EVERYTHING = Needs(tuple(Source), all_rest_on=tuple(Source))
"""Of a checker that states no needs: without any of the journals it decides nothing."""
