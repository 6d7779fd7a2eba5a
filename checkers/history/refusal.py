"""Why a history can't be read: what is wrong, where, what should be there, and what to do about it."""

RESTORE = "restore the journal as the run wrote it, or run the scenario again"


class HistoryError(Exception):
    """A folder holds no history that can be judged.

    Attributes:
        problem: what is wrong, with what was found.
        expected: what should have been there.
        place: folder, or file with line and column.
        next_step: what to do about it.
    """

    def __init__(self, problem: str, *, expected: str, place: str, next_step: str = RESTORE) -> None:
        super().__init__(f"{place}: {problem}; expected {expected}. Next: {next_step}.")
        self.problem = problem
        self.expected = expected
        self.place = place
        self.next_step = next_step
