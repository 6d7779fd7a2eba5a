"""JUnit files, for tools that show test results: one suite per run, one test case per checker.

The format is Ant's JUnit schema, which Jenkins and similar tools read: properties, then cases, then output.
An expected result passes.  A checker that could not decide is an error, so that it does not look like a
success, unless it could not decide only whether an expected anomaly is permitted.  A checker that had nothing
to judge is skipped.
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path

import msgspec

from checkers.history.identity import RunIdentity
from checkers.judge import accepted
from checkers.verdict.verdict import CheckerResult, Validity, Verdict
from results.markup.cleaning import clean
from results.run.alike import alike
from results.run.causes import first_of_kinds, illegal_causes, other_reasons, rest_text
from results.run.measures import load_measures
from results.run.text import headline, minimise_command
from results.store.runs import RunUnreadableError, load_identity, load_verdict, write_whole

JUNIT_FILE = "junit.xml"
EXPECTATION = "expectation"
"""The test case for the expected verdict, in addition to those of the checkers."""
_MESSAGE_MAX = 500
_LINE_MAX = 2_000
_LINES_MAX = 100
_CAUSES_MAX = 20
_NOT_XML = re.compile("[\ufffe\uffff]")


class CaseStatus(StrEnum):
    """The outcome of a case. An error means undecided; a skipped case had nothing to judge."""

    PASSED = "passed"
    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


class JUnitCase(msgspec.Struct, frozen=True, kw_only=True):
    """One test case.

    Attributes:
        name: name of the checker.
        standing: outcome of the case.
        kind: kind of problem, in one or two words; empty if it passed.
        message: the problem, in one sentence.
        text: the reasons, one per line.
    """

    name: str
    standing: CaseStatus = CaseStatus.PASSED
    kind: str = ""
    message: str = ""
    text: str = ""


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """One run.

    Attributes:
        name: name of its scenario.
        cases: one per checker, and `EXPECTATION`.
        properties: identity of the run, and the commands that repeat it.
        began_at: ISO 8601 in UTC; empty if unknown.
        duration_ms: time from its start to its last operation.
        output: the reasons, one per line.
    """

    name: str
    cases: tuple[JUnitCase, ...]
    properties: dict[str, str] = {}
    began_at: str = ""
    duration_ms: int = 0
    output: str = ""


def passes(verdict: Verdict) -> bool:
    """Whether a run is as expected, or valid if nothing was expected."""
    if verdict.as_expected is None:
        return verdict.validity is Validity.VALID
    return verdict.as_expected


def suite_of(
    folder: Path, verdict: Verdict, identity: RunIdentity | None = None, duration_ms: int = 0
) -> Suite:
    """The suite of a judged run."""
    cases = tuple(_case(result, verdict) for result in verdict.results)
    reds = any(case.standing in {CaseStatus.FAILURE, CaseStatus.ERROR} for case in cases)
    return Suite(
        name=identity.scenario if identity else folder.parent.name,
        cases=(*cases, _expectation(verdict, already_failed=reds)),
        properties=properties_of(folder, identity, verdict),
        began_at=identity.began_at if identity else "",
        duration_ms=duration_ms,
        output="\n".join((headline(verdict), *other_reasons(verdict))),
    )


def stored_suite(folder: Path) -> Suite:
    """The suite of a stored run; a run without a readable verdict is an error."""
    identity: RunIdentity | None = None
    try:
        identity = load_identity(folder)
        verdict = load_verdict(folder)
    except RunUnreadableError as error:
        case = JUnitCase(name="harness", standing=CaseStatus.ERROR, kind="no verdict", message=str(error))
        name = identity.scenario if identity else folder.parent.name
        return Suite(name=name, cases=(case,), properties=properties_of(folder, identity))
    try:
        duration_ms = load_measures(folder).duration_ms
    except RunUnreadableError:
        duration_ms = 0
    return suite_of(folder, verdict, identity, duration_ms)


def properties_of(
    folder: Path, identity: RunIdentity | None, verdict: Verdict | None = None
) -> dict[str, str]:
    """The identity of a run: seed, image, folder, and the commands to repeat and minimise it."""
    if identity is None:
        return {"folder": str(folder)}
    smaller = "" if verdict is None else minimise_command(folder, verdict, identity)
    image = identity.image
    return {
        "seed": str(identity.seed),
        "kafka_version": identity.kafka_version,
        "image": f"{image.reference} {image.digest}".strip() if image else "",
        "folder": str(folder),
        "reproduce": identity.reproduce,
    } | ({"minimise": smaller} if smaller else {})


def explained(result: CheckerResult, verdict: Verdict) -> tuple[str, ...]:
    """The illegal anomalies of a checker by cause, and what it could not decide.

    Each cause has the first anomaly of each kind, with the broken guarantee and the proof.
    """
    lines: list[str] = []
    groups = alike(illegal_causes(verdict, result.checker))
    for group in groups[:_CAUSES_MAX]:
        lines.append(group.line())
        for one in first_of_kinds(group.first):
            anomaly = one.anomaly
            lines += [f"  {anomaly.id}: {anomaly.summary}"]
            lines += [f"    guarantee: {anomaly.guarantee} ({anomaly.source})"]
            lines += [f"    {line}" for line in anomaly.explanation]
    if left := [cause for group in groups[_CAUSES_MAX:] for cause in group.causes]:
        lines.append(f"and {rest_text(left)} in verdict.json")
    return (*lines, *_undecided(result))


def _undecided(result: CheckerResult) -> Iterator[str]:
    """What a checker could not decide, and which assumptions are unmet."""
    if result.unknown_because:
        yield f"could not decide: {result.unknown_because}"
    for one in result.assumptions:
        if not one.met:
            yield f"assumption {one.name}: expected {one.expected}; found {one.observed}"


def render_junit(suites: Iterable[Suite]) -> bytes:
    """The file, with a final newline; it is well-formed for any texts."""
    root = ET.Element("testsuites")
    for number, suite in enumerate(suites):
        root.append(_suite_element(number, suite))
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def save_junit(folder: Path, suite: Suite) -> Path:
    """Write a run's ``junit.xml`` atomically.

    Raises:
        OSError: if it can't be written.
    """
    return write_whole(folder / JUNIT_FILE, render_junit([suite]))


def _case(result: CheckerResult, verdict: Verdict) -> JUnitCase:
    """The case of a checker. If the verdict is as expected, no case fails."""
    if result.validity is Validity.NOT_EXERCISED:
        message = "the history has nothing that this checker judges"
        return JUnitCase(name=result.checker, standing=CaseStatus.SKIPPED, message=message)
    if result.validity is Validity.VALID or passes(verdict):
        return JUnitCase(name=result.checker)
    illegal = {a.id: a.summary for a in reversed(result.anomalies) if a.illegal}
    strange = sorted(illegal.keys() - set(verdict.expected_anomalies))
    either_way = result.open_anomalies and set(result.open_anomalies) <= set(verdict.expected_anomalies)
    if either_way and not strange:
        return JUnitCase(name=result.checker)
    text = "\n".join(explained(result, verdict))
    if result.undecided and not strange:
        first = next(_undecided(result), "unknown")
        return JUnitCase(
            name=result.checker, standing=CaseStatus.ERROR, kind="unknown", message=first, text=text
        )
    if illegal and not strange:
        return JUnitCase(name=result.checker)
    counts = ", ".join(f"{result.counts.get(name, 1):,} {name}" for name in strange)
    return JUnitCase(
        name=result.checker,
        standing=CaseStatus.FAILURE,
        kind=" ".join(strange),
        message=f"{counts}: {illegal[strange[0]]}" if strange else "invalid",
        text=text,
    )


def _expectation(verdict: Verdict, *, already_failed: bool) -> JUnitCase:
    """The case of the expected verdict.

    It fails if no checker fails but the verdict is unexpected, such as a known bug that was not found.
    """
    if passes(verdict) or already_failed:
        return JUnitCase(name=EXPECTATION)
    undecided = verdict.validity is Validity.UNKNOWN or accepted(verdict)
    standing = CaseStatus.ERROR if undecided else CaseStatus.FAILURE
    text = "\n".join(verdict.reasons)
    return JUnitCase(
        name=EXPECTATION, standing=standing, kind="verdict", message=headline(verdict), text=text
    )


def _suite_element(number: int, suite: Suite) -> ET.Element:
    count = {one: sum(case.standing is one for case in suite.cases) for one in CaseStatus}
    element = ET.Element(
        "testsuite",
        {
            "package": "krucible",
            "id": str(number),
            "name": _text(suite.name),
            "timestamp": _text(suite.began_at.removesuffix("Z").partition(".")[0] or "1970-01-01T00:00:00"),
            "hostname": "localhost",
            "tests": str(len(suite.cases)),
            "failures": str(count[CaseStatus.FAILURE]),
            "errors": str(count[CaseStatus.ERROR]),
            "skipped": str(count[CaseStatus.SKIPPED]),
            "time": _seconds(suite.duration_ms),
        },
    )
    properties = ET.SubElement(element, "properties")
    for name, value in suite.properties.items():
        ET.SubElement(properties, "property", {"name": _text(name), "value": _text(value, _LINE_MAX)})
    element.extend(_case_elements(suite))
    ET.SubElement(element, "system-out").text = _lines(suite.output)
    ET.SubElement(element, "system-err")
    return element


def _case_elements(suite: Suite) -> Iterator[ET.Element]:
    for position, case in enumerate(suite.cases, start=1):
        took = suite.duration_ms if position == len(suite.cases) else 0  # only the last case has a duration
        attributes = {"name": _text(case.name), "classname": _text(suite.name), "time": _seconds(took)}
        element = ET.Element("testcase", attributes)
        if case.standing is CaseStatus.SKIPPED:
            ET.SubElement(element, case.standing.value, {"message": _text(case.message)})
        elif case.standing is not CaseStatus.PASSED:
            reason = {"type": _text(case.kind), "message": _text(case.message)}
            ET.SubElement(element, case.standing.value, reason).text = _lines(case.text)
        yield element


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}"


def _text(text: str, limit: int = _MESSAGE_MAX) -> str:
    return _NOT_XML.sub("?", clean(text, limit))


def _lines(text: str) -> str:
    lines = text.split("\n")
    kept = [_text(line, _LINE_MAX) for line in lines[:_LINES_MAX]]
    if len(lines) > _LINES_MAX:
        kept.append(f"… and {len(lines) - _LINES_MAX:,} more lines")
    return "\n".join(kept)
