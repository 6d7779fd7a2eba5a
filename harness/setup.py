"""Set-up: from a bare host to an engine that runs and an image of Kafka that is ready."""

from contextlib import closing

from harness.cluster.engine import connect, start_engine
from harness.cluster.images import (
    KafkaImage,
    Source,
    base_if_cached,
    ensure_base,
    ensure_image,
    survey,
)
from harness.packages import (
    Say,
    engine_answers,
    install,
    may_not_install,
    missing_for_engine,
    missing_for_images,
)


def setup(version: str, source: str = Source.AUTO, say: Say = print, given: str = "") -> KafkaImage:
    """Make this host ready to run a version of Kafka; does nothing where it is ready already.

    Args:
        version: Kafka's, e.g. ``4.3.1``.
        source: ``auto``, ``artifacts``, ``registry`` or ``tarball``.
        say: is told, in lines, what will be done before it is done.
        given: the one image of a registry, or the tarball, that Kafka's image is to be made from.

    Raises:
        UsageError: if there is no such version or source.
        KrucibleError: if something is missing that may not be installed here, with the commands for it.
        EngineError: if the engine can't be started or an image can't be built.
    """
    _ready_engine(say)
    with closing(connect()) as client:
        ways = survey(version, source, client, given)
        everything_here = ways.cached is not None and base_if_cached(client) is not None
        if not everything_here and not ways.registry_answers:
            install(missing_for_images(), say)
        ensure_base(say, client)
        image = ensure_image(version, source, say, client, given)
    say(f"ready: Kafka {image.version} from {image.source.value}, {image.reference}")
    return image


def _ready_engine(say: Say) -> None:
    missing = missing_for_engine()
    if missing and may_not_install():
        missing += missing_for_images()
    install(missing, say)
    if not engine_answers():
        say("starting the Docker engine")
        log = start_engine()
        say(f"the Docker engine runs; its log: {log}" if log else "the Docker engine runs")
