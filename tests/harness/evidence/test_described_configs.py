"""What brokers report of topics' configs at the end, read into the history."""

from pathlib import Path

from checkers.history.reading import read_history
from harness.evidence.described_configs import gather_configs
from harness.record.journal import Clock, Journals, Recorder
from tests.harness.fakes.configs import ConfigBroker


def test_configs_that_topics_were_given_are_recorded_of_each_broker_that_answers(tmp_path: Path) -> None:
    journals = Journals(tmp_path, "run", Clock())
    own = {"segment.ms": "500", "message.format.version": None}
    with ConfigBroker(own, ["made-1", "__consumer_offsets"]) as broker:
        listeners = {"n1": broker.address, "n2": ("127.0.0.1", 1)}
        gather_configs(Recorder(journals.open("runner"), "runner"), listeners, ["log-0", "gone"])
    journals.close()
    (observed,) = read_history(tmp_path).observed("topic-configs")
    assert observed.node == "n1"
    assert observed.value["topics"] == {"log-0": {"segment.ms": "500"}, "made-1": {"segment.ms": "500"}}
