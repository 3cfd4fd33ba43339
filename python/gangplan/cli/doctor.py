"""gangplan doctor: what a cluster lacks, before a job fails for it."""

import time
from typing import Annotated

import typer

import gangplan
from gangplan.cli import completion, exits, render
from gangplan.cli.options import Context, Kubeconfig, Namespace, Output
from gangplan.config import Enforcement, settings
from gangplan.kube.doctor.finding import Finding
from gangplan.report.wording import count

SIGNS = {"ok": "ok", "note": "note", "warning": "warning", "fault": "FAULT"}


@exits.guarded
def doctor(
    namespace: Namespace = None,
    volume: Annotated[
        str,
        typer.Option(
            "--volume", metavar="CLAIM", help="A claim that jobs mount.", autocompletion=completion.claim
        ),
    ] = "",
    queue: Annotated[
        str,
        typer.Option("--queue", help="A queue that jobs wait in.", autocompletion=completion.queue),
    ] = "",
    enforcement: Annotated[
        Enforcement | None,
        typer.Option(
            help="Who is to bind the pods: the scheduler that the cluster has (default), or volcano."
        ),
    ] = None,
    image: Annotated[
        str, typer.Option("--image", help="Let a node pull this image: a pod of it is made and removed.")
    ] = "",
    pipelines: Annotated[
        str,
        typer.Option("--pipelines", metavar="URL", help="Where the API of Kubeflow Pipelines is served."),
    ] = "",
    probe: Annotated[
        bool,
        typer.Option(
            "--probe/--no-probe", help="Make a TFJob whose pod never starts, see what becomes of it."
        ),
    ] = True,
    skip: Annotated[
        list[str] | None,
        typer.Option(
            "--skip",
            metavar="CHECK",
            help="Leave out what the second column names. Repeatable.",
            autocompletion=completion.check,
        ),
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Examine a Kubernetes cluster: whether a job in a namespace would run, and the command that mends what it lacks.

    Example: gangplan doctor -n team --volume training --queue research

    Ends with 1 if a job would fail.
    """
    from gangplan.kube.client import connect
    from gangplan.kube.doctor.checks import examine
    from gangplan.kube.doctor.exam import Exam
    from gangplan.kube.own_namespace import own_namespace

    found: list[Finding] = []
    with connect(kubeconfig=kubeconfig, context=context) as connection:
        exam = Exam(
            api=connection,
            namespace=namespace or own_namespace(kubeconfig=kubeconfig, context=context),
            clock=time.time,
            sleep=time.sleep,
            tell=render.progress,
            probe=probe,
            enforcement=settings(enforcement=enforcement).enforcement,
            claim=volume,
            queue=queue,
            image=image,
            pipelines=pipelines,
        )
        for finding in examine(exam, gangplan.__version__, skip=skip or ()):
            found.append(finding)
            if output is render.Format.TABLE:
                _tell(finding)
    counts = {level: sum(finding.level == level for finding in found) for level in SIGNS}
    if output is render.Format.TABLE:
        render.say(
            f"\n{', '.join(count(counts[level], level) for level in ('fault', 'warning', 'note'))}: "
            + ("a job would fail" if counts["fault"] else "a job can run")
        )
    else:
        render.emit({"healthy": not counts["fault"], "findings": found}, output)
    if counts["fault"]:
        raise typer.Exit(exits.NO)


def _tell(finding: Finding) -> None:
    render.say(f"{SIGNS[finding.level]:8}{finding.check:12}{finding.what}", now=True)
    for word, text in (("why", finding.why), ("cure", finding.cure)):
        if text:
            render.say(f"{'':20}{word + ':':6}{text}", now=True)
