"""New signatures: what no earlier run of the store had; numbers distinguish no two failures."""

from pathlib import Path

import msgspec
import pytest

from checkers.verdict.verdict import Validity
from results.serve.listing import RunListing, new_in
from results.serve.new_failures import Signed, new_signatures
from tests.results.stores import VALID, broken, put_run


@pytest.mark.parametrize("order", [1, -1])
def test_only_the_first_run_that_has_a_signature_is_named(order: int) -> None:
    runs = [
        Signed("a", "1", ()),
        Signed("b", "2", ("x",)),
        Signed("c", "3", ("x", "y")),
        Signed("d", "3", ("y",)),
        Signed("e", "4", ("x", "y")),
    ]
    assert new_signatures(runs[::order]) == {"b": ("x",), "c": ("y",)}


def test_a_store_without_a_past_has_nothing_new() -> None:
    assert new_signatures([]) == {}
    assert new_signatures([Signed("a", "1", ("x",)), Signed("b", "2", ("x",))]) == {}


def test_what_a_scenario_expects_is_not_new(tmp_path: Path) -> None:
    expected = msgspec.structs.replace(broken(), expected=Validity.INVALID, as_expected=True)
    for number, verdict in enumerate((VALID, expected, broken()), start=1):
        put_run(tmp_path, f"20261120T1{number}0000Z-{number}", verdict)
    assert new_in(RunListing(tmp_path).entries()) == {
        "smoke/partition/20261120T130000Z-3": ("log/lost-write: s",)
    }


def test_runs_that_were_not_judged_and_seeded_bugs_are_no_past(tmp_path: Path) -> None:
    put_run(tmp_path, "20261120T100000Z-1", None)
    put_run(tmp_path, "20261120T110000Z-2", broken("duplicate"), seeded_bug="forgets")
    put_run(tmp_path, "20261120T120000Z-3")
    put_run(tmp_path, "20261120T130000Z-4", broken("duplicate"))
    put_run(tmp_path, "20261120T140000Z-5", broken("duplicate"), seeded_bug="forgets")
    found = new_in(RunListing(tmp_path).entries())
    assert found == {"smoke/partition/20261120T130000Z-4": ("log/duplicate: s",)}
