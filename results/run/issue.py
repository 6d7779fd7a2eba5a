"""``issue.md``: the text of an issue about a run that is not as expected."""

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from checkers.history.identity import RunIdentity
from checkers.verdict.verdict import Verdict
from results.markup.trackers import MARKUPS, Format, Markup
from results.run.alike import alike
from results.run.causes import Cause, first_of_kinds, illegal_causes, other_reasons, rest_text
from results.run.circumstances import Circumstances
from results.run.junit import passes
from results.run.text import headline, minimise_command
from results.store.runs import write_whole

ISSUE_FILE = "issue.md"
CAUSES_MAX = 10
"""Maximum number of causes that are reported with a witness."""
TITLE_MAX = 230
"""Maximum UTF-16 units of a title: GitHub permits 256, of which the signature needs 24; JIRA permits 255."""
_NAMES_MAX = (300, 80, 60, 40, 20, 10, 5, 2)
"""Lengths to which names in a title are cut; the first one that fits is used."""
_LINE_MAX = 1_000


def save_issue(
    folder: Path, verdict: Verdict, identity: RunIdentity | None, circumstances: Circumstances | None = None
) -> Path | None:
    """Write a run's ``issue.md``; if the run is as expected, remove an earlier one.

    Args:
        folder: the run's folder.
        verdict: its verdict.
        identity: None if ``run.json`` could not be read.
        circumstances: source of the faults in force and of the reasons why no licence applies; None without
            a history.

    Raises:
        OSError: if it can't be written.
    """
    place = folder / ISSUE_FILE
    if passes(verdict):
        place.unlink(missing_ok=True)
        return None
    return write_whole(place, render_issue(folder, verdict, identity, circumstances=circumstances).encode())


def render_issue(
    folder: Path,
    verdict: Verdict,
    identity: RunIdentity | None,
    markup: Format = Format.MARKDOWN,
    *,
    circumstances: Circumstances | None = None,
) -> str:
    """The text, with a newline at its end; its first line is the title."""
    return _Issue(MARKUPS[markup], folder, verdict, identity, circumstances).rendered()


class _Issue:
    """Renders the issue of one run."""

    def __init__(
        self,
        markup: Markup,
        folder: Path,
        verdict: Verdict,
        identity: RunIdentity | None,
        circumstances: Circumstances | None,
    ) -> None:
        self._markup = markup
        self._folder = folder
        self._verdict = verdict
        self._identity = identity
        self._circumstances = circumstances

    def rendered(self) -> str:
        """The text of the whole issue."""
        mark = self._markup
        blocks = [mark.heading(1, self._title()), *self._what(), mark.heading(2, "Where"), self._where()]
        blocks += [*self._anomalies(), *self._assumptions()]
        if self._identity is not None:
            again = mark.block([self._identity.reproduce], "sh", cut=False)
            blocks += [mark.heading(2, "Again"), again]
            blocks += ["A seed fixes the schedule of faults, not the interleaving: it may take several runs."]
        if smaller := minimise_command(self._folder, self._verdict, self._identity):
            blocks += ["The smallest scenario that still shows it:", mark.block([smaller], "sh", cut=False)]
        check = mark.code(f"krucible check {quote(str(self._folder))}", _LINE_MAX)
        blocks += [f"Judged again from what was recorded, without a cluster: {check}"]
        return "\n\n".join(blocks) + "\n"

    def _title(self) -> str:
        """The title, within the limits of trackers: long names are cut; markup counts too."""
        titles = map(self._titled, _NAMES_MAX)
        return next(title for title in titles if len(title.encode("utf-16-le")) // 2 <= TITLE_MAX)

    def _titled(self, name_max: int) -> str:
        identity = self._identity

        def code(name: str) -> str:
            return self._markup.code(name, name_max)

        causes = _most_relevant(self._verdict)
        expected = frozenset(self._verdict.expected_anomalies)
        names = [*_strange(causes[0], expected), causes[0].kinds[0][0]] if causes else []
        found = code(names[0]) if names else f"verdict {self._verdict.validity}"
        if identity is None:
            return f"{found} in {code(self._folder.name)}"
        bug = f" with the seeded bug {code(identity.seeded_bug)}" if identity.seeded_bug else ""
        return f"{found} in {code(identity.scenario)} on Kafka {code(identity.kafka_version)}{bug}"

    def _what(self) -> Iterator[str]:
        yield self._markup.bold(headline(self._verdict))
        if reasons := other_reasons(self._verdict):
            yield self._markup.block(reasons)

    def _where(self) -> str:
        facts, identity = {"folder": str(self._folder)}, self._identity
        if identity is not None:
            image = identity.image
            facts = {
                "scenario": identity.scenario,
                "seed": str(identity.seed),
                "Kafka": identity.kafka_version,
                "seeded bug": _seeded(identity.seeded_bug),
                "image": f"{image.reference} {image.digest}".strip() if image else "",
                "features": _pairs(identity.features),
                "config": _pairs(identity.config),
                "JVM options": " ".join(identity.jvm_options),
                "krucible": identity.krucible_commit,
                "host": f"Linux {identity.host.kernel}, {identity.host.cpus} CPUs, {identity.host.engine}",
                "began": identity.began_at,
            } | facts
        return self._markup.table(("what", "value"), [fact for fact in facts.items() if fact[1]])

    def _anomalies(self) -> Iterator[str]:
        causes = _most_relevant(self._verdict)
        if causes:
            yield self._markup.heading(2, "Anomalies")
        groups = alike(causes)
        for number, group in enumerate(groups[:CAUSES_MAX], start=1):
            yield self._markup.heading(3, f"{number}. {self._markup.code(group.line(), _LINE_MAX)}")
            yield from self._first_of(group.first)
        if left := [cause for group in groups[CAUSES_MAX:] for cause in group.causes]:
            yield f"And {rest_text(left)} in {self._markup.code('verdict.json')}."

    def _first_of(self, cause: Cause) -> Iterator[str]:
        """The witness, its proof and circumstances, and a sentence about the first of each other kind."""
        if cause.witness is None:
            listing = self._markup.code("verdict.json")
            yield f"Counted, but not among the first of each kind, which {listing} lists."
        for position, one in enumerate(first_of_kinds(cause)):
            anomaly = one.anomaly
            if position:
                yield self._markup.block([f"{anomaly.id}: {anomaly.summary}"])
            else:
                guarantee = f"guarantee: {anomaly.guarantee} ({anomaly.source})"
                yield self._markup.block(
                    [f"{anomaly.id}: {anomaly.summary}", guarantee, *anomaly.explanation]
                )
                around = [] if self._circumstances is None else [*self._circumstances.lines(cause)]
                if around:
                    yield self._markup.block(around)

    def _assumptions(self) -> Iterator[str]:
        unmet = [a for result in self._verdict.results for a in result.assumptions if not a.met]
        if unmet:
            yield self._markup.heading(2, "Assumptions that were not met")
            yield self._markup.block(f"{a.name}: expected {a.expected}; found {a.observed}" for a in unmet)


def _seeded(bug: str) -> str:
    return f"{bug}, put into Kafka on purpose: not a defect of a release" if bug else ""


def _pairs(values: dict[str, int] | dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _most_relevant(verdict: Verdict) -> list[Cause]:
    """Illegal causes, those with an unexpected id first."""
    expected = frozenset(verdict.expected_anomalies)
    return sorted(illegal_causes(verdict), key=lambda cause: not _strange(cause, expected))


def _strange(cause: Cause, expected: frozenset[str]) -> list[str]:
    """Ids that the scenario does not expect, the most severe first."""
    return [name for name, _ in cause.kinds if name not in expected]
