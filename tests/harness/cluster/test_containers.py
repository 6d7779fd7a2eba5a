"""Containers of nodes: what the engine refuses once may be asked again, a refusal for good is reported."""

import os
from collections.abc import Callable
from itertools import count
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest
from docker.errors import APIError
from requests.exceptions import ConnectionError as ConnectionFailedError
from requests.exceptions import ReadTimeout

from harness.cluster import containers
from harness.cluster.containers import NodeContainers, NotRunningError, RunContainers
from harness.errors import EngineError


class Refusing:
    """A container that cannot be paused before it was asked often enough."""

    attrs: ClassVar[dict[str, Any]] = {"State": {"Running": True}}

    def __init__(self, times: int, why: str) -> None:
        self._left, self._why = times, why
        self.asked = 0

    def reload(self) -> None:
        """It goes on running."""

    def pause(self) -> None:
        self.asked += 1
        if self.asked <= self._left:
            raise APIError(self._why)


class Ending:
    """A container whose process ends by itself: before it is asked for anything, or right then."""

    def __init__(self, *, running: bool = False, paused: bool = False, exit_code: int = 1) -> None:
        self.attrs: dict[str, Any] = {"State": {"Running": running, "Paused": paused, "ExitCode": exit_code}}
        self.done: list[str] = []

    def reload(self) -> None:
        """Nothing changes by being looked at."""

    def kill(self, signal: str) -> None:
        self._take(signal)

    def pause(self) -> None:
        self._take("pause")

    def unpause(self) -> None:
        self.attrs["State"]["Paused"] = False
        raise APIError("Container n1 is not paused")

    def stop(self, timeout: int) -> None:
        self._take(f"stop {timeout}")

    def wait(self, timeout: int) -> dict[str, int]:
        assert timeout
        return {"StatusCode": self.attrs["State"]["ExitCode"]}

    def _take(self, what: str) -> None:
        if not self.attrs["State"]["Running"]:
            raise APIError("Container n1 is not running")
        self.done.append(what)


def node(kafka: Refusing | Ending) -> NodeContainers:
    return NodeContainers("n1", cast("Any", SimpleNamespace(name="n1-net")), cast("Any", kafka))


def test_threads_that_were_too_busy_to_freeze_are_frozen_at_the_next_attempt() -> None:
    kafka = Refusing(40, "OCI runtime pause failed: unable to freeze: unknown")
    node(kafka).pause()
    assert kafka.asked == 41


@pytest.mark.parametrize("why", ["unable to freeze", "Container n1 is already paused"])
def test_a_pause_that_is_refused_for_good_is_reported(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "time", SimpleNamespace(monotonic=count().__next__))  # a second a look
    kafka = Refusing(10**9, why)
    with pytest.raises(EngineError, match="the Docker engine refused") as error:
        node(kafka).pause()
    assert why in str(error.value.got)
    assert kafka.asked == (containers._FROZEN_WITHIN_S + 1 if why == "unable to freeze" else 1)


@pytest.mark.parametrize(
    "act",
    [NodeContainers.kill, NodeContainers.pause, lambda node: node.stop(20)],
    ids=["kill", "pause", "stop"],
)
def test_a_process_that_ended_by_itself_is_distinguished_from_an_engine_that_refuses(
    act: Callable[[NodeContainers], None],
) -> None:
    kafka = Ending()
    with pytest.raises(NotRunningError, match="n1 does not run"):
        act(node(kafka))
    assert kafka.done == []


def test_a_process_that_ended_before_the_signal_came_was_not_killed() -> None:
    ended = Ending(running=True, exit_code=1)
    with pytest.raises(NotRunningError):
        node(ended).kill()
    killed = Ending(running=True, exit_code=137)
    node(killed).kill()
    assert ended.done == killed.done == ["KILL"]


@pytest.mark.parametrize("late", [ReadTimeout, ConnectionFailedError])
@pytest.mark.parametrize(
    ("running", "message"), [(True, "process of n1 did not end after SIGKILL"), (False, "the Docker engine")]
)
def test_a_process_that_outlives_its_signal_is_no_engine_that_does_not_answer(
    late: type[Exception], *, running: bool, message: str
) -> None:
    class Hanging(Ending):
        """A process that does not end within the time limit of the answer."""

        def wait(self, timeout: int) -> dict[str, int]:
            self.attrs["State"]["Running"] = running
            raise late(f"no answer within {timeout} s")

    with pytest.raises(EngineError, match=message):
        node(Hanging(running=True)).kill()


def test_a_stop_begins_with_a_signal() -> None:
    kafka = Ending(running=True, exit_code=143)
    assert node(kafka).stop(20) == 143
    assert kafka.done == ["TERM", "stop 20"]


def test_a_process_that_ended_while_it_was_frozen_need_not_go_on() -> None:
    node(Ending(paused=True)).unpause()
    node(Ending()).unpause()


def test_who_has_no_process_is_known_by_one_question() -> None:
    def container(name: str, part: str, state: str) -> Any:
        labels = {"krucible.node": name, "krucible.part": part}
        return SimpleNamespace(attrs={"Labels": labels, "State": state})

    asked: list[dict[str, Any]] = []
    containers = [
        container("n1", "kafka", "exited"),
        container("n1", "holder", "running"),
        container("n2", "kafka", "running"),
        container("n3", "kafka", "paused"),
        container("n4", "holder", "exited"),
        SimpleNamespace(attrs={"Labels": {}, "State": "exited"}),
    ]

    def listed(**how: Any) -> list[Any]:
        asked.append(how)
        return containers

    client = cast("Any", SimpleNamespace(containers=SimpleNamespace(list=listed)))
    assert RunContainers(client, "abc").ended() == {"n1"}
    assert [how["filters"] for how in asked] == [{"label": "krucible.run=abc"}]


def test_a_node_whose_version_was_changed_has_a_process_if_its_last_container_has_one() -> None:
    def container(name: str, state: str, generation: int = 0) -> Any:
        labels = {"krucible.node": name, "krucible.part": "kafka", "krucible.generation": str(generation)}
        return SimpleNamespace(attrs={"Labels": labels, "State": state})

    containers = [
        container("n1", "running", 1),
        container("n1", "exited"),
        container("n2", "exited"),
        container("n2", "exited", 2),
        container("n2", "exited", 1),
        container("n3", "created", 1),
        container("n3", "exited"),
    ]
    client = cast("Any", SimpleNamespace(containers=SimpleNamespace(list=lambda **_: containers)))
    assert RunContainers(client, "abc").ended() == {"n2", "n3"}


class Kept(Ending):
    """A container of an engine that makes others like it; it prints its image."""

    def __init__(self, engine: "Keeping", image: str, labels: dict[str, str], name: str) -> None:
        super().__init__(running=False, exit_code=143)
        self.engine, self.labels, self.name, self.started, self.removed = engine, labels, name, 0, False
        self.attrs["Config"] = {
            "Image": image,
            "User": "1:2",
            "Entrypoint": ["run-node"],
            "Env": ["PATH=/bin", "KRUCIBLE_CLUSTER_ID=x"],
            "Labels": labels | {"com.docker.compose.service": "n1"},
        }
        self.attrs["HostConfig"] = {"NetworkMode": "container:abc"}
        self.image = SimpleNamespace(attrs={"Config": {"Env": ["PATH=/bin"]}})

    @property
    def client(self) -> Any:
        made = SimpleNamespace(create_container_from_config=self.engine.make)
        return SimpleNamespace(api=made, containers=SimpleNamespace(get=self.engine.made.__getitem__))

    def start(self) -> None:
        self.started += 1

    def remove(self) -> None:
        self.removed = True

    def logs(self, **_: bool) -> bytes:
        image: str = self.attrs["Config"]["Image"]
        return image.encode() + b"\n"


class Keeping:
    """An engine that keeps the containers that it was asked to make."""

    def __init__(self) -> None:
        self.made: dict[str, Kept] = {}
        self.asked: list[dict[str, Any]] = []

    def make(self, config: dict[str, Any], name: str) -> dict[str, str]:
        self.asked.append(config)
        self.made[name] = Kept(self, config["Image"], config["Labels"], name)
        return {"Id": name}


def test_another_image_has_the_nodes_next_process_on_the_same_disks() -> None:
    engine = Keeping()
    first = Kept(engine, "kafka:3", {"krucible.node": "n1"}, "krucible-abc-n1")
    changed = node(first)
    changed.replace("kafka:4")
    assert engine.asked == [
        {
            "Image": "kafka:4",
            "User": "1:2",
            "Entrypoint": ["run-node"],
            "Env": ["KRUCIBLE_CLUSTER_ID=x"],
            "Labels": {"krucible.node": "n1", "krucible.generation": "1"},
            "StopTimeout": None,
            "HostConfig": {"NetworkMode": "container:abc"},
        }
    ]
    assert (changed.image, changed.logs(), changed.logs_of_version()) == (
        "kafka:4",
        b"kafka:3\n",
        b"kafka:3\n",
    )
    assert changed.state()["ExitCode"] == 143, "of the process that ended"

    changed.start()
    changed.start()
    (second,) = engine.made.values()
    assert (first.started, second.started, second.name) == (0, 2, "krucible-abc-n1.1")
    assert (changed.logs(), changed.logs_of_version()) == (b"kafka:3\nkafka:4\n", b"kafka:4\n")


def test_an_image_that_was_replaced_before_it_was_started_leaves_nothing() -> None:
    engine = Keeping()
    changed = node(Kept(engine, "kafka:3", {}, "krucible-abc-n1"))
    changed.replace("kafka:4")
    (given_up,) = engine.made.values()
    changed.replace("kafka:5")
    assert given_up.removed
    changed.start()
    changed.replace("kafka:3")
    changed.start()
    assert changed.logs() == b"kafka:3\nkafka:5\nkafka:3\n"
    assert sorted(engine.made) == ["krucible-abc-n1.1", "krucible-abc-n1.2"]


def test_the_containers_of_a_node_are_found_in_their_order() -> None:
    engine = Keeping()

    def container(part: str, generation: int, image: str) -> Kept:
        labels = {"krucible.node": "n1", "krucible.part": part, "krucible.generation": str(generation)}
        return Kept(engine, image, labels, "x")

    found = [
        container("kafka", 1, "kafka:4"),
        container("holder", 0, "base"),
        container("kafka", 0, "kafka:3"),
    ]
    client = cast("Any", SimpleNamespace(containers=SimpleNamespace(list=lambda **_: found)))
    assert RunContainers(client, "abc").nodes()["n1"].logs() == b"kafka:3\nkafka:4\n"


class Removable:
    """A container that writes down when its removal begins and ends; one may be refused."""

    def __init__(self, part: str, number: int, journal: list[str], *, refused: bool = False) -> None:
        self._refused = refused
        self.labels = {"krucible.node": f"n{number}", "krucible.part": part}
        self._name = f"{part} {number}"
        self._journal = journal

    def remove(self, *, force: bool, v: bool) -> None:
        assert force
        assert v
        if self._refused:
            raise APIError(f"device of {self._name} is busy")
        self._journal.append(f"begin {self._name}")
        os.sched_yield()
        self._journal.append(f"end {self._name}")


def test_no_two_containers_leave_a_network_at_once() -> None:
    journal: list[str] = []
    containers = [Removable(part, number, journal) for number in range(40) for part in ("holder", "kafka")]
    nothing = SimpleNamespace(list=lambda **_: [])
    listed = SimpleNamespace(list=lambda **_: containers)
    client = cast("Any", SimpleNamespace(containers=listed, volumes=nothing, networks=nothing))
    RunContainers(client, "abc").remove(lambda: journal.append("before the network"))

    assert sorted(journal[:80]) == sorted(f"{what} kafka {n}" for what in ("begin", "end") for n in range(40))
    assert journal[80:] == [
        *(f"{what} holder {n}" for n in range(40) for what in ("begin", "end")),
        "before the network",
    ]


@pytest.mark.parametrize("part", ["kafka", "holder"])
def test_a_container_that_can_not_be_removed_keeps_no_other(part: str) -> None:
    journal: list[str] = []
    containers = [
        Removable(each, number, journal, refused=(each, number) == (part, 0))
        for number in range(3)
        for each in ("holder", "kafka")
    ]
    listed = SimpleNamespace(list=lambda **_: containers)
    client = cast("Any", SimpleNamespace(containers=listed))
    with pytest.raises(EngineError) as error:
        RunContainers(client, "abc").remove(lambda: journal.append("before the network"))
    assert error.value.got == f"device of {part} 0 is busy"
    gone = {line.removeprefix("end ") for line in journal if line.startswith("end ")}
    assert gone == {f"{each} {n}" for n in range(3) for each in ("holder", "kafka")} - {f"{part} 0"}
    assert "before the network" not in journal
