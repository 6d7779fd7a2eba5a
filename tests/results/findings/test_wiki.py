"""Markdown becomes wiki markup piece by piece, and what has no counterpart is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.findings.wiki import UntranslatableError, wiki_of

HEADS = "| a | b |\n|---|---|\n| x | `y` |"
NO_HEADS = "| | |\n|---|---|\n| x | |"


@pytest.mark.parametrize(
    ("markdown", "wiki"),
    [
        ("# A title", "h1. A title"),
        ("### `a`", "h3. {{a}}"),
        ("one\ntwo\n\nthree", "one two\n\nthree"),
        ("*so* and **so**", "_so_ and *so*"),
        ("- one\n- two", "* one\n* two"),
        ("1. one\n2. two\n   more", "# one\n# two more"),
        ("```\na {x} *b*\n```", "{noformat}\na {x} *b*\n{noformat}"),
        ("```sh\na ${b} *c*\n```", "{code:bash}\na ${b} *c*\n{code}"),
        (HEADS, "||a||b||\n|x|{{y}}|"),
        (NO_HEADS, "|x| |"),
        (
            "[a page](https://kafka.apache.org) and [a section](#below)",
            "[a page|https://kafka.apache.org] and a section",
        ),
        ("[1, 2] {x} a_b 5-6 -x x- a|b", "\\[1, 2\\] \\{x\\} a\\_b 5-6 \\-x x\\- a\\|b"),
        ("`--version`", "{{&#45;&#45;version}}"),
    ],
)
def test_a_piece_has_its_counterpart(markdown: str, wiki: str) -> None:
    assert wiki_of(markdown) == wiki


@pytest.mark.parametrize(
    ("markdown", "what"),
    [
        ("a\n\n> quoted", "blockquote_open in line 3"),
        ("<b>", "html_block in line 1"),
        ("a <b>c</b>", "html_inline within a line"),
        ("![a](https://b)", "image within a line"),
        ("- a\n  - b", "a list within a list"),
        ("a  \nb", "hardbreak within a line"),
        ("1. a\n\n   ```\n   b\n   ```", "a block within a list"),
        ("```sh\n{code}\n```", "a tag of a block of code within a block of code"),
    ],
)
def test_what_has_no_counterpart_is_refused(markdown: str, what: str) -> None:
    with pytest.raises(UntranslatableError, match=what):
        wiki_of(markdown)


def test_a_long_block_of_code_is_whole() -> None:
    lines = [f"line {number}" for number in range(100)]
    assert wiki_of("\n".join(("```", *lines, "```"))) == "\n".join(("{noformat}", *lines, "{noformat}"))


@given(st.text("ab1 {}[]|", min_size=1))
def test_no_text_opens_a_macro_or_a_link(text: str) -> None:
    wiki = wiki_of(f"x{text}x".replace("[", "\\[").replace("]", "\\]"))
    bare = wiki.replace("\\{", "").replace("\\[", "").replace("\\}", "").replace("\\]", "").replace("\\|", "")
    assert not set("{}[]|") & set(bare)
