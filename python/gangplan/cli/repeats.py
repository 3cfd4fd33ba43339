"""Troubles that last are told once a minute, not once a second."""

import logging
import time

AGAIN_S = 60.0
"""Seconds after which the same is told again: it still is so."""


class Repeats(logging.Filter):
    """Knows what was told last, and when. As a filter of a log it lets what is repeated too soon not pass."""

    def __init__(self) -> None:
        super().__init__()
        self._last, self._at = "", 0.0

    def is_new(self, text: str) -> bool:
        """Whether a text is another than the last one, or that was some time ago; it is the last one then."""
        now = time.monotonic()
        if text == self._last and now - self._at < AGAIN_S:
            return False
        self._last, self._at = text, now
        return True

    def filter(self, record: logging.LogRecord) -> bool:
        """Warnings that are repeated do not pass; what is asked for with -v does."""
        return record.levelno < logging.WARNING or self.is_new(record.getMessage())
