"""What is waited for, told whenever it changes and every some seconds: whoever watches sees that something lives."""

from collections.abc import Callable

WORD_S = 10.0
"""Seconds between two words about the same."""


class WaitedFor:
    """Tells what is waited for."""

    def __init__(
        self, tell: Callable[[str], None], *, now: float, word_s: float = WORD_S, quiet_s: float = 0.0
    ) -> None:
        """Begin to wait.

        Args:
            tell: Gets each word.
            now: Seconds of some clock.
            word_s: Seconds between two words about the same.
            quiet_s: Seconds of which nothing is told, as most have ended then.
        """
        self._tell, self._word_s = tell, word_s
        self._quiet_until = now + quiet_s
        self._seen = self._told = ""
        self._since = self._said_at = now

    def look(self, line: str, now: float) -> None:
        """See what is waited for, in words, at a moment of the clock."""
        if line != self._seen:
            self._seen, self._since = line, now
        if now < self._quiet_until or (line == self._told and now - self._said_at < self._word_s):
            return
        self._tell(f"{line} still, after {now - self._since:.0f} s" if line == self._told else line)
        self._told, self._said_at = line, now
