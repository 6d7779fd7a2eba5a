"""Types of numbers in scenarios; `harness.plan.wrong_values` refuses numbers outside of their range."""

from typing import Annotated

from msgspec import Meta

Positive = Annotated[int, Meta(ge=1)]
"""A number of which at least one is needed."""
Count = Annotated[int, Meta(ge=0)]
"""A number that may be 0; also a weight."""
Milliseconds = Annotated[int, Meta(ge=0)]
"""A time or a duration, milliseconds."""
Duration = Annotated[int, Meta(ge=1)]
"""A duration that is not 0, milliseconds."""
Share = Annotated[float, Meta(ge=0, le=1)]
"""A share or a chance, 0 to 1."""
