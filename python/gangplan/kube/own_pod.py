"""The pod that this process runs in: its namespace, and the Workflow that it is a step of."""

import os
import socket
from pathlib import Path

from gangplan.errors import ConfigError, NotFound
from gangplan.kube.api import Api, Owners
from gangplan.kube.kinds import POD

NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
WORKFLOWS = "argoproj.io/"


def namespace() -> str:
    """The namespace of this pod.

    Raises:
        ConfigError: It has no service account's token, which tells it.
    """
    try:
        return NAMESPACE_FILE.read_text(encoding="utf-8").strip()
    except OSError as error:
        message = (
            f"the namespace of this pod is not known: {error}; does its service account mount its token?"
        )
        raise ConfigError(message) from error


def name() -> str:
    """The name of this pod: Kubeflow Pipelines tells it, and so does its host name."""
    return os.environ.get("KFP_POD_NAME") or socket.gethostname()


def owners(api: Api, *, namespace: str, name: str) -> Owners:
    """Owner references to the Workflow that a pod is a step of; none if it is a step of no Workflow.

    What has them goes with the Workflow. Not with the pod: a step that is started again must find its job.

    Raises:
        ClusterError: The server does not answer or does not allow it.
    """
    try:
        metadata = api.get(POD, name, namespace=namespace)["metadata"]
    except NotFound:
        return ()
    return tuple(
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["name"],
            "uid": owner["uid"],
            "blockOwnerDeletion": False,
        }
        for owner in metadata.get("ownerReferences") or ()
        if owner["kind"] == "Workflow" and owner["apiVersion"].startswith(WORKFLOWS)
    )
