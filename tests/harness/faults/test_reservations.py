"""Nodes are in one hand at a time: a fault's at once, a blink's for as long as no fault wants them."""

import threading

from harness.faults.reservations import Reservations
from tests.harness.waiting import BOUND_S


def test_what_a_fault_has_is_not_lent() -> None:
    reservations = Reservations()
    reservations.reserve("f1", ["n1"])
    reservations.reserve("f2", ["n1", "n2"])
    assert reservations.reserved == {"n1", "n2"}
    assert not reservations.borrow(["n1"])
    reservations.release("f2")
    reservations.release("f9")
    assert reservations.reserved == {"n1"}
    assert not reservations.borrow(["n1", "n3"])
    assert reservations.borrow(["n2", "n3"])


def test_a_fault_elsewhere_does_not_wait() -> None:
    reservations = Reservations()
    assert reservations.borrow(["n1"])
    reservations.reserve("f1", ["n2"])
    reservations.await_wanted(0)
    assert reservations.borrow(["n1"]), "there is one blink at a time"


def test_a_fault_waits_until_the_blink_that_it_ends_is_over() -> None:
    reservations = Reservations()
    assert reservations.borrow(["n1"])
    order: list[str] = []
    done = threading.Event()

    def take() -> None:
        reservations.reserve("f1", ["n1"])
        order.append("taken")
        done.set()

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    reservations.await_wanted(BOUND_S)
    order.append("wanted")
    assert reservations.reserved == {"n1"}, "nobody else is lent it meanwhile"
    reservations.give_back()
    assert done.wait(BOUND_S)
    thread.join(BOUND_S)
    assert order == ["wanted", "taken"]
    assert not reservations.borrow(["n1"])


def test_what_is_lent_can_be_recalled() -> None:
    reservations = Reservations()
    assert reservations.borrow(["n1"])
    reservations.recall()
    reservations.await_wanted(BOUND_S)
    reservations.give_back()
    assert reservations.borrow(["n1"])
