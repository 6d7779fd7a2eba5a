"""The group that holds every command. A command is imported only when it is called.

The imports of ``run`` and ``check`` take a second. ``krucible --help`` and ``krucible list`` do not need
them.
"""

import click

from harness.cli.entries import CommandEntry, LazyGroup

COMMANDS = {
    "doctor": CommandEntry(
        "harness.cli.doctor",
        "doctor",
        "Report what is missing on this host and how to fix it; changes nothing.",
    ),
    "setup": CommandEntry(
        "harness.cli.doctor",
        "setup",
        "Install and start what is missing, and prepare the image; prints first what it will do.",
    ),
    "list": CommandEntry(
        "harness.cli.runs.listing",
        "list_command",
        "List scenarios and stored runs, newest first.",
    ),
    "run": CommandEntry(
        "harness.cli.runs.run",
        "run",
        "Run SCENARIO and judge it.",
    ),
    "check": CommandEntry(
        "harness.cli.histories.check",
        "check",
        "Judge a stored RUN again (latest, a scenario's name or a folder), or the FILE of another harness.",
    ),
    "report": CommandEntry(
        "harness.cli.histories.check",
        "report",
        "Write a stored RUN's report again and say where it is.",
    ),
    "serve": CommandEntry(
        "harness.cli.findings.serve",
        "serve",
        "Browse stored runs: table, filters, trends, reports, downloads.",
    ),
    "replay": CommandEntry(
        "harness.cli.runs.replay",
        "replay",
        "Repeat the recorded schedule of RUN, and report how often its anomalies return.",
    ),
    "rerun-failed": CommandEntry(
        "harness.cli.runs.rerun",
        "rerun_failed",
        "Run again what failed in FOLDER: a campaign, a qualification or any runs.",
    ),
    "minimise": CommandEntry(
        "harness.cli.runs.minimise",
        "minimise",
        "Reduce an invalid RUN to a smaller scenario that still shows its anomaly.",
    ),
    "issue": CommandEntry(
        "harness.cli.findings.issue",
        "issue_command",
        "Print a stored RUN as a text that can be pasted into a tracker.",
    ),
    "findings": CommandEntry(
        "harness.cli.findings.findings",
        "findings_command",
        "List defects of Kafka that krucible found, or print one of them as the text of a ticket.",
    ),
    "signatures": CommandEntry(
        "harness.cli.findings.signatures",
        "signatures_command",
        "List the signatures of failures in the runs of FOLDER, and which of them are new.",
    ),
    "summary": CommandEntry(
        "harness.cli.findings.summary",
        "summary",
        "Summarise all runs in the FOLDERs on one Markdown page, problems first.",
    ),
    "track-record": CommandEntry(
        "harness.cli.campaigns.track_record",
        "track_record",
        "Check known bugs of Kafka: red in the versions that have them, green in those that do not.",
    ),
    "qualify": CommandEntry(
        "harness.cli.campaigns.qualify",
        "qualify_command",
        "Qualify a candidate of Kafka: run it and a baseline, compare, decide by a rule, report.",
    ),
    "sensitivity": CommandEntry(
        "harness.cli.campaigns.sensitivity",
        "sensitivity_command",
        "Measure how many seeded bugs are seen: each BUG, or all, one at a time in a preset's runs.",
    ),
    "pipeline": CommandEntry(
        "harness.cli.pipeline.group",
        "pipeline",
        "Write tables of stored runs, judge the runs again, and compute statistics, with Spark.",
    ),
    "cluster": CommandEntry(
        "harness.cli.clusters.cluster",
        "cluster",
        "Clusters for hands-on use.",
    ),
    "elect": CommandEntry(
        "harness.cli.clusters.elect",
        "elect",
        "Elect leaders: the preferred replicas, or any live replica if a partition has no leader.",
    ),
    "reassign": CommandEntry(
        "harness.cli.clusters.reassign",
        "reassign",
        "Reassign partitions (KIP-455); every request has a number, and its progress can be shown.",
    ),
    "quorum": CommandEntry(
        "harness.cli.clusters.quorum",
        "quorum",
        "Show the voters of the quorum, and change them.",
    ),
    "heal": CommandEntry(
        "harness.cli.clusters.cluster",
        "heal",
        "Undo what a harness that was killed left behind: faults, containers, networks, disks.",
    ),
}
"""All commands, in the order of the help text."""


@click.group(
    cls=LazyGroup,
    entries=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="krucible")
def krucible() -> None:
    """Inject faults into Apache Kafka KRaft clusters, and judge what Kafka did.

    Exit codes: 0 valid, 1 invalid, 2 unknown, 3 the harness failed, 64 the command is wrong.
    """
