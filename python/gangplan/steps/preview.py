"""What a run would be admitted to, without asking for it."""

import uuid
from collections.abc import Mapping
from typing import Any

from gangplan import admission
from gangplan.config import Settings
from gangplan.errors import InvalidInput
from gangplan.kube.tfjob import gang
from gangplan.local.cluster import divide_machine
from gangplan.local.store import LocalStore
from gangplan.plan import Plan
from gangplan.record import new
from gangplan.report.explanation import Explanation, explain
from gangplan.snapshot import Snapshot
from gangplan.steps.admit import check_names, wanted_manifest
from gangplan.steps.parameters import Checker
from gangplan.steps.run import Run, clock, gang_name
from gangplan.steps.training import PARAMETERS
from gangplan.store import Cluster


def check_parameters(values: Mapping[str, Any], *, run_id: str, chosen: Settings) -> dict[str, Any]:
    """Check all parameters of a run before it starts, as its steps will.

    Args:
        values: All parameters of the pipeline ``train``.
        run_id: Id of the run.
        chosen: The settings.

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
        manifest = wanted_manifest(run, values["tfjob_yaml"], training)
    except InvalidInput as error:
        raise InvalidInput([*problems, *error.problems], error.source) from error
    check.raise_if_any()
    return manifest


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
    manifest = check_parameters(values, run_id=run_id, chosen=chosen)
    name = manifest["metadata"]["name"]
    now = clock()
    wanted = gang(manifest, created=int(now))
    store = LocalStore(chosen.store) if chosen.store.exists() else None
    nodes = cluster or (store.cluster() if store else None) or divide_machine()
    check_names(wanted, Cluster(snapshot=nodes))
    records = store.records() if store else ()
    record = new(wanted, uid=run_id, run_id=run_id, now=now)
    decided = admission.decide(nodes, [*records, record], now=now, terms=chosen.terms)
    return explain(name, decided.snapshot, decided.plan, kinds=decided.kinds), decided.plan
