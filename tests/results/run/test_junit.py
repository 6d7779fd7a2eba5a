"""JUnit files: of the form that CI servers read, red where a run is not as it should be."""

import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.history.identity import IDENTITY_FILE, encode_identity
from checkers.verdict.verdict import Anomaly, Assumption, OpenAnomaly, Validity, Verdict, result_of
from results.run.junit import EXPECTATION, explained, passes, render_junit, save_junit, stored_suite, suite_of
from results.run.measures import measure, save_measures
from results.run.observation import observe
from results.store.runs import save_verdict
from tests.results.story import IDENTITY, Run

FOLDER = Path("runs/smoke/partition/20261120T215657Z-7")
ZOMBIE = Anomaly("zombie-leader", "n1 led on", "it resigns", "KIP-595", explanation=("first <a>", "then & b"))
LOST = Anomaly("lost-write", "7 is gone", "it stays", "docs")
IDLE = result_of("groups", [], exercised=False)
HEAD = ("package", "id", "name", "timestamp", "hostname", "tests", "failures", "errors", "skipped", "time")


def verdict(
    *found: Anomaly,
    expected: Validity = Validity.VALID,
    anomalies: tuple[str, ...] = (),
    as_expected: bool | None = False,
    doubt: str | None = None,
    perhaps: str | None = None,
) -> Verdict:
    left_open = [OpenAnomaly(perhaps, "a disk was lost")] if perhaps else []
    results = (
        result_of("quorum", list(found)),
        result_of("log", [], unknown_because=doubt, open_anomalies=left_open),
        result_of("nodes", []),
    )
    validities = {result.validity for result in results}
    validity = next(v for v in (Validity.INVALID, Validity.UNKNOWN, Validity.VALID) if v in validities)
    return Verdict(validity, results, expected, anomalies, as_expected, ("quorum: because",))


def cases(judged: Verdict) -> dict[str, ET.Element]:
    root = ET.fromstring(render_junit([suite_of(FOLDER, judged, IDENTITY, 50_500)]))  # noqa: S314 - our own
    assert_is_of_the_schema(root)
    return {case.attrib["name"]: case for case in root.iter("testcase")}


def colours(judged: Verdict) -> dict[str, str]:
    return {name: next((child.tag for child in case), "passed") for name, case in cases(judged).items()}


def assert_is_of_the_schema(root: ET.Element) -> None:
    """What Ant's schema asks for: elements in their order, required attributes, counts that are true."""
    assert (root.tag, root.attrib) == ("testsuites", {})
    for suite in root:
        assert tuple(suite.attrib) == HEAD
        tags = [child.tag for child in suite]
        count = tags.count("testcase")
        assert tags == ["properties", *["testcase"] * count, "system-out", "system-err"]
        assert int(suite.attrib["tests"]) == count
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.attrib[name]) == len(suite.findall(f"testcase/{tag}"))
        for case in suite.findall("testcase"):
            assert tuple(case.attrib) == ("name", "classname", "time")
            assert len(case) <= 1
            named = {"skipped": ("message",)}
            assert all(tuple(child.attrib) == named.get(child.tag, ("type", "message")) for child in case)
        assert all(tuple(one.attrib) == ("name", "value") for one in suite.iterfind("properties/property"))


def test_an_anomaly_is_a_failure_with_its_proof() -> None:
    failure = cases(verdict(ZOMBIE, ZOMBIE))["quorum"][0]
    assert (failure.tag, failure.attrib["type"]) == ("failure", "zombie-leader")
    assert failure.attrib["message"] == "2 zombie-leader: n1 led on"
    assert failure.text is not None
    assert failure.text.splitlines() == [
        "quorum: 2 zombie-leader",
        "  zombie-leader: n1 led on",
        "    guarantee: it resigns (KIP-595)",
        "    first <a>",
        "    then & b",
    ]


RED = {"quorum": "failure", "log": "passed", "nodes": "passed", EXPECTATION: "passed"}
GREEN = dict.fromkeys(RED, "passed")


@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        (verdict(as_expected=True), GREEN),
        (verdict(as_expected=None), GREEN),
        (verdict(ZOMBIE), RED),
        (verdict(ZOMBIE, as_expected=None), RED),
        (verdict(doubt="half a history"), GREEN | {"log": "error"}),
        (verdict(ZOMBIE, doubt="half a history"), RED | {"log": "error"}),
        # Red as expected is green; red that did not show is a failure of the whole.
        (verdict(ZOMBIE, expected=Validity.INVALID, anomalies=("zombie-leader",), as_expected=True), GREEN),
        (
            verdict(expected=Validity.INVALID, anomalies=("zombie-leader",)),
            GREEN | {EXPECTATION: "failure"},
        ),
        (verdict(ZOMBIE, LOST, expected=Validity.INVALID, anomalies=("zombie-leader",)), RED),
        (verdict(ZOMBIE, anomalies=("zombie-leader",), as_expected=True), GREEN),
        (verdict(ZOMBIE, LOST, anomalies=("zombie-leader",)), RED),
        (verdict(perhaps="x", anomalies=("x",), as_expected=True), GREEN),
        (verdict(ZOMBIE, perhaps="x", anomalies=("x",)), RED),
        (verdict(ZOMBIE, doubt="half a history", anomalies=("zombie-leader",)), GREEN | {"log": "error"}),
        (verdict(perhaps="y", anomalies=("x",)), GREEN | {"log": "error"}),
        (verdict(perhaps="x", doubt="half a history", anomalies=("x",)), GREEN | {"log": "error"}),
        (
            verdict(expected=Validity.INVALID, anomalies=("x",), perhaps="x"),
            GREEN | {EXPECTATION: "error"},
        ),
        (
            verdict(expected=Validity.INVALID, anomalies=("x",), doubt="half a history"),
            GREEN | {"log": "error"},
        ),
    ],
)
def test_what_is_red(judged: Verdict, expected: dict[str, str]) -> None:
    assert colours(judged) == expected
    assert passes(judged) is (set(expected.values()) == {"passed"})


def test_an_accepted_anomaly_beside_a_doubt_of_the_same_checker_is_an_error() -> None:
    doubtful = result_of("quorum", [ZOMBIE], unknown_because="half a history")
    judged = Verdict(Validity.INVALID, (doubtful,), Validity.VALID, ("zombie-leader",), as_expected=False)
    found = cases(judged)
    error = found["quorum"][0]
    assert (error.tag, error.attrib["message"]) == ("error", "could not decide: half a history")
    assert error.text is not None
    assert error.text.startswith("quorum: 1 zombie-leader\n")
    assert not [*found[EXPECTATION]]
    strange = msgspec.structs.replace(judged, expected_anomalies=())
    assert colours(strange)["quorum"] == "failure"


def test_an_accepted_doubt_does_not_hide_another_anomaly_of_the_same_checker() -> None:
    left_open = [OpenAnomaly("zombie-leader", "a disk was lost")]
    both = result_of("quorum", [LOST], open_anomalies=left_open)
    judged = Verdict(Validity.INVALID, (both,), Validity.VALID, ("zombie-leader",), as_expected=False)
    failure = cases(judged)["quorum"][0]
    assert (failure.tag, failure.attrib["type"]) == ("failure", "lost-write")


def test_a_verdict_that_nothing_explains_is_still_not_green() -> None:
    assert colours(Verdict(Validity.UNKNOWN, (), Validity.VALID, (), as_expected=False)) == {
        EXPECTATION: "error"
    }


def test_an_unmet_assumption_says_what_was_wanted_and_found() -> None:
    unmet = Assumption("fault-held", met=False, expected="at least 5000 ms", observed="1 ms")
    judged = Verdict(Validity.UNKNOWN, (result_of("assumptions", [], assumptions=(unmet,)),))
    error = cases(judged)["assumptions"][0]
    assert error.attrib["message"] == error.text
    assert error.text == "assumption fault-held: expected at least 5000 ms; found 1 ms"


def test_many_causes_do_not_hide_an_assumption_that_is_not_met() -> None:
    many = [Anomaly("lost-write", "gone", "g", "s", subject=f"log-0/{n}@1") for n in range(2_000)]
    unmet = Assumption("fault-held", met=False, expected="5000 ms", observed="1 ms")
    result = result_of("log", many, assumptions=(unmet,))
    lines = explained(result, Verdict(Validity.INVALID, (result,)))
    assert len(lines) < 100
    assert lines[-2:] == (
        "and 1,980 more anomalies of 1,980 more causes in verdict.json",
        "assumption fault-held: expected 5000 ms; found 1 ms",
    )


def test_properties_distinguish_a_run_from_others() -> None:
    root = ET.fromstring(render_junit([suite_of(FOLDER, verdict(), IDENTITY, 50_500)]))  # noqa: S314 - our own
    found = {one.attrib["name"]: one.attrib["value"] for one in root.iter("property")}
    assert found == {
        "seed": "7",
        "kafka_version": "4.3.1",
        "image": f"krucible/kafka:4.3.1 sha256:{'5c' * 32}",
        "folder": str(FOLDER),
        "reproduce": "krucible run smoke/partition --kafka-version 4.3.1 --seed 7",
    }
    assert root[0].attrib["timestamp"] == "2026-11-20T21:56:57"
    assert root[0].attrib["time"] == "50.500"


def test_a_red_run_has_the_command_that_makes_it_smaller() -> None:
    folder = Path("runs/it's red; \x1b[31m/1")
    root = ET.fromstring(render_junit([suite_of(folder, verdict(ZOMBIE), IDENTITY)]))  # noqa: S314 - our own
    found = {one.attrib["name"]: one.attrib["value"] for one in root.iter("property")}
    assert list(found)[-2:] == ["reproduce", "minimise"]
    assert found["minimise"].startswith("krucible minimise 'runs/it'")
    assert "\x1b" not in found["minimise"]
    assert "minimise" not in suite_of(FOLDER, verdict(doubt="half a history"), IDENTITY).properties
    assert "minimise" not in suite_of(FOLDER, verdict(ZOMBIE)).properties


def test_stored_runs_are_all_there_broken_ones_as_errors(tmp_path: Path, red_run: Run) -> None:
    whole, broken, empty = (tmp_path / name for name in ("whole", "broken", "empty"))
    for folder in (whole, broken, empty):
        folder.mkdir()
    for folder in (whole, broken):
        (folder / IDENTITY_FILE).write_bytes(encode_identity(IDENTITY))
    save_verdict(whole, red_run.verdict)
    suites = [stored_suite(whole), stored_suite(broken), stored_suite(empty)]
    save_measures(whole, measure(observe(red_run.history), red_run.verdict))
    suites.append(stored_suite(whole))
    root = ET.fromstring(render_junit(suites))  # noqa: S314 - our own

    assert_is_of_the_schema(root)
    assert [suite.attrib["errors"] for suite in root] == ["0", "1", "1", "0"]
    assert int(root[0].attrib["failures"]) > 0
    assert [suite.attrib["time"] for suite in root][0::3] == ["0.000", "50.000"]


@settings(max_examples=30)
@given(st.text(), st.text(alphabet=st.characters(), max_size=3_000))
def test_whatever_texts_hold_the_file_is_well_formed(short: str, long: str) -> None:
    hostile = Anomaly(short, long, short, long, explanation=(short, f"{long}\n{long}"))
    judged = msgspec.structs.replace(verdict(hostile), reasons=(long, short))
    identity = msgspec.structs.replace(IDENTITY, scenario=short, reproduce=long)
    data = render_junit([suite_of(FOLDER, judged, identity)])
    assert_is_of_the_schema(ET.fromstring(data))  # noqa: S314 - our own


def test_very_long_proofs_are_cut(tmp_path: Path) -> None:
    endless = msgspec.structs.replace(LOST, explanation=tuple(map(str, range(10_000))))
    place = save_junit(tmp_path, suite_of(FOLDER, verdict(endless)))
    assert place.stat().st_size < 10_000
    assert "more lines" in place.read_text()


def test_a_checker_that_had_nothing_to_judge_is_skipped() -> None:
    judged = Verdict(Validity.VALID, (result_of("log", []), IDLE), Validity.VALID, (), as_expected=True)
    assert colours(judged) == {"log": "passed", "groups": "skipped", EXPECTATION: "passed"}
    skipped = cases(judged)["groups"][0]
    assert skipped.attrib == {"message": "the history has nothing that this checker judges"}
