"""The queue of a gang that Volcano is to bind: Volcano must know it too, or it never looks at the gang."""

from gangplan.errors import ConfigError, Forbidden, InvalidInput, NotInstalled, Problem
from gangplan.kube.api import Api
from gangplan.kube.kinds import VOLCANO_QUEUE
from gangplan.kube.peers import meaning
from gangplan.kube.submission import Submission


def with_volcano_queue(api: Api, wanted: Submission) -> Submission:
    """The same submission, if Volcano is there and has its queue; another way of enforcement asks for neither.

    Raises:
        ConfigError: Volcano is not installed.
        InvalidInput: It has no queue of that name.
        ClusterError: The server does not answer.
    """
    if wanted.enforcement != "volcano":
        return wanted
    try:
        found = {item["metadata"]["name"] for item in api.list(VOLCANO_QUEUE).items}
    except NotInstalled as error:
        raise ConfigError(
            "enforcement volcano: Volcano is not installed in this cluster (it has no Queues); take default"
        ) from error
    except Forbidden:
        return wanted  # who admits may read them, and who submits need not
    queue = wanted.gang.queue
    if queue is None or queue in found:
        return wanted
    path = meaning(wanted.manifest, gang=wanted.gang.name).queue_path
    message = (
        f"names {queue}, and Volcano has no Queue of that name; it has {', '.join(sorted(found)) or 'none'}"
    )
    raise InvalidInput([Problem(path, "UNKNOWN_NAME", message)], "TFJob")
