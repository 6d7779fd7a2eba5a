"""Which models forbid what."""

import pytest

from checkers.transactional.transactions.models.anomalies import ANOMALIES, verdict_lines
from checkers.transactional.transactions.models.consistency import (
    ConsistencyModel,
    Layer,
    forbids,
    parted,
    ruled_out,
    suffixed,
)

_M = ConsistencyModel


@pytest.mark.parametrize(
    ("identity", "weakest"),
    [
        ("G0", (_M.READ_UNCOMMITTED,)),
        ("G1a", (_M.READ_COMMITTED,)),
        ("G1c", (_M.READ_COMMITTED,)),
        ("G-single", (_M.REPEATABLE_READ, _M.SNAPSHOT_ISOLATION)),
        ("G-nonadjacent", (_M.REPEATABLE_READ, _M.SNAPSHOT_ISOLATION)),
        ("G2-item", (_M.REPEATABLE_READ,)),
        ("G2", (_M.SERIALIZABLE,)),
        ("lost-update", (_M.REPEATABLE_READ, _M.SNAPSHOT_ISOLATION)),
        ("G0-process", (_M.STRONG_SESSION_SNAPSHOT_ISOLATION,)),
        ("G2-item-process", (_M.STRONG_SESSION_SERIALIZABLE,)),
        ("G-single-realtime", (_M.STRONG_SNAPSHOT_ISOLATION,)),
        ("G2-item-realtime", (_M.STRICT_SERIALIZABLE,)),
    ],
)
def test_the_weakest_models_that_an_anomaly_rules_out(
    identity: str, weakest: tuple[ConsistencyModel, ...]
) -> None:
    assert ruled_out(identity).weakest == weakest


def test_what_forbids_everything_forbids_every_anomaly_of_elle() -> None:
    kafka = {name for name, kind in ANOMALIES.items() if kind.source.startswith("KIP")}
    elle = [identity for identity in ANOMALIES if identity not in {*kafka, "no-version-order"}]
    assert len(elle) == 5 * 3 + 9
    assert all(forbids(_M.STRICT_SERIALIZABLE, identity) for identity in elle)


def test_what_kafka_alone_promises_rules_out_no_model() -> None:
    assert ruled_out("torn-transaction") == ((), ())


def test_suffixes() -> None:
    assert parted("G2-item-realtime") == ("G2-item", Layer.REALTIME)
    assert parted("G1c") == ("G1c", Layer.DATA)
    assert suffixed("G0", Layer.PROCESS) == "G0-process"
    assert suffixed("G0", Layer.DATA) == "G0"


def test_the_words_of_a_verdict() -> None:
    assert verdict_lines("G2-item-realtime") == ("This rules out strict-serializable.",)
