"""Flakes: different verdicts for the same content of Kafka and the same schedule.

The rarer verdict is the flake: a single valid run of three counts as well as a single invalid one.  Runs with
other seeds have other schedules; one invalid seed of twenty is a finding.  A replay carries out the schedule
of the run that it names, and so does a replay of that replay.  A rerun has the line of its original, and so
its schedule.  A run without a verdict is no flake.  This is the only definition; the table `flakes` has it as
columns of Spark (`results.pipeline.analytics.flakes`), and a test compares both.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from checkers.history.identity import ImageIdentity, RunIdentity
from results.repeats.wilson import wilson

CHOICE_OF_KAFKA = r"\s+--(kafka-(version|image|tarball)|image-source)[ =]\S+"
"""Options of a reproduce line that concern Kafka, not the schedule: Kafka's bytes are compared instead."""
REPLAYS = r"krucible\s+replay\s"
"""How the reproduce line of a replay begins."""
TWICE = 2
"""Verdicts that a schedule needs before it can be called flaky or stable."""


Some = TypeVar("Some")


class Comparable(NamedTuple):
    """The data that decide whether runs should have the same verdict.

    Attributes:
        run: the run's id.
        content: what distinguishes the bytes of Kafka from others.
        schedule: the command of the run, without the choice of Kafka.
        replay_of: id of the run whose schedule it carried out; empty if it planned its own.
        verdict: empty if it has none.
    """

    run: str
    content: str
    schedule: str
    replay_of: str
    verdict: str


class Flakes(NamedTuple):
    """How many of the runs that were repeated have the minority's verdict, with Wilson's interval at 95 %."""

    odd: int
    runs: int
    low: float
    high: float

    @property
    def rate(self) -> float:
        """The share of runs that were odd."""
        return self.odd / self.runs


def flakes_among(runs: Iterable[Comparable]) -> Flakes | None:
    """The flakes among runs; None where no schedule came to two verdicts on the same content."""
    groups = runs_alike(runs, lambda run: run)
    counted = [Counter(run.verdict for run in alike if run.verdict) for alike in groups]
    repeated = [found for found in counted if found.total() >= TWICE]
    of = sum(found.total() for found in repeated)
    odd = sum(map(minority, repeated))
    return Flakes(odd, of, *wilson(odd, of)) if of else None


def minority(verdicts: Mapping[str, int]) -> int:
    """How many runs of one schedule on one content do not have the most frequent verdict."""
    return sum(verdicts.values()) - max(verdicts.values(), default=0)


def runs_alike(runs: Iterable[Some], told: Callable[[Some], Comparable | None]) -> list[list[Some]]:
    """Group runs by schedule and content of Kafka, in the order of their first runs.

    Args:
        runs: objects that represent runs.
        told: returns what is known of a run; a run without it (None) is a group by itself.
    """
    known = [(run, told(run)) for run in runs]
    here = {one.run: one for _run, one in known if one}
    alike: dict[tuple[str, str], list[Some]] = {}
    for place, (run, one) in enumerate(known):
        key = (one.content, _schedule(one, here)) if one else ("", str(place))
        alike.setdefault(key, []).append(run)
    return list(alike.values())


def _schedule(one: Comparable, here: Mapping[str, Comparable]) -> str:
    """The schedule of the run that a replay goes back to, over other replays; its id where it is not here."""
    seen: set[str] = set()
    while one.replay_of and one.replay_of not in seen:  # files of others may go in circles
        seen.add(one.replay_of)
        if one.replay_of not in here:
            return one.replay_of
        one = here[one.replay_of]
    return one.schedule


def comparable(identity: RunIdentity, verdict: str) -> Comparable:
    """What a run's identity reports.

    Args:
        identity: as the run recorded it.
        verdict: its validity; empty if it has none.
    """
    image = identity.image
    known = content_of(image, image.checksums) if image else ""
    content = " ".join(filter(None, (identity.kafka_version, identity.seeded_bug, known)))
    schedule = re.sub(CHOICE_OF_KAFKA, "", identity.reproduce)
    # A run that minimises another one names it too, but has a different schedule.
    replay_of = identity.replay_of if re.match(REPLAYS, identity.reproduce) else ""
    return Comparable(identity.run, content, schedule, replay_of, verdict)


def content_of(image: ImageIdentity | None, checksums: Mapping[str, str]) -> str:
    """What distinguishes the bytes of Kafka in an image from others; empty if unknown.

    Not the engine's id, where its jars are known: every machine that builds an image has another id of it.

    Args:
        image: as a run recorded it.
        checksums: what it was built from: the sum of its jars, or one of each.
    """
    if checksums:
        listing = "\n".join(f"{name} {checksum}" for name, checksum in sorted(checksums.items()))
        return checksums.get("jars") or hashlib.sha256(listing.encode()).hexdigest()
    return (image.digest or image.reference) if image else ""
