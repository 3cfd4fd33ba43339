"""gangplan submit: a TFJob runs on the cluster as a gang: whole and near together, or it waits and says why."""

import sys
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gangplan.cli import completion, exits, render
from gangplan.cli.dry_run import show
from gangplan.cli.flag_groups import takes
from gangplan.cli.job_flags import JobFlags, manifest_of, told_by_flags
from gangplan.cli.options import Context, Kubeconfig, Output
from gangplan.cli.pod_flags import PodFlags
from gangplan.cli.repeats import Repeats
from gangplan.cli.where_it_runs import where_it_runs
from gangplan.config import Enforcement, settings
from gangplan.errors import AlreadyExists, Forbidden, InvalidInput, Problem
from gangplan.plan import Rejection
from gangplan.record import HOLDING, GangRecord
from gangplan.signals import BY_USER, ended_by, interrupting, uninterrupted

if TYPE_CHECKING:  # nobody else waits for the Kubernetes client
    from gangplan.kube.api import Api
    from gangplan.kube.cluster import KubeCluster
    from gangplan.kube.entry import Retries
    from gangplan.kube.follow import Following
    from gangplan.kube.submission import Submission

BOUND, NOT_ADMITTED = "Bound", "NotAdmitted"

FIRST_CONTACT_S = 10.0
"""Seconds for which a server may not answer at the beginning: then its address is wrong, or it is down. Later, while the
gang waits or runs, it is waited for much longer."""


@exits.guarded
@takes(PodFlags, "pods")
@takes(JobFlags, "job")
def submit(
    job: JobFlags,
    pods: PodFlags,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE | -- COMMAND...",
            help="The TFJob, in YAML or JSON, - is stdin; or, with --name, what its replicas run.",
            show_default=False,
        ),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace",
            "-n",
            help="Where it goes; not needed where the file says so.",
            show_default="that of the kubeconfig's context",
        ),
    ] = None,
    wait_s: Annotated[
        int, typer.Option("--queue-wait", min=0, help="Seconds to wait for admission before giving up.")
    ] = 3600,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Follow the job to its end, not only until all replicas have a node."),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Say where it would go now, with -o yaml the manifest; change nothing."
        ),
    ] = False,
    volumes: Annotated[
        list[str] | None,
        typer.Option(
            "--volume",
            metavar="CLAIM:/PATH",
            help="A PersistentVolumeClaim that every replica mounts there. Repeatable.",
            autocompletion=completion.mount,
        ),
    ] = None,
    enforcement: Annotated[
        Enforcement | None,
        typer.Option(help="Who binds the pods: the scheduler that the cluster has (default), or volcano."),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run-id",
            metavar="ID",
            help="Id of the run. An earlier call with it that was killed is gone on with: nothing is done twice.",
        ),
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Run a TFJob as a gang: all of its replicas get their nodes together, or it waits and says why.

    The TFJob is that of a file, or flags describe it. With --wait the logs of its replicas are kept, a file each, in
    logs/NAMESPACE/ of the local folder.

    Example: gangplan submit examples/mnist-tfjob.yaml --wait

    Example: gangplan submit --name mnist --image trainer:1 --workers 4 --worker-gpus 1 --ps 1 -- python train.py
    """
    from gangplan.kube.client import connect
    from gangplan.kube.cluster import KubeCluster
    from gangplan.kube.entry import until_answered
    from gangplan.kube.names import see_that_it_is_a_name, see_that_it_is_a_run_id
    from gangplan.kube.own_namespace import own_namespace
    from gangplan.kube.progress import helping
    from gangplan.kube.shapes import as_it_stands
    from gangplan.kube.submission import submission

    run_id = run or uuid.uuid4().hex
    see_that_it_is_a_run_id(run_id, path="--run-id")
    manifest = pods.told(_manifest(job, words or [], volumes or [], run_id))
    if namespace:
        see_that_it_is_a_name(namespace, of="namespace")
    said = manifest["metadata"].get("namespace")
    if namespace and said and said != namespace:
        message = f"is {said}, and --namespace {namespace}: give one of both"
        raise InvalidInput(
            [Problem("$.metadata.namespace", "CONTRADICTION", message)], words[0] if words else "TFJob"
        )
    with told_by_flags(job.sizes()) if job.given else nullcontext():
        asked = submission(
            manifest,
            namespace=namespace or own_namespace(kubeconfig=kubeconfig, context=context),
            run_id=run_id,
            now=time.time(),
            enforcement=settings(enforcement=enforcement).enforcement,
        )
    with connect(kubeconfig=kubeconfig, context=context) as connection:
        with told_by_flags(job.sizes()) if job.given else nullcontext():
            taken, taken_by = until_answered(
                lambda: _acceptable(connection, asked, dry_run=dry_run, is_again=run is not None),
                _retries(FIRST_CONTACT_S),
            )
        cluster = KubeCluster(connection, clock=time.time, monotonic=time.monotonic)
        wanted = until_answered(
            lambda: as_it_stands(taken, cluster, cluster.store(), now=time.time(), terms=settings().terms),
            _retries(FIRST_CONTACT_S),
        )
        for note in wanted.notes:
            render.progress(f"note: {note}")
        if dry_run:
            show(cluster, wanted, output, taken=taken_by or _waits_already(cluster, wanted))
            return
        with interrupting():
            answer = _answered(cluster, wanted, wait_s, to_the_end=wait)
    if output is not render.Format.TABLE:
        render.emit(answer, output)
    elif answer.outcome == NOT_ADMITTED:
        refused = [f"{answer.name}: not admitted: {answer.reason}", *helping(answer.rejection)]
        render.say("\n  ".join(refused))
    elif answer.outcome == BOUND:
        render.say(where_it_runs(wanted.namespace, wanted.name, answer.placement or {}))
    else:
        render.say("\n  | ".join([f"{answer.name}: {answer.outcome}: {answer.reason}", *answer.last_lines]))
    if answer.outcome != BOUND and (code := exits.code_of_outcome(answer.outcome)):
        raise typer.Exit(code)


def _manifest(job: JobFlags, words: list[str], volumes: list[str], run_id: str) -> dict[str, Any]:
    """The TFJob of a file or of flags, with its volumes."""
    from gangplan.kube.tfjob import read
    from gangplan.kube.volumes import Mount, mounted, parse_mounts

    mounts: tuple[Mount, ...] = ()
    wrong: tuple[Problem, ...] = ()
    try:
        mounts = parse_mounts(volumes)
    except InvalidInput as error:
        if not job.given:
            raise
        wrong = error.problems
    if job.given:
        if len(words) == 1 and words[0].endswith((".yaml", ".yml", ".json")):
            raise typer.BadParameter(
                f"{words[0]} does not go with {', '.join(job.given)}: a file says these itself",
                param_hint="FILE",
            )
        manifest = manifest_of(job, words, run_id=run_id, before=wrong)
    elif len(words) != 1:
        wanted = "needs a file, or --name, --image and --workers and so on before -- COMMAND"
        raise typer.BadParameter(wanted, param_hint="FILE")
    else:
        source = "stdin" if words[0] == "-" else words[0]
        data = sys.stdin.buffer.read() if words[0] == "-" else Path(source).read_bytes()
        manifest = read(data.decode("utf-8", "replace"), source)
    return mounted(manifest, mounts) if mounts else manifest


def _retries(seconds: float) -> "Retries":
    from gangplan.kube.entry import Retries
    from gangplan.kube.follow import POLL_S

    return Retries(
        deadline=time.time() + seconds,
        clock=time.time,
        sleep=time.sleep,
        poll_s=POLL_S,
        on_trouble=_teller(),
    )


def _acceptable(
    api: "Api", asked: "Submission", *, dry_run: bool, is_again: bool
) -> tuple["Submission", str]:
    """The submission as this cluster can take it; in a dry run also by whom its name is taken, empty: it is free."""
    from gangplan.kube.entry import see_that_it_is_taken
    from gangplan.kube.limit_ranges import see_that_limits_allow
    from gangplan.kube.priority import with_priority
    from gangplan.kube.quota_needs import see_that_quotas_are_told
    from gangplan.kube.same_run import see_that_no_other_has_it
    from gangplan.kube.volcano_queue import with_volcano_queue
    from gangplan.kube.volumes import with_claims

    if is_again:
        see_that_no_other_has_it(api, asked.gang, asked.run_id)
    wanted = with_volcano_queue(api, with_priority(api, with_claims(api, asked)))
    try:
        see_that_it_is_taken(api, wanted)
        see_that_quotas_are_told(api, wanted)
        see_that_limits_allow(api, wanted)
    except Forbidden as error:
        if not dry_run:
            raise
        render.progress(f"whether the server would take the TFJob is not known: {error}")
    except AlreadyExists as error:
        if not dry_run:
            raise
        return wanted, str(error)
    return wanted, ""


def _waits_already(cluster: "KubeCluster", wanted: "Submission") -> str:
    """Whose gang has the name; empty: nobody's that has not finished, or it is this run's."""
    from gangplan.kube.entry import name_is_taken

    found = cluster.store().get(wanted.gang.name)
    is_free = found is None or found.phase == "Finished" or found.run_id == wanted.run_id
    return "" if found is None or is_free else str(name_is_taken(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What became of a submission.

    Attributes:
        name: Name of the gang, with its namespace.
        run_id: Id of its run.
        placement: Where it had room last, Role → nodes; None: it had none.
        outcome: ``Bound``, ``NotAdmitted``, or how its job ended.
        reason: Why, in a sentence.
        last_lines: The last lines of the replica that failed.
        rejection: Why it was not admitted.
    """

    name: str
    run_id: str
    placement: Mapping[str, tuple[str, ...]] | None = None
    outcome: str
    reason: str
    last_lines: tuple[str, ...] = ()
    rejection: Rejection | None = None


def _refused(cluster: "KubeCluster", wanted: "Submission", wait_s: int) -> _Answer | None:
    """Wait for admission; what is to be told if it is not admitted."""
    from gangplan.admission import Decision, run_cycle
    from gangplan.kube.entry import enter, until_answered
    from gangplan.kube.follow import POLL_S
    from gangplan.kube.progress import waiting
    from gangplan.kube.quotas import in_the_way
    from gangplan.record import new
    from gangplan.verdict import wait

    store, now, chosen = cluster.store(), time.time(), settings()
    asked = new(wanted.gang, uid="", run_id=wanted.run_id, now=now)
    entering = replace(asked, kept_until=now + chosen.terms.waiter_s)

    def settle() -> Decision | None:
        return run_cycle(store, cluster, now=time.time(), terms=chosen.terms)

    record = until_answered(
        lambda: enter(store, entering, settle=settle, pause=lambda: time.sleep(POLL_S)), _retries(wait_s)
    )
    if record.phase in HOLDING or record.phase == "Finished":
        return None  # by an earlier call of the run; what became of it since, its job tells
    rejection: Rejection | None = None

    def show(record: GangRecord) -> None:
        nonlocal rejection
        rejection = record.rejection
        render.progress(waiting(record))

    verdict = wait(
        store,
        cluster,
        record,
        clock=time.time,
        sleep=time.sleep,
        terms=chosen.terms,
        deadline=now + wait_s,
        poll_s=max(chosen.poll_s, POLL_S),
        on_change=show,
        on_trouble=_teller(),
    )
    if verdict.admitted:
        return None
    return _Answer(
        name=wanted.gang.name,
        run_id=wanted.run_id,
        outcome="Canceled" if verdict.deleted else NOT_ADMITTED,
        reason="; ".join(
            filter(None, (verdict.reason, in_the_way(cluster.api, rejection, namespace=wanted.namespace)))
        ),
        rejection=rejection,
    )


def _teller() -> Callable[[Exception], None]:
    """Tells of troubles, of one that lasts once a minute."""
    repeats = Repeats()

    def tell(error: Exception) -> None:
        if repeats.is_new(str(error)):
            render.progress(f"asking again: {error}")

    return tell


def _answered(cluster: "KubeCluster", wanted: "Submission", wait_s: int, *, to_the_end: bool) -> _Answer:
    """Admit and launch; whatever ends it before the gang is bound, nothing is left.

    Raises:
        KeyboardInterrupt: Ctrl-C; it tells whether the job goes on.
    """
    following = _following(cluster, wanted)  # before the gang is entered: it takes a while
    is_admitted = False
    try:
        refused = _refused(cluster, wanted, wait_s)
        if refused is not None:
            return refused
        is_admitted = True
        return _launched(following, wanted, to_the_end=to_the_end)
    except KeyboardInterrupt:
        with uninterrupted():
            left = following.cancel(BY_USER)
        raise KeyboardInterrupt(_left(wanted, left, goes_on=following.is_bound)) from None
    except BaseException as error:
        if is_admitted:  # else it has left the queue already, as far as the server let it
            with uninterrupted():
                following.cancel(ended_by(error))
        raise


def _left(wanted: "Submission", left: str, *, goes_on: bool) -> str:
    if not goes_on:
        return left or "nothing is left of it"
    where = f"{wanted.name} -n {wanted.namespace}"
    return f"the job goes on; follow it with: gangplan logs -f {where}, end it with: gangplan delete {where}"


def _following(cluster: "KubeCluster", wanted: "Submission") -> "Following":
    from gangplan.kube.follow import Following
    from gangplan.kube.kept_log import kept_folder

    chosen = settings()
    return Following(
        cluster,
        wanted,
        folder=kept_folder(chosen.logs, wanted.namespace, wanted.name, wanted.run_id),
        chosen=chosen,
        tell=render.progress,
        sleep=time.sleep,
    )


def _launched(following: "Following", wanted: "Submission", *, to_the_end: bool) -> _Answer:
    from gangplan.kube.job_status import LAST_LINES

    end = following.run() if to_the_end else following.run_until_bound()
    return _Answer(
        name=wanted.gang.name,
        run_id=wanted.run_id,
        placement=following.placement,
        outcome=end.outcome if end else BOUND,
        reason=end.reason if end else "all replicas have their nodes",
        last_lines=following.keeper.last_lines(end.replica, LAST_LINES) if end and end.replica else (),
    )
