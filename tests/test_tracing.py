"""A property is traced in its first examples only, all of which are those of a run without tracing."""

import json
import shutil
from ast import literal_eval
from pathlib import Path

import pytest

from tests.tracing import EXAMPLES

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parent.parent
MORE = EXAMPLES + 30
FUNCTIONS = ("first", "later", "untraced", "failed", "afterwards")
OURS = "".join(f"def {name}():\n    return 1\n" for name in FUNCTIONS)
TESTS = f"""
from pathlib import Path
import pytest
from hypothesis import given, settings, strategies
import ours

SEEN = {{"a": [], "b": []}}

@pytest.mark.parametrize("kind", SEEN)
@settings(max_examples={MORE}, database=None)
@given(number=strategies.integers(0, 2**64))
def test_a_property(kind, number):
    SEEN[kind].append(number)
    (ours.first if len(SEEN[kind]) <= {EXAMPLES} else ours.later)()

@pytest.mark.no_cover
@given(strategies.booleans())
def test_a_property_that_is_not_traced(_):
    ours.untraced()

@settings(database=None)
@given(strategies.integers(0, 2**64))
def test_a_property_that_fails_late(number):
    SEEN.setdefault("late", []).append(number)
    assert len(SEEN["late"]) <= {MORE}
    ours.failed()

def test_afterwards():
    Path("seen").write_text(repr(SEEN))
    ours.afterwards()
"""


def seen_and_missing(pytester: pytest.Pytester, *options: str) -> tuple[dict[str, list[int]], set[str]]:
    """What a small suite saw, and which functions were not reached as far as it was traced."""
    (pytester.path / "tests/a").mkdir(parents=True, exist_ok=True)
    (pytester.path / "tests/a/test_it.py").write_text(TESTS)
    (pytester.path / "ours.py").write_text(OURS)
    for name in ("conftest.py", "sharing.py", "live_failures.py", "tracing.py"):
        shutil.copy(ROOT / "tests" / name, pytester.path / "tests")
    ran = pytester.runpytest_subprocess("tests", "--import-mode=importlib", *options)
    ran.assert_outcomes(passed=4, failed=1)
    seen = literal_eval((pytester.path / "seen").read_text())
    report = pytester.path / "told.json"
    missing = json.loads(report.read_text())["files"]["ours.py"]["missing_lines"] if report.exists() else ()
    return seen, {name for number, name in enumerate(FUNCTIONS, 1) if 2 * number in missing}


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_of_a_property_the_first_examples_are_traced_and_all_run(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    untraced, _ = seen_and_missing(pytester)
    seen, missing = seen_and_missing(pytester, "--cov=ours", "--cov-report=json:told.json", *workers)
    assert missing == {"later", "untraced"}
    assert [len(seen[kind]) for kind in "ab"] == [MORE, MORE]
    assert seen["a"] != seen["b"]
    assert [seen[kind] for kind in "ab"] == [untraced[kind] for kind in "ab"], "the same without tracing"
