"""Outcomes of a measurement's runs: a JSON file with one run per line, stored apart from the runs.

Stores of runs are large and stay on the machines that made them.  These files are small and committed, and
the pages need nothing else.  Lines are independent of each other and sorted, so that files of several
machines can be merged as text.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Annotated

import msgspec

from results.campaigns.summary import Outcome
from results.sensitivity.model import (
    Accepted,
    BugOutcome,
    BugReach,
    BugRun,
    ControlRun,
    MadeAgain,
    TimedAnomaly,
)

FORMAT = 1
"""Version of the file format; files of other versions are refused."""

_Number = Annotated[int, msgspec.Meta(ge=1)]
_Budget = Annotated[str, msgspec.Meta(pattern="^[1-9][0-9]{0,3}x[1-9][0-9]{0,4}$")]


Place = tuple[str, int, bool]
"""Key of a line: bug, number of the attempt, and whether it is the control."""


class Origin(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Data that identify a run; unknown fields are empty.

    Attributes:
        bug: digest of the parts of the bug's file that determine what it does; empty for a control.
        schedule: digest of the plan.
        kafka: checksum of Kafka's jars.
        commit: commit of krucible that recorded the run.
        began_at: wall-clock time, ISO 8601 in UTC.
        judged_by: commit of krucible that gave the verdict, or a few words if that commit is not recorded.
    """

    bug: str = ""
    schedule: str = ""
    kafka: str = ""
    commit: str = ""
    began_at: str = ""
    judged_by: str = ""

    @property
    def judged_again(self) -> bool | None:
        """Whether another commit gave the verdict than the one that recorded the run; None if unknown."""
        return self.judged_by != self.commit if self.commit and self.judged_by else None


class OutcomeLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The outcome of one run; empty fields are left out.

    Attributes:
        bug: name of the bug.
        number: number of the attempt, from 1.
        control: whether it is the run without the bug.
        scenario: name of the scenario.
        mode: mode of the cluster.
        command: the command that repeats the run.
        ending: outcome of a run with a bug.
        reach: how far the bug got.
        found: illegal anomalies, the first visible one first.
        run_ms: duration of the run.
        outcome: outcome of a control.
        anomalies: ids of illegal anomalies of a control.
        allowed: whether the control's scenario permits them.
        cause: the bug of Kafka itself that causes them, with its place in docs/findings.md; written by hand.
        why: why it is unknown or failed.
        folder: name of the run's folder.
        fitting: whether the preset drew what the bug needs.
        origin: identifies the run.
    """

    bug: str
    number: _Number
    control: bool = False
    scenario: str
    mode: str
    ending: BugOutcome | None = None
    reach: BugReach | None = None
    found: tuple[TimedAnomaly, ...] = ()
    run_ms: int = 0
    outcome: Outcome | None = None
    anomalies: tuple[str, ...] = ()
    allowed: bool = False
    cause: str = ""
    why: str = ""
    folder: str = ""
    fitting: bool = True
    origin: Origin = Origin()
    command: str

    @property
    def place(self) -> Place:
        """The key of the line."""
        return self.bug, self.number, self.control

    @property
    def failed(self) -> bool:
        """Whether the harness failed in the run."""
        return self.outcome is Outcome.FAILED or self.ending is BugOutcome.FAILED

    def __post_init__(self) -> None:
        """Refuse a line without an outcome.

        Raises:
            ValueError: the line has no outcome.
        """
        if (self.outcome if self.control else self.ending) in (None, BugOutcome.NOT_RUN):
            what = "outcome" if self.control else "ending"
            raise ValueError(f"the line of {self.bug} {self.number} has no {what}")

    def as_trial(self, anomalies: Collection[str], accepted: Accepted) -> BugRun:
        """The run with a bug, judged by the anomalies that the catalogue names for the bug now.

        Args:
            anomalies: ids of these anomalies.
            accepted: ids that its scenario accepts now.
        """
        trial = BugRun(
            number=self.number,
            scenario=self.scenario,
            mode=self.mode,
            command=self.command,
            ending=self.ending or BugOutcome.NOT_RUN,
            reach=self.reach,
            folder=self.folder,
            found=self.found,
            run_ms=self.run_ms,
            why=self.why,
            judged_again=self.origin.judged_again,
        )
        return trial.held_to(anomalies, accepted)

    def as_control(self) -> ControlRun:
        """The run without a bug."""
        return ControlRun(
            scenario=self.scenario,
            mode=self.mode,
            command=self.command,
            outcome=self.outcome,
            anomalies=self.anomalies,
            allowed=self.allowed,
            cause=self.cause,
            folder=self.folder,
            why=self.why,
            judged_again=self.origin.judged_again,
        )

    def judged_as(self, earlier: "OutcomeLine | None") -> "OutcomeLine":
        """The line with the judge and the cause of an earlier one, if it lacks nothing but these.

        A file may record who judged a run, and what caused its anomalies, although the run's folder does not.
        """
        if earlier is None:
            return self
        judged_by = self.origin.judged_by or earlier.origin.judged_by
        known = msgspec.structs.replace(
            self, cause=earlier.cause, origin=msgspec.structs.replace(self.origin, judged_by=judged_by)
        )
        return known if known == earlier else self


class MeasurementOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a measurement; they are equal for all its outcomes, except for the number of runs.

    Attributes:
        kafka_version: the version of Kafka.
        preset: the preset of the random runs.
        budget: runs of each bug and seconds of each run, ``3x120``.
        seed: seed of the plan.
    """

    kafka_version: str
    preset: str
    budget: _Budget
    seed: int

    @property
    def runs(self) -> int:
        """How many runs a bug has at most."""
        return int(self.budget.split("x")[0])

    @property
    def duration_s(self) -> int:
        """Duration of the load of each run."""
        return int(self.budget.split("x")[1])

    def text(self) -> str:
        """The options as text, without the number of runs."""
        return (
            f"Kafka {self.kafka_version}, preset {self.preset}, seed {self.seed}, runs of {self.duration_s} s"
        )

    def longer(self, other: "MeasurementOptions") -> "MeasurementOptions":
        """The options with more runs."""
        return max(self, other, key=lambda one: one.runs)


class Outcomes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file.

    Attributes:
        krucible_sensitivity: version of the format.
        series: name of the measurement.
        asked: options of the measurement.
        bugs: names of the bugs that were searched for; files of earlier versions do not have them.
        rerun: bugs whose runs were made again after a change for that bug; written by hand.
        runs: sorted, without duplicates.
    """

    krucible_sensitivity: int
    series: str
    asked: MeasurementOptions
    bugs: tuple[str, ...] = ()
    rerun: tuple[MadeAgain, ...] = ()
    runs: tuple[OutcomeLine, ...]

    @property
    def bug_names(self) -> frozenset[str]:
        """The bugs of the measurement: those that were searched for, and those that have an outcome."""
        return frozenset(self.bugs) | {line.bug for line in self.runs}


def outcomes_of(
    series: str,
    asked: MeasurementOptions,
    lines: Iterable[OutcomeLine],
    bugs: Iterable[str] = (),
    rerun: Iterable[MadeAgain] = (),
) -> Outcomes:
    """Sort lines, bugs and reruns; of two lines with the same key the first one counts."""
    by_place: dict[Place, OutcomeLine] = {}
    for line in lines:
        by_place.setdefault(line.place, line)
    return Outcomes(
        krucible_sensitivity=FORMAT,
        series=series,
        asked=asked,
        bugs=tuple(sorted(set(bugs))),
        rerun=tuple(sorted(rerun, key=lambda one: one.bug)),
        runs=tuple(by_place[place] for place in sorted(by_place)),
    )


def line_of_trial(bug: str, trial: BugRun, origin: Origin, *, fitting: bool) -> OutcomeLine:
    """The line of a run with a bug."""
    return OutcomeLine(
        bug=bug,
        number=trial.number,
        scenario=trial.scenario,
        mode=trial.mode,
        command=trial.command,
        ending=trial.ending,
        reach=trial.reach,
        found=trial.found,
        run_ms=trial.run_ms,
        why=trial.why,
        folder=trial.folder,
        fitting=fitting,
        origin=origin,
    )


def line_of_control(bug: str, number: int, control: ControlRun, origin: Origin) -> OutcomeLine:
    """The line of a run without a bug."""
    return OutcomeLine(
        bug=bug,
        number=number,
        control=True,
        scenario=control.scenario,
        mode=control.mode,
        command=control.command,
        outcome=control.outcome,
        anomalies=control.anomalies,
        allowed=control.allowed,
        why=control.why,
        folder=control.folder,
        origin=origin,
    )


def encode_outcomes(kept: Outcomes) -> bytes:
    """The bytes of a file: a head, then one line per run; lists of the head have one entry per line too."""
    encode = msgspec.json.encode
    head = (
        f'{{"krucible_sensitivity":{kept.krucible_sensitivity},\n"series":{encode(kept.series).decode()},\n'
        f'"asked":{encode(kept.asked).decode()},\n'
    )
    optional = {"bugs": kept.bugs, "rerun": kept.rerun}
    head += "".join(f"{_listed(name, entries)},\n" for name, entries in optional.items() if entries)
    return f"{head}{_listed('runs', kept.runs)}}}\n".encode()


def _listed(name: str, entries: Sequence[object]) -> str:
    """A list as a field of an object, with one entry per line."""
    lines = ",\n".join(msgspec.json.encode(one).decode() for one in entries)
    return f'"{name}":[\n{lines}\n]' if entries else f'"{name}":[]'


def decode_outcomes(data: bytes) -> Outcomes:
    """The inverse of `encode_outcomes`.

    Raises:
        ValueError: the bytes are not such a file; the message has the reason and, if known, the line.
    """
    version = _version_in(data)
    if version != FORMAT:
        raise ValueError(f"format {version}, expected {FORMAT}")
    kept = msgspec.json.decode(data, type=Outcomes)
    places = [line.place for line in kept.runs]
    for one, other in zip(sorted(places), sorted(places)[1:], strict=False):
        if one == other:
            raise ValueError(f"{one[0]} {one[1]}{', control,' if one[2] else ''} is there twice")
    again = [one.bug for one in kept.rerun]
    if twice := sorted({bug for bug in again if again.count(bug) > 1}):
        raise ValueError(f"{', '.join(twice)} is twice in rerun")
    return kept


class _Versioned(msgspec.Struct):
    """The only field that all versions of the format have."""

    krucible_sensitivity: int


def _version_in(data: bytes) -> int:
    """The version of the format, read before the rest."""
    try:
        return msgspec.json.decode(data, type=_Versioned).krucible_sensitivity
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        raise ValueError(f"{error}{_place_of(str(error), data)}") from error


def _place_of(message: str, data: bytes) -> str:
    """The line of the byte that a message names."""
    found = re.search(r"byte (\d{1,12})", message)
    lines = data.count(b"\n", 0, int(found[1])) + 1 if found else 0
    return f", line {lines}" if found else ""
