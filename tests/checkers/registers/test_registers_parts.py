"""Sorting part by part, and zones made of many parts, against their definitions."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.columns.tables import Integers
from checkers.registers import sorting
from checkers.registers.columns import SHIFT, Rows
from checkers.registers.sorting import blocks_of, in_parts
from checkers.registers.zones import conflicts_of, read_early, zones_of

MANY = settings(max_examples=500)
SPREADS = [1, 2**55, 2**59]
"""How far values lie apart: codes and rows then fit one integer, do not, or not even joint codes do."""


@contextmanager
def tiny_parts() -> Iterator[None]:
    """Few rows make many blocks and parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "BLOCK", 5)
        patch.setattr(sorting, "PART", 3)
        yield


def codes_below(limit: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, limit - 1), min_size=1, max_size=40)


def in_blocks(code: Integers) -> Iterator[tuple[Integers, Integers]]:
    row = np.arange(len(code))
    return ((code[block], row[block]) for block in blocks_of(len(code)))


@MANY
@given(codes_below(4) | codes_below(30) | codes_below(2**63 - 2), st.integers(0, 20))
def test_parts_follow_each_other_in_the_order_of_codes_and_rows(drawn: list[int], more: int) -> None:
    code = np.array(drawn)
    with tiny_parts():
        blocks = in_blocks(code)
        parts = list(in_parts(blocks, rows_max=len(code) + more, codes=max(drawn) + 1))
    order = np.argsort(code, kind="stable")
    assert np.concatenate([row for _, row in parts]).tolist() == order.tolist()
    assert np.concatenate([part for part, _ in parts]).tolist() == code[order].tolist()
    ends = [(int(part[0]) // 2, int(part[-1]) // 2) for part, _ in parts]
    assert all(before[1] < after[0] for before, after in pairwise(ends))


def test_many_rows_make_many_parts_and_few_make_one() -> None:
    code = np.arange(200)[::-1].copy()
    assert len(list(in_parts(in_blocks(code), rows_max=200, codes=200))) == 1
    with tiny_parts():
        parts = list(in_parts(in_blocks(code), rows_max=200, codes=200))
    assert [part.tolist() for part, _ in parts] == [[*range(at, min(at + 4, 200))] for at in range(0, 200, 4)]


def test_blocks_without_rows_have_no_parts() -> None:
    nothing = np.empty(0, np.int64)
    assert list(in_parts([(nothing, nothing)], rows_max=3, codes=9)) == []


@st.composite
def some_rows(draw: st.DrawFn) -> Rows:
    """Operations in any overlap on a few registers and values, written any number of times or never."""
    size = draw(st.integers(1, 30))
    events = draw(st.permutations([*range(size)] * 2))
    horizon = len(events) + SHIFT
    start, finish = np.full((2, size), horizon)
    for stamp, call in enumerate(events, SHIFT):
        (start if start[call] == horizon else finish)[call] = stamp
    write = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    unknown = np.array(draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))) == 0
    finish[write & unknown] = horizon
    values = st.integers(-1, draw(st.sampled_from([3, 15]))).map(draw(st.sampled_from(SPREADS)).__mul__)
    return Rows(
        key=np.array(draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))),
        value=np.array(draw(st.lists(values, min_size=size, max_size=size))),
        write=write,
        start=start,
        finish=finish,
        horizon=horizon,
    )


@pytest.mark.slow
@pytest.mark.no_cover  # tracing takes as long as judging, and other tests reach every branch
@MANY
@given(some_rows())
def test_zones_of_many_parts_are_the_clusters_by_definition(rows: Rows) -> None:
    with tiny_parts():
        zones = zones_of(rows)
    clusters: dict[tuple[int, int], list[int]] = {}
    for row, pair in enumerate(zip(rows.key.tolist(), rows.value.tolist(), strict=True)):
        clusters.setdefault(pair, []).append(row)
    assert [*zip(zones.key.tolist(), zones.value.tolist(), strict=True)] == sorted(clusters)
    for zone, (_, some) in enumerate(sorted(clusters.items())):
        written = [row for row in some if rows.write[row]]
        assert zones.rows_of(zone).tolist() == [*written, *(row for row in some if row not in written)]
        assert zones.writes[zone] == len(written)
        assert zones.finish[zone] == min(rows.finish[some])
        assert zones.start[zone] == max(rows.start[some])
        if len(written) == 1:
            assert zones.write_start[zone] == rows.start[written[0]]
            assert zones.write_finish[zone] == rows.finish[written[0]]
    assert zones.zone_of_rows()[zones.order].tolist() == sorted(zones.zone_of_rows().tolist())


def written_once(rows: Rows) -> Rows:
    """The same, but the first operation on each value is its write, and no other is."""
    pairs = [*zip(rows.key.tolist(), rows.value.tolist(), strict=True)]
    write = np.array([pair not in pairs[:row] for row, pair in enumerate(pairs)])
    return replace(rows, write=write)


@pytest.mark.slow
@pytest.mark.no_cover  # tracing takes as long as judging, and other tests reach every branch
@MANY
@given(some_rows().map(written_once))
def test_conflicts_of_many_parts_are_those_of_pairs_of_zones(rows: Rows) -> None:
    zones = zones_of(rows)
    chosen = (zones.writes == 1) & ~read_early(zones)
    with tiny_parts():
        conflicts = conflicts_of(zones, chosen)
    spans = {
        zone: (int(zones.key[zone]), *sorted((int(zones.finish[zone]), int(zones.start[zone]))))
        for zone in np.flatnonzero(chosen & (zones.finish < zones.horizon)).tolist()
    }
    pairs = {
        (zone, within)
        for zone, (key, begin, end) in spans.items()
        for within, (register, first, last) in spans.items()
        if key == register and zones.finish[within] < zones.start[within] and first < begin
        if last > (begin if zones.finish[zone] < zones.start[zone] else end)
    }
    found = [*zip(conflicts.zone.tolist(), conflicts.within.tolist(), strict=True)]
    assert sorted(zone for zone, _ in found) == sorted({zone for zone, _ in pairs})
    assert set(found) <= pairs


def test_a_zone_conflicts_with_all_that_it_encloses_however_many_parts_they_fill() -> None:
    inner = np.arange(1, 41)
    begin = SHIFT + 2 * inner
    last = SHIFT + 2 * len(inner) + 2
    rows = Rows(
        key=np.zeros(42, np.int64),
        value=np.concatenate(([0, 0], inner)),
        write=np.concatenate(([True, False], np.ones(40, np.bool_))),
        start=np.concatenate(([SHIFT, last], begin)),
        finish=np.concatenate(([SHIFT + 1, last + 1], begin + 1)),
        horizon=last + 2,
    )
    with tiny_parts():
        zones = zones_of(rows)
        conflicts = conflicts_of(zones, zones.writes == 1)
    assert conflicts.zone.tolist() == inner.tolist()
    assert conflicts.within.tolist() == [0] * 40
