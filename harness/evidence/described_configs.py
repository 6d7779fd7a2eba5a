"""Evidence from brokers: each broker's description of the configs of topics at the end."""

from collections.abc import Iterable, Iterator, Mapping

from checkers.history.observed import TopicConfigsSeen
from checkers.kraft.metadata.configs import TOPIC_CONFIGS
from harness.clients.metadata_views import listed_topics, own_configs
from harness.kafka.wire import Connection, WireError
from harness.record.journal import Recorder

_TIMEOUT_S = 2.0
_INTERNAL = "__"

Address = tuple[str, int]


def gather_configs(recorder: Recorder, listeners: Mapping[str, Address], topics: Iterable[str]) -> None:
    """Record the configs that every answering broker reports; other brokers are not judged.

    A broker is asked for the topics of the run, and for all that it lists, except internal ones.

    Args:
        recorder: writes as the process ``runner``.
        listeners: broker name to its listener.
        topics: names of the run's topics.
    """
    names = frozenset(topics)
    for node, address in listeners.items():
        began_ns = recorder.journal.clock.now_ns()
        try:
            with Connection(*address, _TIMEOUT_S) as connection:
                configs = own_configs(connection, sorted(names.union(_listed(connection))))
        except WireError:
            continue
        recorder.observe("observe", TOPIC_CONFIGS, TopicConfigsSeen(began_ns, configs), node=node)


def _listed(connection: Connection) -> Iterator[str]:
    return (name for name, _ in listed_topics(connection, "") if not name.startswith(_INTERNAL))
