"""Results are put together so that nothing illegal is ever hidden."""

from checkers.verdict.verdict import (
    EXAMPLES_PER_ANOMALY,
    Anomaly,
    Assumption,
    OpenAnomaly,
    Validity,
    result_of,
)


def anomaly(number: int, *, illegal: bool = True) -> Anomaly:
    return Anomaly("lost-write", f"number {number}", "acks=all", "KIP-966", illegal=illegal, time_ns=number)


def test_legal_findings_never_crowd_out_an_illegal_one() -> None:
    legal = [anomaly(number, illegal=False) for number in range(EXAMPLES_PER_ANOMALY + 5)]
    result = result_of("log", [*legal, anomaly(99)])

    assert result.validity is Validity.INVALID
    assert result.counts == {"lost-write": EXAMPLES_PER_ANOMALY + 6}
    assert len(result.anomalies) == EXAMPLES_PER_ANOMALY
    assert [found.summary for found in result.anomalies if found.illegal] == ["number 99"]


def test_given_counts_stand() -> None:
    result = result_of("log", [anomaly(1)], counts={"lost-write": 1000})

    assert result.counts == {"lost-write": 1000}


def test_doubt_gives_way_to_proof_only() -> None:
    unmet = Assumption("fault-held", met=False, expected="5 s", observed="1 s")

    assert result_of("log", []).validity is Validity.VALID
    assert result_of("log", [anomaly(1, illegal=False)]).validity is Validity.VALID
    assert result_of("log", [], exercised=False).validity is Validity.NOT_EXERCISED
    unsure = result_of("log", [], exercised=False, unknown_because="no final read")
    assert unsure.validity is Validity.UNKNOWN
    assert result_of("log", [], unknown_because="no final read").validity is Validity.UNKNOWN
    assert result_of("log", [], assumptions=(unmet,)).validity is Validity.UNKNOWN
    decided = result_of("log", [anomaly(1)], assumptions=(unmet,), unknown_because="no final read")
    assert decided.validity is Validity.INVALID
    assert decided.unknown_because == "no final read"


def test_an_invalid_result_says_whether_it_could_decide_the_rest() -> None:
    unmet = Assumption("fault-held", met=False, expected="5 s", observed="1 s")
    assert not result_of("log", [anomaly(1)]).undecided
    assert result_of("log", [anomaly(1)], assumptions=(unmet,)).undecided
    assert result_of("log", [anomaly(1)], unknown_because="no final read").undecided
    assert result_of("log", [], unknown_because="no final read").undecided
    assert not result_of("log", []).undecided


def test_what_may_be_permitted_is_open_only_if_nothing_else_is_unknown() -> None:
    unmet = Assumption("fault-held", met=False, expected="5 s", observed="1 s")
    perhaps = [OpenAnomaly("lost-write", "a disk was lost"), OpenAnomaly("duplicate", "a disk was lost")]
    legal = anomaly(1, illegal=False)

    alone = result_of("log", [legal], open_anomalies=perhaps)
    assert (alone.validity, alone.unknown_because) == (Validity.UNKNOWN, "a disk was lost")
    assert alone.open_anomalies == ("duplicate", "lost-write")
    more = result_of("log", [legal], open_anomalies=perhaps, unknown_because="no final read")
    assert (more.validity, more.unknown_because) == (Validity.UNKNOWN, "no final read; a disk was lost")
    for other in (
        more,
        result_of("log", [legal], open_anomalies=perhaps, assumptions=(unmet,)),
        result_of("log", [legal], unknown_because="a disk was lost"),
    ):
        assert other.open_anomalies == ()
    beside = result_of("log", [anomaly(2)], open_anomalies=perhaps)
    assert (beside.validity, beside.open_anomalies) == (Validity.INVALID, alone.open_anomalies)
