"""The gangs of a run that has several: asked for, awaited, launched and followed in one process."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from gangplan.record import GangRecord
from gangplan.runtime import FINAL, JobStatus
from gangplan.steps.admit import ask_for, wait_turn
from gangplan.steps.outcome import NOT_ADMITTED
from gangplan.steps.place import Manifest, Place, place_of
from gangplan.steps.run import Run, clock, one_of

Tell = Callable[[str], None]
Sleep = Callable[[float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long each gang waits for room.

    Attributes:
        seconds: From when it was asked for.
        if_impossible: Whether it waits although it cannot fit this cluster even when nothing runs.
    """

    seconds: float
    if_impossible: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How one gang ended.

    Attributes:
        gang: Its name.
        record: Name of its record.
        outcome: ``Succeeded``, ``Failed``, ``Canceled``, ``TimedOut`` or ``NotAdmitted``.
        reason: Why, in a sentence or a few lines.
        waited_s: Seconds for which it waited for room.
        ran_s: Seconds from its launch to its end; 0 if it was never launched.
        status: Its job; None if it was never launched.
    """

    gang: str
    record: str
    outcome: str
    reason: str
    waited_s: float = field(default=0.0)
    ran_s: float = field(default=0.0)
    status: JobStatus | None = None


@contextmanager
def place_of_many(run: Run) -> Iterator[Place]:
    """The place of a run, for the time in which its gangs are launched from this process."""
    with place_of(run) as place, place.together():
        yield place


def run_gang(
    place: Place,
    run: Run,
    index: int,
    manifest: Manifest,
    *,
    patience: Patience,
    tell: Tell,
    sleep: Sleep = time.sleep,
) -> Ended:
    """Ask for one gang, wait for its room, and run it to its end.

    Args:
        place: The place of the run.
        run: The run.
        index: Which of its gangs, from 0.
        manifest: The TFJob.
        patience: How long it waits.
        tell: Gets each thing that happens, as a line.
        sleep: Waits the given seconds.
    """
    own, now = one_of(run, index), clock()
    mine = place.of(own, sleep=sleep)
    record = _ended_before(mine, own) or ask_for(mine, own, manifest, now=now)
    return _follow(mine, own, record, manifest, now, patience, tell, sleep)


def run_all(
    place: Place,
    run: Run,
    manifests: Sequence[Manifest],
    *,
    patience: Patience,
    tell: Tell,
    sleep: Sleep | None = None,
) -> tuple[Ended, ...]:
    """Ask for all gangs before any is waited for, launch each when it has room, and follow all to their ends.

    A gang that is not admitted, or fails, keeps no other from going on.

    Args:
        place: The place of the run.
        run: The run.
        manifests: Their TFJobs; their order is the order in which they are asked for.
        patience: How long each waits.
        tell: Gets each thing that happens, as a line.
        sleep: Waits the given seconds; None: until this is told to end.
    """
    stopped = threading.Event()

    def pause(seconds: float) -> None:
        if sleep is not None:
            sleep(seconds)
        if stopped.wait(seconds if sleep is None else 0.0):
            raise SystemExit("the step was told to end")

    now, seen = clock(), place.view().read()
    asked = []
    for index, manifest in enumerate(manifests):
        own = one_of(run, index)
        mine = place.of(own, sleep=pause)
        record = _ended_before(mine, own) or ask_for(mine, own, manifest, now=now, seen=seen)
        asked.append((mine, own, record, manifest))
    pool = ThreadPoolExecutor(max_workers=len(asked))
    try:
        turns = [pool.submit(_follow, *each, now, patience, tell, pause) for each in asked]
        return tuple(turn.result() for turn in turns)
    finally:
        stopped.set()
        pool.shutdown(wait=False, cancel_futures=True)


def _ended_before(place: Place, run: Run) -> GangRecord | None:
    """The record of a gang that an earlier attempt of this step has followed to its end, where its job can still be read."""
    record = place.store().get(place.gang)
    if record is None or record.run_id != run.run_id:
        return None
    return record if _has_run(place, record) else None


def _has_run(place: Place, record: GangRecord) -> bool:
    """Whether a gang had a job that has ended by itself, and a launch would tell how."""
    return place.outlives_steps and record.outcome in {"Succeeded", "Failed", "TimedOut"}


def _follow(
    place: Place,
    run: Run,
    record: GangRecord,
    manifest: Manifest,
    asked_at: float,
    patience: Patience,
    tell: Tell,
    sleep: Sleep,
) -> Ended:
    def say(line: str) -> None:
        tell(line if line.startswith(run.name) else f"{run.name} | {line}")

    if not _has_run(place, record):
        verdict = wait_turn(
            place,
            run,
            record,
            deadline=asked_at + patience.seconds,
            patient=patience.if_impossible,
            tell=say,
            sleep=sleep,
        )
        # Where an earlier attempt has launched it, another waiter may be the first to see that it has ended.
        if not verdict.admitted and not _has_run(place, verdict.record):
            waited = clock() - asked_at
            return Ended(
                gang=run.name,
                record=place.gang,
                outcome=NOT_ADMITTED,
                reason=verdict.reason,
                waited_s=waited,
            )
    began = clock()
    run.trained.mkdir(parents=True, exist_ok=True)
    status = place.launch(manifest, tell=say)
    assert status.state in FINAL, "a launch ends with its job"
    return Ended(
        gang=run.name,
        record=place.gang,
        outcome=status.state,
        reason=status.reason,
        waited_s=began - asked_at,
        ran_s=clock() - began,
        status=status,
    )
