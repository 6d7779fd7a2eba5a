"""Who led from when on: by the metadata log, by what brokers reported, by controllers' own answers."""

from checkers.columns.tables import PartitionName
from results.report.reading.leadership import partition_leaders, quorum_leaders
from results.run.observation import Claim, PartitionView
from tests.checkers.logs.replicas.replica_histories import Batch, metadata
from tests.results.report.test_chronology import story
from tests.results.story import S, Story

NAMES = {1: "n1", 2: "n2"}
PLACE = PartitionName("log-0", 3)


def view(time_ns: int, leader: int, epoch: int, isr: int = 3) -> PartitionView:
    return PartitionView(time_ns, "n1", ("log-0", 3), leader, epoch, isr)


def test_the_metadata_log_has_leaders_epochs_and_how_they_were_chosen() -> None:
    led = partition_leaders(story().history(), [view(1, 3, 9)], NAMES, PLACE)
    assert [(one.node, one.text) for one in led] == [
        ("n1", "leads epoch 4, ISR [1, 2, 3]"),
        ("n2", "leads epoch 5, ISR [2], elected uncleanly"),
        ("", "no leader, epoch 6, ISR [2]"),
    ]
    assert [one.time_ns for one in led] == sorted(one.time_ns for one in led)


def test_without_it_brokers_views_give_one_leader_for_each_epoch() -> None:
    views = [view(1, 1, 4), view(2, 1, 4, isr=2), view(3, 7, 5), view(4, -1, 6)]
    led = partition_leaders(Story().history(), views, NAMES, PLACE)
    assert [(one.time_ns, one.node, one.text) for one in led] == [
        (1, "n1", "leads epoch 4"),
        (3, "broker 7", "leads epoch 5"),
        (4, "", "no leader, epoch 6"),
    ]
    assert partition_leaders(Story().history(), [], NAMES, PLACE) == []


def test_a_leader_that_was_eligible_is_shown_as_such() -> None:
    recording = Story()
    records = [
        [0, 1, "TOPIC_RECORD", {"name": "log-0", "topicId": "T"}],
        [1, 1, "PARTITION_RECORD", {
            "topicId": "T", "partitionId": 3, "leader": -1, "leaderEpoch": 4, "replicas": [1, 2], "isr": [],
            "eligibleLeaderReplicas": [2],
        }],
        [2, 1, "PARTITION_CHANGE_RECORD", {
            "topicId": "T", "partitionId": 3, "leader": 2, "isr": [2], "eligibleLeaderReplicas": [],
        }],
    ]  # fmt: skip
    seen = metadata([Batch(0, len(records))], records=records)
    recording.add(45 * S, "observer-n1", "ok", "observe", "metadata-log", seen, node="n1")
    assert (
        partition_leaders(recording.history(), [], NAMES, PLACE)[-1].text
        == "leads epoch 5, ISR [2], from the ELR"
    )


def test_controllers_answers_show_when_each_began_and_ceased_to_lead() -> None:
    claims = {
        "n2": [Claim(5 * S, 2), Claim(6 * S, 2)],
        "n1": [Claim(1 * S, 1), Claim(3 * S, 1), Claim(4 * S, None)],
    }
    assert [(one.node, one.epoch, one.time_ns, one.until_ns) for one in quorum_leaders(claims)] == [
        ("n1", 1, 1 * S, 3 * S),
        ("n2", 2, 5 * S, 6 * S),
    ]
