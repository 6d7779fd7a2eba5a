"""Debian packages that tests alone want: installed where that is allowed; elsewhere their tests are skipped.

`make test` runs it, after krucible's own set-up.
"""

import shutil
from collections.abc import Callable

from harness.packages import Package, install, may_not_install

WANTED = {
    ("chromium", "chromium-browser", "google-chrome"): Package("chromium", "reports in a real browser"),
}
"""Programs of which one is enough, and the package that has one."""


def missing() -> list[Package]:
    """Packages of which no program is here."""
    return [package for programs, package in WANTED.items() if not any(map(shutil.which, programs))]


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
