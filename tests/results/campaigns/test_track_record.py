"""The track record as data and as a page."""

import json

import msgspec
import pytest

from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from results.campaigns.summary import Outcome, RunOutcome, judged
from results.campaigns.track_record import (
    ExpectationStatus,
    SideRecord,
    encode_track_record,
    render_track_record,
    standing_of,
)
from tests.results.story import IDENTITY

ZOMBIE = Anomaly("zombie-leader", "s", "g", "s")
FAILED = RunOutcome(folder="seed 2", outcome=Outcome.FAILED, reasons=("no engine",))


def run(validity: Validity, *, as_expected: bool = True) -> RunOutcome:
    found = [ZOMBIE, ZOMBIE] if validity is Validity.INVALID else []
    reasons = () if validity is Validity.VALID else ("quorum: 2 of zombie-leader",)
    verdict = Verdict(validity, (result_of("quorum", found),), as_expected=as_expected, reasons=reasons)
    return judged("20261120T220001Z-1", verdict, IDENTITY)


RED, GREEN = run(Validity.INVALID), run(Validity.VALID)
UNKNOWN = run(Validity.UNKNOWN, as_expected=False)
OTHER_RED = run(Validity.INVALID, as_expected=False)


def side(
    *runs: RunOutcome, expected_red: bool = True, seeds: int | None = None, tries: int = 1
) -> SideRecord:
    return SideRecord(
        ticket="KAFKA-15489",
        scenario="regressions/kafka-15489-zombie-leader",
        summary="Cut the active controller off.",
        because="KAFKA-15489: fixed in 3.7.0" if expected_red else "",
        version="3.6.2" if expected_red else "3.7.1",
        features={"a": 0},
        config={"b": "c|d"},
        expected_red=expected_red,
        command="krucible run x --seeds 1..1",
        seeds=len(runs) if seeds is None else seeds,
        runs=runs,
        tries=tries,
        discovered_by="Jepsen" if expected_red else "",
        outdated=("an older run had another schedule",) if seeds == 4 else (),
    )


@pytest.mark.parametrize(
    ("tried", "standing"),
    [
        (side(RED, RED), ExpectationStatus.AS_EXPECTED),
        (side(GREEN, expected_red=False), ExpectationStatus.AS_EXPECTED),
        (side(RED, GREEN, FAILED, UNKNOWN), ExpectationStatus.UNEXPECTED),
        (side(RED, expected_red=False), ExpectationStatus.UNEXPECTED),
        (side(RED, OTHER_RED), ExpectationStatus.UNEXPECTED),
        (side(RED, UNKNOWN), ExpectationStatus.UNKNOWN),
        (side(RED, seeds=2), ExpectationStatus.UNKNOWN),
        (side(FAILED, seeds=2), ExpectationStatus.FAILED),
        (side(FAILED, UNKNOWN), ExpectationStatus.FAILED),
        (side(GREEN, RED, GREEN, tries=3), ExpectationStatus.AS_EXPECTED),
        (side(GREEN, GREEN, GREEN, tries=3), ExpectationStatus.UNKNOWN),
        (side(GREEN, OTHER_RED, RED, tries=3), ExpectationStatus.UNEXPECTED),
        (side(GREEN, RED, expected_red=False, tries=3), ExpectationStatus.UNEXPECTED),
    ],
)
def test_a_side_is_confirmed_by_all_its_runs_or_contradicted_by_one(
    tried: SideRecord, standing: ExpectationStatus
) -> None:
    assert tried.standing is standing


def test_the_most_severe_side_counts() -> None:
    good, short, failed = side(RED), side(seeds=1), side(FAILED)
    assert standing_of([good]) is ExpectationStatus.AS_EXPECTED
    assert standing_of([good, short]) is ExpectationStatus.UNKNOWN
    assert standing_of([short, failed, good]) is ExpectationStatus.FAILED
    assert standing_of([failed, side(GREEN)]) is ExpectationStatus.UNEXPECTED
    assert standing_of([]) is ExpectationStatus.UNKNOWN


def test_the_page_of_what_was_confirmed() -> None:
    page = render_track_record([side(RED, RED), side(GREEN, expected_red=False)])
    assert "✅ **As expected**: 2 sides, 2 as expected." in page
    assert (
        "| KAFKA-15489 | Jepsen | `regressions/kafka-15489-zombie-leader` | 3.6.2, `a=0`, `b=c/d` | 🔴 red "
        "| ✅ 2 invalid of 2 | 4 `zombie-leader` |  |\n"
    ) in page
    assert "| 3.7.1, `a=0`, `b=c/d` | 🟢 green | ✅ 1 valid of 1 |  |  |\n" in page
    assert "| KAFKA-15489 | not known | `regressions" in page
    assert "## To look at" not in page
    assert "## Not counted" not in page
    assert page.count("Cut the active controller off.") == 1
    assert page.count("- KAFKA-15489: fixed in 3.7.0") == 1
    assert "- krucible: 6129fa2\n" in page
    assert page.endswith("\n")


def test_what_kafka_permits_has_a_column_of_its_own() -> None:
    permitted = msgspec.structs.replace(GREEN, anomalies={"lost-write": 1_600}, illegal=())
    page = render_track_record([side(permitted, expected_red=False)])
    assert "| ✅ 1 valid of 1 |  | 1,600 `lost-write` |\n" in page


def test_a_race_is_red_in_some_runs() -> None:
    page = render_track_record([side(GREEN, RED, GREEN, tries=3)])
    assert "| 🔴 red in some runs | ✅ 1 invalid, 2 valid of 3 |" in page
    assert "## To look at" not in page


def test_the_page_marks_what_was_not() -> None:
    page = render_track_record([side(GREEN, FAILED, RED), side(UNKNOWN, seeds=3, expected_red=False)])
    assert "❌ **Not as expected**: 2 sides, 1 not as expected, 1 unknown." in page
    assert "| ❌ 1 invalid, 1 failed, 1 valid of 3, **not as expected** |" in page
    assert "| ❔ 1 unknown, 2 missing of 3 |" in page
    troubles = page.split("## To look at")[1].split("\n## ")[0]
    assert "- KAFKA-15489 on 3.6.2: valid, `20261120T220001Z-1`\n  - again: `krucible run" in troubles
    assert "- KAFKA-15489 on 3.6.2: failed, `seed 2`\n  - no engine" in troubles
    assert "- KAFKA-15489 on 3.7.1: unknown, " in troubles
    assert troubles.count("\n- ") == 3


def test_the_page_names_what_does_not_count() -> None:
    page = render_track_record([side(seeds=4)])
    assert "❔ 4 missing of 4" in page
    assert "\n- KAFKA-15489 on 3.6.2: an older run had another schedule\n" in page


def test_the_json_has_every_side_with_its_standing() -> None:
    tried = side(RED)
    record = json.loads(encode_track_record([tried, side(seeds=1, expected_red=False)]))
    assert record["standing"] == "unknown"
    assert [one.pop("standing") for one in record["sides"]] == ["as expected", "unknown"]
    assert msgspec.convert(record["sides"][0], SideRecord) == tried
