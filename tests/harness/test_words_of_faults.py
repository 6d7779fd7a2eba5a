"""Every word of a fault is carried out by one class, and its injection tells what the word says of it."""

from typing import get_args

import pytest

from checkers.evidence.faults import FaultWindow, fault_windows
from checkers.history.operations import History, Operation, OperationType
from harness.faults.activate import makers
from harness.faults.injecting import plan_of
from harness.vocabulary.faults import (
    DeadDisk,
    Fault,
    HeldReports,
    HeldRequests,
    Kill,
    LossPattern,
    LostAnswers,
    PacketLoss,
    Partition,
    Pattern,
    Pause,
    PowerLoss,
    Stop,
    TornWrite,
    WipeDisk,
)
from harness.vocabulary.injected import Injected, kind_of
from results.report import glyphs

SPECS: tuple[Fault, ...] = (
    Partition(Pattern.HALVES),
    PacketLoss(LossPattern.LINK),
    LostAnswers(),
    HeldRequests(),
    HeldReports(),
    Kill(),
    Pause(),
    Stop(),
    TornWrite(),
    WipeDisk(),
    PowerLoss(),
    DeadDisk(),
)


def window_of(value: dict[str, object]) -> FaultWindow:
    operation = Operation(0, 0, "nemesis", OperationType.INVOKE, "inject", "f1", value)
    (window,) = fault_windows(History(run="r", began_at="2026-11-20T21:56:57Z", operations=(operation,)))
    return window


def test_every_word_has_its_class() -> None:
    assert set(makers()) == set(get_args(Fault)) == {type(spec) for spec in SPECS}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: kind_of(type(spec)))
def test_checkers_are_told_what_they_knew_of_kinds_before(spec: Fault) -> None:
    plan = plan_of(spec)
    window, before = window_of(plan), window_of({"kind": plan["kind"], "spec": plan["spec"]})
    assert (window.ends_processes, window.silences) == (spec.ends_processes, spec.silences)
    assert (window.ends_processes, window.silences) == (before.ends_processes, before.silences)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: kind_of(type(spec)))
def test_the_report_draws_the_glyph_that_is_told_as_it_drew_the_kind(spec: Fault) -> None:
    kind = kind_of(type(spec))
    assert spec.glyph is not None
    assert glyphs.fault("nobody-knows", 0, 0, spec.glyph) == glyphs.fault(kind, 0, 0)


def test_a_word_that_says_nothing_of_itself_leaves_processes_alone() -> None:
    class Silent(Injected, frozen=True, tag="silent"):
        pass

    assert (Silent().takes_process, Silent.drawn, Silent.glyph) == (False, False, None)
