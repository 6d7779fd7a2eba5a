"""Debian packages that tests want: installed where that is allowed; elsewhere what to install is printed.

`make test` runs it, after krucible's own set-up, which installs Maven, and Java with it, only where no
registry has Kafka's image.
"""

import shutil
from collections.abc import Callable

from harness.host.packages import Package, install, may_not_install
from results.pipeline.spark.java import find_java

WANTED = {
    ("chromium", "chromium-browser", "google-chrome"): Package("chromium", "reports in a real browser"),
    ("mvn",): Package("maven", "Kafka's jars, for a release and a registry of our own"),
}
"""Programs of which one is enough, and the package that has one."""
JAVA = Package("openjdk-17-jre-headless", "Spark, under the pipeline")
"""Wanted where there is none that Spark starts on, be it on PATH or that of JAVA_HOME."""


def missing() -> list[Package]:
    """Packages of which no program is here."""
    packages = [package for programs, package in WANTED.items() if not any(map(shutil.which, programs))]
    return [*packages, JAVA] if find_java().problem else packages


def ensure(say: Callable[[str], None] = print) -> None:
    """Install what is missing, or say what is skipped without it.

    Raises:
        KrucibleError: if apt fails.
    """
    packages = missing()
    reason = may_not_install() if packages else None
    if reason is None:
        install(packages, say)
        return
    listed = ", ".join(f"{package.name} ({package.purpose})" for package in packages)
    say(f"missing, and not installed, because {reason}: {listed}; their tests are skipped")


if __name__ == "__main__":
    ensure()
