"""``--config``: warns about properties that Kafka does not have, because Kafka ignores them silently."""

from collections.abc import Iterable

import click

from harness.kafka.server_properties import UnknownProperty, unknown_property
from results.markup.cleaning import clean

_TEXT_MAX = 240


def warn_of_unknown_properties(names: Iterable[str], version: str) -> None:
    """Print a line to stderr for each name that is not a property of this Kafka version. No name is refused.

    Args:
        names: the names that were given with ``--config``.
        version: the version of Kafka.
    """
    for name in names:
        unknown = unknown_property(name, version)
        if unknown is not None:
            click.echo(f"warning  --config {_text(unknown, version)}", err=True)


def _text(unknown: UnknownProperty, version: str) -> str:
    name = clean(unknown.name, _TEXT_MAX)
    first, last = unknown.listed
    who = f"Kafka {version} has" if unknown.certain else f"Kafka {first} to {last} have"
    if unknown.near:
        return f"{name}: {who} no such property; did you mean {unknown.near}?"
    if unknown.versions:
        return f"{name}: {who} no such property; it was in {' to '.join(dict.fromkeys(unknown.versions))}"
    return f"{name}: {who} no such property, and ignores it unless a plugin reads it"
