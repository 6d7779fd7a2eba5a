"""Chains of the packet filter: their names, and whether a rule of one is left."""

from types import SimpleNamespace
from typing import cast

import pytest

from harness.faults.chained import LONGEST_NAME, chain_of, confirm_removed
from harness.faults.contract import Bench, NotConfirmedError


class Holder:
    """A node whose packet filter has these rules."""

    def __init__(self, listing: str) -> None:
        self.listing = listing

    def enter_holder(self, _: str) -> str:
        return self.listing


def bench(listing: str) -> Bench:
    return cast("Bench", SimpleNamespace(containers={"b1": Holder(listing)}))


def test_a_short_name_is_the_faults() -> None:
    assert chain_of("g1f1") == "KRUCIBLE-g1f1"


def test_names_that_iptables_would_refuse_are_shortened_and_stay_distinct() -> None:
    faults = (
        "after-controller-2-up",
        "after-controller-2-upgrade",
        "two words",
        "two-words",
        "a;b",
        "é" * 19,
    )
    chains = [chain_of(fault) for fault in faults]
    assert len(set(chains)) == len(faults)
    assert all(len(chain) <= LONGEST_NAME and chain.startswith("KRUCIBLE-") for chain in chains)
    assert all(chain.isascii() and chain.replace("-", "").replace("_", "").isalnum() for chain in chains)


def test_rules_of_a_fault_whose_name_begins_alike_are_not_left_over() -> None:
    others = "-N KRUCIBLE-cut-leader\n-A KRUCIBLE -j KRUCIBLE-cut-leader\n-A KRUCIBLE-cut-leader -j DROP"
    assert confirm_removed(bench(others), ("b1",), "KRUCIBLE-cut") == {"rules_left": 0}
    with pytest.raises(NotConfirmedError, match="rules are left"):
        confirm_removed(bench(others), ("b1",), "KRUCIBLE-cut-leader")
