"""Kinds of anomalies: what all findings of one id share."""

from checkers.verdict.kinds import AnomalyKind, by_id

KIND = AnomalyKind("odd", "Something odd.", "Nothing odd happens.", "KIP-0", illegal=False)


def test_a_finding_has_what_its_kind_has() -> None:
    found = KIND.found("It was odd.", subject="c1", time_ns=5, witness=(i for i in (1, 2)))
    assert (found.id, found.guarantee, found.source, found.illegal) == (
        "odd",
        "Nothing odd happens.",
        "KIP-0",
        False,
    )
    assert (found.summary, found.subject, found.time_ns) == ("It was odd.", "c1", 5)
    assert found.witness == (1, 2)


def test_kinds_are_found_by_id() -> None:
    assert by_id(KIND) == {"odd": KIND}
