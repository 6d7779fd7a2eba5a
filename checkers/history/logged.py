"""The types of data from nodes' own logs: errors, votes, elections, ends of partitions' logs.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

import msgspec

from checkers.history.fields import written

NODE_LOG, VOTE, ELECTED = "node-log", "vote", "elected"
LOADED, ISR_SHRUNK, TRUNCATED, CLEANED = "loaded", "isr-shrunk", "truncated", "cleaned"
LOG_CUT = "log-cut"
EPOCH_BEGUN = "epoch-begun"
INSTANCE_REFUSED = "instance-refused"
QUORUM_VIEW, METADATA_TRUNCATED = "quorum-view", "metadata-truncated"
LOG_LACKING = "log-lacking"
"""Keys of these observations."""


class FindingLogged(msgspec.Struct, frozen=True, omit_defaults=True):
    """A relevant line, with the exception that it logs on further lines.

    Attributes:
        line: its number, from 1; None if `text` gives the number of further lines instead.
        at: wall-clock time of the line.
        level: INFO, WARN, ERROR or FATAL.
        text: the line, with the following lines that belong to it.
        unjudged: for an entry without a line, whether no rule reads any of the lines that it counts.
    """

    line: int | None
    at: str | None = written(None)
    level: str = written("")
    text: str = written("")
    unjudged: bool = False


class LogLacking(msgspec.Struct, frozen=True):
    """A part of a node's log that could not be read, or that was not recorded.

    Attributes:
        what: ``all``, ``beginning``, or the key of the observations of which some are left out.
        why: the reason, as one line of text.
    """

    what: str
    why: str


class VoteLogged(msgspec.Struct, frozen=True, omit_defaults=True):
    """A vote that a node granted or refused, or its own vote if it became a candidate.

    Attributes:
        line: number of the line, from 1.
        at: wall-clock time of the line.
        epoch: the epoch of the vote.
        candidate_id: id of the candidate.
        candidate_directory_id: the candidate's disk; None if not recorded.
        granted: whether it was granted.
        pre_vote: whether it was a pre-vote, which binds no voter.
        last_epoch: epoch of the last record of the candidate's log; None for its own vote.
        last_offset: end of the candidate's log; None for its own vote.
        directory_id: the voter's disk; None if not recorded.
        pre_voters: for its own vote, the voters that it knew; None if it was not preceded by pre-votes.
        pre_granting: the voters among them that had granted it their pre-votes, including itself.
        following_ms: for a granted pre-vote, for how long the voter had been a follower of the leader that it
            still followed, by the times of its lines; None if it was no follower, or it is not known.
        fetch_timeout_ms: the time without an answer to a fetch after which it would have ceased to follow.
    """

    line: int
    at: str | None
    epoch: int
    candidate_id: int
    candidate_directory_id: str | None = written(None)
    granted: bool = written(default=False)
    pre_vote: bool = written(default=False)
    last_epoch: int | None = written(None)
    last_offset: int | None = written(None)
    directory_id: str | None = written(None)
    pre_voters: tuple[int, ...] | None = None
    pre_granting: tuple[int, ...] | None = None
    following_ms: int | None = None
    fetch_timeout_ms: int | None = None

    @property
    def binds(self) -> bool:
        """Whether it is a binding vote."""
        return self.granted and not self.pre_vote


class _Line(msgspec.Struct, frozen=True):
    line: int | None


class VotesEnd(msgspec.Struct, frozen=True):
    """The end of the entries about votes: number of lines of the log, and number of omitted entries."""

    line: None
    lines: int
    further: int


class ElectedLogged(msgspec.Struct, frozen=True):
    """A node that became the leader, with the votes that it received and the voters that it knew.

    Kafka 3.9.0 does not print the votes; in that case `granting` is None.
    """

    line: int
    at: str | None
    epoch: int
    granting: tuple[int, ...] | None
    voters: tuple[int, ...]

    @property
    def counted(self) -> tuple[int, ...]:
        """Voters whose votes it may have had."""
        return self.voters if self.granting is None else self.granting


class QuorumViewLogged(msgspec.Struct, frozen=True):
    """A state of the quorum that a node (controller or broker) entered.

    Attributes:
        line: number of the line, from 1.
        at: wall-clock time of the line.
        state: its name, such as ``FollowerState``.
        epoch: of the quorum.
        voters: ids of the voters that the node uses, in order.
        started: whether it is the first state of a process.
    """

    line: int
    at: str | None
    state: str
    epoch: int
    voters: tuple[int, ...]
    started: bool


class MetadataTruncated(msgspec.Struct, frozen=True):
    """A truncation of a node's metadata log, because the leader's log has other records from `end` on."""

    line: int
    at: str | None
    end: int


class PartitionLine(msgspec.Struct, frozen=True):
    """A line about a partition's log.

    Attributes:
        line: number of the line, from 1.
        at: wall-clock time of the line.
        topic: topic of the partition; ``__cluster_metadata`` for the metadata log.
        partition: its number.
    """

    line: int
    at: str
    topic: str
    partition: int


class LogLoaded(PartitionLine, frozen=True, omit_defaults=True):
    """A log that a node found on its disk when it started, after log recovery.

    Attributes:
        end: the offset after its last record.
        start: the first offset that it serves; None if not recorded.
    """

    end: int
    start: int | None = None


class IsrShrunk(PartitionLine, frozen=True):
    """An ISR that its leader asks the controller to shrink, because replicas lag.

    Attributes:
        isr: ids of the in-sync replicas before the change.
        high_watermark: the leader's high watermark.
        end: end of the leader's log.
        out: id and end of each replica that lags, according to its fetches; -1 if it had not fetched yet.
    """

    isr: tuple[int, ...]
    high_watermark: int
    end: int
    out: tuple[tuple[int, int], ...]


class LogTruncated(PartitionLine, frozen=True):
    """A log that a follower truncated below its high watermark.

    Attributes:
        end: end of the log after the truncation.
        high_watermark: the follower's high watermark before, as its leaders had reported it.
    """

    end: int
    high_watermark: int


class LogCut(PartitionLine, frozen=True):
    """A log that a follower truncated, because the leader's log has other records, or none, at these offsets.

    Attributes:
        end: end of the log after the truncation; it was higher before.
    """

    end: int


class LogsCleaned(msgspec.Struct, frozen=True):
    """The offsets up to which a node has cleaned its logs, according to its log lines.

    Attributes:
        began_ns: when its log was requested, on the history's clock.
        logs: topic, partition, largest end of a cleaning's range (exclusive), and number of that line, for
            each log that was cleaned.
    """

    began_ns: int
    logs: tuple[tuple[str, int, int, int], ...]


class EpochBegun(msgspec.Struct, frozen=True):
    """A leader epoch that a broker starts when it becomes the leader.

    Attributes:
        line: number of the line, from 1.
        at: wall-clock time of the line.
        topic: topic of the partition.
        topic_id: id of this topic; a topic that is created again under its name has another id.
        partition: its number.
        epoch: the leader epoch.
        start: the end of the broker's log at that time.
        previous_epoch: the partition's leader epoch that the process knew before; -1 if it knew none.
    """

    line: int
    at: str
    topic: str
    topic_id: str
    partition: int
    epoch: int
    start: int
    previous_epoch: int


class InstanceRefused(PartitionLine, frozen=True):
    """A static member that a coordinator refused, because another one has its instance id.

    Attributes:
        group: id of the group.
        member: id of the member that was refused.
        instance: the instance id.
        owner: id of the member that has it, according to the coordinator.
        epoch: the leader epoch in which the coordinator had loaded the partition.
        loaded: number of the line that says so.
        named: whether another line of the coordinator between these two names the owner.
    """

    group: str
    member: str
    instance: str
    owner: str
    epoch: int
    loaded: int
    named: bool


def vote_logged(value: object) -> VoteLogged | VotesEnd:
    """The value of an observation of a vote, or of the end of a node's votes.

    Raises:
        msgspec.ValidationError: it is not as docs/histories.md says.
    """
    if msgspec.convert(value, _Line).line is None:
        return msgspec.convert(value, VotesEnd)
    return msgspec.convert(value, VoteLogged)
