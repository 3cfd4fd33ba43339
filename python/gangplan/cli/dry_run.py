"""What submit would do: the manifest that it would send, and where its gang would go now."""

import time
from typing import TYPE_CHECKING

import typer

from gangplan.cli import exits, render
from gangplan.config import settings
from gangplan.record import new
from gangplan.report.explanation import explain

if TYPE_CHECKING:  # nobody else waits for the Kubernetes client
    from gangplan.kube.cluster import KubeCluster
    from gangplan.kube.submission import Submission

THE_MANIFEST = "As it would be sent: add -o yaml"


def show(cluster: "KubeCluster", wanted: "Submission", output: render.Format, *, taken: str) -> None:
    """Decide on a submission as things stand; nothing is written.

    As a table it is the verdict, as YAML the manifest alone, with the verdict on stderr, as JSON both and what they rest on.

    Args:
        cluster: The cluster.
        wanted: What would be submitted.
        output: How to print it.
        taken: Why its name cannot be had; empty: it can.

    Raises:
        Exit: It would not start now.
    """
    from gangplan.kube.quotas import in_the_way
    from gangplan.kube.tfjob import write

    now, name = time.time(), wanted.gang.name
    record = new(wanted.gang, uid="", run_id=wanted.run_id, now=now)
    decided = cluster.decided(now=now, terms=settings().terms, also=record)
    plan, problem = decided.plan, decided.unsound.get(name)
    verdict = (
        explain(name, decided.snapshot, plan, kinds=decided.kinds).as_text()
        if problem is None
        else f"{name} would wait for ever: {problem}"
    )
    if quotas := in_the_way(cluster.api, plan.rejections.get(name), namespace=wanted.namespace):
        verdict = f"{verdict}\n\n{quotas[0].upper()}{quotas[1:]}"
    if taken:
        verdict = f"{verdict}\n\nIts name is taken: {taken}"
    if output is render.Format.JSON:
        answer = {"placement": plan.placements.get(name), "rejection": plan.rejections.get(name)}
        more = {"unsound": problem, "kind": decided.kinds.get(name), "taken": taken or None}
        render.emit({"manifest": wanted.manifest, **answer, **more}, output)
    elif output is render.Format.YAML:
        render.say(write(wanted.manifest))
        render.progress(verdict)
    else:
        render.say(f"{verdict}\n\n{THE_MANIFEST}")
    if taken or name not in plan.placements:
        raise typer.Exit(exits.NO)
