"""gangplan tensorboard: what a job wrote for TensorBoard, in a browser of this machine."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from gangplan.cli import completion, exits, render
from gangplan.cli.options import Context, Home, Kubeconfig, Namespace
from gangplan.cli.place import Place
from gangplan.config import settings
from gangplan.errors import ClusterError
from gangplan.signals import interrupting, uninterrupted
from gangplan.tensorboard import PORT, WORD_S, address, claim_port, wait_for_answer

if TYPE_CHECKING:
    from gangplan.kube.api import Api
    from gangplan.kube.tensorboard import Board

LOOK_S = 2.0
"""Seconds between two looks whether it is still there."""


@exits.guarded
def tensorboard(
    job: Annotated[
        str, typer.Argument(metavar="JOB", help="Name of the gang.", autocompletion=completion.gang_that_ran)
    ],
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65535, help="Port of this machine; 0: any.")
    ] = PORT,
    detach: Annotated[
        bool,
        typer.Option("--detach", help="Leave it when it answers; the same command shows it again."),
    ] = False,
    delete: Annotated[bool, typer.Option("--delete", help="End the one that was left.")] = False,
    logdir: Annotated[
        str | None,
        typer.Option(
            "--logdir",
            help="Where it looks, as the job's containers see it; without it where the job's command says that it writes.",
        ),
    ] = None,
    volume: Annotated[
        list[str] | None,
        typer.Option(
            "--volume",
            help="CLAIM:PATH with the events, for a job that is gone or mounts others; repeatable.",
            autocompletion=completion.mount,
        ),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(
            "--image", help="Image with TensorBoard; without it that of the setting tensorboard_image."
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0, help="Seconds until it must answer.", metavar="SECONDS")
    ] = 300.0,
    home: Home = None,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show a job in TensorBoard until Ctrl-C, while it runs or afterwards.

    Of the local cluster, by a process of this machine; with -n, --kubeconfig or --context, as NAMESPACE/JOB, or with the
    setting cluster = "kubernetes", of a Kubernetes cluster: by a pod that mounts the job's volume and goes with its TFJob.

    Example: gangplan tensorboard mnist -n team --port 6006
    """
    if detach and delete:
        raise typer.BadParameter("contradicts --detach", param_hint="--delete")
    place = Place(home=home, kubeconfig=kubeconfig, context=context, namespace=namespace, names=(job,))
    if not place.is_cluster:
        given = {"--logdir": logdir, "--volume": volume, "--image": image}
        for flag, value in given.items():
            if value is not None:
                raise typer.BadParameter(
                    "is for a job of a Kubernetes cluster: add -n NAMESPACE", param_hint=flag
                )
        _local(place, job, port, detach=detach, delete=delete, timeout=timeout)
        return
    from gangplan.kube.client import connect
    from gangplan.kube.gang_object import split_name
    from gangplan.kube.names import see_that_it_is_a_name
    from gangplan.kube.own_namespace import own_namespace
    from gangplan.kube.showing import find_board, remove, see_that_it_is_allowed
    from gangplan.kube.volumes import parse_mounts

    meant = namespace or own_namespace(kubeconfig=kubeconfig, context=context)
    where, name = split_name(job) if "/" in job else (meant, job)
    see_that_it_is_a_name(where, of="namespace")
    see_that_it_is_a_name(name, of="gang")
    mounts = parse_mounts(volume or ())
    chosen = image or settings(home=home).tensorboard_image
    with connect(kubeconfig=kubeconfig, context=context) as connection:
        if delete:
            remove(connection, name, namespace=where)
            render.say(f"TensorBoard of {where}/{name} is deleted")
            return
        board = find_board(
            connection, name, namespace=where, image=chosen, folder=logdir or "", mounts=mounts
        )
        see_that_it_is_allowed(connection, where)
        asked = image is not None or logdir is not None or volume is not None
        _on_cluster(connection, board, port, detach=detach, as_asked=asked, timeout=timeout)


def _on_cluster(
    api: "Api", board: "Board", port: int, *, detach: bool, as_asked: bool, timeout: float
) -> None:
    from gangplan.kube.forward import forwarded
    from gangplan.kube.showing import Showing

    again = f"gangplan tensorboard {board.job} -n {board.namespace}"
    until = time.monotonic() + timeout
    showing = Showing(api, board, clock=time.monotonic, sleep=time.sleep, tell=render.progress)
    # Before anything is made: a port that is taken is told at once.
    door = None if detach else claim_port(port)
    with interrupting():
        try:
            showing.start(until=until, as_asked=as_asked)
            if door is None:
                showing.made = False
                render.say(
                    f"TensorBoard of {board.namespace}/{board.job} runs: {again} shows it, --delete ends it"
                )
                return
            with forwarded(api, board.name, namespace=board.namespace, port=PORT, door=door):
                _show(door.getsockname()[1], until, showing.look)
        finally:
            if door is not None:
                door.close()
            if showing.made:
                try:
                    with uninterrupted():
                        showing.end()
                except ClusterError:
                    render.progress(f"pod {board.name} may be left: {again} --delete ends it")
                    raise
                render.progress(f"pod {board.name} is deleted")


def _local(place: Place, gang: str, port: int, *, detach: bool, delete: bool, timeout: float) -> None:
    from gangplan.local.tensorboard import LocalTensorBoard

    board = LocalTensorBoard(settings(home=place.home), gang)
    if delete:
        board.end()
        render.say(f"TensorBoard of {gang} is ended")
        return
    there = board.running()
    if there is not None:
        render.say(address(there.port), now=True)
        render.progress(f"it was there already, and stays: gangplan tensorboard {gang} --delete ends it")
        return
    with claim_port(port) as door:
        free = door.getsockname()[1]
    until = time.monotonic() + timeout
    with interrupting():
        left = False
        try:
            board.start(free)
            if detach:
                _wait(free, until, board.look)
                render.say(address(free), now=True)
                render.progress(f"gangplan tensorboard {gang} --delete ends it")
                left = True
                return
            _show(free, until, board.look)
        finally:
            if not left and board.running() is not None:
                with uninterrupted():
                    board.end()


def _show(port: int, until: float, look: Callable[[], None]) -> None:
    """Print the address when it answers, and stay until Ctrl-C or until it is gone."""
    _wait(port, until, look)
    render.say(address(port), now=True)
    render.progress("Ctrl-C ends it")
    try:
        while True:
            time.sleep(LOOK_S)
            look()
    except KeyboardInterrupt:
        return  # the way to end it


def _wait(port: int, until: float, look: Callable[[], None]) -> None:
    began = said_at = time.monotonic()

    def looked() -> None:
        nonlocal said_at
        look()
        now = time.monotonic()
        if now - said_at >= WORD_S:
            said_at = now
            render.progress(f"TensorBoard does not answer yet, after {now - began:.0f} s")

    wait_for_answer(port, until=until, clock=time.monotonic, sleep=time.sleep, look=looked)
