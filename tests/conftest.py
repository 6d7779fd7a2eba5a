"""What holds for all tests: the same examples, time, no colours of a shell, who has which, reports."""

import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.live_failures import LiveFailures
from tests.sharing import Niceness, Sharing, turn_of

settings.register_profile(
    "deterministic", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("deterministic")

ALSO_SLOW = ("browser", "cluster", "long")
"""Marks of tests that are slow, so that one mark says what `make test-fast` leaves out."""
SPARK = "tests/results/pipeline/"
"""Folder of tests whose session of Spark takes long to start, for one test or for all."""

for _name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(_name, None)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(Niceness(), "niceness")
    elif (terminal := config.pluginmanager.get_plugin("terminalreporter")) is not None:
        config.pluginmanager.register(LiveFailures(terminal), "live_failures")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests, and mark those that are slow or not traced, before tests are chosen by their marks.

    Tests on clusters are not traced: it costs time, and the gates hold without.
    """
    items.sort(key=turn_of)
    for item in items:
        if item.get_closest_marker("cluster"):
            item.add_marker(pytest.mark.no_cover)
        if item.nodeid.startswith(SPARK) or any(map(item.get_closest_marker, ALSO_SLOW)):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage meanwhile, and never visit what is there then: tests stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Sharing:
    config.option.loadscopereorder = False
    return Sharing(config, log)
