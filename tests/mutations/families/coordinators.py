"""Who coordinates groups at the end, as brokers would tell it."""

from tests.mutations.edits import Edit
from tests.mutations.looking import INFO, OK, SECOND_NS, pairs, phase_ns
from tests.mutations.suite import VALID, invalid, mutation

RUNS = ("offsets", "groups", "copy", "chaos")


def _listed(edit: Edit, node: str, groups: list[str], after_s: int) -> None:
    """A broker reports, so long after the phase evidence began, which groups it coordinates."""
    at_ns = phase_ns(edit.original, "evidence") + after_s * SECOND_NS
    like = next(o for o in edit.original.of("phase") if o.key == "evidence")
    value = {"began_ns": at_ns - 1_000_000, "groups": groups, "transactional_ids": []}
    edit.add(like, at_ns, type=OK, f="observe", key="coordinators", value=value, node=node)


def _brokers(edit: Edit) -> list[str]:
    return [n["name"] for o in edit.original.of("setup") for n in o.value["nodes"] if "broker" in n["roles"]]


@mutation("coordinators", invalid("two-coordinators"), RUNS, 1)
def two_of_one_group(edit: Edit) -> None:
    """For twelve seconds after recovery two brokers report that they coordinate one group."""
    for after_s in range(13):
        for node in _brokers(edit)[:2]:
            _listed(edit, node, ["group-0"], after_s)


@mutation("coordinators", VALID, RUNS, 1)
def one_lets_go(edit: Edit) -> None:
    """For five seconds two brokers report that they coordinate one group, and then only one does."""
    first, second, *_ = _brokers(edit)
    for after_s in range(13):
        _listed(edit, first, ["group-0"], after_s)
        _listed(edit, second, ["group-0"] if after_s < 5 else [], after_s)


@mutation("coordinators", invalid("not-recovered"), ("copy",), 1)
def nobody_is_told_what_a_group_committed(edit: Edit) -> None:
    """After recovery it takes 70 seconds until a request for a group's offsets ends, without an answer."""
    ((asked, answered),) = pairs(edit.original, "committed-offsets")
    late_ns = asked.time_ns + 70 * SECOND_NS
    edit.set(answered.index, type=INFO, value=asked.value, time_ns=late_ns, error="no coordinator answered")
