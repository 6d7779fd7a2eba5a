"""Evidence from brokers: each broker's description of the configs of the run's topics at the end."""

from collections.abc import Iterable, Mapping

from checkers.history.observed import TopicConfigsSeen
from checkers.kraft.metadata.configs import TOPIC_CONFIGS
from harness.clients.metadata_views import own_configs
from harness.kafka.wire import Connection, WireError
from harness.record.journal import Recorder

_TIMEOUT_S = 2.0

Address = tuple[str, int]


def gather_configs(recorder: Recorder, listeners: Mapping[str, Address], topics: Iterable[str]) -> None:
    """Record the configs that every answering broker reports; other brokers are not judged.

    Args:
        recorder: writes as the process ``runner``.
        listeners: broker name to its listener.
        topics: names.
    """
    names = tuple(topics)
    for node, address in listeners.items():
        began_ns = recorder.journal.clock.now_ns()
        try:
            with Connection(*address, _TIMEOUT_S) as connection:
                told = own_configs(connection, names)
        except WireError:
            continue
        recorder.observe("observe", TOPIC_CONFIGS, TopicConfigsSeen(began_ns, told), node=node)
