"""Synthetic runs, built once for all tests, and one Chromium."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkers.verdict.verdict import Validity, Verdict, result_of
from tests.results.chromium import Chromium
from tests.results.story import Run, build, crowded, killed


@pytest.fixture(scope="session")
def red_run() -> Run:
    return build(red=True)


@pytest.fixture(scope="session")
def green_run() -> Run:
    return build(red=False)


@pytest.fixture(scope="session")
def killed_run() -> Run:
    return killed()


@pytest.fixture(scope="session")
def crowded_run() -> Run:
    verdict = Verdict(Validity.VALID, (result_of("log", []),))
    return Run(crowded(100_000), verdict, None)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        Chromium(Path(profile)) as opened,
    ):
        yield opened
