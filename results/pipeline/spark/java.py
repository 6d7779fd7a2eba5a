"""Finds the Java for Spark, or reports what is missing; does not need Spark."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from results.pipeline.errors import PipelineError

JAVA_MIN = 17
"""Minimum major version of Java for this Spark."""
NEXT_STEP = "on Debian: apt-get install openjdk-17-jre-headless, or set JAVA_HOME"
_VERSION = re.compile(r'version "((?:1\.)?(\d+)[^"]*)"')
_BOUND_S = 120


class Java(NamedTuple):
    """The Java that Spark would start.

    Attributes:
        path: path of the program; empty if there is none.
        version: the version that it prints, such as ``17.0.15``; empty if none.
        major: the major version, such as 8 for ``1.8.0``; 0 if none.
        problem: why it can't be used; empty if it can.
        got: what was found instead.
    """

    path: str = ""
    version: str = ""
    major: int = 0
    problem: str = ""
    got: str = ""


def find_java() -> Java:
    """Look for Java as Spark does: in JAVA_HOME, else on PATH."""
    home = os.environ.get("JAVA_HOME")
    path = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if path is None:
        return Java(problem="Java is missing", got="no java on PATH, and JAVA_HOME is not set")
    if not os.access(path, os.X_OK):
        return Java(path, problem="Java is missing", got="JAVA_HOME has no bin/java")
    try:
        ended = subprocess.run(
            [path, "-version"], capture_output=True, text=True, check=False, timeout=_BOUND_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Java(path, problem="Java does not start", got=str(error))
    found = _VERSION.search(ended.stderr + ended.stdout)
    if ended.returncode or found is None:
        output = " ".join((ended.stderr or ended.stdout).split())[:200]
        return Java(path, problem="Java does not start", got=output or f"exit code {ended.returncode}")
    java = Java(path, found[1], int(found[2]))
    if java.major < JAVA_MIN:
        return java._replace(problem="Java is too old for Spark", got=f"version {java.major}")
    return java


def require_java() -> Java:
    """The Java that Spark will start.

    Raises:
        PipelineError: Java is missing, does not start, or is too old.
    """
    java = find_java()
    if java.problem:
        expected = f"Java {JAVA_MIN} or newer"
        raise PipelineError(
            java.problem, got=java.got, expected=expected, where=java.path, next_step=NEXT_STEP
        )
    return java
