"""How a run ended, in our words: Kubeflow says FAILED of what failed, was canceled, timed out or was never admitted."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gangplan.kubeflow.run import Run
from gangplan.record import GangRecord

CONCLUDE = "conclude"
"""The step that says how the gang of a run ended."""

_TOLD = re.compile(
    r"gangplan\.errors\.Job(?:Failed|Canceled|TimedOut): (?P<outcome>[A-Z][A-Za-z]+): (?P<reason>.*(?:\n  \| .*)*)"
)
_SKIPPED = re.compile(r"^(?:\d\d:\d\d:\d\d )?skipped: (?P<outcome>NotAdmitted): (?P<reason>.*)", re.MULTILINE)
_OUTCOMES = {"NotAdmitted", "Failed", "Canceled", "TimedOut"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ended.

    Attributes:
        outcome: ``Succeeded``, ``Failed``, ``Canceled``, ``TimedOut`` or ``NotAdmitted``.
        reason: Why; empty after a success.
        step: The step or the gang that says so; empty: none.
    """

    outcome: str
    reason: str = ""
    step: str = ""


def ending(run: Run, *, asked: bool, logs: Mapping[str, str], records: Sequence[GangRecord] = ()) -> Ending:
    """Decide how a run ended that has ended.

    In this order: what succeeded has succeeded, since ``conclude`` makes every other end red, unless it says that it was to
    pass over a gang that was not admitted. Who was asked to stop, by
    us or before our eyes, is canceled: the server says FAILED of it. Then counts the error that ``conclude`` ends with,
    which names outcome and reason of the gang; without it the record of a gang that did not succeed. What else failed has
    failed.

    Args:
        run: The run.
        asked: Whether we know that it was asked to stop.
        logs: Logs of the steps that failed, and of ``conclude``, by step.
        records: Records of the run's gangs.
    """
    if run.state in {"SUCCEEDED", "SKIPPED"}:
        if (skipped := _SKIPPED.search(logs.get(CONCLUDE, ""))) is not None:
            return Ending(outcome=skipped["outcome"], reason=skipped["reason"], step=CONCLUDE)
        return Ending(outcome="Succeeded")
    if asked or run.state == "CANCELED" or {"CANCELING", "CANCELED"} & set(run.states):
        return Ending(outcome="Canceled", reason="somebody stopped it")
    for step, log in logs.items():
        told = [match for match in _TOLD.finditer(log) if match["outcome"] in _OUTCOMES]
        if told:
            return Ending(outcome=told[-1]["outcome"], reason=told[-1]["reason"].strip(), step=step)
    for record in sorted(records, key=lambda record: record.name):
        if record.outcome in _OUTCOMES:
            return Ending(outcome=str(record.outcome), reason=record.reason, step=f"gang {record.name}")
    for failed in run.steps:
        if failed.state == "FAILED":
            lines = logs.get(failed.name, "").strip().splitlines()
            return Ending(
                outcome="Failed",
                reason=failed.reason or (lines[-1] if lines else "") or "it says no reason",
                step=failed.name,
            )
    return Ending(outcome="Failed", reason=run.reason or "the server says no reason")
