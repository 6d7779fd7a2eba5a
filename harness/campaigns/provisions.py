"""The images that planned runs need; they are checked before the first run."""

from collections.abc import Iterable, Mapping
from contextlib import closing

import click

from harness.cluster.engine import connect, engine_errors_named
from harness.cluster.images import Survey, base_if_cached, setup_line, survey
from harness.errors import KrucibleError
from harness.plan.planning import RequestedImage, RunPlan


def require_images(plans: Iterable[RunPlan]) -> None:
    """Look for every image that runs need, as `krucible doctor` does; nothing is pulled or built.

    An image that is missing and can be pulled or built is reported: the first run that needs it waits for it.

    Raises:
        UsageError: if there is no such version.
        EngineError: if no engine answers.
        KrucibleError: if images are missing and can't be pulled or built; it names each one and its remedy.
    """
    asked = dict.fromkeys(image for plan in plans for image in plan.images)
    if not asked:
        return
    with engine_errors_named(), closing(connect()) as client:
        found = {one: survey(one.version, one.source, client, one.given) for one in asked}
        has_base = base_if_cached(client) is not None
    _refuse_hopeless(found)
    if not has_base:
        click.echo("the base image is not on this host yet; the first run builds it")
    for one, ways in found.items():
        if ways.cached is None:
            able = ", ".join(source for source, why_not in ways.ways.items() if why_not is None)
            click.echo(f"the image of {_named(one)} is not on this host yet; its first run gets it: {able}")


def _refuse_hopeless(found: Mapping[RequestedImage, Survey]) -> None:
    lacking = {one: ways.ways for one, ways in found.items() if ways.hopeless}
    if not lacking:
        return
    reasons = (
        f"{_named(one)} ({', '.join(f'{source}: {why}' for source, why in ways.items())})"
        for one, ways in lacking.items()
    )
    raise KrucibleError(
        "images of Kafka that these runs need are missing, and can't be pulled or built",
        got="; ".join(reasons),
        expected="each image, or a way to pull or build it, before the first run",
        next_step=" && ".join(setup_line(*one) for one in lacking),
    )


def _named(one: RequestedImage) -> str:
    return f"Kafka {one.version}{f' of {one.given}' if one.given else ''}"
