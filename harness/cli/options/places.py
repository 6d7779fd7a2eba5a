"""Option types for files and folders. Their errors state the given value and the expected one."""

import os
from pathlib import Path
from typing import Any

import click


class _PathType(click.Path[Any]):
    """A file or a folder. The value is a `Path` unless ``path_type`` is given.

    Args:
        expected: the expected kind, for the error message.
        more: further arguments of `click.Path`.
    """

    def __init__(self, expected: str, **more: Any) -> None:
        super().__init__(**{"path_type": Path, **more})
        self._expected = expected

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; fail if it is not of the expected kind."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"got {str(value)!r}, {_problem(value)}; expected {self._expected}", param, ctx)


class Folder(_PathType):
    """A folder. It need not exist unless `exists` is set."""

    def __init__(self, expected: str = "a folder", *, exists: bool = False) -> None:
        super().__init__(expected, file_okay=False, exists=exists)


class File(_PathType):
    """A file. It need not exist."""

    def __init__(self, expected: str = "a file", **more: Any) -> None:
        super().__init__(expected, dir_okay=False, **more)


def _problem(value: Any) -> str:
    """Describe what is wrong with the given path."""
    if not os.path.exists(value):  # noqa: PTH110 - False, not an error, for whatever can't be either
        return "which does not exist"
    if os.path.isdir(value):  # noqa: PTH112 - as above
        return "which is a folder" if os.access(value, os.R_OK) else "which can't be read"
    return "which is a file" if os.access(value, os.R_OK) else "which can't be read"
