"""The spine: whatever goes wrong, faults are healed."""

import threading
from unittest.mock import MagicMock

import pytest

from harness import runner
from harness.journal import JournalError


def test_faults_are_healed_even_when_the_history_takes_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    nemesis, stage = MagicMock(), MagicMock()
    stage.phase.side_effect = JournalError("the history can't be written")
    monkeypatch.setattr(runner, "Nemesis", lambda *_parts: nemesis)

    with pytest.raises(JournalError):
        runner._carry_out(stage, MagicMock(), MagicMock(), threading.Event())

    nemesis.heal_all.assert_called_once_with()


def test_faults_are_healed_when_the_schedule_breaks_off(monkeypatch: pytest.MonkeyPatch) -> None:
    nemesis, stage = MagicMock(), MagicMock()
    nemesis.carry_out.side_effect = KeyboardInterrupt
    monkeypatch.setattr(runner, "Nemesis", lambda *_parts: nemesis)

    with pytest.raises(KeyboardInterrupt):
        runner._carry_out(stage, MagicMock(), MagicMock(), threading.Event())

    nemesis.heal_all.assert_called_once_with()
