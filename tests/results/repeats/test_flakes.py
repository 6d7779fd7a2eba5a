"""Flaky is only what ran alike on the same Kafka and did not end alike; the minority is the flake."""

from collections.abc import Sequence

import msgspec
import pytest

from checkers.history.identity import ImageIdentity, RunIdentity
from checkers.verdict.verdict import Validity, Verdict
from results.campaigns.summary import judged
from results.qualification import QualificationRun
from results.qualification.sections import sections_of
from results.repeats.flakes import Comparable, comparable, flakes_among, minority, runs_alike
from tests.results.qualified import both, qualification_of, run

IDENTITY = RunIdentity(
    run="r1",
    scenario="smoke/kill",
    seed=1,
    kafka_version="4.3.1",
    began_at="2026-11-20T22:00:00Z",
    reproduce="krucible run smoke/kill --seed 1 --kafka-version 4.3.1 --mode isolated",
    image=ImageIdentity(reference="krucible/kafka:4.3.1", checksums={"jars": "abc"}),
)


def comparable_run(
    verdict: str, run: str = "", content: str = "k", schedule: str = "s", replay_of: str = ""
) -> Comparable:
    return Comparable(run, content, schedule, replay_of, verdict)


def odd(*runs: Comparable) -> tuple[int, int] | None:
    found = flakes_among(runs)
    return None if found is None else (found.odd, found.runs)


@pytest.mark.parametrize(
    ("verdicts", "found"),
    [
        ("", None),
        ("v", None),
        ("vv", (0, 2)),
        ("ii", (0, 2)),
        ("vvi", (1, 3)),
        ("iiv", (1, 3)),
        ("vi", (1, 2)),
        ("vviiu", (3, 5)),
    ],
)
def test_the_minority_is_the_flake_whichever_colour(verdicts: str, found: tuple[int, int] | None) -> None:
    assert odd(*map(comparable_run, verdicts)) == found


def test_another_seed_or_another_kafka_is_no_repetition() -> None:
    assert odd(comparable_run("v"), comparable_run("i", schedule="other")) is None
    assert odd(comparable_run("v"), comparable_run("i", content="other")) is None
    assert odd(comparable_run("v"), comparable_run("v"), comparable_run("i", schedule="other")) == (0, 2)


def test_a_replay_has_the_schedule_of_its_run() -> None:
    first = comparable_run("v", run="r1")
    again = [
        comparable_run("i", run=f"r{n}", schedule=f"krucible replay {n}", replay_of="r1") for n in (2, 3)
    ]
    assert odd(*again, first) == (1, 3)
    assert odd(*again) == (0, 2), "also where the run itself is gone"
    assert odd(first, again[0]._replace(content="other")) is None


def test_a_replay_of_a_replay_has_the_schedule_of_the_first_run() -> None:
    first = comparable_run("v", run="r1")
    again = comparable_run("i", run="r2", schedule="krucible replay r1", replay_of="r1")
    once_more = comparable_run("v", run="r3", schedule="krucible replay r2", replay_of="r2")
    assert odd(first, again, once_more) == (1, 3)
    assert odd(again, once_more) == (1, 2), "also where the first run is gone"
    circle = [comparable_run("v", run=f"c{n}", replay_of=f"c{1 - n}") for n in (0, 1)]
    assert odd(*circle) == (0, 2), "whoever names whom, it ends"


def test_without_a_verdict_there_is_no_flake() -> None:
    assert odd(comparable_run("v"), comparable_run("")) is None
    assert odd(comparable_run("v"), comparable_run("v"), comparable_run("")) == (0, 2)


def test_the_rate_has_wilsons_interval() -> None:
    found = flakes_among(map(comparable_run, "iiiii"))
    assert found is not None
    assert (found.rate, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(0.4345, abs=5e-5)


def test_a_run_of_which_nothing_is_known_is_alone() -> None:
    assert runs_alike([None, comparable_run("v"), None, comparable_run("i")], lambda one: one) == [
        [None],
        [comparable_run("v"), comparable_run("i")],
        [None],
    ]
    assert minority({}) == 0


def test_the_content_is_the_jars_and_the_schedule_does_not_name_kafka() -> None:
    assert comparable(IDENTITY, "valid") == Comparable(
        "r1", "4.3.1 abc", "krucible run smoke/kill --seed 1 --mode isolated", "", "valid"
    )
    bare = msgspec.structs.replace(
        IDENTITY, image=None, seeded_bug="forgets", replay_of="r0", reproduce="krucible replay runs/r0"
    )
    assert comparable(bare, "")[1:4:2] == ("4.3.1 forgets", "r0")
    by_tarball = msgspec.structs.replace(IDENTITY, reproduce="krucible run x --kafka-tarball=k.tgz --seed 3")
    assert comparable(by_tarball, "").schedule == "krucible run x --seed 3"
    line = f"{IDENTITY.reproduce} --image-source artifacts"
    same = msgspec.structs.replace(IDENTITY, run="r2", reproduce=line)
    assert odd(comparable(IDENTITY, "invalid"), comparable(same, "valid")) is not None, "the same jars"


def test_a_run_that_makes_another_one_smaller_has_its_own_schedule() -> None:
    """`krucible minimise` names the red run in its candidates; that they end valid makes it no flake."""
    line = "krucible run candidates/lost-write-1.py --seed 1"
    smaller = msgspec.structs.replace(IDENTITY, run="r2", reproduce=line, replay_of="r1")
    assert odd(comparable(IDENTITY, "invalid"), comparable(smaller, "valid")) is None
    again = msgspec.structs.replace(smaller, reproduce="krucible replay runs/r1")
    assert odd(comparable(IDENTITY, "invalid"), comparable(again, "valid")) == (1, 2)


def test_an_outcome_keeps_what_identifies_the_content() -> None:
    """A summary leaves out the checksums of a hundred files, and must not confuse two images for it."""
    image = ImageIdentity(reference="k", checksums={"a.jar": "1", "b.jar": "2"})
    whole = msgspec.structs.replace(IDENTITY, image=image)
    kept = judged("f", Verdict(validity=Validity.VALID, results=()), whole).identity
    assert kept is not None
    assert comparable(kept, "") == comparable(whole, "")


def note(runs: Sequence[QualificationRun]) -> str:
    """What a qualification says of flakes."""
    return next(
        one.note for one in sections_of(qualification_of(runs)) if one.title == "Runs without a verdict"
    )


def test_a_qualification_counts_its_flakes() -> None:
    assert (
        note(both(1, 2))
        == "No schedule ran twice on the same Kafka, so it is unknown whether there are flakes."
    )
    twice = note((*both(1), run(seed=1)))
    assert twice.startswith(
        "Flakes, among runs whose schedule ran more than once on the same Kafka: 0 of 2 runs (0 %"
    )
