"""Set-up: from a bare host to an engine that runs and an image of Kafka that is ready."""

from collections.abc import Callable
from contextlib import closing
from functools import partial

from harness.cluster.engine import connect, start_engine
from harness.cluster.images import (
    JarSource,
    KafkaImage,
    Survey,
    base_if_cached,
    ensure_base,
    ensure_image,
    survey,
)
from harness.errors import KrucibleError, UsageError
from harness.host.packages import (
    Say,
    engine_answers,
    install,
    may_not_install,
    missing_for_engine,
    missing_for_images,
)


def setup(version: str, source: str = JarSource.AUTO, say: Say = print, given: str = "") -> KafkaImage:
    """Prepare this host to run a version of Kafka; does nothing if it is ready.

    Args:
        version: Kafka's, e.g. ``4.3.1``.
        source: ``auto``, ``artifacts``, ``registry`` or ``tarball``.
        say: gets lines about each step before it is carried out.
        given: the one image of a registry, or the tarball, that Kafka's image is to be made from.

    Raises:
        UsageError: if there is no such version or source.
        KrucibleError: if something is missing that may not be installed here, with the commands for it.
        EngineError: if Docker can't be started or an image can't be built.
    """
    _ready_engine(say)
    with closing(connect()) as client:
        ways = survey(version, source, client, given)
        everything_here = ways.cached is not None and base_if_cached(client) is not None
        if not everything_here and not ways.registry_answers:
            install(missing_for_images(jars=ways.wants_jars), say)
        ensure_base(say, client)
        image = _image(partial(ensure_image, version, source, say, client, given), ways, say)
    say(f"ready: Kafka {image.version} from {image.source.value}, {image.reference}{image.tools_note}")
    return image


def _image(ensure: Callable[[], KafkaImage], ways: Survey, say: Say) -> KafkaImage:
    """The image; built after all where a registry has it and does not hand it over."""
    try:
        return ensure()
    except UsageError:
        raise
    except KrucibleError as error:
        missing = missing_for_images() if ways.registry_answers and ways.wants_jars else []
        if not missing:
            raise
        say(f"it will be built instead: {error.what}: {error.got}")
        install(missing, say)
        return ensure()


def _ready_engine(say: Say) -> None:
    missing = missing_for_engine()
    if missing and may_not_install():
        missing += missing_for_images()
    install(missing, say)
    if not engine_answers():
        say("starting the Docker engine")
        log = start_engine()
        say(f"the Docker engine runs; its log: {log}" if log else "the Docker engine runs")
