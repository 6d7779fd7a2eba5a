"""Votes by what controllers logged: once an epoch, for no stale candidate, and a majority for each leader."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.kraft.quorum import check_quorum
from checkers.verdict.verdict import Anomaly

Story = Callable[..., History]
Entry = tuple[str, str, dict[str, Any]]
RULES = {"double-vote", "stale-vote", "leader-without-majority"}


def vote(node: str, epoch: int, candidate: int, **fields: Any) -> Entry:
    """A node granted its vote; with `at`: at which second after 22:13."""
    at = f"2023-11-14T22:13:{20 + fields.pop('at', epoch):06.3f}Z"
    usual = {
        "line": 1,
        "at": at,
        "epoch": epoch,
        "candidate_id": candidate,
        "granted": True,
        "pre_vote": False,
    }
    return "vote", node, usual | fields


def elected(node: str, epoch: int, *granting: int | None, voters: tuple[int, ...] = (1, 2, 3)) -> Entry:
    at = f"2023-11-14T22:13:{20 + epoch:06.3f}Z"
    by = None if None in granting else list(granting)
    value = {"line": 7, "at": at, "epoch": epoch, "granting": by, "voters": list(voters)}
    return "elected", node, value


def ending(node: str, further: int = 0) -> Entry:
    return "vote", node, {"line": None, "lines": 9, "further": further}


def with_log_entries(history: History, *entries: Entry) -> History:
    """A history to which entries of logs are added at its end."""
    last = history.operations[-1]
    added = tuple(
        Operation(
            last.index + 1 + i, last.time_ns, "runner", OperationType.OK, "observe", key, value, node=node
        )
        for i, (key, node, value) in enumerate(entries)
    )
    return msgspec.structs.replace(history, operations=(*history.operations, *added))


def anomalies(history: History) -> list[Anomaly]:
    return [anomaly for anomaly in check_quorum(history).anomalies if anomaly.id in RULES]


def found(history: History) -> list[str]:
    return [f"{anomaly.id}: {anomaly.subject}" for anomaly in anomalies(history)]


class TestTwice:
    def test_two_candidates_of_an_epoch(self, story: Story) -> None:
        votes = [vote("c1", 2, 2, line=3), vote("c1", 2, 3, line=5), vote("c1", 2, 1, line=6)]
        (anomaly,) = anomalies(with_log_entries(story("1 c1 leads 1"), *votes))
        assert (anomaly.id, anomaly.subject, anomaly.illegal) == ("double-vote", "c1, epoch 2", True)
        assert anomaly.witness == (2, 3)
        assert anomaly.explanation[1].startswith("Line 5 of c1's log, at 2023-11-14T22:13:22.000Z: it votes")

    @pytest.mark.parametrize(
        "second",
        [
            vote("c1", 2, 2),
            vote("c1", 3, 3),
            vote("c2", 2, 3),
            vote("c1", 2, 3, granted=False),
            vote("c1", 2, 3, pre_vote=True),
            vote("c1", 2, 3, directory_id="d9"),
            vote("c1", 2, 2, candidate_directory_id=None),
        ],
    )
    def test_what_is_none(self, story: Story, second: Entry) -> None:
        first = vote("c1", 2, 2, directory_id="d1", candidate_directory_id="d2")
        assert found(with_log_entries(story("1 c1 leads 1"), first, second)) == []

    def test_two_disks_of_a_candidate_are_two_candidates(self, story: Story) -> None:
        votes = [vote("c1", 2, 2, candidate_directory_id=disk) for disk in ("d1", "d2")]
        (anomaly,) = anomalies(with_log_entries(story("1 c1 leads 1"), *votes))
        assert "for 2 on disk d1." in anomaly.explanation[0]

    @pytest.mark.parametrize(
        ("fault", "illegal"),
        [("f1 wipe-disk c1 ok", False), ("f1 wipe-disk c2 ok", True), ("f1 power-loss c1 ok", True)],
    )
    def test_a_disk_that_was_emptied_forgot(self, story: Story, fault: str, *, illegal: bool) -> None:
        history = story(f"1 c1 leads 1\n5 {fault}\n6 f1 heal ok\n")
        votes = [vote("c1", 2, 2, at=2), vote("c1", 2, 3, at=9), vote("c1", 2, 3, at=10)]
        assert bool(found(with_log_entries(history, *votes))) is illegal
        assert found(with_log_entries(history, *votes, vote("c1", 2, 1, at=20))) == [
            "double-vote: c1, epoch 2"
        ]

    def test_without_times_it_is_when_it_was_gathered(self, story: Story) -> None:
        history = story("1 c1 leads 1\n5 f1 wipe-disk c1 ok\n6 f1 heal ok\n20 c1 leads 1\n")
        votes = [vote("c1", 2, candidate)[2] | {"at": None} for candidate in (2, 3)]
        assert found(with_log_entries(history, *(("vote", "c1", each) for each in votes))) != []


class TestStale:
    LOG = "9 c1 metadata 1:1/d1,2/d2,3/d3\n"
    CLAIM = "1 c1 leads 1 hw=5 end=9 c2=0.9@7 c3=0.9@5\n"

    @staticmethod
    def history(story: Story, text: str, *begun: tuple[int, int], end: int = 20) -> History:
        """With a metadata log in which leaders began at these offsets and epochs."""
        history = story(text + "9 c1 metadata 1:1/d1,2/d2,3/d3\n")
        records = [[offset, epoch, "LEADER_CHANGE", None] for offset, epoch in begun]
        log = history.operations[-1]
        value = log.value | {"records": records, "end": end}
        changed = msgspec.structs.replace(log, value=value)
        return msgspec.structs.replace(history, operations=(*history.operations[:-1], changed))

    @pytest.mark.parametrize(
        ("last_epoch", "last_offset", "stale"),
        [(1, 5, False), (1, 4, True), (0, 9, True), (2, 0, False), (None, None, False)],
    )
    def test_what_is_committed_on_the_voters_disk(
        self, story: Story, last_epoch: int | None, last_offset: int | None, *, stale: bool
    ) -> None:
        cast = vote("c2", 2, 3, last_epoch=last_epoch, last_offset=last_offset)
        recorded = with_log_entries(self.history(story, self.CLAIM, (0, 1)), cast)
        assert found(recorded) == (["stale-vote: c2, epoch 2"] if stale else [])
        figures = check_quorum(recorded).figures
        assert (figures["votes_judged"], figures["votes_with_known_bounds"]) == (
            1,
            int(last_epoch is not None),
        )

    @pytest.mark.parametrize(
        ("text", "cast"),
        [
            (CLAIM, vote("c2", 1, 3, last_epoch=0, last_offset=0)),
            (
                CLAIM.replace("c2=", "c2/d2="),
                vote("c2", 2, 3, last_epoch=0, last_offset=0, directory_id="d9"),
            ),
            (CLAIM.replace("hw=5", "hw=-1"), vote("c2", 2, 3, last_epoch=0, last_offset=0)),
            (CLAIM, vote("b9", 2, 3, last_epoch=0, last_offset=0)),
            (CLAIM + "2 f1 wipe-disk c3 ok\n3 f1 heal ok\n", vote("c2", 2, 3, last_epoch=0, last_offset=0)),
        ],
    )
    def test_what_is_not_known_is_not_judged(self, story: Story, text: str, cast: Entry) -> None:
        assert found(with_log_entries(self.history(story, text, (0, 1)), cast)) == []

    def test_the_epoch_of_what_it_has_must_be_known(self, story: Story) -> None:
        cast = vote("c2", 2, 3, last_epoch=0, last_offset=0)
        assert found(with_log_entries(self.history(story, self.CLAIM, (0, 1)), cast)) != []
        assert found(with_log_entries(self.history(story, self.CLAIM, (6, 1)), cast)) == []
        assert found(with_log_entries(self.history(story, self.CLAIM, (0, 1), end=4), cast)) == []
        assert found(with_log_entries(story(self.CLAIM), cast)) == []

    def test_the_last_of_several_epochs_counts(self, story: Story) -> None:
        text = self.CLAIM + "3 c1 leads 2 hw=8 end=9 c2=2.9@8 c3=2.9@5\n"
        history = self.history(story, text, (0, 1), (6, 2))
        early = vote("c2", 2, 3, last_epoch=1, last_offset=5)
        late = vote("c2", 3, 3, last_epoch=1, last_offset=9)
        assert found(with_log_entries(history, early, late)) == ["stale-vote: c2, epoch 3"]


class TestMajority:
    VOTES = (vote("c1", 2, 1), vote("c2", 2, 1, line=4), vote("c3", 1, 1))
    WHOLE = (ending("c1"), ending("c2"), ending("c3"))

    def test_a_leader_with_a_majority(self, story: Story) -> None:
        entries = (*self.VOTES, *self.WHOLE, elected("c1", 2, 1, 2))
        assert found(with_log_entries(story("1 c1 leads 1"), *entries)) == []
        assert (
            check_quorum(with_log_entries(story("1 c1 leads 1"), *entries)).figures["elections_judged"] == 1
        )

    def test_too_few_votes_by_its_own_line(self, story: Story) -> None:
        (anomaly,) = anomalies(with_log_entries(story("1 c1 leads 1"), elected("c1", 2, 1)))
        assert (anomaly.id, anomaly.subject) == ("leader-without-majority", "c1, epoch 2")
        assert found(with_log_entries(story("1 c1 leads 1"), elected("c1", 2, 1, voters=(1,)))) == []
        assert (
            found(with_log_entries(story("1 c1 leads 1"), elected("c1", 2, 1, 2, voters=(1, 2, 3, 4)))) != []
        )

    def test_where_it_does_not_tell_by_whom_the_logs_of_all_voters_count(self, story: Story) -> None:
        assert (
            found(with_log_entries(story("1 c1 leads 1"), *self.VOTES, *self.WHOLE, elected("c1", 2, None)))
            == []
        )
        entries = (self.VOTES[0], self.VOTES[2], vote("c2", 1, 2), *self.WHOLE, elected("c1", 2, None))
        (anomaly,) = anomalies(with_log_entries(story("1 c1 leads 1"), *entries))
        assert anomaly.summary == "c1 led epoch 2 with the votes of only 1 of 3 voters."
        assert anomaly.explanation[0].endswith("votes of: not logged.")

    def test_without_voters_nothing_is_known(self, story: Story) -> None:
        assert found(with_log_entries(story("1 c1 leads 1"), elected("c1", 2, 1, voters=()))) == []

    def test_a_vote_that_its_voter_never_gave(self, story: Story) -> None:
        entries = (*self.VOTES, *self.WHOLE, elected("c1", 2, 1, 3))
        (anomaly,) = anomalies(with_log_entries(story("1 c1 leads 1"), *entries))
        assert anomaly.explanation[-1] == "The complete log of c3 has no such vote."

    @pytest.mark.parametrize("last", [(), (ending("c3", further=1),)])
    def test_a_log_that_is_not_whole_proves_nothing(self, story: Story, last: tuple[Entry, ...]) -> None:
        entries = (*self.VOTES, *self.WHOLE[:2], *last, elected("c1", 2, 1, 3))
        history = with_log_entries(story("1 c1 leads 1"), *entries)
        assert found(history) == []
        assert check_quorum(history).figures["vote_lines_left_out"] == len(last)

    def test_a_log_whose_beginning_may_be_gone_proves_nothing(self, story: Story) -> None:
        entries = (*self.VOTES[:2], vote("c3", 2, 3, granted=False), *self.WHOLE, elected("c1", 2, 1, 3))
        assert found(with_log_entries(story("1 c1 leads 1"), *entries)) == []

    def test_one_without_any_vote_may_be_of_another_version(self, story: Story) -> None:
        entries = (*self.VOTES[:2], *self.WHOLE, elected("c1", 2, 1, 3))
        assert found(with_log_entries(story("1 c1 leads 1"), *entries)) == []

    def test_a_voter_that_is_no_controller_of_the_setup(self, story: Story) -> None:
        assert (
            found(with_log_entries(story("1 c1 leads 1"), *self.VOTES, *self.WHOLE, elected("c1", 2, 1, 9)))
            == []
        )
