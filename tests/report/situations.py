"""Gangs and records that explanations and figures are about."""

from gangplan.record import GangRecord, Reservation, enter, new
from gangplan.snapshot import Gang, Role

GPU = "nvidia.com/gpu"
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "$x^{",
    "{{ 7 * 7 }}",
    "\x1b[31mred\x1b[0m\x00\x08",
    "\udc80\ufffe\u202egnp.exe",
    "a|b\n# c",
    "日本語 🚀",
    "&amp;]]>",
    "",
)


def gang(name, *, replicas=4, gpus="1", **more):
    return Gang(name=name, roles=(Role(name="worker", replicas=replicas, requests={GPU: gpus}),), **more)


def lives(names=("done", "broken", "ended", "late", "runs", "waits", "never")) -> list[GangRecord]:
    done, broken, ended, late, runs, waits, never = (
        new(gang(name), uid=name, run_id="r", now=1000.0 + i) for i, name in enumerate(names)
    )
    outcomes = ((done, "Succeeded"), (broken, "Failed"), (late, "TimedOut"))
    held = Reservation(placement={"worker": ("n1",) * 4}, expires_at=None)
    finished = [
        enter(_run(record, held), "Finished", now=1050.0, reason="", outcome=outcome)
        for record, outcome in outcomes
    ]
    return [
        *finished,
        enter(ended, "Finished", now=1020.0, reason="", outcome="Canceled"),
        _run(runs, held),
        waits,
        enter(never, "Impossible", now=1010.0, reason=""),
    ]


def _run(record, held):
    return enter(
        enter(record, "Reserved", now=1010.0, reason="", reservation=held),
        "Bound",
        now=1015.0,
        reason="",
        reservation=held,
    )
