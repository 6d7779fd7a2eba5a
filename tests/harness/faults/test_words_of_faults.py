"""Every word of a fault is carried out by one class, and its injection records what the word declares."""

from typing import Any, get_args

import msgspec
import pytest

from checkers.evidence.faults import FaultWindow, fault_windows
from checkers.history.operations import History, Operation, OperationType
from harness.faults.activate import makers
from harness.faults.injecting import plan_of
from harness.vocabulary.faults import Fault, LossPattern, PacketLoss, Partition, Pattern, Scope, WipeDisk
from harness.vocabulary.injected import Injected, kind_of
from results.report.drawing import glyphs

FIELDS: dict[object, dict[str, Any]] = {
    Partition: {"pattern": Pattern.HALVES},
    PacketLoss: {"pattern": LossPattern.LINK},
}
SPECS: dict[str, Fault] = {kind_of(word): word(**FIELDS.get(word, {})) for word in get_args(Fault)}
KNOWN = (
    "partition",
    "packet-loss",
    "lost-answers",
    "held-requests",
    "held-reports",
    "kill",
    "pause",
    "stop",
    "torn-write",
    "wipe-disk",
    "power-loss",
    "dead-disk",
)
"""Kinds that there were before injections recorded what follows from them."""


def window_of(value: object) -> FaultWindow:
    operation = Operation(0, 0, "nemesis", OperationType.INVOKE, "inject", "f1", msgspec.to_builtins(value))
    (window,) = fault_windows(History(run="r", began_at="2026-11-20T21:56:57Z", operations=(operation,)))
    return window


def effects_of(window: FaultWindow) -> tuple[bool | None, ...]:
    disks = (window.tears_writes, window.loses_unsynced, window.wipes)
    return window.ends_processes, window.silences, window.ends_cleanly, *disks


def properties_of(spec: Fault) -> tuple[bool | None, ...]:
    """What a word declares; one that ends no process need not declare what it does to disks."""
    disks = tuple(bool(flag) for flag in (spec.tears_writes, spec.loses_unsynced, spec.wipes))
    return spec.ends_processes, spec.silences, spec.exits_cleanly, *disks


@pytest.mark.parametrize("kind", [kind for kind, spec in SPECS.items() if spec.ends_processes])
def test_what_ends_processes_says_what_it_does_to_disks(kind: str) -> None:
    """Or else checkers would license any loss after it."""
    spec = SPECS[kind]
    assert None not in (spec.tears_writes, spec.loses_unsynced, spec.wipes)


@pytest.mark.parametrize(
    ("spec", "cleanly"),
    [
        (WipeDisk(by="stop", scope=Scope.TOPIC), None),
        (WipeDisk(by="stop", scope=Scope.KEEP_META), False),
        (WipeDisk(by="kill", scope=Scope.TOPIC), False),
    ],
)
def test_the_file_about_a_clean_end_stays_where_topics_alone_go(
    spec: WipeDisk, *, cleanly: bool | None
) -> None:
    assert window_of(plan_of(spec)).ends_cleanly is cleanly


def test_every_word_has_its_class() -> None:
    assert set(makers()) == set(get_args(Fault))


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_checkers_and_report_get_what_the_word_declares(spec: Fault) -> None:
    plan = plan_of(spec)
    window = window_of(plan)
    assert effects_of(window) == properties_of(spec)
    assert plan.glyph == spec.glyph
    if spec.glyph is not None:
        assert f' d="{spec.glyph}"' in glyphs.fault("nobody-knows", 0, 0, spec.glyph)


@pytest.mark.parametrize("kind", KNOWN)
def test_a_kind_of_old_means_in_a_history_what_its_word_says(kind: str) -> None:
    spec, before = SPECS[kind], window_of({"kind": kind, "spec": {"kind": kind}})
    assert effects_of(before) == properties_of(spec)
    assert f' d="{spec.glyph}"' in glyphs.fault(kind, 0, 0)


def test_a_word_that_says_nothing_of_itself_leaves_processes_alone() -> None:
    class Silent(Injected, frozen=True, tag="silent"):
        pass

    assert (Silent().takes_process, Silent.drawn, Silent.glyph) == (False, False, None)
