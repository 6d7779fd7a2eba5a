"""Broken promises distinguished over many runs: which of them no earlier run had.

A signature is the checker, the anomaly's id, and the words of its summary without a digit, so without offsets
and names of nodes.  Faults and scenario are not part of it, because one defect shows under many of them.
`results.pipeline` has another signature, which also distinguishes kinds of faults.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from checkers.history.identity import RunIdentity
from checkers.verdict.verdict import Verdict
from results.failures.reproduction import normalised
from results.markup.markdown import code
from results.run.causes import Shown, first_of_kinds, illegal_causes, severity
from results.run.junit import passes

_DIGITS = 12
BODY_MAX = 60_000
"""Characters of an issue's text; GitHub takes 65,536."""
_RUNS_MAX = 20
_SECTION = re.compile(r"\n\n#{2,3} ")
_CUT = "The rest is left out, because trackers limit the size of an issue: see the run's `issue.md`."


class FailureSignature(msgspec.Struct, frozen=True, order=True):
    """The part of a failure that is equal in other runs.

    Attributes:
        checker: the checker that found it.
        anomaly: its id.
        words: words of its summary without a digit.
    """

    checker: str
    anomaly: str
    words: str

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits."""
        told = f"{self.checker}\n{self.anomaly}\n{self.words}"
        return hashlib.sha256(told.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]


class SignedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run and the signatures of its unexpected failures.

    Attributes:
        place: in its store.
        identity: what it was.
        signatures: each once, in the order of its causes.
    """

    place: str
    identity: RunIdentity
    signatures: tuple[FailureSignature, ...] = ()


class SignatureRuns(msgspec.Struct, frozen=True, kw_only=True):
    """One signature, in runs and in those before them.

    Attributes:
        id: of the signature.
        signature: what is alike.
        runs: places of the runs that have it, the earliest first; at least one.
        before: how many runs of the past have it.
        first_seen: when the earliest of all began; ISO 8601 in UTC.
    """

    id: str
    signature: FailureSignature
    runs: tuple[str, ...]
    before: int
    first_seen: str

    @property
    def new(self) -> bool:
        """Whether no run of the past has it."""
        return not self.before


class _Sight(NamedTuple):
    """When and where a signature was seen."""

    began_at: str
    place: str


def signatures_in(verdict: Verdict) -> tuple[FailureSignature, ...]:
    """One for each cause that breaks a promise; none of a run that is as its scenario expects.

    The cause's most severe kind that is not expected reports it.  Equal ones come once.
    """
    if passes(verdict):
        return ()
    expected = frozenset(verdict.expected_anomalies)
    found = (_witness(first_of_kinds(cause), expected) for cause in illegal_causes(verdict))
    return tuple(dict.fromkeys(_signature(shown) for shown in found if shown is not None))


def signed(place: str, identity: RunIdentity, verdict: Verdict) -> SignedRun:
    """A run with its signatures; none of a bug that was put into Kafka."""
    return SignedRun(
        place=place, identity=identity, signatures=() if identity.seeded_bug else signatures_in(verdict)
    )


def seen_in(runs: Iterable[SignedRun], past: Iterable[SignedRun]) -> tuple[SignatureRuns, ...]:
    """Every signature of some runs: new ones first, then the most severe anomaly first.

    Args:
        runs: the runs to list.
        past: earlier runs; those that are also in `runs` do not count, in any folder.
    """
    now = list(runs)
    looked_at = {_itself(run) for run in now}
    here = _sights(now)
    there = _sights(run for run in past if _itself(run) not in looked_at)
    found = [
        SignatureRuns(
            id=signature.id,
            signature=signature,
            runs=tuple(sight.place for sight in sorted(sights)),
            before=len(there.get(signature, ())),
            first_seen=min(sight.began_at for sight in (*sights, *there.get(signature, ()))),
        )
        for signature, sights in here.items()
    ]
    return tuple(sorted(found, key=lambda one: (not one.new, severity(one.signature.anomaly), one.signature)))


def issue_of(seen: SignatureRuns, text: str) -> str:
    """The text for a tracker: that of the signature's first run, then further facts about the signature.

    Args:
        seen: the signature.
        text: text of its first run in Markdown, as `results.run.issue` renders it.
    """
    listed = [f"- `{code(place)}`" for place in seen.runs[:_RUNS_MAX]]
    if left := seen.runs[_RUNS_MAX:]:
        listed.append(f"- and {len(left)} more")
    known = [f"## Signature `{seen.id}`", "It is new in the store of past runs. The runs that have it:"]
    end = "\n\n".join([*known, "\n".join(listed)]) + "\n"
    return f"{_shortened(text, BODY_MAX - len(end))}\n{end}"


def _itself(run: SignedRun) -> tuple[str, str, str]:
    """What a run and its copies have in common; ids are short, so those of two runs may be equal."""
    return run.identity.run, run.identity.scenario, run.identity.began_at


def _sights(runs: Iterable[SignedRun]) -> dict[FailureSignature, list[_Sight]]:
    found: dict[FailureSignature, list[_Sight]] = {}
    for run in runs:
        for signature in run.signatures:
            found.setdefault(signature, []).append(_Sight(run.identity.began_at, run.place))
    return found


def _witness(firsts: tuple[Shown, ...], expected: frozenset[str]) -> Shown | None:
    return next((one for one in firsts if one.anomaly.id not in expected), None)


def _signature(shown: Shown) -> FailureSignature:
    return FailureSignature(shown.checker, shown.anomaly.id, " ".join(_words(shown.anomaly.summary)))


def _words(summary: str) -> Iterator[str]:
    """Those without numbers: names of nodes, topics and offsets have one."""
    return (word for word in normalised(summary).split() if "#" not in word)


def _shortened(text: str, limit: int) -> str:
    """As many whole sections as there is room for; a section that is too large alone is cut."""
    if len(text) <= limit:
        return text
    room = text[: limit - len(_CUT) - 4]
    ends = [found.start() for found in _SECTION.finditer(room)]
    return f"{room[: ends[-1]] if ends else room}\n\n{_CUT}\n"
