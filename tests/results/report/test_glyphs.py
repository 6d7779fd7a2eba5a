"""A glyph that a history has is drawn only if it is a small path, and nothing else."""

import pytest

from results.report.drawing import glyphs

DIAMOND = glyphs.fault("nobody-knows", 0, 0)


@pytest.mark.parametrize("path", ["M-4 0H4M0 -4.5V4.5", "M-4.4 0A4.4 4.4 0 1 0 4.4 0Z", "M.6-.6L9.9,0"])
def test_a_small_path_is_drawn(path: str) -> None:
    assert f' d="{path}"' in glyphs.fault("nobody-knows", 0, 0, path)
    assert f' d="{path}"' in glyphs.fault_icon("nobody-knows", path)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "M",
        "4 4",
        "M0 0L10 0",
        "M0 0L9e9 0",
        "M0 0L1.25 0",
        "M0 0l9 9",
        'M0 0"/><script>alert(1)</script>',
        "M0 0Z\n",
        "M0 0L\u0661 0",
        "M0 0" + "L9 9" * 40,
    ],
)
def test_anything_else_is_a_diamond(path: str) -> None:
    assert glyphs.fault("nobody-knows", 0, 0, path) == DIAMOND


def test_a_known_kind_keeps_its_shape_whatever_the_history_has() -> None:
    assert glyphs.fault("kill", 0, 0, "url(x)") == glyphs.fault("kill", 0, 0)
