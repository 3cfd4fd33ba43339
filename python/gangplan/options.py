"""What a caller may ask of one solve."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveOptions:
    """Limits of one solve.

    Attributes:
        version: Version of the document format.
        budget: Work that the exact search may spend on one gang, in table cells (about 10⁹ a second); a gang
            whose search was cut is refused with ``proven: false``. The default is about a fifth of a second.
        deadline_s: Wall time after which the solve stops searching, in whole seconds; None: no limit. A plan
            that it cut says so in ``stats.stopped_by``, and may differ from run to run.
        changes: Whether refusals come with changes that were tried and would admit the gang.
    """

    version: Literal[1] = 1
    budget: int = 200_000_000
    deadline_s: int | None = None
    changes: bool = True
