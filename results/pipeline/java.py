"""Finds the Java that Spark needs, or says what is missing."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from results.pipeline.errors import PipelineError

JAVA_MIN = 17
"""Oldest major version that this Spark starts on."""
_BOUND_S = 120
_NEXT = "on Debian: apt-get install openjdk-17-jre-headless"


def require_java() -> int:
    """Major version of the Java that Spark will start: that of JAVA_HOME, or else the one on PATH.

    Raises:
        PipelineError: there is none, it does not start, or it is too old.
    """
    java = _found()
    try:
        told = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=False, timeout=_BOUND_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _refused("Java does not start", got=str(error), where=java) from error
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    if told.returncode or found is None:
        said = " ".join((told.stderr or told.stdout).split())[:200]
        raise _refused("Java does not start", got=said or f"exit code {told.returncode}", where=java)
    major = int(found[1])
    if major < JAVA_MIN:
        raise _refused("Java is too old for Spark", got=f"version {major}", where=java)
    return major


def _found() -> str:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        raise _refused("Java is missing", got="no java on PATH, and JAVA_HOME is not set")
    if not os.access(java, os.X_OK):
        raise _refused("Java is missing", got="JAVA_HOME has no bin/java", where=java)
    return java


def _refused(what: str, *, got: str, where: str = "") -> PipelineError:
    return PipelineError(
        what,
        got=got,
        expected=f"Java {JAVA_MIN} or newer",
        where=where,
        next_step=f"{_NEXT}, or set JAVA_HOME",
    )
