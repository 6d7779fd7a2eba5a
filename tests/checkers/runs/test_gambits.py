"""What is assumed of gambits: enough are played, and under load; their faults are proven, if short."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from checkers.evidence.faults import fault_windows
from checkers.history.journals import missing_journals
from checkers.history.operations import History, Operation, OperationType
from checkers.runs.assumptions import check_assumptions
from checkers.verdict.verdict import CheckerResult

Story = Callable[..., History]
OK, INFO, FAIL = OperationType.OK, OperationType.INFO, OperationType.FAIL

RUN = """
2 send log-0/0 x100 ok
5 f1 kill c1 ok
5.2 send log-0/0 x20 info
5.4 f1 heal ok
12 send log-0/0 x100 ok
20 phase done
"""
"""A fault of less than half a second, under load as a whole."""
NOTHING_ALONE = {"planned_faults": 0, "planned_gambits": 1}


def with_gambits(history: History, *ends: OperationType, faults: tuple[str, ...] = ("f1",)) -> History:
    """The history with its faults as those of g1, and with the ends of g1, g2 and so on."""
    own = [_of_gambit(operation) for operation in history.operations]
    for number, kind in enumerate(ends, start=1):
        value = {"kind": "all-copies", "planned": 5, "made": 2, "faults": faults if number == 1 else ()}
        name, why = f"g{number}", None if kind is OK else "move 3, until: it did not"
        last = len(own)
        own += [
            Operation(last, 19_000_000_000, "gambits", OperationType.INVOKE, "gambit", name, {"kind": "x"}),
            Operation(last + 1, 19_000_000_000, "gambits", kind, "gambit", name, value, why),
        ]
    return msgspec.structs.replace(history, operations=tuple(own))


def _of_gambit(operation: Operation) -> Operation:
    if operation.f not in {"inject", "heal"} or operation.key == "f9":
        return operation
    return msgspec.structs.replace(operation, value=operation.value | {"gambit": "g1"})


def assumptions_by_name(result: CheckerResult) -> dict[str, tuple[bool, str]]:
    return {one.name: (one.met, one.observed) for one in result.assumptions}


def test_a_short_fault_of_a_gambit_counts_by_its_probe_and_the_gambits_load(story: Story) -> None:
    history = with_gambits(story(RUN, setup=NOTHING_ALONE), OK)
    found = assumptions_by_name(check_assumptions(history))
    assert all(met for met, _ in found.values()), found
    assert found["gambits-played"] == (True, "1 of 1 that ended")
    assert found["gambits-loaded"] == (True, "lowest: 20 (g1, which needs 2), of 1 gambit")
    assert found["fault-proven"][0]
    assert not {"fault-held", "invoked-during"} & found.keys()
    assert found["acked-before"] == (True, "lowest: 100 (f1), of 1 fault")
    assert [window.gambit for window in fault_windows(history)] == ["g1"]


def test_the_same_fault_alone_is_too_short(story: Story) -> None:
    found = assumptions_by_name(check_assumptions(story(RUN, setup={"planned_faults": 1})))
    assert found["fault-held"] == (False, "f1: 300 ms, of 1 fault")
    assert "gambits-played" not in found


def test_a_fault_of_a_gambit_must_be_proven_and_healed(story: Story) -> None:
    text = RUN.replace("kill c1 ok", "kill c1 info").replace("heal ok", "heal info")
    found = assumptions_by_name(check_assumptions(with_gambits(story(text, setup=NOTHING_ALONE), INFO)))
    assert found["fault-proven"] == (False, "not proven: f1")
    assert found["fault-healed"] == (False, "not healed: f1")


def test_faults_of_gambits_are_none_of_those_that_were_planned(story: Story) -> None:
    history = with_gambits(story(RUN, setup={"planned_faults": 1, "planned_gambits": 1}), OK)
    assert assumptions_by_name(check_assumptions(history))["faults-injected"] == (False, "0 proven faults")
    refused = RUN.replace("kill c1 ok", "kill c1 fail").replace("5.4 f1 heal ok\n", "")
    history = with_gambits(story(refused, setup=NOTHING_ALONE), OK)
    assert assumptions_by_name(check_assumptions(history))["faults-injected"] == (True, "0 proven faults")


@pytest.mark.parametrize(
    ("planned", "ends", "met"),
    [
        (1, (), False),
        (1, (OK,), True),
        (1, (INFO,), False),
        (4, (OK, INFO, INFO, INFO), True),
        (5, (OK, INFO, INFO, INFO), False),
        (5, (OK, INFO, INFO, INFO, FAIL), True),
        (14, (OK, *[FAIL] * 13), True),
        (3, (FAIL, FAIL, FAIL), False),
        (6, (OK, OK, INFO, INFO, INFO, INFO), True),
    ],
)
def test_a_third_of_the_gambits_in_time_come_to_their_end(
    story: Story, planned: int, ends: tuple[OperationType, ...], *, met: bool
) -> None:
    history = with_gambits(story(RUN, setup={"planned_faults": 0, "planned_gambits": planned}), *ends)
    found = assumptions_by_name(check_assumptions(history))["gambits-played"]
    assert found[0] is met
    assert found[1].count("all-copies: move 3, until: it did not") == len([e for e in ends if e is not OK])


@pytest.mark.parametrize(
    ("until", "sent", "observed"),
    [
        ("5.4", 1, (False, "g1: 1 of 2 needed, of 1 gambit")),
        ("5.4", 2, (True, "lowest: 2 (g1, which needs 2), of 1 gambit")),
        ("7.5", 9, (False, "g1: 9 of 10 needed, of 1 gambit")),
        ("7.5", 10, (True, "lowest: 10 (g1, which needs 10), of 1 gambit")),
        ("10", 19, (False, "g1: 19 of 20 needed, of 1 gambit")),
        ("11", 19, (False, "g1: 19 of 20 needed, of 1 gambit")),
        ("11", 20, (True, "lowest: 20 (g1, which needs 20), of 1 gambit")),
    ],
)
def test_a_gambit_without_load_proves_nothing(
    story: Story, until: str, sent: int, observed: tuple[bool, str]
) -> None:
    text = RUN.replace("x20 info", f"x{sent} info").replace("5.4 f1 heal", f"{until} f1 heal")
    assert (
        assumptions_by_name(check_assumptions(with_gambits(story(text, setup=NOTHING_ALONE), OK)))[
            "gambits-loaded"
        ]
        == observed
    )


def test_a_gambit_that_was_over_at_once_needs_load_too(story: Story) -> None:
    text = RUN.replace("5.2 send log-0/0 x20 info\n", "").replace("5.4 f1 heal", "5.11 f1 heal")
    found = assumptions_by_name(check_assumptions(with_gambits(story(text, setup=NOTHING_ALONE), OK)))
    assert found["gambits-loaded"] == (False, "g1: 0 of 1 needed, of 1 gambit")


def test_what_had_no_answer_yet_is_load_of_a_gambit(story: Story) -> None:
    idle = RUN.replace("x20 info", "x1 info")
    history = with_gambits(story(idle, setup=NOTHING_ALONE), OK)
    begun = next(o for o in history.operations if o.f == "send" and o.time_ns == 5_200_000_000)
    waiting = Operation(begun.index, 4_900_000_000, 99, OperationType.INVOKE, "write", "k", 1)
    operations = sorted((*history.operations, waiting), key=lambda o: o.time_ns)
    history = msgspec.structs.replace(history, operations=tuple(operations))
    assert assumptions_by_name(check_assumptions(history))["gambits-loaded"] == (
        True,
        "lowest: 2 (g1, which needs 2), of 1 gambit",
    )


def test_a_gambit_lasts_from_its_first_fault_to_the_last_heal(story: Story) -> None:
    more = RUN + "5.1 f2 pause c2 ok\n5.8 f2 heal ok\n5.7 send log-0/0 x3 info\n"
    found = assumptions_by_name(
        check_assumptions(with_gambits(story(more, setup=NOTHING_ALONE), OK, faults=("f1", "f2")))
    )
    assert found["gambits-loaded"] == (True, "lowest: 23 (g1, which needs 4), of 1 gambit")


def test_of_many_gambits_those_without_enough_load_are_named_the_smallest_share_first(story: Story) -> None:
    """Each needs twenty records if it lasts 5 s; f1 to f3 are the faults of g1 to g3."""
    text = """
    2 send log-0/0 x100 ok
    5 f1 kill c1 ok
    6 send log-0/0 x19 info
    9.9 f1 heal ok
    15 f2 kill c1 ok
    16 send log-0/0 x25 info
    19.9 f2 heal ok
    25 f3 kill c1 ok
    26 send log-0/0 x3 info
    29.9 f3 heal ok
    """
    history = story(text, setup=NOTHING_ALONE | {"planned_gambits": 3})
    own = [
        msgspec.structs.replace(o, value=o.value | {"gambit": f"g{str(o.key)[1:]}"})
        if o.f in {"inject", "heal"}
        else o
        for o in history.operations
    ]
    found = assumptions_by_name(check_assumptions(msgspec.structs.replace(history, operations=tuple(own))))
    observed = "g3: 3 of 20 needed, g1: 19 of 20 needed, of 3 gambits"
    assert found["gambits-loaded"] == (False, observed)


def test_faults_that_stand_alone_are_held_to_what_is_asked_of_them(story: Story) -> None:
    alone = "13 f9 pause c2 ok\n14 send log-0/0 x20 info\n18.2 f9 heal ok\n19 send log-0/0 x100 ok\n"
    history = with_gambits(story(RUN + alone, setup=NOTHING_ALONE | {"planned_faults": 1}), OK)
    found = assumptions_by_name(check_assumptions(history))
    assert all(met for met, _ in found.values()), found
    assert found["gambits-loaded"] == (True, "lowest: 20 (g1, which needs 2), of 1 gambit")
    assert found["fault-held"] == (True, "lowest: 5100 ms (f9), of 1 fault")


def test_gambits_without_faults_are_not_held_to_load(story: Story) -> None:
    text = "2 send log-0/0 x100 ok\n20 phase done"
    found = assumptions_by_name(
        check_assumptions(with_gambits(story(text, setup=NOTHING_ALONE), OK, faults=()))
    )
    assert found["gambits-loaded"] == (True, "none had a fault")


def test_what_was_played_is_counted(story: Story) -> None:
    figures = check_assumptions(with_gambits(story(RUN, setup=NOTHING_ALONE), OK, INFO)).figures
    assert (figures["gambits"], figures["faults_of_gambits"]) == (1, 1)
    assert "gambits" not in check_assumptions(story(RUN)).figures


@pytest.mark.parametrize(
    ("setup", "faults", "missing"),
    [
        (NOTHING_ALONE, ("f1",), frozenset()),
        (NOTHING_ALONE, ("f1", "f2"), frozenset({"nemesis"})),
        (NOTHING_ALONE | {"planned_faults": 1}, ("f1",), frozenset({"nemesis"})),
    ],
    ids=["all there", "one of a gambit lacks", "the planned one lacks"],
)
def test_what_gambits_tell_of_must_be_there(
    story: Story, setup: dict[str, Any], faults: tuple[str, ...], missing: frozenset[str]
) -> None:
    history = with_gambits(story(RUN, setup=setup), OK, faults=faults)
    assert missing_journals(history) == missing
