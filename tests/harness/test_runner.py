"""The spine: whatever goes wrong, faults are healed."""

import threading
from unittest.mock import MagicMock

import pytest

from harness import runner
from harness.journal import JournalError
from harness.wire import WireError


def test_faults_are_healed_even_when_the_history_takes_nothing_more() -> None:
    crew, stage = MagicMock(), MagicMock()
    stage.phase.side_effect = JournalError("the history can't be written")

    with pytest.raises(JournalError):
        runner._carry_out(stage, crew, threading.Event())

    crew.nemesis.heal_all.assert_called_once_with()


def test_faults_are_healed_when_the_schedule_breaks_off() -> None:
    crew, stage = MagicMock(), MagicMock()
    crew.carry_out.side_effect = KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner._carry_out(stage, crew, threading.Event())

    crew.nemesis.heal_all.assert_called_once_with()


def test_limits_that_nobody_takes_away_are_told() -> None:
    crew, stage = MagicMock(), MagicMock()
    crew.settle.side_effect = WireError("no broker answers")

    runner._settle(stage, crew)

    stage.tell.assert_called_once_with("recover", "limits on moving replicas stay: no broker answers")
