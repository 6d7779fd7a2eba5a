"""Internal topics: elections and states of the partitions in which groups and transactions are kept."""

from tests.mutations.edits import Edit
from tests.mutations.looking import SECOND_NS, phase_ns
from tests.mutations.partitions import CHANGE, State, epoch_at, gaps, insert_record, own, spans, states
from tests.mutations.suite import invalid, mutation

RUNS = ("groups", "offsets", "txn", "copy")
INTERNAL = ("__consumer_offsets", "__transaction_state")


def _stands(edit: Edit) -> tuple[State, int]:
    """The last state of an internal partition with several in sync, and a gap of the log in it."""
    history = edit.original
    after_ns, span = phase_ns(history, "load") + SECOND_NS, spans(history)
    free = [gap for gap in gaps(history) if span(gap)[0] > after_ns]
    chosen: tuple[State, int] = edit.chosen(
        (state, next(gap for gap in reversed(free) if state.offset < gap < state.until))
        for state in states(history)
        if state.topic in INTERNAL
        and len(state.isr) > 1
        and any(state.offset < gap < state.until for gap in free)
    )
    assert chosen[0].topic not in own(history)
    return chosen


def _change(edit: Edit, state: State, gap: int, **fields: object) -> None:
    names = {"partitionId": state.partition, "topicId": state.topic_id}
    insert_record(edit, gap, CHANGE, names | fields, epoch_at(edit.original, gap))


_UNCLEAN = ("unclean-election-unlicensed", "unflagged-election")


@mutation("internal-topics", invalid(*_UNCLEAN), RUNS, 2)
def an_unclean_election(edit: Edit) -> None:
    """A replica of an internal partition that is not in sync is elected, which nothing permits."""
    state, gap = _stands(edit)
    _change(edit, state, gap, isr=[88], leader=88, leaderRecoveryState=1)


@mutation("internal-topics", invalid(*_UNCLEAN), RUNS, 2)
def an_unclean_election_that_nobody_told(edit: Edit) -> None:
    """A node that is not in sync is elected for an internal partition as if the election were clean."""
    state, gap = _stands(edit)
    _change(edit, state, gap, isr=[88], leader=88)


@mutation("internal-topics", invalid("leader-outside-isr"), RUNS, 2)
def its_leader_leaves_the_isr(edit: Edit) -> None:
    """The leader of an internal partition is removed from the ISR, and remains the leader."""
    state, gap = _stands(edit)
    _change(edit, state, gap, isr=[replica for replica in state.isr if replica != state.leader])


@mutation("internal-topics", invalid("isr-outside-replicas"), RUNS, 2)
def a_stranger_in_its_isr(edit: Edit) -> None:
    """A node that is not a replica joins the ISR of an internal partition."""
    state, gap = _stands(edit)
    _change(edit, state, gap, isr=[*state.isr, 88])


@mutation("internal-topics", invalid("restated-change"), RUNS, 2)
def its_isr_is_restated(edit: Edit) -> None:
    """A record sets the ISR of an internal partition to its present value."""
    state, gap = _stands(edit)
    _change(edit, state, gap, isr=list(state.isr))


@mutation("internal-topics", invalid("isr-and-elr", "elr-beside-isr"), RUNS, 1)
def a_member_is_eligible_too(edit: Edit) -> None:
    """A member of the ISR of an internal partition is also an eligible leader replica."""
    state, gap = _stands(edit)
    _change(edit, state, gap, eligibleLeaderReplicas=[state.isr[-1]])


@mutation("internal-topics", invalid("too-few-replicas", "reassignment-not-restored"), RUNS, 2)
def it_loses_a_replica(edit: Edit) -> None:
    """An internal partition has one replica less, and nobody requested that."""
    state, gap = _stands(edit)
    left = [state.leader, *[r for r in state.replicas if r != state.leader][:-1]]
    _change(edit, state, gap, replicas=left, isr=[r for r in state.isr if r in left])
