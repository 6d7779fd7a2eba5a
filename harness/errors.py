"""Errors a person can act upon.

    Exception
    └── KrucibleError        the harness could not do its work; exit code 3
        ├── UsageError       a wrong option, scenario, version or file; exit code 64
        └── EngineError      the Docker engine is missing, unreachable or refuses

Every one says what went wrong, what was found, what was expected, where, and what to do next.
A traceback that reaches a user is a defect.
"""


class KrucibleError(Exception):
    """Something the harness can't work around.

    Attributes:
        what: what went wrong, in a few words.
        got: what was found.
        expected: what should have been there.
        where: file, option, host or node.
        next_step: the command or change that mends it.
    """

    exit_code = 3

    def __init__(
        self,
        what: str,
        *,
        got: str = "",
        expected: str = "",
        where: str = "",
        next_step: str = "",
    ) -> None:
        super().__init__(what)
        self.what = what
        self.got = got
        self.expected = expected
        self.where = where
        self.next_step = next_step

    def __str__(self) -> str:
        """One line a fact, empty ones left out."""
        facts = (
            ("got", self.got),
            ("expected", self.expected),
            ("where", self.where),
            ("next", self.next_step),
        )
        return "\n".join([self.what, *(f"  {name + ':':<10}{text}" for name, text in facts if text)])


class UsageError(KrucibleError):
    """What was asked for does not exist or does not fit together."""

    exit_code = 64


class EngineError(KrucibleError):
    """The Docker engine is missing, can't be reached, or refused."""
