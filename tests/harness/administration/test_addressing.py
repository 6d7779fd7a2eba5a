"""Whom an admin command asks: addresses named, a cluster's folder, or the only cluster that is up."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from harness.administration import addressing
from harness.administration.addressing import Reach, find_reach, listeners, reach_options
from harness.cluster.leftovers import Leftover
from harness.errors import KrucibleError, UsageError
from harness.vocabulary.topology import Node, Role
from tests.harness.fakes.node import METADATA, FakeNode, metadata_answer

NOBODY = ("127.0.0.1", 1)


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as made:
        yield made


@pytest.fixture
def other() -> Iterator[FakeNode]:
    with FakeNode() as made:
        yield made


def advertising(*nodes: tuple[str, int]) -> Any:
    answer = metadata_answer(list(range(1, len(nodes) + 1)), [])
    for broker, (host, port) in zip(answer.brokers, nodes, strict=True):
        broker.host, broker.port = host, port
    return lambda _request: answer


def our_cluster(folder: Path, broker: tuple[str, int], controller: tuple[str, int]) -> Any:
    """What is read of a cluster of ours."""
    nodes = (Node("c1", 101, (Role.CONTROLLER,)), Node("b1", 1, (Role.BROKER,)))
    return SimpleNamespace(
        folder=folder, nodes=nodes, observe_listeners={"b1": broker}, controller_listeners={"c1": controller}
    )


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> dict[Path, Any]:
    """An engine: what cluster there is in a folder."""
    clusters: dict[Path, Any] = {}
    monkeypatch.setattr(addressing, "connect", lambda: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(addressing, "find_cluster", lambda _client, folder: clusters[folder])
    return clusters


def test_one_broker_leads_to_all_that_answer(node: FakeNode, other: FakeNode) -> None:
    node.answers[METADATA] = advertising(other.address, NOBODY, node.address)
    reach = find_reach([node.address], None)

    assert reach.brokers == (other.address, node.address)
    assert reach.ids == {other.address: 1, node.address: 3}
    assert reach.names[other.address] == f"127.0.0.1:{other.address[1]}"
    assert (reach.controllers, reach.folder) == ((), None)
    assert reach.a_broker() == other.address


def test_what_is_named_stays_where_what_is_advertised_is_out_of_reach(node: FakeNode) -> None:
    node.answers[METADATA] = advertising(NOBODY)
    reach = find_reach([node.address, NOBODY], None)

    assert (reach.brokers, reach.ids) == ((node.address,), {})


def test_a_broker_that_falls_silent_stays_one(node: FakeNode) -> None:
    node.answers[METADATA] = lambda _request: None

    assert find_reach([node.address], None).brokers == (node.address,)


def test_a_controller_is_known_by_having_no_metadata(node: FakeNode) -> None:
    del node.versions[METADATA]
    reach = find_reach([node.address], None)

    assert (reach.brokers, reach.controllers) == ((), (node.address,))
    with pytest.raises(KrucibleError, match="no broker answers"):
        reach.a_broker()


def test_nobody_answers() -> None:
    with pytest.raises(KrucibleError, match="no node answers") as raised:
        find_reach([NOBODY, ("::1", 1)], None)
    assert "127.0.0.1:1, [::1]:1" in raised.value.where


def test_both_ways_at_once_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--bootstrap-server and --cluster exclude each other"):
        find_reach([NOBODY], tmp_path)


def test_a_cluster_of_ours_has_names_and_ids(node: FakeNode, other: FakeNode, tmp_path: Path) -> None:
    reach = listeners(our_cluster(tmp_path, node.address, other.address))

    assert reach == Reach(
        brokers=(node.address,),
        controllers=(other.address,),
        folder=tmp_path,
        names={node.address: "b1", other.address: "c1"},
        ids={node.address: 1, other.address: 101},
    )


def test_nodes_that_are_down_are_left_out(node: FakeNode, engine: dict[Path, Any], tmp_path: Path) -> None:
    engine[tmp_path] = our_cluster(tmp_path, NOBODY, node.address)
    reach = find_reach(None, tmp_path)

    assert (reach.brokers, reach.controllers) == ((), (node.address,))


def leftover(run: str, *, live: bool = False, kept: bool = False) -> Leftover:
    return Leftover(run=run, folder=Path(run), live=live, kept=kept)


@pytest.mark.parametrize("used", [{"live": True}, {"kept": True}])
def test_without_options_it_is_the_only_cluster_in_use(
    node: FakeNode,
    engine: dict[Path, Any],
    monkeypatch: pytest.MonkeyPatch,
    used: dict[str, bool],
) -> None:
    found = (leftover("orphan"), leftover("used", **used))
    monkeypatch.setattr(addressing, "leftovers", lambda _client: found)
    engine[Path("used")] = our_cluster(Path("used"), node.address, NOBODY)

    assert find_reach(None, None).folder == Path("used")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ((leftover("orphan"),), "krucible cluster up"),
        (
            (leftover("one", live=True), leftover("two", kept=True)),
            "--cluster one\n            --cluster two",
        ),
    ],
)
def test_none_or_several_are_not_guessed_at(
    engine: dict[Path, Any], monkeypatch: pytest.MonkeyPatch, found: tuple[Leftover, ...], expected: str
) -> None:
    assert not engine
    monkeypatch.setattr(addressing, "leftovers", lambda _client: found)
    with pytest.raises(UsageError, match="no cluster is named") as raised:
        find_reach(None, None)
    assert expected in str(raised.value)


@click.command()
@reach_options
def probe(reach: Reach) -> None:
    """A command that prints whom it would ask."""
    click.echo(f"{reach.brokers} {reach.controllers}")


def test_a_command_gets_what_was_found(node: FakeNode, other: FakeNode) -> None:
    node.answers[METADATA] = advertising(node.address)
    del other.versions[METADATA]
    named = f"127.0.0.1:{node.address[1]}, [127.0.0.1]:{other.address[1]}"
    done = CliRunner().invoke(probe, ["--bootstrap-server", named])

    assert done.output == f"{(node.address,)} {(other.address,)}\n"


@pytest.mark.parametrize("text", ["", "host", ":9092", "host:", "host:0", "host:65536", "host:²", "a:1,,b:2"])
def test_what_is_no_address_is_refused(text: str) -> None:
    done = CliRunner().invoke(probe, ["--bootstrap-server", text])

    assert done.exit_code == 2
    assert "expected HOST:PORT" in done.output
