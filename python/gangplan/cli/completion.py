"""What is offered when Tab is pressed: names that the command can be meant for.

Nothing is offered where it takes long or cannot be found out, and nothing is ever printed but what is offered: it would
land in the middle of the line that is being typed.
"""

import contextlib
import io
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gangplan.cli.place import Place
from gangplan.config import settings
from gangplan.record import WAITING, GangRecord

if TYPE_CHECKING:  # nobody else waits for the Kubernetes client
    from gangplan.kube.api import Api

LONGEST_S = 2.0
"""Seconds that it may take: who presses Tab waits for it."""

USUAL = "train"
"""The pipeline that is meant where none is named."""

Complete = Callable[[typer.Context, str], list[str]]


def _offered(find: Callable[[], Iterable[str]], incomplete: str) -> list[str]:
    """What is found in time and begins as the word that is being typed."""
    found: list[str] = []

    def ask() -> None:
        with contextlib.suppress(Exception):
            found.extend(find())

    with contextlib.redirect_stderr(io.StringIO()):
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(LONGEST_S)
    return sorted({word for word in tuple(found) if word.startswith(incomplete)})


def _place(given: dict[str, Any], *names: str) -> Place:
    return Place(
        home=given.get("home"),
        kubeconfig=given.get("kubeconfig"),
        context=given.get("context"),
        namespace=given.get("namespace"),
        everywhere=bool(given.get("everywhere")) or any("/" in name for name in names),
        names=names,
    )


@contextlib.contextmanager
def _cluster(given: dict[str, Any]) -> "Iterator[tuple[Api, str]]":
    """The Kubernetes cluster that is meant, and the namespace there."""
    from gangplan.kube.client import connect
    from gangplan.kube.own_namespace import own_namespace

    where = {"kubeconfig": given.get("kubeconfig"), "context": given.get("context")}
    with connect(**where) as connection:
        yield connection, given.get("namespace") or own_namespace(**where)


# ---- gangs


def _records(place: Place) -> tuple[GangRecord, ...]:
    """The records of gangs; on this machine none where there is no store yet, and none is made."""
    if not place.is_cluster and not settings(home=place.home).store.exists():
        return ()
    with place.open() as gangs:
        return gangs.records()


def _gangs(meant: Callable[[GangRecord, bool], bool]) -> Complete:
    """Names of gangs that a command can be meant for.

    Args:
        meant: Whether it can, of a gang and of whether it is on a Kubernetes cluster.
    """

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        given = dict(context.params)
        with_namespace = "/" in incomplete
        typed = set(given.get("names") or ())
        place = _place(given, incomplete)

        def find() -> Iterator[str]:
            for record in _records(place):
                name = record.name if with_namespace else record.name.rpartition("/")[2]
                if name not in typed and meant(record, place.is_cluster):
                    yield name

        return _offered(find, incomplete)

    return complete


def _can_be_suspended(record: GangRecord, on_cluster: bool) -> bool:
    return record.phase in WAITING or (on_cluster and record.phase not in {"Suspended", "Finished"})


gang = _gangs(lambda *_: True)
gang_to_suspend = _gangs(_can_be_suspended)
gang_to_resume = _gangs(lambda record, _: record.phase == "Suspended")
gang_to_explain = _gangs(lambda record, _: record.phase != "Finished")
gang_that_ran = _gangs(lambda record, _: "Bound" in {record.phase, *(past.phase for past in record.history)})


def replica(context: typer.Context, incomplete: str) -> list[str]:
    """Replicas of the gang that is named before."""
    given = dict(context.params)
    name = given.get("name") or ""

    def find() -> Iterator[str]:
        for record in _records(_place(given, name)):
            if name in {record.name, record.name.rpartition("/")[2]}:
                for role in record.gang.roles:
                    yield from (f"{role.name}-{index}" for index in range(role.replicas))

    return _offered(find, incomplete)


# ---- of a Kubernetes cluster


def queue(context: typer.Context, incomplete: str) -> list[str]:
    """Queues of the cluster, Volcano's too."""

    def find() -> Iterator[str]:
        from gangplan.errors import Forbidden, NotInstalled
        from gangplan.kube.kinds import GANG_QUEUE, VOLCANO_QUEUE

        with _cluster(dict(context.params)) as (api, _):
            for kind in (GANG_QUEUE, VOLCANO_QUEUE):
                with contextlib.suppress(NotInstalled, Forbidden):
                    yield from (item["metadata"]["name"] for item in api.list(kind).items)

    return _offered(find, incomplete)


def claim(context: typer.Context, incomplete: str) -> list[str]:
    """Claims of the namespace."""

    def find() -> Iterator[str]:
        from gangplan.kube.kinds import CLAIM

        with _cluster(dict(context.params)) as (api, namespace):
            yield from (item["metadata"]["name"] for item in api.list(CLAIM, namespace=namespace).items)

    return _offered(find, incomplete)


def mount(context: typer.Context, incomplete: str) -> list[str]:
    """Claims of the namespace with the beginning of a path behind them."""
    return (
        [f"{name}:/" for name in claim(context, incomplete.partition(":")[0])]
        if ":" not in incomplete
        else []
    )


def resource(context: typer.Context, incomplete: str) -> list[str]:
    """Resources that nodes have; of a large cluster those of its first nodes, which are mostly like the others."""
    given = dict(context.params)

    def find() -> Iterator[str]:
        from gangplan.cli.solve import read_snapshot

        place = _place(given)
        if given.get("file"):
            amounts = [node.allocatable for node in read_snapshot(given["file"]).nodes]
        elif place.is_cluster:
            from gangplan.documents import decode
            from gangplan.kube.kinds import NODE

            with _cluster(given) as (api, _):
                page = decode(next(iter(api.pages(NODE))), dict[str, Any])
            amounts = [(item.get("status") or {}).get("allocatable") or {} for item in page["items"]]
        else:
            from gangplan.local.cluster import divide_machine

            amounts = [node.allocatable for node in divide_machine().nodes]
        yield from {name for of_node in amounts for name in of_node}

    return _offered(find, incomplete)


def check(incomplete: str) -> list[str]:
    """Checks of doctor, and what they tell of."""

    def find() -> Iterator[str]:
        from gangplan.kube.doctor.checks import MATTERS, checks

        yield from (*checks(""), *MATTERS)

    return _offered(find, incomplete)


# ---- of this machine


def profile(incomplete: str) -> list[str]:
    """Profiles that come with gangplan, and those of the user."""
    from gangplan.cli.profiles import names

    return _offered(names, incomplete)


def pipeline(incomplete: str) -> list[str]:
    """Pipelines that the package carries; a file is completed by the shell."""
    from gangplan.pipeline import all_packaged

    return _offered(lambda: (file.stem for file in all_packaged()), incomplete)


def parameter(context: typer.Context, incomplete: str) -> list[str]:
    """Parameters of the pipeline that is named, up to their equals sign, and the values of one that has a choice."""
    given = dict(context.params)
    # Where the option that is being typed has no value yet, words before it are not read as arguments.
    words = [word for word in context.args if not word.startswith("-")]
    name = str(next(iter(words), None) or given.get("pipeline") or given.get("name") or USUAL)
    chosen, equals, _ = incomplete.partition("=")

    def find() -> Iterator[str]:
        from gangplan.pipeline import packaged, parameters

        known = parameters(Path(name) if name.endswith((".yaml", ".yml")) else packaged(name))
        if not equals:
            yield from (f"{each}=" for each in known)
        elif chosen in known:
            values = known[chosen].choices or (("true", "false") if known[chosen].kind is bool else ())
            yield from (f"{chosen}={value}" for value in values)

    return _offered(find, incomplete)
