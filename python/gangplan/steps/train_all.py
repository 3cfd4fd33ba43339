"""train_all: the trials of a sweep, all in the queue at once, each trained when it has room."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gangplan.documents import encode, write_atomic
from gangplan.record import GangRecord
from gangplan.steps.admit import mounts_of
from gangplan.steps.gangs import Ended, place_of_many, run_all
from gangplan.steps.launch_tfjob import log_tails
from gangplan.steps.process import step
from gangplan.steps.run import open_run, see_that_it_is_mounted
from gangplan.steps.sweep_request import asked, in_words

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """What became of the trials of a sweep.

    Attributes:
        differ: In what each trial differs, by names of the pipeline's parameters.
        ended: How the gang of each ended.
        records: What the gangs went through.
    """

    differ: tuple[Mapping[str, Any], ...]
    ended: tuple[Ended, ...]
    records: tuple[GangRecord, ...]


@step
def train_all(
    *, run_id: str, job_name: str, volume: str, volume_claim: str, trials_out: str, logs: str, **given: Any
) -> int:
    """Ask for the gangs of all trials before any is waited for, train each when it has room, and say how each ended.

    Args:
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
        volume_claim: On a cluster, the claim that every replica mounts there.
        trials_out: Path to write: what became of the trials.
        logs: Path to write: the last lines of every replica.
        **given: What :func:`gangplan.steps.sweep_request.asked` takes.

    Returns:
        How many trials have trained a model.

    Raises:
        InvalidInput: Parameters are wrong; all of them are named, and nothing was asked for.
    """
    see_that_it_is_mounted(volume)
    run = open_run(run_id, job_name, volume)
    wanted = asked(run, given, mounts=mounts_of(volume, volume_claim))
    with place_of_many(run) as place:
        for index, trial in enumerate(wanted.trials):
            log.info("trial %s: %s", index, in_words(trial) or "as the parameters say")
        ended = run_all(place, run, wanted.manifests, patience=wanted.patience, tell=log.info)
        names = [each.record for each in ended]
        store = place.store()
        records = tuple(record for name in names if (record := store.get(name)) is not None)
    told = [
        line
        for each in ended
        if each.status is not None
        for line in (f"######## {each.gang}", *log_tails(each.status))
    ]
    write_atomic(Path(logs), "\n".join(told).encode("utf-8", "replace"))
    found = Trials(differ=wanted.trials, ended=ended, records=records)
    write_atomic(Path(trials_out), encode(found, indent=2))
    return sum(each.outcome == "Succeeded" for each in ended)
