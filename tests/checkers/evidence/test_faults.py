"""Fault windows: what was in force, from when until when, as far as the history shows it."""

from collections.abc import Callable

import msgspec
import pytest

from checkers.evidence.faults import FOREVER_NS, FaultWindow, fault_windows
from checkers.history.operations import INVOKE, OK, History, Operation, OperationType

Story = Callable[..., History]

S = 1_000_000_000


def test_a_whole_fault(story: Story) -> None:
    (window,) = fault_windows(story("5 f1 partition c1 ok\n9 f1 heal ok"))
    assert (window.id, window.kind, window.targets, window.cut) == (
        "f1",
        "partition",
        ("c1",),
        (("c1", "c9"),),
    )
    assert (window.invoked_ns, window.effective_ns) == (5 * S, round(5.1 * S))
    assert (window.heal_invoked_ns, window.healed_ns) == (9 * S, round(9.1 * S))
    assert window.held_ns == round(3.9 * S)
    assert window.operations == (1, 2, 3, 4)
    assert window.proven


@pytest.mark.parametrize(
    ("text", "proven", "end_ns", "targets"),
    [
        pytest.param("5 f1 kill c1 ok", True, FOREVER_NS, ("c1",), id="never healed"),
        pytest.param("5 f1 kill c1 ok\n9 f1 heal info", True, FOREVER_NS, ("c1",), id="heal not seen"),
        pytest.param("5 f1 kill c1 info\n9 f1 heal ok", False, round(9.1 * S), ("c1",), id="effect not seen"),
        pytest.param("5 f1 kill c1 lost", False, FOREVER_NS, (), id="the harness was killed meanwhile"),
    ],
)
def test_a_part_of_a_fault(
    story: Story, text: str, *, proven: bool, end_ns: int, targets: tuple[str, ...]
) -> None:
    (window,) = fault_windows(story(text))
    assert (window.proven, window.end_ns, window.targets) == (proven, end_ns, targets)
    assert window.held_ns == 0 or window.heal_invoked_ns is not None


def test_a_fault_that_was_not_attempted_has_no_window(story: Story) -> None:
    assert fault_windows(story("5 f1 kill c1 fail")) == ()


def test_a_heal_without_an_injection_has_no_window(story: Story) -> None:
    assert fault_windows(story("9 f1 heal ok")) == ()


def test_windows_stand_in_order_of_injection(story: Story) -> None:
    windows = fault_windows(story("1 f2 kill c1 ok\n2 f1 kill c2 ok\n3 f1 heal ok\n4 f2 heal ok"))
    assert [window.id for window in windows] == ["f2", "f1"]


def test_unknown_targets_may_be_anybody(story: Story) -> None:
    (lost,) = fault_windows(story("5 f1 kill c1 lost"))
    (known,) = fault_windows(story("5 f1 kill c1 ok"))
    assert lost.concerns("c2")
    assert known.concerns("c1")
    assert not known.concerns("c2")


def test_a_completion_need_not_repeat_what_was_planned() -> None:
    records = [(INVOKE, {"kind": "kill"}), (OK, {"targets": ["c1"], "silences": None, "blink": None})]
    lines = [
        Operation(index, index, "nemesis", kind, "inject", "f1", value)
        for index, (kind, value) in enumerate(records)
    ]
    (window,) = fault_windows(History("r", "2026-11-20T00:00:00Z", tuple(lines)))
    assert (window.kind, window.targets, window.silences, window.blink) == ("kill", ("c1",), True, False)


@pytest.mark.parametrize(
    ("start", "end", "overlaps"), [(1, 4, False), (1, 5, True), (9, 10, True), (10, 11, False)]
)
def test_overlap_includes_both_ends(story: Story, start: int, end: int, *, overlaps: bool) -> None:
    (window,) = fault_windows(story("5 f1 kill c1 ok\n9 f1 heal ok"))
    assert window.overlaps(start * S, end * S) is overlaps


def window_of(kind: str, **more: object) -> FaultWindow:
    """The window of a fault whose injection has that value."""
    operation = Operation(0, 0, "nemesis", OperationType.INVOKE, "inject", "f1", {"kind": kind, **more})
    (window,) = fault_windows(History(run="r", began_at="2026-11-20T21:56:57Z", operations=(operation,)))
    return window


@pytest.mark.parametrize(
    ("kind", "ends_processes", "silences"),
    [
        *((kind, True, True) for kind in ("kill", "stop", "torn-write", "wipe-disk", "power-loss")),
        ("dead-disk", True, False),
        ("pause", False, True),
        *((kind, False, False) for kind in ("partition", "packet-loss", "hold", "nobody-knows")),
    ],
)
def test_a_kind_defines_what_an_injection_did_not_record_yet(
    kind: str, *, ends_processes: bool, silences: bool
) -> None:
    window = window_of(kind)
    assert (window.ends_processes, window.silences) == (ends_processes, silences)
    assert window.down is (ends_processes and silences)


@pytest.mark.parametrize(
    ("kind", "ends_cleanly", "effects"),
    [
        ("kill", False, (False, False, False)),
        ("stop", True, (False, False, False)),
        ("torn-write", False, (True, False, False)),
        ("wipe-disk", False, (False, False, True)),
        ("power-loss", False, (False, True, False)),
        ("dead-disk", None, (False, True, False)),
        *((kind, None, (False, False, False)) for kind in ("pause", "partition", "packet-loss", "hold")),
        ("nobody-knows", None, (True, True, True)),
    ],
)
def test_so_it_defines_what_a_fault_does_to_disks(
    kind: str, *, ends_cleanly: bool | None, effects: tuple[bool, bool, bool]
) -> None:
    window = window_of(kind)
    assert window.ends_cleanly is ends_cleanly
    assert (window.tears_writes, window.loses_unsynced, window.wipes) == effects


@pytest.mark.parametrize(
    ("declared", "effects"),
    [
        ({"ends_processes": True}, (True, True, True)),
        ({"silences": True}, (True, True, True)),
        ({"ends_processes": False}, (False, False, False)),
        ({"tears_writes": False}, (False, True, True)),
        ({"loses_unsynced": False}, (True, False, True)),
        ({"wipes": False}, (True, True, False)),
        ({"ends_processes": False, "loses_unsynced": True}, (False, True, False)),
    ],
)
def test_an_unknown_fault_may_do_what_it_does_not_rule_out(
    declared: dict[str, bool], effects: tuple[bool, bool, bool]
) -> None:
    window = window_of("melted", **declared)
    assert (window.tears_writes, window.loses_unsynced, window.wipes) == effects


@pytest.mark.parametrize(
    ("ends_processes", "ends_cleanly", "meant"),
    [
        (True, True, (True, False, False)),
        (True, False, (False, True, True)),
        (True, None, (False, False, True)),
        *((False, ends_cleanly, (False, False, False)) for ends_cleanly in (True, False, None)),
    ],
)
def test_nobody_is_sure_how_a_process_ends_of_which_nothing_is_declared(
    meant: tuple[bool, bool, bool], *, ends_processes: bool, ends_cleanly: bool | None
) -> None:
    window = window_of("melted", ends_processes=ends_processes, ends_cleanly=ends_cleanly)
    assert (window.stops, window.kills, window.may_kill) == meant


@pytest.mark.parametrize(
    ("kind", "strikes", "fails_disk", "freezes"),
    [
        ("wipe-disk", True, False, False),
        ("power-loss", True, False, False),
        ("dead-disk", True, True, False),
        ("nobody-knows", True, True, False),
        ("pause", False, False, True),
        *((kind, False, False, False) for kind in ("kill", "stop", "torn-write", "partition")),
    ],
)
def test_what_follows_of_it(kind: str, *, strikes: bool, fails_disk: bool, freezes: bool) -> None:
    window = window_of(kind)
    assert (window.hits_disks, window.fails_disk, window.freezes) == (strikes, fails_disk, freezes)


def test_what_an_injection_records_goes_for_any_kind() -> None:
    assert window_of("melted", ends_processes=True, silences=True).down
    frozen = window_of("frozen", ends_processes=False, silences=True)
    assert (frozen.ends_processes, frozen.silences, frozen.down) == (False, True, False)
    with pytest.raises(msgspec.ValidationError):
        window_of("kill", silences="yes")
