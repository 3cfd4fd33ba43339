"""place_only: whether a gang would fit, where it would lie, or which smallest change would let it in; nothing is asked for."""

import logging
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gangplan import admission
from gangplan.documents import encode, to_builtins, write_atomic
from gangplan.errors import InvalidInput, Problem
from gangplan.kube.tfjob import gang
from gangplan.node_choice import Decided
from gangplan.record import GangRecord, new
from gangplan.report.explanation import Explanation, explain
from gangplan.snapshot import Gang, Snapshot
from gangplan.steps import what_if
from gangplan.steps.admit import check_names
from gangplan.steps.outcome import NOT_ADMITTED, SUCCEEDED, Outcome
from gangplan.steps.parameters import Checker
from gangplan.steps.place import Manifest, place_of
from gangplan.steps.process import step
from gangplan.steps.result import RunResult
from gangplan.steps.run import Run, clock, open_run
from gangplan.store import Cluster

log = logging.getLogger(__name__)

PARAMETERS = what_if.GANG | what_if.CLUSTER
"""Parameters of the pipeline → what :func:`asked` calls them."""


def asked(run: Run, given: Mapping[str, Any]) -> tuple[Manifest, Snapshot | None]:
    """Check what is to be tried.

    Args:
        run: The run.
        given: The values of :data:`PARAMETERS`, by their second names.

    Returns:
        The TFJob, and the cluster; None: the live one.

    Raises:
        InvalidInput: Parameters are wrong; all of them are named.
    """
    check = Checker()
    manifest = what_if.gang_asked(run, given, check)
    cluster = what_if.cluster_asked(given, check)
    check.raise_if_any()
    assert manifest is not None, "nothing is wrong with it"
    return manifest, cluster


def tried(
    wanted: Gang, cluster: Cluster, records: Sequence[GangRecord], *, run: Run, now: float, tfjob: str
) -> tuple[Decided, Explanation]:
    """Decide on a gang beside all that wait and run, as the next admission cycle would.

    Args:
        wanted: The gang.
        cluster: The cluster.
        records: The gangs of it that are known.
        run: The run that would ask for it.
        now: Seconds since 1970.
        tfjob: The user's own TFJob that describes it; empty: parameters do.

    Raises:
        InvalidInput: It names what the cluster does not know, or contradicts itself.
    """
    check_names(wanted, cluster)
    record = new(wanted, uid=str(uuid.uuid4()), run_id=run.run_id, now=now)
    decided = admission.decide(
        cluster.snapshot,
        [*records, record],
        now=now,
        terms=run.settings.terms,
        members=cluster.members,
        gaps=cluster.gaps,
    )
    if (fault := decided.unsound.get(wanted.name)) is not None:
        asked_by = "tfjob_yaml" if tfjob.strip() else "role_worker_count"
        raise InvalidInput([Problem(asked_by, "BAD_VALUE", fault)], "run parameters")
    return decided, explain(wanted.name, decided.snapshot, decided.plan, kinds=decided.kinds)


@step
def place_only(
    *, run_id: str, job_name: str, volume: str, snapshot: str, plan: str, text: str, **given: Any
) -> Outcome:
    """Decide on a gang beside all that wait and run, as the next admission cycle would; nothing is written to the cluster.

    Args:
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
        snapshot: Path to write: the snapshot that the decision rests on.
        plan: Path to write: the plan.
        text: Path to write: the explanation, in Markdown.
        **given: What :func:`asked` takes.

    Returns:
        ``Succeeded`` if the gang would start now, else ``NotAdmitted``; and where it would lie, or why not.

    Raises:
        InvalidInput: Parameters are wrong; all of them are named.
    """
    run = open_run(run_id, job_name, volume)
    manifest, given_cluster = asked(run, given)
    now = clock()
    if given_cluster is None:
        with place_of(run) as place:
            cluster, records = place.view().read(), place.store().records()
            wanted = place.describe(manifest, now=now)
    else:
        cluster, records = Cluster(snapshot=given_cluster), ()
        wanted = gang(manifest, created=int(now))
    decided, told = tried(wanted, cluster, records, run=run, now=now, tfjob=given["tfjob"])
    for line in filter(None, told.as_text().splitlines()):
        log.info("%s", line)
    write_atomic(Path(snapshot), encode(decided.snapshot, indent=2))
    write_atomic(Path(plan), encode(decided.plan, indent=2))
    write_atomic(Path(text), told.as_markdown().encode())
    outcome = Outcome(SUCCEEDED if wanted.name in decided.plan.placements else NOT_ADMITTED, told.headline)
    run.folder.mkdir(parents=True, exist_ok=True)
    result = RunResult(
        run_id=run_id,
        gang=run.name,
        outcome=outcome.outcome,
        reason=outcome.reason,
        plan=to_builtins(decided.plan),
    )
    write_atomic(run.summary, encode(result, indent=2))
    return outcome
