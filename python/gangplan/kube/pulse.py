"""Pulse: a thread that shows signs of life while its owner works.

Whoever decides has no thread of its own; it is given one of these.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Pulse:
    """Beats in a thread, and never while its owner holds the guard.

    Attributes:
        guard: Over what a beat and its owner both change.
    """

    def __init__(self, *, period_s: float) -> None:
        """Prepare it; nothing beats yet.

        Args:
            period_s: Seconds between two beats.
        """
        self.guard = threading.Lock()
        self._period_s = period_s

    @contextmanager
    def during(self, beat: Callable[[], None]) -> Iterator[None]:
        """Beat again and again while what is inside goes on; the last beat is over at its end.

        Args:
            beat: What is done each time, under the guard. An error ends the beating.
        """
        over = threading.Event()
        thread = threading.Thread(target=self._go_on, args=(beat, over), name="pulse", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _go_on(self, beat: Callable[[], None], over: threading.Event) -> None:
        while not over.wait(self._period_s):
            with self.guard:
                beat()
