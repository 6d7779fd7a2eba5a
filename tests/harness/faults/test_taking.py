"""Nodes are in one hand at a time: a fault's at once, a blink's for as long as no fault wants them."""

import threading

from harness.faults.taking import Taking
from tests.harness.waiting import BOUND_S


def test_what_a_fault_has_is_not_lent() -> None:
    taking = Taking()
    taking.take("f1", ["n1"])
    taking.take("f2", ["n1", "n2"])
    assert taking.taken == {"n1", "n2"}
    assert not taking.borrow(["n1"])
    taking.let_go("f2")
    taking.let_go("f9")
    assert taking.taken == {"n1"}
    assert not taking.borrow(["n1", "n3"])
    assert taking.borrow(["n2", "n3"])


def test_a_fault_elsewhere_does_not_wait() -> None:
    taking = Taking()
    assert taking.borrow(["n1"])
    taking.take("f1", ["n2"])
    taking.await_wanted(0)
    assert taking.borrow(["n1"]), "there is one blink at a time"


def test_a_fault_waits_until_the_blink_that_it_ends_is_over() -> None:
    taking = Taking()
    assert taking.borrow(["n1"])
    told: list[str] = []
    done = threading.Event()

    def take() -> None:
        taking.take("f1", ["n1"])
        told.append("taken")
        done.set()

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    taking.await_wanted(BOUND_S)
    told.append("wanted")
    assert taking.taken == {"n1"}, "nobody else is lent it meanwhile"
    taking.give_back()
    assert done.wait(BOUND_S)
    thread.join(BOUND_S)
    assert told == ["wanted", "taken"]
    assert not taking.borrow(["n1"])


def test_what_is_lent_can_be_recalled() -> None:
    taking = Taking()
    assert taking.borrow(["n1"])
    taking.recall()
    taking.await_wanted(BOUND_S)
    taking.give_back()
    assert taking.borrow(["n1"])
