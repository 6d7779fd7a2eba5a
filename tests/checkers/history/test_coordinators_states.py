"""Observations of coordinators' logs are refused if their columns don't fit."""

from typing import Any

import pytest

from checkers.history.packing import packed_rows
from checkers.history.share_states import (
    SHARE_BATCH_TYPES,
    SHARE_STATE_TYPES,
    ShareStatesSeen,
    share_states_problem,
)
from checkers.history.transaction_states import STATE_TYPES, StatesSeen, states_problem


def state_columns(**change: str | None) -> dict[str, str]:
    packed = packed_rows([(0,) * len(STATE_TYPES)], STATE_TYPES)
    return {name: text for name, text in (packed | change).items() if text is not None}


@pytest.mark.parametrize(
    ("seen", "problem"),
    [
        ({"columns": state_columns(), "ids": ["a"], "sets": [{}]}, None),
        ({"columns": state_columns(status=None), "ids": ["a"], "sets": [{}]}, "Expected a column status"),
        ({"columns": state_columns(), "sets": [{}]}, "Expected numbers from 0 to -1 in column id"),
        ({"columns": state_columns(), "ids": ["a"]}, "Expected numbers from -1 to -1 in column partitions"),
        (
            {"columns": state_columns(), "count": 2, "ids": ["a"], "sets": [{}]},
            "Expected 2 numbers in column offset",
        ),
        ({"columns": state_columns(), "count": 2**40}, "Expected at most"),
    ],
)
def test_states_of_transactions_must_fit(seen: dict[str, Any], problem: str | None) -> None:
    message = states_problem(StatesSeen(**({"began_ns": 0, "partition": 0, "count": 1} | seen)))
    assert message == problem if problem is None else (message or "").startswith(problem)


def share_columns(rows: int = 1, **change: str | None) -> dict[str, str]:
    packed = packed_rows([(0, 0, 0, 1, 0, -1, 0, -1, 1)] * rows, SHARE_STATE_TYPES)
    return {name: text for name, text in (packed | change).items() if text is not None}


def batches(*rows: tuple[int, int, int, int]) -> dict[str, str]:
    return packed_rows(rows, SHARE_BATCH_TYPES)


@pytest.mark.parametrize(
    ("seen", "problem"),
    [
        ({}, None),
        ({"columns": share_columns(kind=None)}, "Expected a column kind"),
        ({"batches": {}}, "Expected a column count"),
        ({"places": []}, "Expected numbers from 0 to -1 in column place"),
        ({"count": 2}, "Expected 2 numbers in column offset"),
        ({"count": 2**40}, "Expected at most"),
        ({"batch_count": 2, "batches": batches((1, 1, 0, 1), (2, 2, 0, 1))}, "Expected 2 batches in column"),
        (
            {
                "columns": packed_rows([(0, 0, 0, 1, 0, 0, 0, 0, n) for n in (2, -1)], SHARE_STATE_TYPES),
                "count": 2,
            },
            "Expected 1 batches in column",
        ),
        ({"batches": batches((2, 1, 0, 1))}, "Expected no number in column first"),
    ],
)
def test_states_of_share_partitions_must_fit(seen: dict[str, Any], problem: str | None) -> None:
    whole: dict[str, Any] = {
        "count": 1,
        "columns": share_columns(),
        "batch_count": 1,
        "batches": batches((1, 1, 0, 1)),
    }
    whole |= {"began_ns": 0, "partition": 0, "places": [("a", "AAECAwQFBgcICQoLDA0ODw", 0)]}
    message = share_states_problem(ShareStatesSeen(**(whole | seen)))
    assert message == problem if problem is None else (message or "").startswith(problem)
