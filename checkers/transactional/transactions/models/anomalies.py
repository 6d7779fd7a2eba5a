"""The anomalies of the transaction checkers, with the guarantee that each breaks and its source."""

import msgspec

from checkers.history.sources import Source
from checkers.transactional.transactions.models.consistency import (
    ConsistencyModel,
    Layer,
    forbids,
    ruled_out,
    suffixed,
)
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import PERMITTED, Needs

_ADYA = "Adya, Weak Consistency (1999)"
_ELLE = "Kingsbury and Alvaro, Elle (2020)"

_CYCLES = (
    AnomalyKind(
        "G0",
        "Transactions overwrite each other in a circle.",
        "Writes of transactions are ordered as if each transaction wrote all at once.",
        f"{_ADYA}, G0 write cycle",
    ),
    AnomalyKind(
        "G1c",
        "Transactions see each other's writes in a circle, or one sees its own writes before it makes them.",
        "Information flows one way: no transaction reads what depends on its own writes.",
        f"{_ADYA}, G1c circular information flow",
    ),
    AnomalyKind(
        "G-single",
        "A transaction missed a write and saw another one that depends on it (read skew).",
        "A transaction reads a state in which every transaction is visible as a whole or not at all.",
        f"{_ADYA}, G-single",
    ),
    AnomalyKind(
        "G-nonadjacent",
        "Transactions miss each other's writes in a circle, never two in a row (such as long fork).",
        "All transactions read snapshots of the same history.",
        "Cerone and Gotsman, Analysing Snapshot Isolation (2018), theorem 9",
    ),
    AnomalyKind(
        "G2-item",
        "Transactions miss each other's writes in a circle (write skew).",
        "Transactions take effect as if they ran one after another.",
        f"{_ADYA}, G2-item",
    ),
)
_LAYERS = {
    Layer.DATA: ("", ""),
    Layer.PROCESS: (" The circle contains the order of one process.", ", in the order of each process"),
    Layer.REALTIME: (" The circle contains the order of real time.", ", in the order of real time"),
}


def _of_layer(kind: AnomalyKind, layer: Layer) -> AnomalyKind:
    meaning, guarantee = _LAYERS[layer]
    return msgspec.structs.replace(
        kind,
        id=suffixed(kind.id, layer),
        meaning=kind.meaning + meaning,
        guarantee=kind.guarantee.removesuffix(".") + guarantee + ".",
        source=kind.source if layer is Layer.DATA else f"{kind.source}; {_ELLE}, {suffixed(kind.id, layer)}",
    )


_OTHERS = (
    AnomalyKind(
        "internal",
        "A transaction saw an object change during it, or did not see its own writes in their order.",
        "A transaction reads its own writes, and repeated reads return the same value.",
        f"Cerone, Bernardi and Gotsman, Transactional Consistency Models (2015), INT; {_ELLE}",
    ),
    AnomalyKind(
        "G1a",
        "A transaction saw a write of a failed transaction.",
        "Writes of an aborted transaction are never read.",
        f"{_ADYA}, G1a aborted read",
    ),
    AnomalyKind(
        "G1b",
        "A transaction saw a write that its own writer replaced before it committed.",
        "Only the last write of a transaction to an object is read by others.",
        f"{_ADYA}, G1b intermediate read",
    ),
    AnomalyKind(
        "dirty-update",
        "A committed transaction is based on a write of a failed one.",
        "Writes of an aborted transaction are never part of later versions.",
        f"{_ELLE}, dirty update",
    ),
    AnomalyKind(
        "lost-update",
        "Two transactions read the same version of an object and both replaced it.",
        "An update replaces the version that it was computed from.",
        "Berenson and others, A Critique of ANSI SQL Isolation Levels (1995), P4 lost update",
    ),
    AnomalyKind(
        "duplicate-elements",
        "A list has an element twice that was appended once.",
        "A write takes effect once.",
        f"{_ELLE}, duplicate elements",
    ),
    AnomalyKind(
        "incompatible-order",
        "Two reads of one list, neither of which is the beginning of the other.",
        "The versions of an object have one order.",
        f"{_ELLE}, inconsistent observations",
    ),
    AnomalyKind(
        "cyclic-versions",
        "Versions of one object follow each other in a circle.",
        "The versions of an object have one order.",
        f"{_ELLE}, cyclic versions",
    ),
    AnomalyKind(
        "no-version-order",
        "With every possible order of the versions of some objects, transactions form a circle.",
        "The versions of an object have one order, and it explains all reads.",
        "Biswas and Enea, On the Complexity of Checking Transactional Consistency (2019); Papadimitriou, The "
        "Serializability of Concurrent Database Updates (1979)",
    ),
    AnomalyKind(
        "phantom",
        "A value was read that was never written.",
        "Only written values are read.",
        f"{_ELLE}, garbage read",
    ),
)

_KAFKA = (
    AnomalyKind(
        "torn-transaction",
        "One part of a transaction is visible at read_committed, another part never is.",
        "Either all or none of the records of a transaction become visible to read_committed consumers.",
        "KIP-98, Exactly Once Delivery and Transactional Messaging; KAFKA-17754; KIP-890",
    ),
    AnomalyKind(
        "hanging-transaction",
        "Readers at read_committed are stuck before the end of a partition although no transaction "
        "is running.",
        "Every transaction ends, by its client or by its timeout, and the last stable offset advances.",
        "KIP-890, Transactions Server-Side Defense; KAFKA-14402; KIP-664",
    ),
    AnomalyKind(
        "zombie-accepted",
        "A transaction of an instance that a newer one had fenced was committed.",
        "Once a newer instance has initialised a transactional id, older instances with that id are fenced.",
        "KIP-98, Exactly Once Delivery and Transactional Messaging, zombie fencing; KIP-360",
    ),
    AnomalyKind(
        "producer-epoch-given-again",
        "An initialisation returned a producer id and epoch that another one had, or an older epoch.",
        "Every initialisation returns a new epoch of its producer id, or a new producer id once "
        "its epochs are used up.",
        "KIP-98 (InitProducerIdRequest), KIP-360, KIP-890; TransactionCoordinator.handleInitProducerId",
    ),
    AnomalyKind(
        "precommitted-read",
        "A read_committed consumer got a record before the commit of its transaction was requested.",
        "A read_committed consumer gets a record of a transaction only after the commit.",
        "KIP-98, Exactly Once Delivery and Transactional Messaging, isolation.level; "
        "Jepsen, jepsen.tests.kafka, precommitted-read",
    ),
)

ANOMALIES = by_id(*(_of_layer(kind, layer) for kind in _CYCLES for layer in Layer), *_OTHERS, *_KAFKA)
"""All anomalies of the transaction checkers, by id."""
NEEDS = Needs(
    (Source.CLIENTS,),
    dict.fromkeys(
        (
            "torn-transaction",
            "hanging-transaction",
            "zombie-accepted",
            "producer-epoch-given-again",
            "precommitted-read",
        ),
        PERMITTED,
    ),
    workloads=frozenset({"txn", "copy", "scripted-transactions", "compacted", "shares"}),
)
"""The journals that the checker's rules need."""


def kind_of(identity: str, model: ConsistencyModel) -> AnomalyKind:
    """A kind of anomaly, which is illegal if the model forbids it."""
    return msgspec.structs.replace(ANOMALIES[identity], illegal=forbids(model, identity))


def verdict_lines(identity: str) -> tuple[str, ...]:
    """The models that an anomaly rules out, as text lines."""
    weakest, others = ruled_out(identity)
    lines = (f"This rules out {', '.join(weakest)}.",)
    return (*lines, f"It therefore also rules out {', '.join(others)}.") if others else lines
