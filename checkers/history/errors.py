"""The error for an unreadable history: the problem, its place, the expected content, and a next step."""

RESTORE = "restore the journal as the run wrote it, or run the scenario again"


class HistoryError(Exception):
    """A folder does not contain a history that can be judged.

    Attributes:
        problem: the problem, with the content that was found.
        expected: the expected content.
        place: folder, or file with line and column.
        next_step: what the user can do about it.
    """

    def __init__(self, problem: str, *, expected: str, place: str, next_step: str = RESTORE) -> None:
        super().__init__(f"{place}: {problem}; expected {expected}. Next: {next_step}.")
        self.problem = problem
        self.expected = expected
        self.place = place
        self.next_step = next_step
