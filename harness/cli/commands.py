"""The group that holds every command, each imported when it is called.

What ``run`` and ``check`` need takes a second to import; ``krucible --help`` and ``krucible list`` need none
of it.
"""

import click

from harness.cli.entries import Entry, LazyGroup

COMMANDS = {
    "doctor": Entry(
        "harness.cli.hosts",
        "doctor",
        "Say what is missing on this host and how to mend it; changes nothing.",
    ),
    "setup": Entry(
        "harness.cli.hosts",
        "setup",
        "Install and start what is missing, and have the image ready; says first what it will do.",
    ),
    "list": Entry(
        "harness.cli.listing",
        "list_command",
        "List scenarios and stored runs, newest first.",
    ),
    "run": Entry(
        "harness.cli.running",
        "run",
        "Run SCENARIO and judge it.",
    ),
    "check": Entry(
        "harness.cli.checking",
        "check",
        "Judge a stored RUN again (latest, a scenario's name or a folder), or a FILE that others recorded.",
    ),
    "report": Entry(
        "harness.cli.checking",
        "report",
        "Write a stored RUN's report again and say where it is.",
    ),
    "serve": Entry(
        "harness.cli.serving",
        "serve",
        "Browse stored runs: table, filters, trends, reports, downloads.",
    ),
    "replay": Entry(
        "harness.cli.replaying",
        "replay",
        "Carry out the recorded schedule of RUN again, and tell how often its finding comes back.",
    ),
    "minimise": Entry(
        "harness.cli.minimising",
        "minimise",
        "Make a red RUN smaller: run it again with fewer faults, as long as its anomaly comes back.",
    ),
    "summary": Entry(
        "harness.cli.summing",
        "summary",
        "Sum up every run below the FOLDERs: one Markdown page, what went wrong first.",
    ),
    "track-record": Entry(
        "harness.cli.track_record",
        "track_record",
        "Hold krucible to known outcomes: red where Kafka has a bug, green where not.",
    ),
    "qualify": Entry(
        "harness.cli.qualifying",
        "qualify_command",
        "Qualify a candidate of Kafka: run a matrix beside a baseline, compare, decide by a rule, report.",
    ),
    "sensitivity": Entry(
        "harness.cli.sensitivity",
        "sensitivity_command",
        "Measure how many seeded bugs are seen: each BUG, or all, alone in Kafka under a nightly's runs.",
    ),
    "pipeline": Entry(
        "harness.cli.pipelining",
        "pipeline",
        "Turn stored runs into tables, judge them there, and compute on them, with Spark.",
    ),
    "cluster": Entry(
        "harness.cli.clusters",
        "cluster",
        "Clusters for hands-on use.",
    ),
    "elect": Entry(
        "harness.cli.electing",
        "elect",
        "Have leaders elected: the preferred ones, or any live replica where there is no leader.",
    ),
    "reassign": Entry(
        "harness.cli.reassigning",
        "reassign",
        "Reassign partitions (KIP-455); every request has a number and tells how far it has come.",
    ),
    "quorum": Entry(
        "harness.cli.quorum",
        "quorum",
        "Who votes in the quorum, and changes of that.",
    ),
    "heal": Entry(
        "harness.cli.clusters",
        "heal",
        "Undo what a harness that was killed left behind: faults, containers, networks, disks.",
    ),
}
"""All commands, in the order in which a user meets them."""


@click.group(
    cls=LazyGroup,
    entries=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="krucible")
def krucible() -> None:
    """Inject faults into Apache Kafka KRaft clusters, and judge what Kafka did.

    Exit codes: 0 valid, 1 invalid, 2 unknown, 3 the harness failed, 64 usage.
    """
