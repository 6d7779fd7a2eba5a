"""Throttles are removed before the recovery, or after it; what remains is reported."""

import threading
from unittest.mock import create_autospec

import pytest

from harness.kafka.wire import WireError
from harness.run import unthrottling
from harness.run.unthrottling import await_throttles_removed, end_throttles_and_retention
from tests.harness.run.stages import a_stage, an_execution

LEFT = "throttles of reassignments or configs of brokers are left: no broker answers"


def test_throttles_that_can_not_be_removed_are_reported() -> None:
    execution, stage = an_execution(), a_stage()
    execution.remove_throttles.side_effect = WireError("no broker answers")

    end_throttles_and_retention(stage, execution)

    stage.report.assert_called_once_with("recover", LEFT)


def test_throttles_are_removed_before_recovery_as_soon_as_brokers_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unthrottling, "_THROTTLES_PAUSE_S", 0.001)
    execution, stage = an_execution(), a_stage()
    execution.remove_throttles.side_effect = [WireError("brokers 2 did not answer"), WireError("again"), None]

    await_throttles_removed(stage, execution, threading.Event())

    assert execution.remove_throttles.call_count == 3
    stage.report.assert_not_called()


@pytest.mark.parametrize("cancelled", [True, False])
def test_throttles_that_remain_during_recovery_are_reported(
    monkeypatch: pytest.MonkeyPatch, *, cancelled: bool
) -> None:
    monkeypatch.setattr(unthrottling, "_THROTTLES_BOUND_S", 60.0 if cancelled else -1.0)
    execution, stage, over = an_execution(), a_stage(), threading.Event()
    execution.remove_throttles.side_effect = WireError("no broker answers")
    if cancelled:
        over.set()

    await_throttles_removed(stage, execution, over)

    execution.remove_throttles.assert_called_once_with()
    stage.report.assert_called_once_with("heal", LEFT)


def test_nothing_is_awaited_of_brokers_that_all_ended_by_themselves() -> None:
    execution, stage = an_execution(), a_stage()
    stage.cluster.observe_listeners = {"b1": ("b1", 1), "b2": ("b2", 1)}
    stage.cluster.ended = frozenset({"c1", "b1", "b2"})
    execution.remove_throttles.side_effect = WireError("no broker answers")
    over = create_autospec(threading.Event, instance=True)

    await_throttles_removed(stage, execution, over)

    over.wait.assert_not_called()
    execution.remove_throttles.assert_called_once_with()
    stage.report.assert_called_once_with("heal", LEFT)


def test_retention_that_goes_on_is_reported() -> None:
    execution, stage = an_execution(), a_stage()
    execution.end_retention.return_value = ["retention.ms of log-0 is still reported by 1 of 3 brokers"]

    end_throttles_and_retention(stage, execution)

    stage.report.assert_called_once_with(
        "recover", "retention.ms of log-0 is still reported by 1 of 3 brokers"
    )
