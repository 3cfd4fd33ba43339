"""Which runs we asked to stop: the server says FAILED of them, as of any other that did not succeed."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Stops:
    """A folder with an empty file for each.

    Attributes:
        folder: The folder; it need not exist.
    """

    folder: Path

    def remember(self, run_id: str) -> None:
        """Note that a run was asked to stop."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / run_id).touch()

    def forget(self, run_id: str) -> None:
        """It need not be known any more."""
        (self.folder / run_id).unlink(missing_ok=True)

    def __contains__(self, run_id: str) -> bool:
        return (self.folder / run_id).exists()
