"""Flakes: different verdicts for the same Kafka and the same schedule.

The rarer verdict is the flake: one valid run of three counts just like one invalid run of three.  Runs with
other seeds have other schedules, so one invalid seed of twenty is a finding.  A replay has the schedule of
the run that it names, and so does a replay of that replay.  A rerun has the command of its original, and so
its schedule.  A run without a verdict is not a flake.  The table `flakes` implements this definition with
Spark columns (`results.pipeline.analytics.flakes`), and a test compares both.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from checkers.history.identity import ImageIdentity, RunIdentity
from results.repeats.wilson import wilson

CHOICE_OF_KAFKA = r"\s+--(kafka-(version|image|tarball)|image-source)[ =]\S+"
"""Options of a reproduce command that choose Kafka; they are not part of the schedule."""
REPLAYS = r"krucible\s+replay\s"
"""Start of the reproduce command of a replay."""
TWICE = 2
"""Minimum number of verdicts of a schedule to call it flaky or stable."""


Some = TypeVar("Some")


class Comparable(NamedTuple):
    """The data that decide whether runs should have the same verdict.

    Attributes:
        run: the run's id.
        content: identifies the bytes of Kafka.
        schedule: the command of the run, without the choice of Kafka.
        replay_of: id of the run whose schedule it repeated; empty if it planned its own.
        verdict: empty without a verdict.
    """

    run: str
    content: str
    schedule: str
    replay_of: str
    verdict: str


class Flakes(NamedTuple):
    """Number of repeated runs, number with a minority verdict, and the 95 % Wilson interval."""

    odd: int
    runs: int
    low: float
    high: float

    @property
    def rate(self) -> float:
        """The share of runs with a minority verdict."""
        return self.odd / self.runs


def flakes_among(runs: Iterable[Comparable]) -> Flakes | None:
    """The flakes among runs; None if no schedule has two verdicts on the same Kafka."""
    groups = runs_alike(runs, lambda run: run)
    counted = [Counter(run.verdict for run in alike if run.verdict) for alike in groups]
    repeated = [found for found in counted if found.total() >= TWICE]
    of = sum(found.total() for found in repeated)
    odd = sum(map(minority, repeated))
    return Flakes(odd, of, *wilson(odd, of)) if of else None


def minority(verdicts: Mapping[str, int]) -> int:
    """Number of runs of a schedule on the same Kafka without the most frequent verdict."""
    return sum(verdicts.values()) - max(verdicts.values(), default=0)


def runs_alike(runs: Iterable[Some], data_of: Callable[[Some], Comparable | None]) -> list[list[Some]]:
    """Group runs by schedule and Kafka, in the order of their first runs.

    Args:
        runs: objects that represent runs.
        data_of: returns the data of a run; a run without data (None) is a group by itself.
    """
    known = [(run, data_of(run)) for run in runs]
    here = {one.run: one for _run, one in known if one}
    alike: dict[tuple[str, str], list[Some]] = {}
    for place, (run, one) in enumerate(known):
        key = (one.content, _schedule(one, here)) if one else ("", str(place))
        alike.setdefault(key, []).append(run)
    return list(alike.values())


def _schedule(one: Comparable, here: Mapping[str, Comparable]) -> str:
    """The schedule of the original run, also for a replay of a replay; its id if it is not among the runs."""
    seen: set[str] = set()
    while one.replay_of and one.replay_of not in seen:  # foreign files may have cycles
        seen.add(one.replay_of)
        if one.replay_of not in here:
            return one.replay_of
        one = here[one.replay_of]
    return one.schedule


def comparable(identity: RunIdentity, verdict: str) -> Comparable:
    """Make the data of a run from its identity.

    Args:
        identity: as the run recorded it.
        verdict: validity of the verdict; empty without one.
    """
    image = identity.image
    known = content_of(image, image.checksums) if image else ""
    content = " ".join(filter(None, (identity.kafka_version, identity.seeded_bug, known)))
    schedule = re.sub(CHOICE_OF_KAFKA, "", identity.reproduce)
    # A run that minimises another one also names it, but has a different schedule.
    replay_of = identity.replay_of if re.match(REPLAYS, identity.reproduce) else ""
    return Comparable(identity.run, content, schedule, replay_of, verdict)


def content_of(image: ImageIdentity | None, checksums: Mapping[str, str]) -> str:
    """Identifier of the bytes of Kafka in an image; empty if unknown.

    It is the engine's id only if the jars are unknown, because that id differs between machines.

    Args:
        image: as a run recorded it.
        checksums: checksums of the jars: one for all, or one for each.
    """
    if checksums:
        listing = "\n".join(f"{name} {checksum}" for name, checksum in sorted(checksums.items()))
        return checksums.get("jars") or hashlib.sha256(listing.encode()).hexdigest()
    return (image.digest or image.reference) if image else ""
