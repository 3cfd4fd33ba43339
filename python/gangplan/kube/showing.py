"""Showing: the TensorBoard of a job is found or made on a cluster, waited for, and taken away again."""

from collections.abc import Callable
from contextlib import suppress

from gangplan.errors import AlreadyExists, ClusterError, Conflict, Forbidden, InvalidInput, NotFound, Problem
from gangplan.kube.api import Api, Object
from gangplan.kube.kinds import CLAIM, POD, REVIEW, TFJOB
from gangplan.kube.tensorboard import CONTAINER, LABEL, Board, board_of, board_on, pod_name, standing
from gangplan.kube.volumes import Mount
from gangplan.kube.waited_for import WaitedFor
from gangplan.signals import uninterrupted
from gangplan.tensorboard import WORD_S

POLL_S = 0.5
LAST_LINES = 5


def find_board(
    api: Api, job: str, *, namespace: str, image: str, folder: str = "", mounts: tuple[Mount, ...] = ()
) -> Board:
    """Find out what the TensorBoard of a job is to be, and whether it can be.

    Args:
        api: The API server.
        job: Name of the job.
        namespace: Its namespace.
        image: Image with TensorBoard.
        folder: Where it is to look; empty: found out.
        mounts: Claims that hold the events; empty: those of the job.

    Raises:
        NotFound: There is no such job, and no claim was named.
        InvalidInput: The job has no volume, or it cannot be mounted.
    """
    try:
        found = api.get(TFJOB, job, namespace=namespace)
    except NotFound as error:
        if not mounts:
            message = (
                f"there is no TFJob {job} in {namespace}. One that has ended is deleted after its time to live, and with "
                "it goes what says where its events are: name the claim with --volume CLAIM:PATH"
            )
            raise NotFound(message, verb="get", kind=TFJOB.name, name=job, namespace=namespace) from error
        found = None
    if mounts:
        board = board_on(mounts, job=job, namespace=namespace, image=image, folder=folder, owner=found)
    else:
        assert found is not None
        board = board_of(found, image=image, folder=folder)
    _see_that_claims_are_there(api, board)
    return board


def see_that_it_is_allowed(api: Api, namespace: str) -> None:
    """See that we may make a pod, reach it and take it away, before any of it is begun.

    Raises:
        Forbidden: We may not; all that is missing is named.
    """
    lacking = []
    for verb, subresource in (("create", ""), ("delete", ""), ("create", "portforward")):
        wanted = {"verb": verb, "group": "", "resource": "pods", "subresource": subresource}
        spec = {"resourceAttributes": {**wanted, "namespace": namespace}}
        if not api.review(REVIEW, spec).get("allowed"):
            lacking.append(f"{verb} pods{subresource and '/'}{subresource}")
    if lacking:
        message = f"you may not {', '.join(lacking)} in {namespace}: ask for a role that allows it; nothing was made"
        raise Forbidden(message, verb="create", kind=POD.name, namespace=namespace)


class Showing:
    """A TensorBoard on a cluster.

    Attributes:
        made: Whether this made it: else it was there, and stays.
    """

    def __init__(
        self,
        api: Api,
        board: Board,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        tell: Callable[[str], None],
    ) -> None:
        """Prepare it; nothing is sent yet.

        Args:
            api: The API server.
            board: What it is to be.
            clock: Seconds that only grow.
            sleep: Waits the given seconds.
            tell: Says how it goes.
        """
        self._api, self._board = api, board
        self._clock, self._sleep, self._tell = clock, sleep, tell
        self._uid = ""
        self.made = False

    def start(self, *, until: float, as_asked: bool) -> None:
        """Find the pod, or make it, and wait until it answers.

        Args:
            until: When it is given up.
            as_asked: Whether one that is there must be the one that is wanted, or may be any.

        Raises:
            AlreadyExists: One is there that is another, or the name is taken.
            ClusterError: It does not come to answer; with the reason.
        """
        pod = self._there(until)
        if pod is None:
            with uninterrupted():  # who ends us now must know what to take away
                pod = self._api.create(POD, self._board.pod())
                self.made = True
                self._uid = pod["metadata"]["uid"]
            claims = ", ".join(self._board.claims)
            self._tell(f"pod {self._board.name} is to show {self._board.folder} of {claims}")
        else:
            self._uid = pod["metadata"]["uid"]
            others = self._board.differences(pod)
            if others and as_asked:
                raise self._error(AlreadyExists, f"is there already: {'; '.join(others)}; --delete ends it")
            self._tell(f"pod {self._board.name} is there already, and stays")
        self._wait(until)

    def look(self) -> None:
        """See that the pod is still there.

        Raises:
            NotFound: It is gone, or another one.
        """
        try:
            pod = self._api.get(POD, self._board.name, namespace=self._board.namespace)
        except NotFound as error:
            raise self._error(NotFound, "was deleted") from error
        if pod["metadata"]["uid"] != self._uid:
            raise self._error(NotFound, "was deleted and made anew by somebody: show it again")
        if (stands := standing(pod)).is_over:
            raise self._error(NotFound, f"goes: {stands.text}")

    def end(self) -> None:
        """Take the pod away, if this made it."""
        if self.made:
            remove(self._api, self._board.job, namespace=self._board.namespace, uid=self._uid)
            self.made = False

    def _there(self, until: float) -> Object | None:
        """The pod that is there; one that has ended is taken away first."""
        waited = False
        while True:
            try:
                pod = self._api.get(POD, self._board.name, namespace=self._board.namespace)
            except NotFound:
                return None
            if (pod["metadata"].get("labels") or {}).get(LABEL) != self._board.job:
                raise self._error(AlreadyExists, "is there, and is none of gangplan's: delete or rename it")
            stands = standing(pod)
            if not stands.is_over:
                return pod
            if self._clock() > until:
                raise self._error(ClusterError, f"is not gone yet: {stands.text}")
            if not waited:
                self._tell(f"an earlier pod {self._board.name} is waited for: {stands.text}")
                waited = True
            remove(self._api, self._board.job, namespace=self._board.namespace, uid=pod["metadata"]["uid"])
            self._sleep(POLL_S)

    def _wait(self, until: float) -> None:
        said, waited_for = "", WaitedFor(self._tell, now=self._clock(), word_s=WORD_S)
        while True:
            self.look()
            stands = standing(self._api.get(POD, self._board.name, namespace=self._board.namespace))
            if stands.is_ready:
                return
            said = stands.text
            waited_for.look(f"pod {self._board.name}: {said}{self._cure(said)}", self._clock())
            if stands.is_hopeless or self._clock() > until:
                head = f"does not answer: {said}{self._cure(said)}"
                raise self._error(ClusterError, "\n  | ".join([head, *self._last_lines()]))
            self._sleep(POLL_S)

    def _cure(self, said: str) -> str:
        if "PersistentVolumeClaim" not in said:
            return ""
        where = self._board.namespace
        told = (f"gangplan storage check {claim} -n {where}" for claim in self._board.claims)
        return f" ({', '.join(told)} says why)"

    def _last_lines(self) -> list[str]:
        for previous in (False, True):
            with suppress(ClusterError):
                lines = list(
                    self._api.log(
                        self._board.name,
                        namespace=self._board.namespace,
                        container=CONTAINER,
                        previous=previous,
                    )
                )
                if lines:
                    texts = [line.decode(errors="replace").partition(" ")[2] for line in lines]
                    return texts[-LAST_LINES:]
        return []

    def _error(self, kind: type[ClusterError], what: str) -> ClusterError:
        name, namespace = self._board.name, self._board.namespace
        message = f"pod {namespace}/{name} {what}"
        return kind(message, verb="get", kind=POD.name, name=name, namespace=namespace)


def remove(api: Api, job: str, *, namespace: str, uid: str = "") -> None:
    """Delete the TensorBoard of a job; one that is gone since is no error.

    Args:
        api: The API server.
        job: Name of the job.
        namespace: Its namespace.
        uid: Only this one; empty: whichever is there.

    Raises:
        NotFound: No uid was given, and there is none of ours.
    """
    name = pod_name(job)
    if not uid:
        known = api.list(POD, namespace=namespace, labels=f"{LABEL}={job}").items
        if not known:
            message = f"there is no TensorBoard of {namespace}/{job}"
            raise NotFound(message, verb="delete", kind=POD.name, name=name, namespace=namespace)
        uid = known[0]["metadata"]["uid"]
    with suppress(NotFound, Conflict):
        api.delete(POD, name, namespace=namespace, uid=uid)


def _see_that_claims_are_there(api: Api, board: Board) -> None:
    """See that the pod has something to mount; a claim that waits for its volume may get it, and is waited for."""
    problems = []
    for name in board.claims:
        try:
            claim = api.get(CLAIM, name, namespace=board.namespace)
        except NotFound:
            message = (
                f"there is no claim {name} in {board.namespace}: name one that has the events with --volume"
            )
            problems.append(Problem("--volume", "UNKNOWN_NAME", message))
            continue
        except Forbidden:
            continue  # then the scheduler finds out, and its word is told
        going = "deletionTimestamp" in claim["metadata"]
        if going or (claim.get("status") or {}).get("phase") == "Lost":
            found = "is being deleted" if going else "has lost its volume"
            message = f"the claim {name} {found}, and can be mounted by nobody who comes now"
            problems.append(Problem("--volume", "CONTRADICTION", message))
    if problems:
        raise InvalidInput(problems, "tensorboard")
