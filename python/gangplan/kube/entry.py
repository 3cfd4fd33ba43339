"""Entry: a submission enters the queue only if its name is free and the server would take its TFJob.

What the server refuses would else come to light when the gang is admitted, after hours of waiting perhaps.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from gangplan.errors import AlreadyExists, Conflict, InvalidInput, NotFound, Problem, Refused, Unreachable
from gangplan.kube.actions import Object
from gangplan.kube.api import Api
from gangplan.kube.gang_object import split_name
from gangplan.kube.kinds import GANG, TFJOB
from gangplan.kube.launch import ending
from gangplan.kube.names import RUN_ID
from gangplan.kube.outcome import state_of
from gangplan.kube.same_run import see_that_it_is_the_same
from gangplan.kube.submission import Submission
from gangplan.record import HOLDING, GangRecord
from gangplan.store import Store

T = TypeVar("T")

_UNKNOWN = re.compile(r'unknown field ("(?:[^"\\]|\\.)*")')
"""As the server's strict decoding tells each of them."""


LOOKS = 10
"""How often a gang of a name that is asked for is looked at, while somebody else decides whether it still holds room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How a server that does not answer is asked again.

    Attributes:
        deadline: When to give up, in seconds since 1970.
        clock: Seconds since 1970.
        sleep: Waits the given seconds.
        poll_s: Seconds until it is asked again.
        on_trouble: Called when there was no answer.
    """

    deadline: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    poll_s: float
    on_trouble: Callable[[Exception], None]


def see_that_it_is_taken(api: Api, wanted: Submission) -> None:
    """See that the server would take a TFJob of this name now.

    Raises:
        AlreadyExists: There is one; what to do about it depends on whose it is, and whether it has ended.
        InvalidInput: The server, or a webhook of it, refuses it.
        NotInstalled: The server knows no TFJobs.
        Forbidden: The identity that we use may not create it.
        NotFound: There is no such namespace.
    """
    try:
        api.would_create(TFJOB, wanted.manifest)
    except AlreadyExists as error:
        try:
            there = api.get(TFJOB, wanted.name, namespace=wanted.namespace)
        except NotFound:
            return  # it is gone since
        if (there["metadata"].get("labels") or {}).get(RUN_ID) == wanted.run_id:
            return  # an earlier call of the same run made it
        raise AlreadyExists(
            _taken(there),
            verb="create",
            kind=TFJOB.name,
            name=wanted.name,
            namespace=wanted.namespace,
        ) from error
    except NotFound as error:
        where = wanted.namespace
        message = f"there is no namespace {where}: create it, or name another with --namespace"
        raise NotFound(message, verb="create", kind=TFJOB.name, name=wanted.name, namespace=where) from error
    except Refused as error:
        raise InvalidInput(
            sorted(_problems(error)), f"TFJob {wanted.name}, as the server judges it"
        ) from error


def _problems(error: Refused) -> Iterator[Problem]:
    unknown = _UNKNOWN.findall(str(error))
    for path in unknown:
        message = "is not known to the server: check its spelling and its place"
        yield Problem(f"$.{json.loads(path)}", "UNKNOWN_FIELD", message)
    if not unknown:
        yield Problem("$", "REFUSED", str(error))


def _taken(job: Object) -> str:
    metadata = job["metadata"]
    name, namespace = metadata["name"], metadata["namespace"]
    delete = f"gangplan delete {name} -n {namespace}"
    if not (metadata.get("labels") or {}).get(RUN_ID):
        return (
            f"there is a TFJob {name} in {namespace} that no run of gangplan made: choose another name, "
            f"or delete it with: kubectl delete tfjob {name} -n {namespace}"
        )
    if metadata.get("deletionTimestamp"):
        return f"there is a TFJob {name} in {namespace} that is being deleted: try again when it is gone"
    if ending(job, ()) is not None:
        return f"there is a finished TFJob {name} in {namespace}; delete it with: {delete}"
    return (
        f"there is a TFJob {name} in {namespace} already ({state_of(job)}): wait for its end, choose another name, "
        f"or delete it with: {delete}"
    )


def until_answered(ask: Callable[[], T], retries: Retries, *, also_conflicts: bool = True) -> T:
    """Ask again while there is no answer.

    Args:
        ask: Asks; asking twice does no more than asking once.
        retries: For how long, and how.
        also_conflicts: Whether that something was changed meanwhile is no answer either.

    Raises:
        AlreadyExists: The name is taken.
        Conflict: Something was changed meanwhile, again and again for that time.
        Unreachable: There was none in that time.
    """
    while True:
        try:
            return ask()
        except (Unreachable, Conflict) as error:
            is_answer = isinstance(error, Conflict) and not also_conflicts
            if is_answer or isinstance(error, AlreadyExists) or retries.clock() >= retries.deadline:
                raise
            retries.on_trouble(error)
            retries.sleep(retries.poll_s)


def enter(
    store: Store, asked: GangRecord, *, settle: Callable[[], object | None], pause: Callable[[], object]
) -> GangRecord:
    """Enter the queue, or find that this was done already; a finished gang of that name is forgotten.

    Args:
        store: The records.
        asked: The record of the gang, of whose name no TFJob is there.
        settle: Ends what has ended while nobody looked, if a gang of that name still holds room; None: it could not,
            because somebody else is deciding, who ends it as well.
        pause: Waits until it is looked at again.

    Raises:
        AlreadyExists: There is a gang of that name that has not finished, or the run was begun with another job.
    """
    looks = LOOKS
    while True:
        try:
            return store.create(asked)
        except AlreadyExists as error:
            found = store.get(asked.name)
            if found is not None and found.run_id == asked.run_id:
                see_that_it_is_the_same(found, asked.gang)
                return found  # by a request whose answer was lost, or by an earlier call
            if found is not None and found.phase in HOLDING and looks:
                looks -= 1
                if settle() is not None:
                    looks = 0
                elif looks:
                    pause()
            elif found is not None and found.phase != "Finished":
                raise name_is_taken(found) from error
            elif found is not None:
                _forget(store, found)


def _forget(store: Store, record: GangRecord) -> None:
    try:
        store.remove(record)
    except Conflict:
        return  # somebody was faster


def name_is_taken(found: GangRecord) -> AlreadyExists:
    """What is wrong with a name that a gang has which has not finished."""
    namespace, name = split_name(found.name)
    message = (
        f"there is a gang {found.name} already ({found.standing}): wait for its end, choose another "
        f"name, or delete it with: gangplan delete {name} -n {namespace}"
    )
    return AlreadyExists(message, verb="create", kind=GANG.name, name=name, namespace=namespace)
