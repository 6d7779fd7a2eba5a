"""Several runs summed up, as data and as a page."""

from pathlib import Path

import msgspec
import pytest

from checkers.history.identity import RunIdentity, encode_identity
from checkers.judge import anomaly_reasons
from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from results.campaigns.markdown import render_campaign
from results.campaigns.summary import (
    Outcome,
    RunOutcome,
    Spread,
    Summary,
    encode_summary,
    judged,
    outcome_of,
    summarise,
    worst,
)
from results.markup.markdown import escaped
from results.run.measures import FaultMeasures, Measures, save_measures
from results.store.runs import save_verdict
from tests.results.story import IDENTITY


def identity(seed: int) -> RunIdentity:
    reproduce = f"krucible run exploratory/chaos --seed {seed}"
    return msgspec.structs.replace(IDENTITY, scenario="exploratory/chaos", seed=seed, reproduce=reproduce)


def measures(unavailable_ms: int = 1_200) -> Measures:
    kill = FaultMeasures(
        id="f1", kind="kill", targets=("n1",), proven=True, held_ms=6_000, unavailable_ms_max=unavailable_ms
    )
    cut = FaultMeasures(id="f2", kind="partition", proven=False)
    return Measures(
        duration_ms=80_000,
        operations=40_000,
        sent_ok=24_000,
        sent_info=12,
        sent_fail=1,
        faults=(kill, cut),
        unavailable_ms_max=unavailable_ms,
        recovered=True,
        recovery_ms=unavailable_ms * 2,
    )


def run(seed: int, validity: Validity = Validity.VALID, *anomalies: Anomaly) -> RunOutcome:
    verdict = Verdict(
        validity,
        (result_of("log", list(anomalies)),),
        expected=Validity.VALID,
        as_expected=validity is Validity.VALID,
        reasons=() if validity is Validity.VALID else ("log: it is | not <valid>",),
    )
    return judged(f"20261120T22000{seed % 10}Z-{seed}", verdict, identity(seed), measures(seed * 100))


LOST = Anomaly("lost-write", "s", "g", "s")


@pytest.mark.parametrize(
    ("outcomes", "severest"),
    [
        ("valid valid", "valid"),
        ("valid unknown", "unknown"),
        ("unknown failed valid", "failed"),
        ("failed invalid unknown", "invalid"),
        ("", "unknown"),
    ],
)
def test_invalid_beats_failed_beats_unknown_beats_valid(outcomes: str, severest: str) -> None:
    assert worst(Outcome(name) for name in outcomes.split()) is Outcome(severest)


def test_a_green_campaign_is_summed_up() -> None:
    summary = summarise(run(seed) for seed in (3, 1, 2))
    assert summary.outcome is Outcome.VALID
    assert summary.counts == {"invalid": 0, "failed": 0, "unknown": 0, "valid": 3}
    assert (summary.as_expected, summary.unexpected) == (3, 0)
    assert (summary.sent_ok, summary.sent_info, summary.sent_fail) == (72_000, 36, 3)
    assert [outcome.identity.seed for outcome in summary.runs if outcome.identity] == [1, 2, 3]
    assert [(f.kind, f.count, f.proven, f.unavailable) for f in summary.faults] == [
        ("kill", 3, 3, Spread(200, 300)),
        ("partition", 3, 0, None),
    ]
    assert summary.recovery == Spread(400, 600)
    assert summary.anomalies == ()


def test_anomalies_are_counted_over_runs() -> None:
    summary = summarise([run(1, Validity.INVALID, LOST, LOST), run(2), run(3, Validity.INVALID, LOST)])
    ((found),) = summary.anomalies
    assert (found.id, found.count, found.seeds) == ("lost-write", 3, (1, 3))
    assert (summary.outcome, summary.unexpected) == (Outcome.INVALID, 2)


def test_what_a_run_left_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(encode_identity(identity(4)))
    save_verdict(tmp_path, Verdict(Validity.VALID, (result_of("log", []),)))
    assert outcome_of(tmp_path).measures is None
    save_measures(tmp_path, measures())
    outcome = outcome_of(tmp_path)
    assert (outcome.outcome, outcome.measures) == (Outcome.VALID, measures())
    assert outcome.identity
    assert outcome.identity.image
    assert list(outcome.identity.image.checksums) == ["jars"]


def test_a_run_without_a_verdict_has_failed_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(encode_identity(identity(4)))
    outcome = outcome_of(tmp_path)
    assert outcome.outcome is Outcome.FAILED
    assert outcome.identity is not None
    assert outcome.reasons[0].startswith("verdict.json is missing")


def test_a_summary_survives_its_json() -> None:
    summary = summarise([run(1, Validity.INVALID, LOST), RunOutcome(folder="x", outcome=Outcome.FAILED)])
    assert msgspec.json.decode(encode_summary(summary), type=Summary) == summary


def test_the_page_of_a_green_campaign_reads_well() -> None:
    page = render_campaign(summarise(run(seed) for seed in (1, 2)))
    assert page == GREEN_PAGE


def test_the_page_shows_trouble_first() -> None:
    outcomes = [run(1), run(2, Validity.INVALID, LOST), RunOutcome(folder="gone", outcome=Outcome.FAILED)]
    page = render_campaign(summarise(outcomes))
    assert "❌ **Invalid**: 3 runs, of which 1 invalid, 1 failed, 1 valid. 1 verdict not as expected." in page
    assert page.index("## To look at") < page.index("## Anomalies") < page.index("## Runs")
    assert "- ❌ seed 2, invalid, `20261120T220002Z-2`\n  - log: 1 lost-write\n" in page
    assert "  - log: 1 lost-write\n  - log: it is \\| not \\<valid\\>\n" in page
    assert "  - again: `krucible run exploratory/chaos --seed 2`" in page
    assert "| `lost-write` | 1 | 1 | 1 | 2 |" in page
    assert "- 💥 seed ?, failed, `gone`" in page
    assert "| ? | 💥 failed |  |  |  |  |  |  |  |  |  | `gone` |" in page


def at(offset: int, kind: str = "lost-write", place: str = "log-0/3") -> Anomaly:
    return Anomaly(kind, "s", "g", "s", subject=f"{place}@{offset}")


def test_a_red_run_shows_its_causes_once_and_counts_all() -> None:
    found = [at(220), at(230, "duplicate"), *(at(1_000 * n) for n in range(2, 9))]
    result = result_of("log", [*found, msgspec.structs.replace(LOST, illegal=False)])
    verdict = Verdict(
        Validity.INVALID, (result,), reasons=(*anomaly_reasons(result), "nodes: n1 did not start")
    )
    red = judged("a", verdict, identity(1))
    assert red.causes == (
        "log-0/3, offsets 220–230: 2 anomalies of 2 kinds (1 lost-write, 1 duplicate)",  # noqa: RUF001 - a range
        *(f"log-0/3, offset {1_000 * n}: 1 lost-write" for n in range(2, 6)),
        "and 3 more anomalies of 3 more causes",
    )
    assert red.reasons == ("nodes: n1 did not start",)
    assert red.why == (*red.causes, *red.reasons)
    assert sum(one.anomalies for one in red.together) == len(found)


def test_causes_of_all_runs_stand_together_by_their_kinds() -> None:
    first = run(1, Validity.INVALID, at(220), at(230, "duplicate"), at(5_000), at(6_000))
    second = run(2, Validity.INVALID, at(7), at(8, "duplicate"), at(9, "duplicate"))
    page = render_campaign(summarise([second, run(3), first, run(4, Validity.INVALID, at(1, "poll-skip"))]))
    head = page.index("| kinds of one cause | causes | anomalies | runs | seeds |\n")
    assert page[head:].split("\n\n")[0].splitlines()[2:] == [
        "| `lost-write` | 2 | 2 | 1 | 1 |",
        "| `lost-write, duplicate` | 2 | 5 | 2 | 1, 2 |",
        "| `poll-skip` | 1 | 1 | 1 | 4 |",
    ]
    assert "kinds of one cause" not in render_campaign(summarise([run(1)]))


def test_the_page_of_a_red_campaign_reads_well() -> None:
    red = run(2, Validity.INVALID, at(220), at(230, "duplicate"), at(231, "duplicate"))
    page = render_campaign(summarise([run(1), red]))
    assert page[: page.index("## What was done")] == RED_PAGE


def test_what_is_permitted_is_distinguished() -> None:
    legal = msgspec.structs.replace(LOST, id="G-single", illegal=False)
    page = render_campaign(summarise([run(1, Validity.VALID, legal), run(2, Validity.INVALID, LOST)]))
    assert "Illegal: 1 of 2 kinds." in page
    assert "| `G-single` | 1 | 1 | 0 | 1 |" in page
    assert "Illegal: 0 of 1 kind." in render_campaign(summarise([run(1, Validity.VALID, legal)]))


def test_runs_of_several_settings_say_which_they_are_of() -> None:
    first, second = run(1), run(2)
    assert second.identity is not None
    other = msgspec.structs.replace(
        second.identity,
        scenario="exploratory/txn",
        kafka_version="3.9.0",
        reproduce="krucible run exploratory/txn --seed 2 --kafka-version 3.9.0 --mode isolated",
    )
    strange = msgspec.structs.replace(second, identity=None)
    page = render_campaign(summarise([first, msgspec.structs.replace(second, identity=other), strange]))
    (head,) = [line for line in page.splitlines() if line.startswith("| scenario")]
    assert head.startswith("| scenario | Kafka | options | seed |")
    assert "| exploratory/txn | 3.9.0 | `--mode isolated` | 2 |" in page
    alone = render_campaign(summarise([first, run(3)]))
    assert "| seed | verdict |" in alone


def test_a_campaign_of_nothing_says_so() -> None:
    page = render_campaign(summarise([]))
    assert page.startswith("# Campaign\n\n❔ **Unknown**: 0 runs.\n")


def test_an_expectation_of_invalid_that_is_met_is_as_expected() -> None:
    verdict = Verdict(Validity.INVALID, (), expected=Validity.INVALID, as_expected=True)
    page = render_campaign(summarise([judged("a", verdict, identity(1))]))
    assert "All verdicts with an expectation are as expected." in page


def test_many_seeds_of_one_anomaly_are_cut_short() -> None:
    page = render_campaign(summarise(run(seed, Validity.INVALID, LOST) for seed in range(1, 21)))
    assert "| 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 8 more |" in page


def test_a_recovery_that_failed_is_reported() -> None:
    failed = msgspec.structs.replace(measures(), recovered=False)
    outcome = msgspec.structs.replace(run(1), measures=failed)
    assert "| 1.2 s | none |" in render_campaign(summarise([outcome]))


def test_hostile_text_neither_ends_a_cell_nor_a_line_nor_makes_markup() -> None:
    hostile = Anomaly("a|b`c\n# d<script>", "s", "g", "s")
    page = render_campaign(summarise([run(1, Validity.INVALID, hostile)]))
    assert "<script>" not in page.replace("`a/b'c\\n# d<script>`", "")
    assert page.count(r"1 a\|b\`c\\n\# d\<script\>") == 2  # its cause, and the table of runs
    assert page.count("`a/b'c\\n# d<script>`") == 2  # the tables of kinds, and of causes
    assert escaped("*[x](y)*") == r"\*\[x\](y)\*"


RED_PAGE = """\
# exploratory/chaos on Kafka 4.3.1

❌ **Invalid**: 2 runs, of which 1 invalid, 1 valid. 1 verdict not as expected.

## To look at

- ❌ seed 2, invalid, `20261120T220002Z-2`
  - log-0/3, offsets 220–231: 3 anomalies of 2 kinds (1 lost-write, 2 duplicate)
  - log: it is \\| not \\<valid\\>
  - again: `krucible run exploratory/chaos --seed 2`

## Anomalies

Illegal: 2 of 2 kinds.

| anomaly | number | runs | illegal in | seeds |
| --- | --: | --: | --: | --- |
| `duplicate` | 2 | 1 | 1 | 2 |
| `lost-write` | 1 | 1 | 1 | 2 |

## Causes

Illegal anomalies by cause. A cause is a group of anomalies in one place and one epoch, close in time.

| kinds of one cause | causes | anomalies | runs | seeds |
| --- | --: | --: | --: | --- |
| `lost-write, duplicate` | 1 | 3 | 1 | 2 |

"""  # noqa: RUF001 - a range

GREEN_PAGE = """\
# exploratory/chaos on Kafka 4.3.1

✅ **Valid**: 2 runs, of which 2 valid. All verdicts with an expectation are as expected.

## Anomalies

None was found in 48,000 acknowledged records under 4 faults.

## What was done

- krucible: 6129fa2
- Image: krucible/kafka:4.3.1 sha256:5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c
- Host: Linux 6.1.0-18-amd64, 2 CPUs, Docker 20.10.24
- First run began: 2026-11-20T21:56:57Z
- Records sent: 48,000 acknowledged, 24 unknown, 2 failed
- Recovery after healing: median 300 ms, maximum 400 ms

## Faults

| fault | number | proven | unavailability p50 | max |
| --- | --: | --: | --: | --: |
| kill | 2 | 2 | 150 ms | 200 ms |
| partition | 2 | 0 |  |  |

Unavailability is the longest time in which a partition acknowledged no record, among the times that \
overlap the fault.

## What the checkers judged

| checker | exercised in runs | judged, sum of all runs |
| --- | --: | --- |
| log | 2 of 2 |  |

## Runs

| seed | verdict | expected | faults | acknowledged | unknown | failed | longest unavailability | recovery \
| lasted | anomalies | run |
| --: | --- | --- | --: | --: | --: | --: | --: | --: | --: | --- | --- |
| 1 | ✅ valid | yes | 2 | 24,000 | 12 | 1 | 100 ms | 200 ms | 80.0 s |  | `20261120T220001Z-1` |
| 2 | ✅ valid | yes | 2 | 24,000 | 12 | 1 | 200 ms | 400 ms | 80.0 s |  | `20261120T220002Z-2` |
"""
