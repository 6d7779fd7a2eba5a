"""Where journals are lacking no anomaly is made out of a gap, and exactly what needs them is unknown."""

from typing import cast

import msgspec
import numpy as np
import pytest

from checkers.evidence.loading import all_columns_of, columns_of
from checkers.history.journals import is_unheard
from checkers.history.logged import LOG_LACKING
from checkers.history.operations import History, Operation, OperationType
from checkers.history.sources import Source, lacking
from checkers.judge import NEEDS, known_anomalies, result_by
from checkers.logs.log import check_log
from checkers.runs.nodes import ANOMALIES, NODE_DIED, check_nodes
from checkers.verdict.entry import Entry
from checkers.verdict.needs import Needs
from checkers.verdict.verdict import Anomaly, CheckerResult, OpenAnomaly, Validity, result_of
from checkers.verdict.withholding import MissingParts, missing_parts_of, withheld
from harness.vocabulary.workloads import Workload
from tests.checkers.log_histories import history_of as story

SUN = cast("Source", "the sun")
_SETUP = {"kind": "log", "workers": 5, "durable_processes": [3]}


def operation(process: int | str, kind: OperationType, f: str, key: object, value: object) -> Operation:
    return Operation(0, 0, process, kind, f, key, value)


def history(*lacking: str, setup: object = None) -> History:
    operations = [operation("runner", OperationType.OK, "setup", None, setup)] if setup is not None else []
    return History(
        "r", "", tuple(operations), damage=("something",) if lacking else (), lacking=frozenset(lacking)
    )


def shown(result: CheckerResult, lost: MissingParts | None) -> CheckerResult:
    """What the judge lets a checker of its own say."""
    return withheld(result, NEEDS[result.checker], lost)


def test_the_workloads_that_are_named_exist() -> None:
    """A checker is in no doubt where its workload did not run: a misspelt name would hide what is missing."""
    kinds: list[type[Workload]] = [Workload, *offspring(Workload)]
    known = {str(one.__struct_config__.tag) for one in kinds}
    named = {kind for needs in NEEDS.values() for kind in {*needs.workloads, *needs.of_workload}}
    assert named <= known


def offspring(kind: type[Workload]) -> list[type[Workload]]:
    return [one for child in kind.__subclasses__() for one in (child, *offspring(child))]


@pytest.mark.parametrize(
    "needs",
    [
        Needs((), {"node-dead": (Source.FAULTS,)}),
        Needs((), of_workload={"log": {"node-dead": (Source.FAULTS,)}}),
        Needs((), not_deleted=frozenset({"node-dead"})),
    ],
)
def test_needs_of_a_rule_that_the_checker_does_not_have_are_refused(needs: Needs) -> None:
    with pytest.raises(ValueError, match=r"checker nodes name what does not exist: \['node-dead'\]"):
        Entry("nodes", check_nodes, ANOMALIES, needs)


@pytest.mark.parametrize(
    "needs",
    [
        Needs((SUN,)),
        Needs((), {"node-died": (SUN,)}),
        Needs((), all_rest_on=(SUN,)),
        Needs((), of_workload={"log": {"node-died": (SUN,)}}),
    ],
)
def test_needs_of_a_source_that_does_not_exist_are_refused(needs: Needs) -> None:
    with pytest.raises(ValueError, match=r"checker nodes name what does not exist: \['the sun'\]"):
        Entry("nodes", check_nodes, ANOMALIES, needs)


@pytest.mark.parametrize("anomalies", [(), (NODE_DIED.found("n1 ended."),)])
def test_a_checker_that_states_no_needs_decides_nothing_without_a_journal(
    anomalies: tuple[Anomaly, ...],
) -> None:
    whole = history(setup={"workload": {"kind": "log"}})
    holed = history("observer-ends", setup={"workload": {"kind": "log"}})
    stranger = result_of("stranger", list(anomalies))
    assert result_by("stranger", lambda _: stranger, whole) is stranger
    withheld = result_by("stranger", lambda _: stranger, holed)
    assert (withheld.validity, withheld.anomalies) == (Validity.UNKNOWN, ())


@pytest.mark.parametrize(
    ("workload", "validity"), [("compacted", Validity.UNKNOWN), ("log", Validity.INVALID)]
)
def test_what_is_gone_may_have_been_replaced_by_what_nobody_reports(
    workload: str, validity: Validity
) -> None:
    result = result_of("log", [known_anomalies()["lost-write"].found("value 7 is gone")])
    assert shown(result, MissingParts(frozenset({"worker-0"}), workload)).validity is validity


def test_a_whole_history_has_no_hole() -> None:
    result = result_of("nodes", [NODE_DIED.found("n1 ended.")])
    assert missing_parts_of(history()) is None
    assert shown(result, None) is result


def test_a_checker_that_needs_nothing_reports_what_it_found() -> None:
    result = result_of("availability", [])
    assert shown(result, MissingParts(frozenset({"worker-0"}), "log")) is result


@pytest.mark.parametrize(
    ("setup", "workload"),
    [(None, "log"), ({"workload": {"kind": "txn"}}, "txn"), ({"workload": 3}, "log"), ([], "log")],
)
def test_the_workload_is_that_of_the_set_up(setup: object, workload: str) -> None:
    lost = missing_parts_of(history("worker-0", setup=setup))
    assert lost == MissingParts(frozenset({"worker-0"}), workload)


@pytest.mark.parametrize(
    ("role", "interval_ms", "counts"),
    [
        ("altering", 0, True),
        ("altering", 9_000, True),
        ("member", 9_000, False),
        (None, 9_000, True),
        (None, 0, False),
    ],
)
def test_only_workers_that_may_change_start_offsets_count_as_such(
    role: str | None, interval_ms: int, *, counts: bool
) -> None:
    """The role of a worker is unknown if the runner's journal lacks it."""
    whole = history(
        "worker-7", "admin", setup={"workload": {"kind": "shares", "alter_interval_ms": interval_ms}}
    )
    if role is not None:
        opened = operation("runner", OperationType.OK, "journal", "worker-7", {"role": role})
        whole = msgspec.structs.replace(whole, operations=(*whole.operations, opened))
    lost = missing_parts_of(whole)
    assert lost is not None
    assert lost.missing == {"worker-7", "admin", *(("altering worker-7",) if counts else ())}


def test_without_a_nemesis_journal_nobody_knows_whether_a_node_was_killed() -> None:
    result = result_of("nodes", [NODE_DIED.found("n1 ended."), NODE_DIED.found("n2 ended.")])
    withheld = shown(result, MissingParts(frozenset({"nemesis"}), "log"))
    assert (withheld.validity, withheld.anomalies, withheld.counts) == (Validity.UNKNOWN, (), {})
    why = "the history lacks records of faults (nemesis)"
    assert withheld.unknown_because == f"node-died may only be a gap in the records: {why}"


@pytest.mark.parametrize(
    ("rule", "journal", "validity"),
    [
        ("lost-write", "worker-6", Validity.UNKNOWN),
        ("lost-write", "worker-5", Validity.INVALID),
        ("duplicate", "worker-6", Validity.INVALID),
    ],
)
def test_what_is_gone_may_have_been_deleted_by_who_lost_his_journal(
    rule: str, journal: str, validity: Validity
) -> None:
    recorded = history(journal, setup={"workload": {"kind": "log"}})
    opened = [
        operation("runner", OperationType.OK, "journal", name, value)
        for name, value in (
            ("worker-6", {"role": "deleter"}),
            ("worker-5", {"role": "consumer"}),
            ("x", None),
        )
    ]
    recorded = msgspec.structs.replace(recorded, operations=(*recorded.operations, *opened))
    result = shown(result_of("log", [known_anomalies()[rule].found("value 7")]), missing_parts_of(recorded))
    assert result.validity is validity
    if validity is Validity.UNKNOWN:
        assert "records of deletions (worker-6)" in (result.unknown_because or "")


def test_what_rests_on_other_journals_stays() -> None:
    quorum = known_anomalies()
    found = [quorum["cluster-id-changed"].found("n1"), quorum["voter-unexplained"].found("n2")]
    withheld = shown(result_of("quorum", found), MissingParts(frozenset({"admin"}), "log"))
    assert (withheld.validity, withheld.counts) == (Validity.INVALID, {"cluster-id-changed": 1})
    assert "voter-unexplained may only be a gap in the records" in (withheld.unknown_because or "")


def test_legal_findings_stay_and_their_number_is_exact() -> None:
    legal = msgspec.structs.replace(NODE_DIED.found("n1"), illegal=False)
    result = result_of("nodes", [legal] * 30)
    withheld = shown(result, MissingParts(frozenset({"nodes"}), "log"))
    assert (withheld.validity, withheld.counts, len(withheld.anomalies)) == (
        Validity.UNKNOWN,
        {"node-died": 30},
        20,
    )
    mixed = result_of("nodes", [*[legal] * 3, NODE_DIED.found("n2")])
    assert shown(mixed, MissingParts(frozenset({"nemesis"}), "log")).counts == {"node-died": 3}


@pytest.mark.parametrize(
    ("checker", "workload", "validity"),
    [
        ("log", "log", Validity.UNKNOWN),
        ("groups", "log", Validity.VALID),
        ("groups", "groups", Validity.UNKNOWN),
        ("nodes", "log", Validity.VALID),
        ("nodes", None, Validity.UNKNOWN),
    ],
)
def test_what_has_nothing_to_look_at_is_not_in_doubt(
    checker: str, workload: str | None, validity: Validity
) -> None:
    assert shown(result_of(checker, []), MissingParts(frozenset({"worker-3"}), workload)).validity is validity


def log_lacking(value: object, setup: object) -> History:
    recorded = history(setup=setup)
    lack = Operation(1, 1, "runner", OperationType.OK, "observe", LOG_LACKING, value, node="n1")
    return msgspec.structs.replace(recorded, operations=(*recorded.operations, lack))


@pytest.mark.parametrize(
    ("roles", "unknown"),
    [
        (["broker"], {"partitions", "replicas", "nodes"}),
        (["controller"], {"quorum", "nodes"}),
        (["broker", "controller"], {"partitions", "replicas", "nodes", "quorum"}),
    ],
)
def test_without_a_nodes_log_only_what_looks_at_it_is_unknown(roles: list[str], unknown: set[str]) -> None:
    setup = {"workload": _SETUP, "nodes": [{"name": "n1", "id": 1, "roles": roles}]}
    lost = missing_parts_of(log_lacking({"what": "all", "why": "it is gone"}, setup))
    results = {name: shown(result_of(name, []), lost) for name in NEEDS}
    assert {name for name, result in results.items() if result.validity is Validity.UNKNOWN} == unknown
    role = roles[0]
    assert f"the history lacks records of {role}s' logs ({role} n1: it is gone)" in str(
        results["nodes"].unknown_because
    )


def with_entries(recorded: History, key: str, value: object, number: int = 1) -> History:
    """A history with as many observations of n1's log more."""
    size, done = len(recorded.operations), OperationType.OK
    more = [Operation(size + n, 1, "runner", done, "observe", key, value, node="n1") for n in range(number)]
    return msgspec.structs.replace(recorded, operations=(*recorded.operations, *more))


def unknown_in(recorded: History) -> set[str]:
    """Checkers that are unknown where they found nothing, by what the history lacks."""
    results = {name: shown(result_of(name, []), missing_parts_of(recorded)) for name in NEEDS}
    return {name for name, result in results.items() if result.validity is Validity.UNKNOWN}


LOOKING = [
    ("loaded", {"partitions", "replicas"}, {"quorum"}),
    ("isr-shrunk", {"partitions"}, set()),
    ("truncated", {"partitions"}, set()),
    ("epoch-begun", set(), set()),
    ("instance-refused", set(), set()),
    ("node-log", set(), set()),
]
"""Of each kind of lines the checkers that look at those of brokers, and of controllers."""


@pytest.mark.parametrize(("kind", "brokers", "controllers"), LOOKING)
@pytest.mark.parametrize("role", ["broker", "controller"])
def test_where_lines_of_one_kind_are_lacking_only_what_looks_at_them_is_unknown(
    kind: str, brokers: set[str], controllers: set[str], role: str
) -> None:
    setup = {"workload": _SETUP, "nodes": [{"name": "n1", "id": 1, "roles": [role]}]}
    lacking = log_lacking({"what": kind, "why": "only the first 2 of 3 entries are recorded"}, setup)
    assert unknown_in(lacking) == (brokers if role == "broker" else controllers)


@pytest.mark.parametrize(("number", "unknown"), [(4_999, set()), (5_000, {"partitions"}), (5_001, set())])
def test_an_older_run_at_its_limit_may_lack_lines(number: int, unknown: set[str]) -> None:
    setup = {"workload": _SETUP, "nodes": [{"name": "n1", "id": 1, "roles": ["controller", "broker"]}]}
    assert unknown_in(with_entries(history(setup=setup), "epoch-begun", None, 5_000)) == set()
    recorded = with_entries(
        with_entries(history(setup=setup), "loaded", None, 2), "isr-shrunk", None, number - 2
    )
    assert bool(unknown_in(recorded)) is bool(unknown)
    assert unknown <= unknown_in(recorded)


@pytest.mark.parametrize(
    ("entry", "validity"),
    [
        ({"line": 7, "text": "it hurts"}, Validity.INVALID),
        ({"line": None, "text": "7 further lines", "unjudged": True}, Validity.INVALID),
        ({"line": None, "text": "7 further lines"}, Validity.UNKNOWN),
    ],
)
def test_a_duplicate_may_be_the_clients_by_an_error_that_was_left_out(
    entry: object, validity: Validity
) -> None:
    setup = {"workload": _SETUP, "nodes": [{"name": "n1", "id": 1, "roles": ["broker"]}]}
    lost = missing_parts_of(with_entries(history(setup=setup), "node-log", entry))
    result = shown(result_of("log", [known_anomalies()["duplicate"].found("value 7")]), lost)
    assert result.validity is validity
    assert shown(result_of("log", [known_anomalies()["lost-write"].found("value 7")]), lost).counts


@pytest.mark.parametrize("setup", [None, {"nodes": 3}, {"nodes": []}])
@pytest.mark.parametrize("value", [None, "all", {"why": "its log was not read"}])
def test_a_node_of_unknown_roles_may_have_had_both(value: object, setup: object) -> None:
    lost = missing_parts_of(log_lacking(value, setup))
    assert lost is not None
    why = "n1: its log was not read"
    assert lost.missing == {f"broker {why}", f"controller {why}"}


@pytest.mark.parametrize(
    ("rule", "validity"), [("duplicate", Validity.UNKNOWN), ("lost-write", Validity.INVALID)]
)
def test_a_duplicate_may_be_the_clients_by_a_log_that_nobody_read(rule: str, validity: Validity) -> None:
    lost = missing_parts_of(log_lacking({"why": "it is gone"}, None))
    result = shown(result_of("log", [known_anomalies()[rule].found("value 7")]), lost)
    assert result.validity is validity


def test_a_doubt_of_the_checkers_own_is_reported_too() -> None:
    result = result_of("nodes", [], unknown_because="it is dark")
    withheld = shown(result, MissingParts(frozenset({"nodes"}), "log"))
    assert str(withheld.unknown_because).endswith("(nodes); it is dark")


def test_without_the_set_up_nothing_illegal_can_be_known() -> None:
    found = [known_anomalies()["cluster-id-changed"].found("n1")]
    withheld = shown(result_of("quorum", found), missing_parts_of(history("runner")))
    assert (withheld.validity, withheld.anomalies) == (Validity.UNKNOWN, ())


READ = """
setup workers=5 durable=3
p0 send 0@0=1
r9 poll 0@0=1 0@1={value}
phase final-read
a final 0 0..2 0@0=1 0@1={value}
c final 0 0..2 0@0=1 0@1={value}
"""


def judged(value: int | str, *lacking: str) -> CheckerResult:
    recorded = story(READ.format(value=value))
    return result_by("log", check_log, msgspec.structs.replace(recorded, lacking=frozenset(lacking)))


@pytest.mark.parametrize(
    ("value", "lacking", "counts"),
    [
        (2_000_000_001, (), {"phantom": 1}),
        (2_000_000_001, ("worker-2",), {}),
        (7_000_000_001, ("worker-2",), {}),
        (2_000_000_001, ("worker-1",), {"phantom": 1}),
        ("garbage", ("worker-2",), {"phantom": 1}),
    ],
)
def test_a_value_is_a_phantom_only_where_its_workers_journal_is_whole(
    value: int | str, lacking: tuple[str, ...], counts: dict[str, int]
) -> None:
    result = judged(value, *lacking)
    assert result.counts == counts
    assert result.validity is (Validity.INVALID if counts else Validity.UNKNOWN)


@pytest.mark.parametrize(
    ("workload", "lacking", "unheard"),
    [
        ({**_SETUP, "kind": "bulk", "writers": 2}, "bulk-0", [True, False, True, False, False]),
        ({**_SETUP, "kind": "bulk", "writers": 2}, "worker-3", [False, False, False, True, False]),
        ({**_SETUP, "kind": "bulk"}, "worker-1", [False, True, False, False, False]),
        (_SETUP, "worker-4", [False, False, False, False, True]),
        (None, "runner", [True] * 5),
        (None, "worker-4", [False, False, False, False, True]),
    ],
)
def test_whose_values_nobody_can_know_of(workload: object, lacking: str, unheard: list[bool]) -> None:
    values = np.array([number * 10**9 + 7 for number in range(5)])
    recorded = history(lacking, setup=None if workload is None else {"workload": workload})
    assert is_unheard(recorded)(values).tolist() == unheard


def test_nothing_is_concluded_from_a_record_of_which_nobody_can_know() -> None:
    """One that was aborted, say, is passed over by readers of committed records, and legally so."""
    text = """
    setup workers=5 durable=3
    p0 send 0@0=1
    p0 send 0@2=2
    r9 poll 0@0=1 0@1=2000000001 0@2=2
    r8 committed 0@0=1 0@2=2
    phase final-read
    a final 0 0..3 0@0=1 0@1=2000000001 0@2=2
    c final 0 0..3 0@0=1 0@2=2
    """
    history = story(text)
    assert check_log(history).validity is Validity.INVALID
    holed = msgspec.structs.replace(history, lacking=frozenset({"worker-2"}))
    assert check_log(holed).counts == {}


def test_a_doubt_that_the_checker_reports_itself_is_reported_once() -> None:
    why = "the history lacks records of states of the nodes' processes (nodes)"
    result = result_of("nodes", [], unknown_because=why)
    assert shown(result, MissingParts(frozenset({"nodes"}), "log")).unknown_because == why


@pytest.mark.parametrize(
    ("planned", "tried", "phase", "lacks"),
    [
        (2, ("inject f1", "heal f1", "inject f2"), "done", False),
        (2, ("inject f1", "heal f1"), "done", True),
        (2, ("inject f1", "heal f1"), "evidence", False),
        (0, ("heal f1",), "evidence", True),
        (2, ("inject f1", "moves x"), "done", False),
        (None, (), "done", False),
    ],
)
def test_a_nemesis_of_whom_faults_are_missing_is_lacking(
    planned: int | None, tried: tuple[str, ...], phase: str, *, lacks: bool
) -> None:
    recorded = history(setup={"planned_faults": planned})
    words = [each.split() for each in tried]
    more = [operation("nemesis", OperationType.INVOKE, f, key, None) for f, key in words]
    ended = operation("runner", OperationType.OK, "phase", phase, None)
    whole = msgspec.structs.replace(recorded, operations=(*recorded.operations, *more, ended))
    assert (lacking(whole, Source.FAULTS) is not None) is lacks
    assert (missing_parts_of(whole) is not None) is lacks


def test_what_readers_were_given_is_there_for_rules_that_ask_for_no_sender() -> None:
    holed = msgspec.structs.replace(story(READ.format(value=2_000_000_001)), lacking=frozenset({"worker-2"}))
    assert len(all_columns_of(holed).reads.value) == len(columns_of(holed).reads.value) + 3


def test_a_gap_in_the_records_leaves_more_open_than_a_licence() -> None:
    """A missing journal may hide other anomalies, or have caused this one."""
    legal = Anomaly("share-state-start-back", "it went back", "g", "s", illegal=False, licence="a loss")
    result = result_of("share-groups", [legal], open_anomalies=[OpenAnomaly(legal.id, "a loss")])
    assert shown(result, None).open_anomalies == (legal.id,)
    lost = missing_parts_of(history("replicas", "worker-0", setup={"workload": {"kind": "shares"}}))
    withheld_result = shown(result, lost)
    assert (withheld_result.validity, withheld_result.open_anomalies) == (Validity.UNKNOWN, ())
    assert str(withheld_result.unknown_because).endswith("; a loss")
