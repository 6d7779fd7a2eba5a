"""Judges the mutations and prints how many of each family are judged rightly.

``python -m tests.mutations [WORDS]``: words choose the cases whose names have all of them.
"""

import sys
import time
from collections import Counter

import click

from tests.mutations.edits import NoPlaceError
from tests.mutations.families import Case, cases


def main(words: list[str]) -> int:
    """Print what is judged wrongly, and the table; 1 where anything is."""
    right, total = Counter[str](), Counter[str]()
    wrong: dict[str, list[tuple[Case, str]]] = {}
    began = time.process_time()
    for case in cases():
        if all(word in case.id for word in words):
            total[case.mutation.family] += 1
            try:
                problem = case.wrong()
            except (NoPlaceError, StopIteration) as error:
                problem = f"no place: {error}"
            right[case.mutation.family] += not problem
            if problem:
                wrong.setdefault(case.mutation.name, []).append((case, problem))
    for some in wrong.values():
        case, problem = some[0]
        click.echo(f"{len(some):3} × {case.id}: {problem[:300]}")  # noqa: RUF001 - a count
    for family, count in total.items():
        click.echo(f"{family:20} {right[family]:4} / {count}")
    took_s = time.process_time() - began
    click.echo(f"{'all':20} {right.total():4} / {total.total()}  in {took_s:.0f} s of CPU time")
    return int(right != total)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
