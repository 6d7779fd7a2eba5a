"""How often a cut is looked at before it is disbelieved, however long one look takes."""

import pytest

from harness.faults.cuts import Pair
from harness.faults.partition import LOOKS_MIN, looked_until


@pytest.mark.parametrize(("counted_at", "looks"), [(1, 1), (2, 2), (LOOKS_MIN, LOOKS_MIN), (99, LOOKS_MIN)])
def test_a_cut_that_is_looked_at_slowly_is_looked_at_again(counted_at: int, looks: int) -> None:
    seen: list[dict[Pair, int]] = []

    def look() -> dict[Pair, int]:
        seen.append({("a", "b"): int(len(seen) + 1 >= counted_at)})
        return seen[-1]

    assert looked_until(look, lambda counted: all(counted.values()), bound_s=-1.0) == seen[-1]
    assert len(seen) == looks
