"""What a caller may ask of one solve."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveOptions:
    """Limits of one solve.

    Attributes:
        version: Version of the document format.
        budget: Work that the exact search may spend on one gang, or on each part of one that is placed part by part, in
            cells of its tables; a gang whose search was cut is refused with ``proven: false``. Of plain gangs and of
            large tables a second fills 10⁸ to 10⁹ cells, of gangs with rules of their own and small tables only some
            5 · 10⁶. The default is mostly a fifth of a second to two; where that is too long in the worst case,
            ``deadline_s`` ends it.
        deadline_s: Wall time after which the solve stops searching, in whole seconds; None: no limit. A plan
            that it cut says so in ``stats.stopped_by``, and may differ from run to run.
        changes: Whether refusals come with changes that were tried and would admit the gang.
        placement: Which of the nodes that serve a gang equally well is taken: the one with the least (``pack``) or
            the most (``spread``) left.
        fair_share: What the deserved share of a queue is: as ``Queue.deserved`` says (``quota``), the cluster shared
            out by weight (``weight``: each resource by itself, ``drf``: by dominant resource), or ``none``.
        bypass: Whether others may start behind a gang that cannot be placed: it blocks nobody (``free``), nothing of
            the same queue starts behind it (``none``), or the first such gang keeps the room in which it can start
            soonest (``earmark``).
        earmark_after_s: With ``earmark``: a gang that waits for so many seconds gets one; None: its age gives it
            none.
        earmark_after_bypasses: With ``earmark``: a gang that was bypassed so often gets one; None: that gives it
            none. With neither, the first refusal does.
        finish_broken_first: In a queue, at equal priority, a gang that runs with less than its minimum comes before
            those that hold nothing.
        nonpreemptible_within_deserved: Gangs that may not be preempted stay within what their queue, and those above
            it, deserve.
    """

    version: Literal[1] = 1
    budget: int = 200_000_000
    deadline_s: int | None = None
    changes: bool = True
    placement: Literal["pack", "spread"] = "pack"
    fair_share: Literal["quota", "weight", "drf", "none"] = "quota"
    bypass: Literal["free", "none", "earmark"] = "free"
    earmark_after_s: int | None = None
    earmark_after_bypasses: int | None = None
    finish_broken_first: bool = False
    nonpreemptible_within_deserved: bool = False
