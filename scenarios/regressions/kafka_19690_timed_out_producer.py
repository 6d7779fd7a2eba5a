"""regressions/kafka-19690-timed-out-producer: a producer learns that its epoch is old, not a fatal error.

A leader asks the coordinator about a partition that is new in a transaction, and not about one in which the
transaction is ongoing.  Here one request has a record of each, and the question does not reach the
coordinator until the transaction has timed out.  Then the transaction is no longer ongoing in the other
partition either.  Leaders that look for it before they look at the producer's epoch answer INVALID_TXN_STATE,
which is fatal.
"""

from harness.vocabulary import (
    Expectation,
    FixedSchedule,
    Mode,
    Scenario,
    Script,
    ScriptedTransactions,
    Topology,
    Validity,
)
from scenarios.aborting import OFTEN_ABORTED

_RED = ("old-epoch-hidden",)
_WHY = "KAFKA-19690: fixed in 3.9.2, 4.0.2 and 4.1.1"

SCENARIO = Scenario(
    summary="A transaction times out while its leader waits for the coordinator's answer to append a record.",
    why=(
        "A producer that was away for longer than its transaction's timeout may abort and go on after "
        "INVALID_PRODUCER_EPOCH. INVALID_TXN_STATE ends it, although only its epoch is old."
    ),
    schedule=FixedSchedule(steps=(), duration_ms=50_000),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, config=OFTEN_ABORTED),
    workload=ScriptedTransactions(
        script=Script.TIMED_OUT_PRODUCER, assignments=((1, 2, 3), (1, 2, 3)), rate=100
    ),
    kafka_version="4.1.1",
    expectations=(
        Expectation(Validity.INVALID, _RED, before="3.9.2", why=_WHY),
        Expectation(Validity.VALID, before="4.0.0"),
        Expectation(Validity.INVALID, _RED, before="4.0.2", why=_WHY),
        Expectation(Validity.VALID, before="4.1.0"),
        Expectation(Validity.INVALID, _RED, before="4.1.1", why=_WHY),
    ),
    ticket="KAFKA-19690",
)
