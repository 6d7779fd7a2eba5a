"""Scenarios as items of pytest: one each, and for random schedules one for each kind of fault.

A fixed or scripted schedule is one item, whatever its faults: they follow each other in one cluster, and
without one of them it would be another scenario.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.plan.catalogue import load_scenario, scenario_names
from harness.pytest_plugin import ROOM
from harness.pytest_plugin.session import ItemOptions, options_of
from harness.vocabulary.scenario import RandomSchedule

AS_IT_IS = "as-it-is"
"""The item of a scenario with all its faults."""


class ScenarioFile(pytest.File):
    """The module of one scenario."""

    scenario: str

    def collect(self) -> Iterator[pytest.Item]:
        """The scenario as it is; a random one also with each kind of fault alone."""
        yield ScenarioItem.from_parent(self, name=AS_IT_IS)
        schedule = load_scenario(self.scenario).schedule
        if isinstance(schedule, RandomSchedule):
            for kind in schedule.kinds:
                yield ScenarioItem.from_parent(self, name=kind, fault=kind)


class ScenarioItem(pytest.Item):
    """One run, judged by what its scenario expects."""

    def __init__(self, *, fault: str | None = None, **given: Any) -> None:
        super().__init__(**given)
        self.fault = fault

    def runtest(self) -> None:
        """Run it; fails unless the verdict is as expected."""
        from harness.pytest_plugin.running import run_scenario  # noqa: PLC0415 - collecting needs no engine

        run_scenario(self, self.asked())

    def asked(self) -> ItemOptions:
        """What the command line asks of this item."""
        parent = self.parent
        if not isinstance(parent, ScenarioFile):
            raise TypeError(f"{self.nodeid} belongs to {type(parent).__name__}, not to a scenario's module")
        asked = options_of(self.config)
        return msgspec.structs.replace(asked, scenario=parent.scenario, fault=self.fault)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What was found and why, in sentences; a traceback only for a defect of our own."""
        from harness.pytest_plugin.running import known_text  # noqa: PLC0415 - collecting needs no engine

        return known_text(excinfo.value) or super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The scenario's module, and what failed."""
        return self.path, None, f"{self.asked().scenario} [{self.name}]"


def scenario_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """The collector of a module; None if it holds no scenario."""
    name = file_path.resolve().relative_to(ROOM).with_suffix("").as_posix().replace("_", "-")
    if file_path.suffix != ".py" or name not in scenario_names():
        return None
    file = ScenarioFile.from_parent(parent, path=file_path)
    file.scenario = name
    return file
