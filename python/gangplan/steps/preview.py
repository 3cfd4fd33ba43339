"""What a run would be admitted to, without asking for it."""

import uuid
from collections.abc import Mapping
from typing import Any

from gangplan import admission
from gangplan.config import Settings
from gangplan.kube.tfjob import gang
from gangplan.local.cluster import divide_machine
from gangplan.local.store import LocalStore
from gangplan.plan import Plan
from gangplan.record import new
from gangplan.report.explanation import Explanation, explain
from gangplan.snapshot import Snapshot
from gangplan.steps.admit import check_names, wanted_manifest
from gangplan.steps.run import Run, clock, gang_name
from gangplan.steps.training import PARAMETERS


def preview(
    values: Mapping[str, Any], *, chosen: Settings, cluster: Snapshot | None
) -> tuple[Explanation, Plan]:
    """Decide on the run's gang as things stand. Nothing is written.

    Args:
        values: All parameters of the pipeline ``train``.
        chosen: The settings.
        cluster: Virtual nodes; None: those of the store, or this machine divided.

    Raises:
        InvalidInput: Parameters are wrong; all of them are named.
    """
    run_id = str(uuid.uuid4())
    name = gang_name(values["job_name"], run_id)
    run = Run(run_id=run_id, name=name, folder=chosen.volume / name, settings=chosen)
    training = {inner: values[outer] for outer, inner in PARAMETERS.items()}
    manifest = wanted_manifest(run, values["tfjob_yaml"], training)
    now = clock()
    wanted = gang(manifest, created=int(now))
    store = LocalStore(chosen.store) if chosen.store.exists() else None
    nodes = cluster or (store.cluster() if store else None) or divide_machine()
    check_names(wanted, nodes)
    records = store.records() if store else ()
    record = new(wanted, uid=run_id, run_id=run_id, now=now)
    snapshot, plan, _ = admission.decide(nodes, [*records, record])
    return explain(name, snapshot, plan), plan
