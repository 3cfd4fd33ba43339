"""What a run would be admitted to, without asking for it."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from gangplan.config import Settings
from gangplan.errors import InvalidInput
from gangplan.kube.tfjob import gang
from gangplan.kube.volumes import Mount
from gangplan.local.cluster import divide_machine
from gangplan.local.store import LocalStore
from gangplan.plan import Plan
from gangplan.record import GangRecord
from gangplan.report.explanation import Explanation
from gangplan.snapshot import Snapshot
from gangplan.steps.admit import wanted_manifest
from gangplan.steps.parameters import Checker, joined
from gangplan.steps.place_only import tried
from gangplan.steps.run import Run, clock, gang_name
from gangplan.steps.training import PARAMETERS
from gangplan.store import Cluster


def check_parameters(
    values: Mapping[str, Any], *, run_id: str, chosen: Settings, mounts: Sequence[Mount] = ()
) -> dict[str, Any]:
    """Check all parameters of a run before it starts, as its steps will.

    Args:
        values: All parameters of the pipeline ``train``.
        run_id: Id of the run.
        chosen: The settings.
        mounts: What every replica mounts.

    Returns:
        The TFJob that the run would ask for.

    Raises:
        InvalidInput: Parameters are wrong; all of them are named.
    """
    check = Checker()
    check.whole("gang_wait_seconds", values["gang_wait_seconds"], at_least=0)
    check.whole("data_seed", values["data_seed"], at_least=0)
    name = gang_name(values["job_name"], run_id)
    run = Run(run_id=run_id, name=name, folder=chosen.volume / name, settings=chosen)
    training = {inner: values[outer] for outer, inner in PARAMETERS.items()}
    problems = check.problems()
    try:
        manifest = wanted_manifest(run, values["tfjob_yaml"], training, mounts=mounts)
    except InvalidInput as error:
        raise joined(problems, error) from error
    check.raise_if_any()
    return manifest


def preview(
    values: Mapping[str, Any], *, chosen: Settings, cluster: Snapshot | None
) -> tuple[Explanation, Plan]:
    """Decide on the gang of a training as things stand. Nothing is written.

    Args:
        values: All parameters of the pipeline ``train``.
        chosen: The settings.
        cluster: Virtual nodes; None: those of the store, or this machine divided.

    Raises:
        InvalidInput: Parameters are wrong; all of them are named.
    """
    run = unborn(values, chosen)
    return as_things_stand(
        check_parameters(values, run_id=run.run_id, chosen=chosen), run, cluster, tfjob=values["tfjob_yaml"]
    )


def as_things_stand(
    manifest: Mapping[str, Any], run: Run, cluster: Snapshot | None, *, tfjob: str
) -> tuple[Explanation, Plan]:
    """Decide on a gang of this machine beside those that wait and run there. Nothing is written.

    Args:
        manifest: Its TFJob.
        run: The run that would ask for it.
        cluster: Virtual nodes; None: those of the store, or this machine divided.
        tfjob: The user's own TFJob that describes it; empty: parameters do.

    Raises:
        InvalidInput: It names what the cluster does not know.
    """
    path = run.settings.store
    store = LocalStore(path) if path.exists() else None
    nodes = cluster or (store.cluster() if store else None) or divide_machine()
    return on_snapshot(manifest, run, nodes, store.records() if store else (), tfjob=tfjob)


def on_snapshot(
    manifest: Mapping[str, Any],
    run: Run,
    cluster: Snapshot,
    records: Sequence[GangRecord] = (),
    *,
    tfjob: str,
) -> tuple[Explanation, Plan]:
    """Decide on a gang beside what a snapshot holds. Nothing is written.

    Args:
        manifest: Its TFJob.
        run: The run that would ask for it.
        cluster: The cluster.
        records: Gangs that it does not hold.
        tfjob: The user's own TFJob that describes it; empty: parameters do.

    Raises:
        InvalidInput: It names what the cluster does not know.
    """
    now = clock()
    wanted = gang(manifest, created=int(now))
    decided, told = tried(wanted, Cluster(snapshot=cluster), records, run=run, now=now, tfjob=tfjob)
    return told, decided.plan


def unborn(values: Mapping[str, Any], chosen: Settings) -> Run:
    """The run that would have these parameters."""
    run_id = str(uuid.uuid4())
    name = gang_name(values["job_name"], run_id)
    return Run(run_id=run_id, name=name, folder=chosen.volume / name, settings=chosen)
