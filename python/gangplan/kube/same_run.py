"""Whether a call that goes on with a run asks for what the run was begun with."""

from collections.abc import Iterator

from gangplan.errors import AlreadyExists
from gangplan.kube.api import Api
from gangplan.kube.gang_object import full_name, split_name
from gangplan.kube.kinds import GANG
from gangplan.kube.names import RUN_ID
from gangplan.record import GangRecord
from gangplan.request import Amounts, requests_of
from gangplan.snapshot import Gang
from gangplan.solver import format_quantity

_TO_DO = "give the job as it was then, or another --run-id"


def see_that_it_is_the_same(found: GangRecord, asked: Gang) -> None:
    """See that a gang asks for what it asked for when its run began.

    Args:
        found: The record of the run's gang.
        asked: The gang of the same name as it is asked for now.

    Raises:
        AlreadyExists: It does not; each difference is named.
    """
    if differences := list(_differences(found.gang, asked)):
        raise _taken(found.name, f"run {found.run_id} was begun with {'; '.join(differences)}: {_TO_DO}")


def see_that_no_other_has_it(api: Api, asked: Gang, run_id: str) -> None:
    """See that a run has no gang of another name in its namespace.

    Raises:
        AlreadyExists: It has one.
    """
    for item in api.list(GANG, namespace=split_name(asked.name)[0], labels=f"{RUN_ID}={run_id}").items:
        metadata = item["metadata"]
        name = full_name(metadata["namespace"], metadata["name"])
        if name != asked.name:
            raise _taken(name, f"run {run_id} was begun as {name}, not {asked.name}: {_TO_DO}")


def _taken(name: str, message: str) -> AlreadyExists:
    namespace, short = split_name(name)
    return AlreadyExists(message, verb="create", kind=GANG.name, name=short, namespace=namespace)


def _differences(before: Gang, now: Gang) -> Iterator[str]:
    old, new = ({role.name: role for role in gang.roles} for gang in (before, now))
    for name in sorted({*old, *new}):
        was, is_now = old.get(name), new.get(name)
        counts = (was.replicas if was else 0, is_now.replicas if is_now else 0)
        if counts[0] != counts[1]:
            yield f"{counts[0]} × {name}, not {counts[1]}"
        elif was and is_now and (amounts := (requests_of(was), requests_of(is_now)))[0] != amounts[1]:
            yield f"{name} with {_words(amounts[0])}, not {_words(amounts[1])}"
    if before.queue != now.queue:
        yield f"queue {before.queue or 'none'}, not {now.queue or 'none'}"
    if before.priority != now.priority:
        yield f"priority {before.priority}, not {now.priority}"


def _words(amounts: Amounts) -> str:
    told = [
        f"{name} {format_quantity(name, amount)}"
        for name, amount in sorted(amounts.items())
        if name != "pods" and amount
    ]
    return ", ".join(told) or "nothing"
