"""Anomalies grouped by cause: what belongs together, and totals of all anomalies."""

import msgspec
import pytest

from checkers.verdict.tallies import NEAR_NS, NEAR_OFFSETS
from checkers.verdict.verdict import (
    EXAMPLES_PER_ANOMALY,
    Anomaly,
    CheckerResult,
    Validity,
    Verdict,
    result_of,
)
from results.run.causes import (
    cause_line,
    cause_lines,
    causes_of,
    first_of_kinds,
    illegal_causes,
    other_reasons,
)

S = 1_000_000_000


def found(name: str, subject: str | None = None, at_s: int | None = 0, *, illegal: bool = True) -> Anomaly:
    time_ns = None if at_s is None else at_s * S
    return Anomaly(name, f"{name} {subject}", "g", "s", illegal=illegal, subject=subject, time_ns=time_ns)


def log(*anomalies: Anomaly, starts: tuple[tuple[int, int], ...] = ()) -> Verdict:
    result = result_of("log", list(anomalies))
    disks = CheckerResult("replicas", Validity.VALID, epoch_starts={"log-0/3": starts} if starts else {})
    return Verdict(Validity.INVALID, (result, disks))


def lines(verdict: Verdict) -> list[str]:
    return [cause_line(cause) for cause in causes_of(verdict)]


def test_one_truncation_is_one_line_with_the_number_of_all() -> None:
    lost = [found("lost-write", f"log-0/3@{offset}", 90) for offset in range(220, 418)]
    reused = [found("inconsistent-offsets", f"log-0/3@{offset}", 20) for offset in range(220, 417)]
    order = [found("realtime-order", f"log-0/3@{offset}", 21) for offset in range(220, 418)]
    (line,) = lines(log(*lost, *reused, *order, starts=((4, 0), (5, 220))))
    name, counts = line.split(": ")
    assert name == "log-0/3, offsets 220–417, epoch 5"  # noqa: RUF001 - a range
    kinds = "198 lost-write, 197 inconsistent-offsets, 198 realtime-order"
    assert counts == f"593 anomalies of 3 kinds ({kinds})"


def test_the_witness_is_the_earliest_of_the_most_severe_kind() -> None:
    (cause,) = causes_of(
        log(
            found("realtime-order", "log-0/3@5", 1),
            found("lost-write", "log-0/3@7", 9),
            found("lost-write", "log-0/3@6", 8),
        )
    )
    assert cause.witness is not None
    assert cause.witness.anomaly.summary == "lost-write log-0/3@6"
    assert [one.anomaly.id for one in first_of_kinds(cause)] == ["lost-write", "realtime-order"]


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        (found("a", "log-0/3@5"), found("a", "log-0/4@5"), True),
        (found("a", "log-0/3@5"), found("a", f"log-0/3@{5 + NEAR_OFFSETS}", 900), False),
        (found("a", "log-0/3@5"), found("a", f"log-0/3@{6 + NEAR_OFFSETS}"), True),
        (found("a", "log-0/3@5", illegal=False), found("a", "log-0/3@5"), True),
        (found("a", "n1"), found("b", "n1", NEAR_NS // S), False),
        (found("a", "n1"), found("b", "n1", NEAR_NS // S + 1), True),
        (found("a", "epoch 5"), found("b", "n2, epoch 5"), False),
        (found("a", "epoch 5"), found("b", "n2, epoch 6"), True),
        (found("a", "group-0 generation 5"), found("b", "group-0 generation 6"), True),
        (found("a", "log-0/3@5"), found("a", "log-0/3", 3), False),
        (found("a", "log-0/3@5"), found("a", "log-0/3", 300), True),
        (found("a", "log-0/3@5"), found("a", "log-0/3@?"), False),
        (found("a", None, None), found("b", None, None), False),
    ],
)
def test_what_belongs_together(one: Anomaly, other: Anomaly, *, apart: bool) -> None:
    assert len(causes_of(log(one, other))) == 1 + apart


def test_epochs_distinguish_what_is_near() -> None:
    verdict = log(found("a", "log-0/3@219"), found("a", "log-0/3@220"), starts=((4, 100), (5, 220)))
    assert lines(verdict) == ["log-0/3, offset 219, epoch 4: 1 a", "log-0/3, offset 220, epoch 5: 1 a"]
    disordered = log(found("a", "log-0/3@160"), starts=((4, 180), (5, 150), (6, 300)))
    assert lines(disordered) == ["log-0/3, offset 160, epoch 5: 1 a"]
    before = log(found("a", "log-0/3@99"), starts=((4, 100), (5, 220)))
    assert lines(before) == ["log-0/3, offset 99: 1 a"]


def test_what_is_listed_stands_beside_its_number_also_where_that_reaches_into_the_next_epoch() -> None:
    many = [found("lost-write", f"log-0/3@{offset}", offset) for offset in range(210, 260)]
    (cause,) = causes_of(log(*reversed(many), starts=((4, 0), (5, 220))))
    assert cause.total == 50
    assert len(cause.shown) == EXAMPLES_PER_ANOMALY
    assert cause_line(cause) == "log-0/3, offsets 210–259, epochs 4–5: 50 lost-write"  # noqa: RUF001 - ranges
    timed = [found("x", "log-0/3@?", at_s) for at_s in (*range(15), *range(100, 115))]
    assert [(cause.total, len(cause.shown)) for cause in causes_of(log(*timed))] == [(15, 15), (15, 5)]


def test_what_no_tally_counts_is_counted_once() -> None:
    many = [found("lost-write", f"log-0/3@{offset}") for offset in range(50)]
    result = result_of("log", many)
    moved = msgspec.structs.replace(result, anomalies=(found("lost-write", "log-0/9@1"),))
    (cause,) = causes_of(Verdict(Validity.INVALID, (moved,)))
    assert (cause.place, cause.total, cause.witness) == ("log-0/3", 50, None)


def test_broken_promises_come_first_then_the_severe_then_the_early() -> None:
    verdict = log(
        found("duplicate", "log-0/1@1", 1, illegal=False),
        found("poll-skip", "log-0/2@1", 2),
        found("poll-skip", "log-0/3@1", 1),
        found("lost-write", "log-0/4@1", 9),
    )
    assert lines(verdict) == [
        "log-0/4, offset 1: 1 lost-write",
        "log-0/3, offset 1: 1 poll-skip",
        "log-0/2, offset 1: 1 poll-skip",
        "log-0/1, offset 1: 1 duplicate (legal)",
    ]
    assert len(illegal_causes(verdict)) == 3
    assert not causes_of(verdict, "replicas")


def test_transactions_of_a_circle_have_no_place_of_their_own() -> None:
    some = [found("G2-item", "{append x 1}"), found("G2-item", "{append y 2}", 2), found("G1a", "txn-0/1@3")]
    verdict = Verdict(Validity.INVALID, (result_of("transactions", some),))
    assert lines(verdict) == ["txn-0/1, offset 3: 1 G1a", "transactions: 2 G2-item"]


def test_numbers_without_a_place_are_shown_too() -> None:
    some = [found("lost-write", f"log-0/3@{offset}") for offset in range(EXAMPLES_PER_ANOMALY)]
    legal = found("duplicate", "log-0/3@1", illegal=False)
    counts = {"lost-write": 1_000, "duplicate": 7}
    verdict = Verdict(Validity.INVALID, (result_of("log", [*some, legal], counts=counts),))
    assert lines(verdict) == [
        "log-0/3, offsets 0–19: 20 lost-write",  # noqa: RUF001 - a range
        "log, places not recorded: 980 lost-write",
        "log-0/3, offset 1: 1 duplicate (legal)",
        "log, places not recorded: 6 duplicate (legal)",
    ]
    assert sum(cause.total for cause in causes_of(verdict)) == sum(counts.values())


def test_causes_without_a_line_are_counted() -> None:
    many = [Anomaly("lost-write", "s", "g", "s", subject=f"log-0/{n}@1") for n in range(3)]
    verdict = log(*many, msgspec.structs.replace(many[2], illegal=False))
    every = [f"log-0/{n}, offset 1: 1 lost-write" for n in range(3)]
    causes = illegal_causes(verdict)
    assert cause_lines(causes, 3) == (*every,)
    assert cause_lines(causes, 2) == (*every[:2], "and 1 more anomaly of 1 more cause")
    assert cause_lines(causes, 0) == ("and 3 more anomalies of 3 more causes",)


def test_reasons_that_causes_state_are_left_out() -> None:
    verdict = log(found("lost-write", "log-0/3@1"))
    reason = "log: 1 × lost-write, first: lost-write log-0/3@1"  # noqa: RUF001 - as the judge writes it
    reasons = (reason, "log: half a history.")
    assert other_reasons(Verdict(Validity.INVALID, verdict.results, reasons=reasons)) == reasons[1:]


@pytest.mark.no_cover
def test_a_hundred_thousand_are_grouped() -> None:
    kinds = ("lost-write", "duplicate", "poll-skip")
    many = [found(kinds[n % 3], f"log-0/{n % 64}@{n}", n // 1_000) for n in range(100_000)]
    causes = causes_of(log(*many))
    assert sum(cause.total for cause in causes) == len(many)
    assert {cause.place for cause in causes} == {f"log-0/{n}" for n in range(64)}
