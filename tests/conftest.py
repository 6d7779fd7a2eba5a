"""What holds for all tests: the same examples, time enough, no colours of a shell, and who has which."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.sharing import Niceness, Sharing, turn_of

settings.register_profile(
    "deterministic", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("deterministic")

for _name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(_name, None)


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(Niceness(), "niceness")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=turn_of)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Sharing:
    config.option.loadscopereorder = False
    return Sharing(config, log)
