"""gangplan storage nas, nfs, hostpath, list, check: volumes that all replicas of a job mount."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gangplan.cli import completion, exits, render
from gangplan.cli.options import Context, Everywhere, Kubeconfig, Namespace, Output

if TYPE_CHECKING:  # nobody else waits for the Kubernetes client
    from gangplan.kube.storage import HostPath, Nas, Nfs

app = typer.Typer(
    help="Make, list and check the volumes of a Kubernetes cluster that all replicas of a job mount.",
    no_args_is_help=True,
)
FOLDERS = "/var/lib/gangplan/volumes"
"""Where the folders of nodes are, unless a flag says it."""

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the claim, as --volume NAME:/PATH has it.")
]
Size = Annotated[
    str, typer.Option("--size", help="What is written down as its size; no server of files is held to it.")
]
Server = Annotated[str, typer.Option("--server", help="Name or address of the server.")]
Options = Annotated[
    list[str] | None, typer.Option("--mount-option", metavar="OPTION", help="How it is mounted. Repeatable.")
]
Apply = Annotated[bool, typer.Option("--apply", help="Make them on the cluster, and do not print them.")]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="With --apply: ask the server whether it would make them, and make nothing."
    ),
]


@app.command()
@exits.guarded
def nas(
    name: Name,
    server: Server,
    path: Annotated[str, typer.Option("--path", help="Folder on it.")] = "/",
    version: Annotated[str, typer.Option("--vers", help="Version of NFS.")] = "3",
    mount_option: Options = None,
    size: Size = "100Gi",
    namespace: Namespace = None,
    apply: Apply = False,
    dry_run: DryRun = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """A folder of Alibaba Cloud NAS, by its CSI driver: prints volume and claim, or makes them.

    Example: gangplan storage nas training --server 0a1b2c-xyz.cn-hangzhou.nas.aliyuncs.com --path /share/training
    """
    from gangplan.kube.storage import Nas

    place = Nas(server=server, path=path, version=version, options=tuple(mount_option or ()))
    _share(place, name, size, namespace, apply, dry_run, kubeconfig, context, output)


@app.command()
@exits.guarded
def nfs(
    name: Name,
    server: Server,
    path: Annotated[str, typer.Option("--path", help="Folder that it exports.")],
    version: Annotated[
        str, typer.Option("--vers", help="Version of NFS.", show_default="what both sides can")
    ] = "",
    by_driver: Annotated[
        bool,
        typer.Option(
            "--csi",
            help="Mount it by the driver nfs.csi.k8s.io, for nodes that have no mount.nfs themselves.",
        ),
    ] = False,
    mount_option: Options = None,
    size: Size = "100Gi",
    namespace: Namespace = None,
    apply: Apply = False,
    dry_run: DryRun = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """A folder of any NFS server: prints volume and claim, or makes them.

    Example: gangplan storage nfs training --server files.example.org --path /export/training --apply
    """
    from gangplan.kube.storage import Nfs

    options = tuple(mount_option or ())
    place = Nfs(server=server, path=path, version=version, options=options, by_driver=by_driver)
    _share(place, name, size, namespace, apply, dry_run, kubeconfig, context, output)


@app.command()
@exits.guarded
def hostpath(
    name: Name,
    path: Annotated[
        str | None,
        typer.Option(
            "--path", help="The folder; made where it is missing.", show_default=f"{FOLDERS}/NAMESPACE/NAME"
        ),
    ] = None,
    size: Size = "10Gi",
    namespace: Namespace = None,
    apply: Apply = False,
    dry_run: DryRun = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """A folder of the machine, for clusters of one machine: prints volume and claim, or makes them.

    Example: gangplan storage hostpath demo --apply
    """
    from gangplan.kube.own_namespace import own_namespace
    from gangplan.kube.storage import HostPath

    namespace = namespace or own_namespace(kubeconfig=kubeconfig, context=context)
    place = HostPath(path=path or f"{FOLDERS}/{namespace}/{name}")
    _share(place, name, size, namespace, apply, dry_run, kubeconfig, context, output)


def _share(
    place: "HostPath | Nas | Nfs",
    name: str,
    size: str,
    namespace: str | None,
    apply: bool,
    dry_run: bool,
    kubeconfig: Path | None,
    context: str | None,
    output: render.Format,
) -> None:
    """Print or make the volume and the claim."""
    from gangplan.kube.client import connect
    from gangplan.kube.own_namespace import own_namespace
    from gangplan.kube.provision import provide, until_bound
    from gangplan.kube.storage import HostPath, Share, see_that_it_can_be

    where = namespace or own_namespace(kubeconfig=kubeconfig, context=context)
    share = Share(name=name, namespace=where, size=size, place=place)
    see_that_it_can_be(share)
    if dry_run and not apply:
        raise typer.BadParameter(
            "goes with --apply: without it nothing is made anyway", param_hint="--dry-run"
        )
    if isinstance(place, HostPath):
        note = f"{place.path} is a folder of each node by itself: on several machines each replica would see its own"
        render.progress(f"note: {note}; use gangplan storage nfs or nas there")
    documents = [share.volume(), share.claim()]
    if not apply:
        if output is render.Format.JSON:
            render.emit({"apiVersion": "v1", "kind": "List", "items": documents}, output)
        else:
            render.emit_all(documents)
        return
    with connect(kubeconfig=kubeconfig, context=context) as connection:
        done = provide(connection, share, dry_run=dry_run)
        try:
            unbound = (
                None if dry_run else until_bound(connection, share, sleep=time.sleep, tell=render.progress)
            )
        except KeyboardInterrupt:
            there = f"volume {share.volume_name} and claim {where}/{name} are there, and not bound yet"
            again = f"gangplan storage check {name} -n {where} looks again"
            raise KeyboardInterrupt(f"{there}; {again}") from None
    if output is not render.Format.TABLE:
        named = {"volume": share.volume_name, "claim": f"{share.namespace}/{share.name}"}
        told = {what: {"name": each, "how": getattr(done, what)} for what, each in named.items()}
        why = {} if unbound is None else {"why_unbound": {"text": unbound.text, "cure": unbound.cure}}
        render.emit({**told, "written": not dry_run, "bound": not dry_run and unbound is None, **why}, output)
    else:
        would = "would be " if dry_run else ""
        render.say(f"volume {share.volume_name}: {would}{done.volume}")
        bound = "" if dry_run else f", {unbound.text}" if unbound else " and bound"
        render.say(f"claim {share.namespace}/{share.name}: {would}{done.claim}{bound}")
        if unbound is not None and unbound.cure:
            render.progress(f"what to do: {unbound.cure}")
        elif not dry_run:
            render.progress(f"replicas mount it with --volume {share.name}:/PATH")
    if unbound is not None:
        raise typer.Exit(exits.NO)


@app.command(name="list")
@exits.guarded
def list_storage(
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """List claims: whether they are bound, how they may be mounted, and who mounts them.

    Example: gangplan storage list -A
    """
    from gangplan.kube.claims import list_claims
    from gangplan.kube.client import connect
    from gangplan.kube.own_namespace import own_namespace

    where = "" if everywhere else namespace or own_namespace(kubeconfig=kubeconfig, context=context)
    with connect(kubeconfig=kubeconfig, context=context) as connection:
        found = list_claims(connection, namespace=where)
    if output is not render.Format.TABLE:
        render.emit(found, output)
        return
    if not found:
        render.say("no claims")
        return
    rows = [
        (
            f"{use.namespace}/{use.name}" if everywhere else use.name,
            use.phase,
            ", ".join(use.modes) or "–",
            use.size or "–",
            use.storage_class or "–",
            use.volume or "–",
            ", ".join(use.users) or "–",
        )
        for use in found
    ]
    render.table(("claim", "status", "modes", "size", "class", "volume", "mounted by"), rows)


@app.command()
@exits.guarded
def check(
    name: Annotated[
        str, typer.Argument(metavar="CLAIM", help="Name of the claim.", autocompletion=completion.claim)
    ],
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Say whether a job of several nodes could use a claim, and if not, why; exit code 1 then.

    Example: gangplan storage check training -n vision
    """
    from gangplan.kube.claims import check_claim
    from gangplan.kube.client import connect
    from gangplan.kube.names import see_that_it_is_a_name
    from gangplan.kube.own_namespace import own_namespace

    where = namespace or own_namespace(kubeconfig=kubeconfig, context=context)
    see_that_it_is_a_name(name, of="claim")
    see_that_it_is_a_name(where, of="namespace")
    with connect(kubeconfig=kubeconfig, context=context) as connection:
        checked = check_claim(connection, name, namespace=where)
    use = checked.claim
    if output is not render.Format.TABLE:
        render.emit({"claim": use, "usable": checked.is_usable, "findings": checked.findings}, output)
    else:
        bound = f"{use.phase} to {use.volume}" if use.volume else use.phase
        of = f"class {use.storage_class}" if use.storage_class else "no class"
        render.say(f"{where}/{name}: {bound}, {', '.join(use.modes) or 'no access mode'}, {use.size}, {of}")
        mounted = [f"{item.pod}{f' on {item.node}' if item.node else ''}" for item in use.mounted_by]
        render.say(f"mounted by: {', '.join(mounted) or 'nobody'}")
        for finding in checked.findings:
            cure = f"; {finding.cure}" if finding.cure else ""
            render.say(f"{'obstacle' if finding.is_obstacle else 'note'}: {finding.text}{cure}")
        can = "can" if checked.is_usable else "cannot"
        render.say(f"a job of several nodes {can} use it")
    if not checked.is_usable:
        raise typer.Exit(exits.NO)
