"""Hosts of a Spark cluster: who they are, and one function carried out on one of them.

Spark starts Python there, hands arguments and answers over, and begins again elsewhere what was under way on
an executor that is lost.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from pyspark import RDD, SparkContext
from pyspark.serializers import CPickleSerializer

from results.pipeline.errors import PipelineError, spark_errors_named
from results.pipeline.spark.session import opened

APPEAR_S = 60.0
"""How long executors may take to appear."""
SETTLED_S = 5.0
"""No other executor has appeared for so long: all are there."""
_POLL_S = 0.2
_SETTINGS = {
    # A task waits for its host for as long as that has an executor; without one it goes anywhere.
    "spark.locality.wait": "365d",
    "spark.speculation": "false",
    "spark.dynamicAllocation.enabled": "false",
}


class HostAnswer(NamedTuple):
    """What came back from a host.

    Attributes:
        data: what the function returned; empty where it could not be called.
        problem: why not: its module can't be imported there.
    """

    data: bytes = b""
    problem: str = ""


class Hosts:
    """Hosts of a cluster, by the names that Spark has for them; may be used from several threads.

    Args:
        context: Spark's.
    """

    def __init__(self, context: SparkContext) -> None:
        # What is needed is no part of PySpark's interface: where executors are, and tasks that prefer a host.
        self._context = context
        self._jvm: Any = context._jvm  # noqa: SLF001
        self._scala: Any = context._jsc.sc()  # noqa: SLF001

    def names(self) -> tuple[str, ...]:
        """Hosts that have an executor now.

        Raises:
            PipelineError: Spark is gone.
        """
        with spark_errors_named("list the hosts"):
            infos = self._scala.statusTracker().getExecutorInfos()
            counts = Counter(info.host() for info in infos)
        counts[self._context.getConf().get("spark.driver.host")] -= 1  # the driver is among them
        return tuple(sorted(host for host, number in counts.items() if number > 0))

    def settled(self) -> tuple[str, ...]:
        """Hosts, once no other has appeared for a while.

        Raises:
            PipelineError: none appeared.
        """
        began = changed = time.monotonic()
        names: tuple[str, ...] = ()
        while time.monotonic() - changed < SETTLED_S or not names:
            if not names and time.monotonic() - began > APPEAR_S:
                raise PipelineError(
                    "no host registered",
                    got=f"no executor within {APPEAR_S:.0f} s",
                    expected="a worker with free cores and memory",
                    where=str(self._context.master),
                    next_step="start workers, or end the applications that hold theirs",
                )
            time.sleep(_POLL_S)
            now = self.names()
            names, changed = now, changed if now == names else time.monotonic()
        return names

    def ask(self, host: str, function: str, argument: bytes) -> HostAnswer:
        """Call a function on a host, or on another one where this one is lost, again if need be.

        Args:
            host: one of `names`.
            function: ``module:name`` of one that takes bytes and returns bytes.
            argument: what it takes.

        Raises:
            PipelineError: it raised, or its executor was lost again and again.
        """
        with spark_errors_named(f"have {function} done on {host}"):
            (answer,) = self._at(host, argument).mapPartitions(_calling(function)).collect()
        return HostAnswer(*answer)

    def _at(self, host: str, data: bytes) -> RDD[bytes]:
        """Data as the one partition of an RDD that prefers a host."""
        serializer: Any = CPickleSerializer()
        seq = self._jvm.PythonUtils.toSeq
        pair = self._jvm.scala.Tuple2(serializer.dumps(data), seq([host]))
        any_class = getattr(getattr(self._jvm.scala.reflect, "ClassTag$"), "MODULE$").Any()
        made = self._scala.makeRDD(seq([pair]), any_class).toJavaRDD()
        return RDD(made, self._context, serializer)


def _calling(function: str) -> Callable[[Iterable[bytes]], Iterator[tuple[bytes, str]]]:
    """What Spark runs; handed over by value, so that a host without krucible can say that it has none."""
    module, _, name = function.partition(":")

    def call(arguments: Iterable[bytes]) -> Iterator[tuple[bytes, str]]:
        try:
            found = getattr(import_module(module), name)
        except ImportError as error:
            yield b"", f"{error} (for {sys.executable})"
            return
        for argument in arguments:
            yield found(argument), ""

    return call


@contextmanager
def hosts_of(master: str, *, verbose: bool = False) -> Iterator[Hosts]:
    """The hosts of a master, for the block.

    Raises:
        PipelineError: Java or the master is missing.
    """
    with opened(master, app="krucible runs", verbose=verbose, settings=_SETTINGS) as session:
        yield Hosts(session.sparkContext)
