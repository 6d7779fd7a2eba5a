"""Notations, compression and encodings: distinguished, read alike, refused where damaged."""

import gzip
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.foreign.files import Notation, open_source
from checkers.foreign.json_text import read_array
from checkers.foreign.records import NEMESIS, Foreign
from checkers.foreign.text_pieces import Pieces
from checkers.history.reading import HistoryError
from tests.checkers.foreign.texts import foreign, stream_of

OPERATIONS = [
    {"process": 0, "type": "invoke", "f": "write", "value": 3},
    {"process": 0, "type": "ok", "f": "write", "value": 3},
    {"process": 1, "type": "invoke", "f": "cas", "value": [3, 4]},
    {"process": 1, "type": "info", "f": "cas", "value": [3, 4], "error": "timed-out"},
]
EDN = """{:process 0, :type :invoke, :f :write, :value 3}
{:process 0, :type :ok, :f :write, :value 3}
{:process 1, :type :invoke, :f :cas, :value [3 4]}
{:process 1, :type :info, :f :cas, :value [3 4], :error :timed-out}
"""
LOG = """2015-01-02 10:00:00,123{GMT}\tINFO\t[main] jepsen.core: test begins
INFO  jepsen.util - 0\t:invoke\t:write\t3
2015-01-02 10:00:00,123{GMT}\tINFO\t[jepsen worker 0] jepsen.util: 0\t:ok\t:write\t3
INFO  jepsen.util - 1  :invoke  :cas   [3 4]
INFO  jepsen.util - :nemesis\t:info\t:start\tnil
INFO  jepsen.util - Worker 1 starting
INFO  jepsen.util - 1\t:info\t:cas\t[3 4]\t:timed-out
"""
LINES = "".join(json.dumps(operation) + "\n" for operation in OPERATIONS)


def source(content: str | bytes) -> tuple[Notation, list[Any], list[str]]:
    found = open_source(stream_of(content if isinstance(content, bytes) else content.encode()), "history")
    return found.notation, [element.value for element in found.elements], found.damage


def stripped(history: Foreign) -> list[tuple[Any, ...]]:
    return [(r.process, str(r.type), r.f, r.value, r.error) for r in history.records if r.process != NEMESIS]


@pytest.mark.parametrize(
    ("text", "notation"),
    [
        (EDN, Notation.EDN),
        (f"[{EDN}]", Notation.EDN),
        (f"; note\n({EDN})", Notation.EDN),
        (LINES, Notation.JSON_LINES),
        (LINES.replace("\n", "\n\n"), Notation.JSON_LINES),
        (LINES.removesuffix("\n"), Notation.JSON_LINES),
        (json.dumps(OPERATIONS), Notation.JSON_ARRAY),
        (json.dumps(OPERATIONS, indent=2), Notation.JSON_ARRAY),
        (LOG, Notation.LOG),
        (LOG.replace("\n", "\r\n"), Notation.LOG),
        (f"\ufeff{EDN}", Notation.EDN),
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_one_history_in_every_notation(text: str, notation: Notation, *, compressed: bool) -> None:
    content = gzip.compress(text.encode()) if compressed else text.encode()

    assert source(content)[0] is notation
    assert source(content)[2] == []
    assert stripped(foreign(content)) == [
        (o["process"], o["type"], o["f"], o["value"], o.get("error")) for o in OPERATIONS
    ]


def test_lines_and_columns_are_reported_in_every_notation() -> None:
    for text, places in (
        (LOG, [(2, 1), (3, 1), (4, 1), (7, 1)]),
        (LINES, [(1, 1), (2, 1), (3, 1), (4, 1)]),
        (
            '[{"process":0,"type":"invoke","f":"read"},\n  {"process":0,"type":"ok","f":"read"}]',
            [(1, 2), (2, 3)],
        ),
    ):
        clients = [record for record in foreign(text).records if record.process != NEMESIS]
        assert [(record.line, record.column) for record in clients] == places


@settings(max_examples=60)
@given(
    st.lists(st.dictionaries(st.text(max_size=3), st.integers(-9, 9) | st.text(max_size=5)), max_size=6),
    st.data(),
)
def test_an_array_is_read_in_any_pieces(wanted: list[Any], data: st.DataObject) -> None:
    text = json.dumps(wanted, indent=data.draw(st.sampled_from([None, 1])), ensure_ascii=False)
    size = data.draw(st.integers(1, 20))
    pieces = Pieces((text[begin : begin + size] for begin in range(0, len(text), size)), "history")
    assert [element.value for element in read_array(pieces)] == wanted


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_cut_off_tail_of_json_lines_is_damage(cut: int) -> None:
    notation, values, damage = source(LINES[: -1 - cut])
    assert notation is Notation.JSON_LINES
    assert values == OPERATIONS[:3]
    assert len(damage) == 1
    assert damage[0].startswith("history, line 4: cut short after")


@pytest.mark.parametrize("tail", ["INFO  jepsen.util - 2\t:inv", "INFO  jepsen.util - 2\t:invoke\t:cas\t[3 "])
def test_a_cut_off_tail_of_a_log_is_damage(tail: str) -> None:
    _, values, damage = source(LOG + tail)
    assert len(values) == 5
    assert damage == [f"history, line 8: cut short after {len(tail)} characters, dropped"]


def test_a_log_may_end_with_anything_else() -> None:
    assert source(LOG + "that is all")[2] == []


@pytest.mark.parametrize(
    ("content", "place", "message"),
    [
        ("", "history", "empty"),
        (" \n ", "history", "empty"),
        (gzip.compress(b"", mtime=0), "history", "empty"),
        (gzip.compress(EDN.encode(), mtime=0)[:-9], "history", "cut short or damaged"),
        (gzip.compress(EDN.encode() * 99, mtime=0)[:60], "history", "cut short or damaged"),
        (b"\x1f\x8b\x08junk that is no gzip", "history", "cut short or damaged"),
        (b"{:a 1}\n{:b \xff}", "history, line 2", "not UTF-8"),
        (b"{:a 1}\n{:b \xe2\x82", "history, line 2", "not UTF-8"),
        ('{"a":1}\n{"b"\n{"c":1}\n', "history, line 2, column 5", "truncated"),
        ('{"a":1}\n{"é":NaN}\n', "history, line 2, column 6", "malformed"),
        ('[{"a":1},\n{"é":NaN}]', "history, line 2, column 6", "malformed"),
        ('[{"a":1},\n{"é":\nNaN}]', "history, line 3, column 1", "malformed"),
        ('[{"a":1},\n{"b":}]', "history, line 2, column 6", "Expecting value"),
        ('[{"a":1}\n', "history, line 2, column 1", "before the array is closed"),
        ('[{"a":1}] 2', "history, line 1, column 11", "something follows"),
        ('{"a":[1,99999999999999999999]}\n', "history, line 1, column 9", "does not fit 64 bits"),
        ('{"a":{"b":-99999999999999999999}}\n', "history, line 1, column 11", "does not fit 64 bits"),
        ('{"a":1e999}\n', "history, line 1, column 12", "out of range"),
        ('{"a":' + "[" * 300 + "]" * 300 + "}\n", "history, line 1, column 205", "nested deeper"),
        ('[{"a":' + "[" * 300 + "]" * 300 + "}]", "history, line 1, column 206", "nested deeper"),
        ('[{"a":' + "[" * 300_000, "history, line 1, column 2", "nested deeper"),
        ('{"a":"' + "x" * 10_000_001 + '"}\n', "history, line 1, column 1", "more than 10,000,000"),
        ('[{"a":"' + "x" * 10_000_001 + '"}]', "history, line 1, column 2", "more than 10,000,000"),
        ("x" * 12_000_000, "history, line 1, column 1", "more than 10,000,000"),
        ("INFO  jepsen.util - 1 :ok :read 3 4 5\n\n", "history, line 1, column 1", "more than a value"),
        ("INFO  jepsen.util - 1 :ok :read [3\n\n", "history, line 1, column 33", "before [ is closed"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    content: str | bytes, place: str, message: str
) -> None:
    with pytest.raises(HistoryError) as refused:
        source(content)
    assert message in refused.value.problem
    assert refused.value.place == place


def test_numbers_in_texts_may_be_long_and_brackets_many() -> None:
    line = json.dumps({"a": "9" * 30, "b": [[]] * 300, "c": "[" * 300, "d": 123456789012345678901 // 100})
    assert source(line + "\n")[1] == [json.loads(line)]


def test_an_empty_array_holds_nothing() -> None:
    assert source("[ ]") == (Notation.JSON_ARRAY, [], [])
    assert source("[]\n")[1] == []


def test_a_long_file_is_read_in_pieces() -> None:
    line = json.dumps({"process": 0, "value": "é" * 100}, ensure_ascii=False)
    assert len(source(f"{line}\n" * 9_000)[1]) == 9_000
