"""Synthetic runs, built once for all tests."""

import pytest

from tests.results.story import Run, build, killed


@pytest.fixture(scope="session")
def red_run() -> Run:
    return build(red=True)


@pytest.fixture(scope="session")
def green_run() -> Run:
    return build(red=False)


@pytest.fixture(scope="session")
def killed_run() -> Run:
    return killed()
