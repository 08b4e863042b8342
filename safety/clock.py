"""How much processor time a review may take: a block built to be slow ends in `ask`, not in a wait."""

from __future__ import annotations

import time

REVIEW_S = 0.09
"""Processor time of one review, seconds; what is not read by then is not analysed."""


class Clock:
    """Processor time of this thread since it was made: other programs on the machine do not count."""

    def __init__(self, limit_s: float = REVIEW_S) -> None:
        self.limit_s = limit_s
        self._begun = time.thread_time()

    @property
    def is_over(self) -> bool:
        """Whether the time is used up."""
        return time.thread_time() - self._begun > self.limit_s
