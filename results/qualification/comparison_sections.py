"""The sections with comparisons: durations, shares of runs, and the pairs behind the durations."""

from collections.abc import Iterator
from typing import NamedTuple

from results.campaigns.summary import Spread
from results.markup.markdown import number
from results.qualification.compared import (
    MARGIN_MS,
    MARGIN_OF_MEDIAN,
    MARGIN_SHARE,
    Comparisons,
    Durations,
    PairFigures,
    Shares,
    points,
)
from results.qualification.listed import RUNS_MAX
from results.qualification.power import POWER
from results.run.text import seconds
from results.sections.section import Section, named

CHARTS_UNDER = "Durations against the baseline"
"""Title of the section in which a page draws its charts."""


class PairKey(NamedTuple):
    """What all figures of a pair of runs have in common."""

    scenario: str
    mode: str
    seed: int | None
    candidate_folder: str
    baseline_folder: str


def comparison_sections(compared: Comparisons) -> Iterator[Section]:
    """Results of the comparisons, and the differences that they could detect; empty without comparisons."""
    if not (compared.durations or compared.shares):
        return
    tests = compared.tests()
    yield Section(
        CHARTS_UNDER,
        f"Paired by scenario, mode and seed. For each run and kind of fault, the longest time in which a "
        f"partition acknowledged no record counts once. Worse: p below 0.05 by Wilcoxon's signed-rank test, "
        f"after Holm's correction for {number(tests, 'test')}; a 95 % interval above 0; and a shift of more "
        f"than {seconds(MARGIN_MS)} and of {percent(MARGIN_OF_MEDIAN)} of the baseline's median. Detectable: "
        f"the smallest shift that such samples report as worse in {percent(POWER)} of cases, from the half "
        f"width of the Hodges-Lehmann interval of these pairs at the corrected level. A smaller shift may "
        f"exist.",
        ("what", ">pairs", ">candidate p50 / max", ">baseline p50 / max", ">shift", ">95 %", ">p",
         ">corrected", ">detectable", "says"),
        tuple(map(_duration, compared.durations)),
        targets=tuple(measure_id(compared, one.name) for one in compared.durations),
    )  # fmt: skip
    yield _pairs(compared)
    yield Section(
        "Runs against the baseline",
        f"Fisher's exact test, and Newcombe's interval of the difference. Worse: by more than "
        f"{percent(MARGIN_SHARE)}, corrected together with the durations. Detectable: the smallest increase "
        f"of the candidate's share that is reported as worse in {percent(POWER)} of cases, by the same test "
        f"with the same runs of the baseline.",
        ("what", ">candidate", ">baseline", ">difference, 95 %", ">p", ">corrected", ">detectable", "says",
         "/the candidate's", "/the baseline's"),
        tuple(map(_share, compared.shares)),
    )  # fmt: skip


def measure_id(compared: Comparisons, name: str) -> str:
    """The id on the page of a compared measure; empty if it was not compared."""
    places = (place for place, one in enumerate(compared.durations, start=1) if one.name == name)
    return f"measure-{place}" if (place := next(places, 0)) else ""


def pair_ids(compared: Comparisons) -> dict[PairKey, str]:
    """The ids on the page of all pairs of runs behind the durations, in order."""
    keys = sorted(
        {key_of(figure) for one in compared.durations for figure in one.figures},
        key=lambda key: (key.scenario, key.mode, key.seed or 0, key.candidate_folder, key.baseline_folder),
    )
    return {key: f"pair-{place}" for place, key in enumerate(keys[:RUNS_MAX], start=1)}


def key_of(figure: PairFigures) -> PairKey:
    """Key that is equal for all figures of a pair of runs."""
    return PairKey(figure.scenario, figure.mode, figure.seed, figure.candidate_folder, figure.baseline_folder)


def spread_cells(spread: Spread | None) -> tuple[str, str]:
    """Median and maximum as text; empty without values."""
    return ("", "") if spread is None else (seconds(spread.median_ms), seconds(spread.max_ms))


def percent(share: float) -> str:
    """A share as text."""
    return f"{100 * share:.0f} %"


def _pairs(compared: Comparisons) -> Section:
    figures = [{key_of(figure): figure for figure in one.figures} for one in compared.durations]
    ids = pair_ids(compared)
    rows = tuple(
        (*_named(key), *(_both(of.get(key)) for of in figures), key.candidate_folder, key.baseline_folder)
        for key in ids
    )  # fmt: skip
    return Section(
        "Pairs of runs",
        "The runs behind the durations; figures are candidate / baseline.",
        ("`scenario", "mode", ">seed", *(f">{one.name}" for one in compared.durations), "/candidate",
         "/baseline"),
        rows,
        ids=tuple(ids.values()),
        rows_max=RUNS_MAX,
    )  # fmt: skip


def _named(key: PairKey) -> tuple[str, str, str]:
    return key.scenario, key.mode or "not known", "" if key.seed is None else str(key.seed)


def _both(figure: PairFigures | None) -> str:
    return f"{seconds(figure.candidate_ms)} / {seconds(figure.baseline_ms)}" if figure else ""


def _duration(one: Durations) -> tuple[str, ...]:
    known = one.low_ms is not None and one.high_ms is not None
    interval = f"{one.low_ms:+,} to {one.high_ms:+,} ms" if known else "none"
    corrected = "" if one.p_corrected is None else _p(one.p_corrected)
    return (
        one.name,
        f"{one.pairs:,}",
        " / ".join(spread_cells(one.candidate)),
        " / ".join(spread_cells(one.baseline)),
        f"{one.shift_ms:+,} ms",
        interval,
        _p(one.p),
        corrected,
        "nothing" if one.detectable_ms is None else f"≥ {seconds(one.detectable_ms)}",
        one.finding,
    )


def _share(one: Shares) -> tuple[str, ...]:
    return (
        one.name,
        f"{one.candidate:,} of {one.candidate_of:,}",
        f"{one.baseline:,} of {one.baseline_of:,}",
        f"{100 * one.low:+.0f} to {100 * one.high:+.0f} %",
        _p(one.p),
        _p(one.p_corrected),
        "nothing" if one.detectable is None else f"≥ {points(one.detectable)}",
        one.finding,
        named(one.candidate_folders),
        named(one.baseline_folders),
    )


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"  # noqa: PLR2004 - the last digit that is shown
