"""What came of a measurement's runs, kept apart from the runs: a file of JSON that has a run a line.

Stores of runs are large and stay on the machines that made them.  These files are small, are committed, and
are all that the pages need.  A run's line does not depend on the others, and lines are sorted, so that files
of several machines are merged as text is.
"""

import re
from collections.abc import Collection, Iterable
from typing import Annotated

import msgspec

from results.campaigns.summary import Outcome
from results.sensitivity.model import BugOutcome, BugReach, BugRun, ControlRun, TimedAnomaly

FORMAT = 1
"""Version of the file's format; another one is refused."""

_Number = Annotated[int, msgspec.Meta(ge=1)]
_Budget = Annotated[str, msgspec.Meta(pattern="^[1-9][0-9]{0,3}x[1-9][0-9]{0,4}$")]


Place = tuple[str, int, bool]
"""What a line is the outcome of: bug, number of the try, and whether it is the control."""


class Origin(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """By what a run is known to be the same as another; what is not known is empty.

    Attributes:
        bug: digest of the bug's file, as far as it decides what the bug does; empty of a control.
        schedule: digest of what was planned.
        kafka: checksum of Kafka's jars.
        commit: krucible's.
        began_at: wall-clock time, ISO 8601 in UTC.
    """

    bug: str = ""
    schedule: str = ""
    kafka: str = ""
    commit: str = ""
    began_at: str = ""


class OutcomeLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What came of one run; empty fields are left out.

    Attributes:
        bug: which bug was looked for.
        number: of the try, from 1 on.
        control: whether it is the run without the bug.
        scenario: its name.
        mode: of the cluster.
        command: the line that runs it again.
        ending: how a run with a bug ended.
        reach: how far the bug came in it.
        found: by what it was invalid, what was visible first in front.
        run_ms: how long it took.
        outcome: how a control ended.
        anomalies: ids of what a control found against a promise.
        allowed: whether the control's scenario allows for them.
        why: why it is unknown or failed.
        folder: the run's, by its name.
        fitting: whether the preset drew what the bug takes.
        origin: of what it was a run.
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
    why: str = ""
    folder: str = ""
    fitting: bool = True
    origin: Origin = Origin()
    command: str

    @property
    def place(self) -> Place:
        """What it is the outcome of."""
        return self.bug, self.number, self.control

    @property
    def failed(self) -> bool:
        """Whether the harness failed in it."""
        return self.outcome is Outcome.FAILED or self.ending is BugOutcome.FAILED

    def __post_init__(self) -> None:
        """Refuse a line without an outcome.

        Raises:
            ValueError: it does not state how the run ended.
        """
        if (self.outcome if self.control else self.ending) in (None, BugOutcome.NOT_RUN):
            what = "outcome" if self.control else "ending"
            raise ValueError(f"the line of {self.bug} {self.number} has no {what}")

    def as_trial(self, anomalies: Collection[str]) -> BugRun:
        """The run with a bug, held to the anomalies that the catalogue names of the bug by now."""
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
        )
        return trial.held_to(anomalies)

    def as_control(self) -> ControlRun:
        """The run without a bug."""
        return ControlRun(
            scenario=self.scenario,
            mode=self.mode,
            command=self.command,
            outcome=self.outcome,
            anomalies=self.anomalies,
            allowed=self.allowed,
            folder=self.folder,
            why=self.why,
        )


class MeasurementOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a measurement; all its outcomes have the same, except for the number of runs.

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
        """How long the load of each lasts."""
        return int(self.budget.split("x")[1])

    def text(self) -> str:
        """The options as a text, without the number of runs."""
        return (
            f"Kafka {self.kafka_version}, preset {self.preset}, seed {self.seed}, runs of {self.duration_s} s"
        )

    def longer(self, other: "MeasurementOptions") -> "MeasurementOptions":
        """The one of both that has more runs."""
        return max(self, other, key=lambda one: one.runs)


class Outcomes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file.

    Attributes:
        krucible_sensitivity: version of the format.
        series: what the measurement is called.
        asked: what was measured.
        runs: sorted, none twice.
    """

    krucible_sensitivity: int
    series: str
    asked: MeasurementOptions
    runs: tuple[OutcomeLine, ...]


def outcomes_of(series: str, asked: MeasurementOptions, lines: Iterable[OutcomeLine]) -> Outcomes:
    """Lines in their order; of two of the same run the first counts."""
    by_place: dict[Place, OutcomeLine] = {}
    for line in lines:
        by_place.setdefault(line.place, line)
    return Outcomes(
        krucible_sensitivity=FORMAT,
        series=series,
        asked=asked,
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
    """The bytes of a file: what it is of, then a line a run."""
    encode = msgspec.json.encode
    head = (
        f'{{"krucible_sensitivity":{kept.krucible_sensitivity},\n"series":{encode(kept.series).decode()},\n'
        f'"asked":{encode(kept.asked).decode()},\n"runs":['
    )
    lines = ",\n".join(encode(line).decode() for line in kept.runs)
    return f"{head}\n{lines}\n]}}\n".encode() if kept.runs else f"{head}]}}\n".encode()


def decode_outcomes(data: bytes) -> Outcomes:
    """The inverse of `encode_outcomes`.

    Raises:
        ValueError: the bytes are no such file; says what is wrong and, where that is known, in which line.
    """
    version = _version_in(data)
    if version != FORMAT:
        raise ValueError(f"format {version}, expected {FORMAT}")
    kept = msgspec.json.decode(data, type=Outcomes)
    places = [line.place for line in kept.runs]
    for one, other in zip(sorted(places), sorted(places)[1:], strict=False):
        if one == other:
            raise ValueError(f"{one[0]} {one[1]}{', control,' if one[2] else ''} is there twice")
    return kept


class _Versioned(msgspec.Struct):
    """The one field of a file that every version of the format has."""

    krucible_sensitivity: int


def _version_in(data: bytes) -> int:
    """The format's version, read before the rest is checked against it."""
    try:
        return msgspec.json.decode(data, type=_Versioned).krucible_sensitivity
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        raise ValueError(f"{error}{_place_of(str(error), data)}") from error


def _place_of(message: str, data: bytes) -> str:
    """In which line the byte is that a message names."""
    found = re.search(r"byte (\d{1,12})", message)
    lines = data.count(b"\n", 0, int(found[1])) + 1 if found else 0
    return f", line {lines}" if found else ""
