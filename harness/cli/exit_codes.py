"""The meanings of the commands' exit codes: the tables of docs/cli.md."""

from typing import NamedTuple

GENERAL = {
    0: "The command did its work. Of a command that judges or compares: all is well.",
    1: "The answer is no: an anomaly, a refusal, a difference.",
    2: "Undecided: the run was cut short, evidence or runs are missing, an answer is unknown.",
    3: "The harness or the host failed, or a stored file is damaged. What was recorded is judged.",
    64: "The command is wrong: an option, a name, a file or a folder that it names. Nothing was done.",
    130: "Interrupted by a second Ctrl-C, or where there is nothing to judge.",
}
"""The general meaning of every exit code."""


class ExitCodeMeaning(NamedTuple):
    """The meaning of exit codes 0, 1 and 2 for some commands. A code with an empty text does not occur.

    Attributes:
        commands: the commands' names, without ``krucible``.
        option: the option with which the codes have this meaning; empty if no option is needed.
        done: the meaning of 0.
        no: the meaning of 1.
        undecided: the meaning of 2.
    """

    commands: tuple[str, ...]
    option: str
    done: str
    no: str
    undecided: str


MEANINGS = (
    ExitCodeMeaning(("run", "check"), "", "valid", "invalid", "unknown"),
    ExitCodeMeaning(("check",), "--labels", "all verdicts agree with their labels", "not all do", ""),
    ExitCodeMeaning(("run",), "--seeds", "all runs are valid", "a run is invalid", "a run is unknown"),
    ExitCodeMeaning(
        ("summary", "rerun-failed"), "", "all runs are valid", "a run is invalid", "a run is unknown"
    ),
    ExitCodeMeaning(("replay",), "", "its anomalies returned", "they never did", "no run decided it"),
    ExitCodeMeaning(("replay",), "--bisect", "good: the anomalies never returned", "bad: they returned", ""),
    ExitCodeMeaning(
        ("minimise",),
        "",
        "nothing smaller is left to try",
        "the anomaly did not return",
        "time or runs were used up before that",
    ),
    ExitCodeMeaning(
        ("track-record",), "", "all outcomes are as expected", "one is not", "a run is missing or unknown"
    ),
    ExitCodeMeaning(("qualify",), "", "QUALIFIED", "NOT QUALIFIED", "INCONCLUSIVE"),
    ExitCodeMeaning(("qualify",), "--shard", "all runs of the shard have a verdict", "", "a run has none"),
    ExitCodeMeaning(
        ("sensitivity",),
        "",
        "every bug was seen, or its budget is spent",
        "a control run is invalid",
        "runs are missing",
    ),
    ExitCodeMeaning(
        ("elect",), "", "every partition was elected or needed no election", "Kafka refused one", ""
    ),
    ExitCodeMeaning(
        ("reassign execute", "reassign cancel"), "", "all was accepted", "Kafka refused some of it", ""
    ),
    ExitCodeMeaning(
        ("reassign verify",),
        "",
        "all is complete",
        "all has ended, not all is complete",
        "some is ongoing or unknown",
    ),
    ExitCodeMeaning(
        ("quorum add-voter", "quorum remove-voter"), "", "done", "Kafka refused it", "it may be done"
    ),
    ExitCodeMeaning(("quorum records",), "", "the nodes agree", "they differ", "something can't be read"),
)
"""The exit codes of commands that have more than one answer."""
ONLY_DONE = (
    "doctor",
    "setup",
    "list",
    "report",
    "serve",
    "issue",
    "findings export",
    "findings list",
    "signatures",
    "pipeline all",
    "pipeline ingest",
    "pipeline check",
    "pipeline tables",
    "cluster down",
    "cluster status",
    "cluster up",
    "reassign list",
    "reassign progress",
    "quorum describe",
    "heal",
)
"""Commands that exit with 0 if they succeed and have no other answer."""


def render_exit_codes() -> str:
    """Return the section of docs/cli.md about exit codes, without a trailing newline."""
    general = "\n".join(f"| {code} | {text} |" for code, text in GENERAL.items())
    special = "\n".join(
        f"| {', '.join(_shown(name, one.option) for name in one.commands)} "
        f"| {one.done} | {one.no} | {one.undecided} |"
        for one in MEANINGS
    )
    others = ", ".join(f"`{name}`" for name in ONLY_DONE)
    return (
        "## Exit codes\n\n"
        f"| code | meaning |\n|---|---|\n{general}\n\n"
        "These commands have more than one answer:\n\n"
        f"| command | 0 | 1 | 2 |\n|---|---|---|---|\n{special}\n\n"
        "`replay --bisect` ends with 125 (skip) if no run decided it, and with 128, which stops "
        "`git bisect run`, if the command is wrong or was interrupted. `elect` and `reassign` end with 3 if "
        "there was no answer: the request may have been carried out. `doctor` ends with 3 if a run could not "
        "start now.\n\n"
        f"All others have no answer but 0: {others}."
    )


def _shown(name: str, option: str) -> str:
    return f"`{name} {option}`" if option else f"`{name}`"
