"""Runs benchmarks and writes what they print into docs/benchmarks.md: ``python -m benchmarks [NAME …]``.

A benchmark prints Markdown.  Its place in the page is between the comments ``<!-- bench: NAME -->`` and
``<!-- end: NAME -->``; what stands around them is written by hand.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOM = Path(__file__).parent
PAGE = ROOM.parent / "docs" / "benchmarks.md"


def names() -> tuple[str, ...]:
    """Every benchmark, by what follows ``bench_`` in its file's name."""
    return tuple(sorted(path.stem.removeprefix("bench_") for path in ROOM.glob("bench_*.py")))


def replaced(page: str, name: str, printed: str) -> str:
    """The page with what a benchmark printed in its place.

    Raises:
        ValueError: the page has no place for it.
    """
    begin, end = f"<!-- bench: {name} -->", f"<!-- end: {name} -->"
    place = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    text, count = place.subn(lambda _: f"{begin}\n{printed.strip()}\n{end}", page)
    if count != 1:
        raise ValueError(f"{PAGE.name} has {count} places {begin} … {end}, expected one")
    return text


def _run(name: str) -> str:
    """What it prints, shown meanwhile.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    words = [sys.executable, "-m", f"benchmarks.bench_{name}"]
    said: list[str] = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            said.append(line)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    return "".join(said)


def main() -> None:
    """Run those that are named, or all, one after the other; each is written as soon as it is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names())}; all by default")
    chosen = parser.parse_args().names or names()
    for name in chosen:
        if name not in names():
            parser.error(f"there is no benchmark {name!r}, expected one of {', '.join(names())}")
    for name in chosen:
        print(f"== {name}", flush=True)
        printed = _run(name)
        PAGE.write_text(replaced(PAGE.read_text(), name, printed))


if __name__ == "__main__":
    main()
