"""Offsets that are deleted stay so, and those that are not are kept."""

from typing import Any

import pytest

from checkers.columns.tables import NEVER
from checkers.groups.erasures import check_erasures
from checkers.history.operations import History, Operation, OperationType
from checkers.licences import internal
from checkers.licences.internal import Loss
from checkers.verdict.verdict import Validity
from tests.checkers.admin_histories import CLEAN_STOP

MS = 1_000_000
TOPIC, GROUP = "offsets-0", "gone-1"
OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE


UPGRADE: dict[str, Any] = {"kind": "upgrade", "spec": {"version": "4.3.1"}} | CLEAN_STOP


def history_of(text: str, version: str = "4.3.1", operations: tuple[Operation, ...] = ()) -> History:
    """Lines such as ``commit 0 7 b1 ok``, ``delete 0 b1 ok``, ``group b1 info``, ``fetch 0 7 b2``; ``final``.

    A fetch returns an offset or ``-``; a change that ends ``gone`` was refused as there is no such group;
    without an ending nothing was answered.  ``upgrade b1`` gives b1 version 4.3.1.
    """
    setup = {
        "kafka_version": version,
        "later_versions": ["4.3.1"] if "upgrade" in text else [],
        "nodes": [{"name": f"b{n}", "id": n, "roles": ["broker"]} for n in (1, 2)],
    }
    found = [Operation(0, 0, "runner", OK, "setup", None, setup), *operations]
    for line in text.splitlines():
        what, *words = line.split()
        if what == "final":
            found.append(Operation(0, 0, "runner", OK, "phase", "final-read", None))
        elif what == "upgrade":
            found += _upgrade(words[0])
        elif what:
            found += _call(len(found), what, words)
    placed = (Operation(i, i * MS, o.process, o.type, o.f, o.key, o.value) for i, o in enumerate(found))
    return History("run", "", tuple(placed))


def _upgrade(node: str) -> list[Operation]:
    """A proven upgrade, which is over before the next operation."""
    done = UPGRADE | {"targets": [node], "cut": []}
    return [
        Operation(0, 0, "nemesis", how, f, f"upgrade-{node}", UPGRADE if how is INVOKE else done)
        for f in ("inject", "heal")
        for how in (INVOKE, OK)
    ]


def _call(process: int, what: str, words: list[str]) -> list[Operation]:
    asked: dict[str, Any] = {"topic": TOPIC, "to": int(words[{"group": 0, "delete": 1}.get(what, 2)][1:])}
    names = {"commit": "commit-offset", "fetch": "fetch-offsets"}
    f, how = names.get(what, "delete-offsets"), words[-1]
    answer = dict(asked)
    if what == "fetch":
        how = "ok" if len(words) == 3 else how
        answer |= {"offsets": [[int(words[0]), None if words[1] == "-" else int(words[1])]]}
    elif what != "group":
        asked["partition"] = int(words[0])
    if what == "commit":
        asked["offset"] = int(words[1])
    begun = Operation(0, 0, process, INVOKE, f, GROUP, asked)
    if how == "gone":
        how, answer = "fail", answer | {"code": 69}
    if how.startswith("b"):
        return [begun]
    return [begun, Operation(0, 0, process, OperationType(how), f, GROUP, asked | answer)]


def found(text: str, version: str = "4.3.1") -> list[str]:
    return [f"{each.id} {each.subject}" for each in check_erasures(history_of(text, version)).anomalies]


LOST, RETURNED = (f"{kind} {GROUP} {TOPIC}/0" for kind in ("kept-offset-lost", "deleted-offset-returned"))


def test_without_fetches_nothing_is_judged() -> None:
    assert check_erasures(history_of("commit 0 7 b1 ok")).validity is Validity.NOT_EXERCISED


@pytest.mark.parametrize(
    "text",
    [
        "commit 0 7 b1 ok\nfetch 0 7 b1",
        "commit 0 7 b1 ok\ncommit 0 8 b1 ok\nfetch 0 8 b1",
        "commit 0 7 b1 ok\ndelete 0 b1 ok\nfetch 0 - b1\ncommit 0 8 b1 ok\nfetch 0 8 b1",
        "commit 0 7 b1 ok\ngroup b1 ok\nfetch 0 - b1",
        "commit 0 7 b1 ok\ndelete 1 b1 ok\nfetch 0 7 b1",
        "commit 0 7 b1 ok\ngroup b1 fail\nfetch 0 7 b1",
        "commit 0 7 b1 ok\nfetch 0 8 b1 fail",
        "fetch 0 9 b1",
    ],
)
def test_what_follows_from_the_last_change(text: str) -> None:
    assert found(text) == []
    assert check_erasures(history_of(text)).validity in {Validity.VALID, Validity.NOT_EXERCISED}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("commit 0 7 b1 ok\nfetch 0 - b1", LOST),
        ("commit 0 7 b1 ok\ncommit 0 8 b1 ok\nfetch 0 7 b1", LOST),
        ("commit 0 7 b1 ok\ngroup b1 fail\nfetch 0 - b1", LOST),
        ("commit 0 7 b1 ok\ndelete 0 b1 ok\nfetch 0 7 b1", RETURNED),
        ("commit 0 7 b1 ok\ngroup b1 ok\nfetch 0 7 b1", RETURNED),
        ("commit 0 7 b1 ok\ngroup b1 ok\nfinal\nfetch 0 7 b2", RETURNED),
    ],
)
def test_what_does_not(text: str, kind: str) -> None:
    assert found(text) == [kind]
    (anomaly,) = check_erasures(history_of(text)).anomalies
    assert anomaly.illegal
    assert len(anomaly.witness) == 4


@pytest.mark.parametrize("change", ["group b1 info", "group b1", "delete 0 b1 info", "commit 0 8 b1 info"])
def test_a_change_of_unknown_fate_may_come_about_at_any_time(change: str) -> None:
    becomes = "8" if change.startswith("commit") else "-"
    for after in ("", "\ncommit 0 9 b1 ok"):
        kept = "9" if after else "7"
        for fetched in (kept, becomes):
            assert found(f"commit 0 7 b1 ok\n{change}{after}\nfetch 0 {fetched} b1") == []
    assert found(f"commit 0 7 b1 ok\n{change}\nfetch 0 5 b1") == [LOST]


def test_another_broker_may_tell_what_was_until_all_has_recovered() -> None:
    text = "commit 0 7 b1 ok\ncommit 0 8 b1 ok\n"
    assert found(f"{text}fetch 0 7 b2") == []
    assert found(f"{text}final\nfetch 0 7 b2") == [LOST]


def test_before_4_0_what_was_deleted_may_come_back() -> None:
    text = "commit 0 7 b1 ok\ngroup b1 ok\nfetch 0 7 b1"
    assert found(text, "3.9.0") == []
    assert found(text, "4.0.0") == [RETURNED]


@pytest.mark.parametrize(
    ("text", "returned"),
    [
        ("commit 0 7 b1 ok\nupgrade b1\ngroup b1 ok\nfetch 0 7 b1", True),
        ("commit 0 7 b1 ok\ngroup b1 ok\nupgrade b1\nfetch 0 7 b1", False),
        ("commit 0 7 b1 ok\nupgrade b2\ngroup b1 ok\nfetch 0 7 b1", False),
    ],
    ids=["deleted by the new version", "deleted by the old one", "another broker is new"],
)
def test_the_version_of_the_broker_that_deleted_an_offset_decides(text: str, *, returned: bool) -> None:
    assert found(text, "3.9.0") == ([RETURNED] if returned else [])


@pytest.mark.parametrize(("place", "illegal"), [(0, False), (1, True)])
def test_a_loss_after_the_answer_explains_nothing(
    monkeypatch: pytest.MonkeyPatch, place: int, *, illegal: bool
) -> None:
    history = history_of("commit 0 7 b1 ok\nfetch 0 - b1")
    from_ns = history.operations[-1].time_ns + place
    monkeypatch.setattr(internal, "losses", lambda *_: (Loss("a loss", NEVER, from_ns),))
    assert [anomaly.illegal for anomaly in check_erasures(history).anomalies] == [illegal]


def test_what_the_offsets_topic_may_have_lost_excuses() -> None:
    disk = {"kind": "wipe-disk", "spec": {}, "targets": ["b1"], "cut": [], "probe": {}}
    faults = (
        Operation(0, 0, "nemesis", INVOKE, "inject", "f1", disk),
        Operation(0, 0, "nemesis", OK, "inject", "f1", disk),
    )
    (anomaly,) = check_erasures(history_of("commit 0 7 b1 ok\nfetch 0 - b1", operations=faults)).anomalies
    assert anomaly.illegal == (anomaly.licence is None)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("commit 0 7 b1 ok\n{}", True),
        ("commit 0 7 b1 ok\ncommit 1 7 b1 ok\ndelete 1 b1 ok\n{}", True),
        ("commit 0 7 b2 ok\n{}", False),
        ("commit 0 7 b2 ok\nfinal\n{}", True),
        ("commit 0 7 b1 ok\ndelete 0 b1 ok\n{}", False),
        ("commit 0 7 b1 ok\ngroup b1 info\n{}", False),
        ("{}", False),
    ],
)
@pytest.mark.parametrize("change", ["delete 0 b1 gone", "delete 1 b1 gone", "group b1 gone"])
def test_a_group_that_has_offsets_is_there(text: str, change: str, *, wrong: bool) -> None:
    assert found(text.format(change)) == ([LOST] if wrong else [])


def test_a_commit_that_is_refused_shows_nothing() -> None:
    assert found("commit 0 7 b1 ok\ncommit 0 8 b1 gone\nfetch 0 7 b1") == []


def test_an_end_without_a_beginning_is_left_out() -> None:
    stray = Operation(0, 0, 99, OK, "fetch-offsets", GROUP, {"topic": TOPIC, "to": 1, "offsets": [[0, 3]]})
    assert check_erasures(history_of("commit 0 7 b1 ok\nfetch 0 7 b1", operations=(stray,))).anomalies == ()
