"""Provision: the volume and the claim of a share are made on a cluster, both or none."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from gangplan.errors import AlreadyExists, ClusterError, Forbidden, NotFound, NotInstalled, Unreachable
from gangplan.kube.api import Api, Object
from gangplan.kube.claims import Remark, why_unbound
from gangplan.kube.kinds import CLAIM, CSI_DRIVER, VOLUME, Kind
from gangplan.kube.storage import Share, differences
from gangplan.signals import uninterrupted

LOOKS = 225
PAUSE_S = 0.2
"""45 seconds: the server's controller takes less than one where it meets the volume before the claim; else it comes back to
the claim when it looks at all of them again, by default every 15 seconds."""

SILENT_LOOKS = 5
"""Looks, a second of them, before it is told that a claim is waited for."""

T = TypeVar("T")
How = Literal["created", "unchanged", "given back"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provided:
    """What was done, or would be.

    Attributes:
        volume: With the PersistentVolume; ``given back``: it was kept for an earlier claim of the name.
        claim: With the claim.
    """

    volume: How
    claim: How


def provide(api: Api, share: Share, *, dry_run: bool = False) -> Provided:
    """Make the volume and the claim of a share, unless they are there; whatever goes wrong, no half is left.

    Args:
        api: The API server.
        share: What is to be there.
        dry_run: Only find out what would be done, and whether the server would let us.

    Raises:
        AlreadyExists: A name is taken by something else; every difference is told.
        NotInstalled: The driver that would mount it is not on the cluster.
        ClusterError: The server refuses; nothing was made.
    """
    _see_that_the_driver_is_there(api, share)
    volume = _allowed(lambda: _found(api, VOLUME, share.volume_name))
    claim = _found(api, CLAIM, share.name, namespace=share.namespace)
    _see_that_they_are_the_same(share, volume, claim)
    is_kept = volume is not None and _is_kept_for_another(volume, claim)
    done = Provided(
        volume="created" if volume is None else "given back" if is_kept else "unchanged",
        claim="created" if claim is None else "unchanged",
    )
    for found, kind, wanted in ((volume, VOLUME, share.volume()), (claim, CLAIM, share.claim())):
        if found is None:
            _allowed(lambda kind=kind, wanted=wanted: api.would_create(kind, wanted))  # type: ignore[misc]
    if dry_run:
        return done
    with uninterrupted():  # two requests: what Ctrl-C would leave is half
        _make(api, share, volume, claim, is_kept=is_kept)
    return done


def until_bound(
    api: Api, share: Share, *, sleep: Callable[[float], None], tell: Callable[[str], None]
) -> Remark | None:
    """Wait until the claim of a share has its volume; why it has none after :data:`LOOKS` looks, None: it has.

    Args:
        api: The API server.
        share: What was made.
        sleep: Waits the given seconds.
        tell: Gets what is waited for, once, unless it is there at once.

    Raises:
        ClusterError: The server does not answer, or one of both is gone.
    """
    for look in range(LOOKS):
        claim = api.get(CLAIM, share.name, namespace=share.namespace)
        if (claim.get("status") or {}).get("phase") == "Bound":
            return None
        if look == SILENT_LOOKS:
            limit = LOOKS * PAUSE_S
            tell(
                f"claim {share.namespace}/{share.name} waits for the cluster's controller to give it volume "
                f"{share.volume_name}: mostly a second, at times 15; at most {limit:.0f} s"
            )
        sleep(PAUSE_S)
    return _why_in_vain(api, share, claim)


def _why_in_vain(api: Api, share: Share, claim: Object) -> Remark:
    """Why a claim did not get the volume that is kept for it."""
    again = f"gangplan storage check {share.name} -n {share.namespace} looks again"
    volume = api.get(VOLUME, share.volume_name)
    phase = (volume.get("status") or {}).get("phase") or "Pending"
    if phase in ("Available", "Pending"):
        text = f"is not bound after {LOOKS * PAUSE_S:.0f} s, and its volume is {phase}"
        cure = f"binding is the work of kube-controller-manager: see that it runs; {again}"
        return Remark(is_obstacle=True, text=text, cure=cure)
    holder = volume["spec"].get("claimRef") or {}
    if holder.get("uid") not in (None, "", claim["metadata"]["uid"]):
        text = f"is not bound: volume {share.volume_name} is {phase}, and held by a claim of the name that is gone"
        return Remark(is_obstacle=True, text=text, cure="say the same again: the volume is given back then")
    found = why_unbound(api, claim) or Remark(is_obstacle=True, text="is not bound", cure=again)
    return replace(found, text=f"{found.text}; its volume is {phase}")


def _make(api: Api, share: Share, volume: Object | None, claim: Object | None, *, is_kept: bool) -> None:
    made = _allowed(lambda: api.create(VOLUME, share.volume())) if volume is None else None
    if volume is not None and is_kept:
        version = {"resourceVersion": volume["metadata"]["resourceVersion"]}
        body = {"metadata": version, "spec": {"claimRef": {"uid": None, "resourceVersion": None}}}
        _allowed(lambda: api.patch(VOLUME, share.volume_name, body))
    if claim is not None:
        return
    try:
        api.create(CLAIM, share.claim())
    except Unreachable as error:
        left = f"{error}; volume {share.volume_name} may be left: say the same again, and what is missing is made"
        raise Unreachable(left, verb="create", kind=CLAIM.name, name=share.name) from error
    except ClusterError as error:
        if made is not None:
            _take_back(api, share, made, error)
        raise


def _found(api: Api, kind: Kind, name: str, *, namespace: str = "") -> Object | None:
    try:
        return api.get(kind, name, namespace=namespace)
    except NotFound:
        return None


def _see_that_the_driver_is_there(api: Api, share: Share) -> None:
    """Without it the claim would be bound, and pods that mount it would wait for ever."""
    driver = share.place.driver
    if not driver:
        return
    try:
        api.get(CSI_DRIVER, driver)
    except NotFound as error:
        cure = "install it, or have the nodes mount it themselves: gangplan storage nfs without --csi"
        message = f"the cluster has no CSI driver {driver}, so no pod could mount the volume: {cure}"
        raise NotInstalled(message, verb="get", kind=CSI_DRIVER.name, name=driver) from error
    except Forbidden:
        return  # who may make volumes mostly may read it; pods tell whether it is there


def _see_that_they_are_the_same(share: Share, volume: Object | None, claim: Object | None) -> None:
    told = []
    for found, wanted in ((volume, share.volume()), (claim, share.claim())):
        if found is None:
            continue
        what = f"{wanted['kind']} {wanted['metadata']['name']}"
        if "deletionTimestamp" in found["metadata"]:
            told.append(f"{what} is being deleted: wait until it is gone, with all pods that mount it")
        told += [f"{what}: {text}" for text in differences(found, wanted)]
    if told:
        head = f"{share.namespace}/{share.name} is there and is another: choose another name, or delete it"
        message = "\n  ".join([head, *told])
        raise AlreadyExists(
            message, verb="create", kind=CLAIM.name, name=share.name, namespace=share.namespace
        )


def _is_kept_for_another(volume: Object, claim: Object | None) -> bool:
    """Whether it is held by an earlier claim of the name, which is gone."""
    holder = (volume["spec"].get("claimRef") or {}).get("uid")
    return bool(holder) and (claim is None or claim["metadata"]["uid"] != holder)


def _allowed(act: Callable[[], T]) -> T:
    """Do it; who may not is told who may."""
    try:
        return act()
    except Forbidden as error:
        if error.kind != VOLUME.name:
            raise
        told = f"{error}; volumes belong to the cluster: let an administrator apply what the command prints without --apply"
        raise Forbidden(told, verb=error.verb, kind=error.kind, name=error.name) from error


def _take_back(api: Api, share: Share, made: Object, error: ClusterError) -> None:
    """Delete the volume that was made for a claim that is not there.

    Raises:
        ClusterError: What is left, if it cannot be deleted.
    """
    try:
        api.delete(VOLUME, share.volume_name, uid=made["metadata"]["uid"])
    except ClusterError as still:
        left = f"{error}; and volume {share.volume_name}, made for it, is left: {still}"
        raise type(still)(left, verb="delete", kind=VOLUME.name, name=share.volume_name) from error
