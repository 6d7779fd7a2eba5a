"""The sections that compare: durations, shares of runs, and the pairs that durations were taken from."""

from collections.abc import Iterator

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
"""The section under which a page draws its charts."""
PairKey = tuple[str, str, int | None, str, str]
"""Scenario, mode, seed, and the folders of candidate and baseline."""


def comparison_sections(compared: Comparisons) -> Iterator[Section]:
    """Results of the comparisons, and what they could have shown; empty without comparisons."""
    if not (compared.durations or compared.shares):
        return
    tests = compared.tests()
    yield Section(
        CHARTS_UNDER,
        f"Paired by scenario, mode and seed. Of each run and kind of fault the longest time that any one "
        f"partition acknowledged nothing counts once. Worse: p below 0.05 by Wilcoxon's signed ranks, after "
        f"Holm's correction for {number(tests, 'test')}; a 95 % interval above 0; and a shift of more than "
        f"{seconds(MARGIN_MS)} and of {percent(MARGIN_OF_MEDIAN)} of the baseline's median. Detectable: the "
        f"smallest shift that such samples call worse in {percent(POWER)} of cases, from the half width of "
        f"the Hodges-Lehmann interval of these pairs at the corrected level. A smaller one may be there.",
        ("what", ">pairs", ">candidate p50 / max", ">baseline p50 / max", ">shift", ">95 %", ">p",
         ">corrected", ">detectable", "says"),
        tuple(map(_duration, compared.durations)),
        targets=tuple(measure_id(compared, one.name) for one in compared.durations),
    )  # fmt: skip
    yield _pairs(compared)
    yield Section(
        "Runs against the baseline",
        f"Fisher's exact test, Newcombe's interval of the difference; worse by more than "
        f"{percent(MARGIN_SHARE)}, corrected together with the durations. Detectable: by how much the "
        f"candidate's share would have to be larger to be called worse in {percent(POWER)} of cases, by the "
        f"same test beside the same runs of the baseline.",
        ("what", ">candidate", ">baseline", ">difference, 95 %", ">p", ">corrected", ">detectable", "says",
         "/the candidate's", "/the baseline's"),
        tuple(map(_share, compared.shares)),
    )  # fmt: skip


def measure_id(compared: Comparisons, name: str) -> str:
    """The id on the page of what durations of a name were measured; empty where none were compared."""
    places = (place for place, one in enumerate(compared.durations, start=1) if one.name == name)
    return f"measure-{place}" if (place := next(places, 0)) else ""


def pair_ids(compared: Comparisons) -> dict[PairKey, str]:
    """The id on the page of every pair of runs that any duration was taken from, in their order."""
    keys = sorted(
        {key_of(figure) for one in compared.durations for figure in one.figures},
        key=lambda key: (key[:2], key[2] or 0, key[3:]),
    )
    return {key: f"pair-{place}" for place, key in enumerate(keys[:RUNS_MAX], start=1)}


def key_of(figure: PairFigures) -> PairKey:
    """What is the same of all figures of one pair of runs."""
    return figure.scenario, figure.mode, figure.seed, figure.candidate_folder, figure.baseline_folder


def spread_cells(spread: Spread | None) -> tuple[str, str]:
    """Median and largest for reading; empty where there is neither."""
    return ("", "") if spread is None else (seconds(spread.median_ms), seconds(spread.max_ms))


def percent(share: float) -> str:
    """A share for reading."""
    return f"{100 * share:.0f} %"


def _pairs(compared: Comparisons) -> Section:
    figures = [{key_of(figure): figure for figure in one.figures} for one in compared.durations]
    ids = pair_ids(compared)
    rows = tuple(
        (*_named(key), *(_both(of.get(key)) for of in figures), *key[3:]) for key in ids
    )  # fmt: skip
    return Section(
        "Pairs of runs",
        "What the durations were taken from: the candidate's, and the baseline's behind the slash.",
        ("`scenario", "mode", ">seed", *(f">{one.name}" for one in compared.durations), "/candidate",
         "/baseline"),
        rows,
        ids=tuple(ids.values()),
        rows_max=RUNS_MAX,
    )  # fmt: skip


def _named(key: PairKey) -> tuple[str, str, str]:
    scenario, mode, seed = key[:3]
    return scenario, mode or "not known", "" if seed is None else str(seed)


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
