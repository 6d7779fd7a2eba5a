"""Hosts of a Spark cluster: lists them, and calls a function on one of them.

Spark starts Python there and transfers arguments and results.  If an executor is lost, Spark repeats the call
on another one.
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
"""Maximum time until an executor appears."""
SETTLED_S = 5.0
"""If no other executor appears for this time, all are assumed to be there."""
_POLL_S = 0.2
_SETTINGS = {
    # A task waits for its host as long as that host has an executor; otherwise it runs anywhere.
    "spark.locality.wait": "365d",
    "spark.speculation": "false",
    "spark.dynamicAllocation.enabled": "false",
}


class HostAnswer(NamedTuple):
    """The answer of a host.

    Attributes:
        data: the result of the function; empty if it could not be called.
        problem: why it could not be called: its module can't be imported there.
    """

    data: bytes = b""
    problem: str = ""


class Hosts:
    """Hosts of a cluster, by Spark's names; thread-safe.

    Args:
        context: the Spark context.
    """

    def __init__(self, context: SparkContext) -> None:
        # PySpark's interface has neither the hosts of executors nor tasks that prefer a host.
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
        """Hosts, after waiting until no further one appears.

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
        """Call a function on a host; if the host is lost, call it again on another one.

        Args:
            host: one of `names`.
            function: ``module:name`` of a function from bytes to bytes.
            argument: the argument of the function.

        Raises:
            PipelineError: the function raised, or its executors were lost repeatedly.
        """
        with spark_errors_named(f"have {function} done on {host}"):
            (answer,) = self._at(host, argument).mapPartitions(_calling(function)).collect()
        return HostAnswer(*answer)

    def _at(self, host: str, data: bytes) -> RDD[bytes]:
        """An RDD with one partition, which contains the data and prefers a host."""
        serializer: Any = CPickleSerializer()
        seq = self._jvm.PythonUtils.toSeq
        pair = self._jvm.scala.Tuple2(serializer.dumps(data), seq([host]))
        any_class = getattr(getattr(self._jvm.scala.reflect, "ClassTag$"), "MODULE$").Any()
        made = self._scala.makeRDD(seq([pair]), any_class).toJavaRDD()
        return RDD(made, self._context, serializer)


def _calling(function: str) -> Callable[[Iterable[bytes]], Iterator[tuple[bytes, str]]]:
    """The function that Spark runs; pickled by value, so that a host without krucible can report that."""
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
