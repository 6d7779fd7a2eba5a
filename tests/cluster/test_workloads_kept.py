"""What Kafka keeps, on real clusters: offsets, metadata, the latest values of keys."""

from collections import Counter
from pathlib import Path

import pytest

from checkers.history.reading import read_history
from harness.cli import invoke
from results.store.runs import find_run, load_verdict

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize(
    ("scenario", "done"),
    [
        ("exploratory/offsets", ("write", "read")),
        ("exploratory/metadata", ("write", "read", "create-topic", "delete-topic", "list-topics")),
        ("exploratory/compacted", ("send", "poll")),
    ],
)
def test_what_is_kept_survives_chaos(tmp_path: Path, scenario: str, done: tuple[str, ...]) -> None:
    words = ["run", scenario, "--seed", "3", "--duration-s", "30", "--runs", str(tmp_path)]
    code = invoke(words)

    folder = find_run(tmp_path, scenario)
    verdict = load_verdict(folder)
    assert code == 0, verdict.reasons
    succeeded = Counter(o.f for o in read_history(folder).operations if o.type == "ok")
    assert min(succeeded[f] for f in done) >= 20, succeeded
    # Two clients at two isolation levels, each partition of at least two.
    assert succeeded["final-read"] >= 2 * 2 * 2
    kept = {result.checker: result for result in verdict.results}
    assert (kept["registers"].figures["registers"] > 0) == ("write" in done)
    assert bool(kept["log"].counts.get("lost-write")) == (scenario == "exploratory/compacted")
