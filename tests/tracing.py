"""Traces of a property its first examples only.

Tracing makes a test take about twice its time.  Of a property with hundreds of examples almost every branch
is reached by the first few, and the coverage gates tell whether they are enough.  All examples run.
"""

import functools
import itertools
from collections.abc import Generator
from typing import Any

import pytest

EXAMPLES = 25
"""How many of each property, of each of its parameters, are traced."""


class FirstExamples:
    """Stops the tracing of a property after its first examples, until it ends."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        handle = getattr(getattr(item, "obj", None), "hypothesis", None)
        tracer = getattr(item.config.pluginmanager.get_plugin("_cov"), "cov_controller", None)
        if handle is None or tracer is None or not tracer.started:
            return (yield)
        test, numbers = handle.inner_test, itertools.count(1)

        @functools.wraps(test)  # Hypothesis draws the examples by the test's source and name
        def example(*args: Any, **named: Any) -> Any:
            if next(numbers) > EXAMPLES and tracer.started:
                tracer.pause()
            return test(*args, **named)

        handle.inner_test = example
        try:
            return (yield)
        finally:
            handle.inner_test = test
            if not tracer.started:
                tracer.resume()
