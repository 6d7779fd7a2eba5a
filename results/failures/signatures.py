"""Signatures of illegal anomalies, which show whether an earlier run had the same failure.

A signature consists of the checker, the anomaly's id, and the words of its summary that do not depend on the
run (`results.run.wording`): no offsets, no names of nodes.  Faults and scenario are not part of it,
because one defect shows under many of them. `results.pipeline` has another signature, which also
distinguishes kinds of faults.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from checkers.history.identity import RunIdentity
from checkers.verdict.verdict import Verdict
from results.markup.trackers import MARKUPS, Format
from results.run.causes import Shown, first_of_kinds, illegal_causes, severity
from results.run.junit import passes
from results.run.wording import words_of

_DIGITS = 12
BODY_MAX = {Format.MARKDOWN: 60_000, Format.JIRA: 32_000}
"""Maximum characters of an issue's text: GitHub permits 65,536, and JIRA 32,767 unless it is configured."""
_RUNS_MAX = 20
_SECTION = re.compile(r"\n\n(#{2,3}|h[23]\.) ")


class FailureSignature(msgspec.Struct, frozen=True, order=True):
    """The part of a failure that is equal in other runs.

    Attributes:
        checker: the checker that found it.
        anomaly: its id.
        words: words of its summary that do not depend on the run.
    """

    checker: str
    anomaly: str
    words: str

    @property
    def id(self) -> str:
        """The first twelve hexadecimal digits of the SHA-256 over all fields."""
        text = f"{self.checker}\n{self.anomaly}\n{self.words}"
        return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]


class SignedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run and the signatures of its unexpected failures.

    Attributes:
        place: path in the store.
        identity: the run's identity.
        signatures: each once, in the order of the causes.
    """

    place: str
    identity: RunIdentity
    signatures: tuple[FailureSignature, ...] = ()


class SignatureRuns(msgspec.Struct, frozen=True, kw_only=True):
    """A signature, and the present and past runs that have it.

    Attributes:
        id: id of the signature.
        signature: the signature.
        runs: places of the runs that have it, the earliest first; at least one.
        before: number of past runs that have it.
        first_seen: when the earliest of all runs began; ISO 8601 in UTC.
    """

    id: str
    signature: FailureSignature
    runs: tuple[str, ...]
    before: int
    first_seen: str

    @property
    def new(self) -> bool:
        """Whether no past run has it."""
        return not self.before


class _Sight(NamedTuple):
    """When and where a signature was seen."""

    began_at: str
    place: str


def signatures_in(verdict: Verdict) -> tuple[FailureSignature, ...]:
    """One signature for each illegal cause; none for a run that is as expected.

    The signature of a cause is that of its most severe unexpected kind.  Equal signatures are listed once.
    """
    if passes(verdict):
        return ()
    expected = frozenset(verdict.expected_anomalies)
    found = (_witness(first_of_kinds(cause), expected) for cause in illegal_causes(verdict))
    return tuple(dict.fromkeys(_signature(shown) for shown in found if shown is not None))


def signed(place: str, identity: RunIdentity, verdict: Verdict) -> SignedRun:
    """A run with its signatures; none if it has a seeded bug."""
    return SignedRun(
        place=place, identity=identity, signatures=() if identity.seeded_bug else signatures_in(verdict)
    )


def seen_in(runs: Iterable[SignedRun], past: Iterable[SignedRun]) -> tuple[SignatureRuns, ...]:
    """All signatures of some runs: new ones first, then the most severe anomaly first.

    Args:
        runs: the runs to list.
        past: earlier runs; those that are also in `runs`, even in another folder, do not count.
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


def issue_of(seen: SignatureRuns, text: str, markup: Format = Format.MARKDOWN) -> str:
    """The text for a tracker: the issue of the signature's first run, and facts about the signature.

    Args:
        seen: the signature.
        text: issue of the first run, from `results.run.issue`.
        markup: its markup.
    """
    mark = MARKUPS[markup]
    listed = [mark.code(place) for place in seen.runs[:_RUNS_MAX]]
    if left := seen.runs[_RUNS_MAX:]:
        listed.append(f"and {len(left)} more")
    known = [mark.heading(2, f"Signature {mark.code(seen.id)}")]
    known.append("It is new in the store of past runs. The runs that have it:")
    end = "\n\n".join([*known, mark.items(listed)]) + "\n"
    file = mark.code("issue.md")
    cut = f"The rest is left out, because trackers limit the size of an issue: see the run's {file}."
    return f"{_shortened(text, BODY_MAX[markup] - len(end), cut)}\n{end}"


def _itself(run: SignedRun) -> tuple[str, str, str]:
    """Key that is equal for copies of a run; ids alone are short, so two runs may have the same id."""
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
    words = words_of(shown.checker, shown.anomaly)
    return FailureSignature(shown.checker, shown.anomaly.id, " ".join(words))


def _shortened(text: str, limit: int, cut: str) -> str:
    """As many complete sections as fit; a section that is too large by itself is cut."""
    if len(text) <= limit:
        return text
    room = text[: limit - len(cut) - 4]
    ends = [found.start() for found in _SECTION.finditer(room)]
    return f"{room[: ends[-1]] if ends else room}\n\n{cut}\n"
