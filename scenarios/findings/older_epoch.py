"""findings/older-epoch: an instance that was replaced asks to raise its epoch, and fences its successor.

After some errors a library raises its producer's epoch: it sends InitProducerId with its producer id and its
epoch (KIP-360).  A request whose epoch is not the newest must be fenced.  ``TransactionCoordinator`` compares
the epoch in ``TransactionMetadata.prepareIncrementProducerEpoch``, which it calls only if no transaction is
ongoing.  If one is, it compares the producer id alone, aborts the transaction and fences its producer.  In a
cluster such a request arrives late, from a connection that its library has closed.
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

SCENARIO = Scenario(
    summary="An older instance asks to raise its epoch during a transaction of the newest instance.",
    why=(
        "An instance that was replaced must not end the transaction of its successor. A request to raise its "
        "epoch may be delivered seconds after it was given up."
    ),
    schedule=FixedSchedule(steps=(), duration_ms=20_000),
    topology=Topology(mode=Mode.ISOLATED, controllers=1),
    workload=ScriptedTransactions(script=Script.OLDER_EPOCH, rate=100),
    expectations=(
        Expectation(
            Validity.INVALID,
            ("fenced-by-older-epoch",),
            why="during a transaction the coordinator does not compare the epoch, since KIP-360 (2.5.0)",
        ),
    ),
    ticket="KIP-360",
)
