"""Every name that we read or write on Kubernetes objects."""

import re

from gangplan.errors import InvalidInput, Problem
from gangplan.node_kinds import ALLOW_SPLIT
from gangplan.runtime import RestartPolicy, SuccessPolicy

GROUP = "gangplan.dev"

GANG_LABEL = f"{GROUP}/gang"
"""Label of a pod: the gang in its namespace that it is a replica of."""

ROLE_LABEL = f"{GROUP}/role"
"""Label that each replica has for rules on company: its role."""

PLACEMENT_GATE = f"{GROUP}/placement"
"""Scheduling gate of a pod: it waits until it is told its node."""

JOB_NAME = "training.kubeflow.org/job-name"
"""Label that training-operator gives a pod: the name of its TFJob."""

REPLICA_TYPE = "training.kubeflow.org/replica-type"
"""Label that training-operator gives a pod: its replica type in lower case."""

REPLICA_INDEX = "training.kubeflow.org/replica-index"
"""Label that training-operator gives a pod: its index in its replica type."""

VERSION_LABEL = "app.kubernetes.io/version"
"""Label of our CRDs: the version of gangplan that they are of."""

TOLD_NODE = f"{GROUP}/node"
"""Annotation of a pod: the node that it was told to go to, in the same write that opened its gate."""

RUN_ID = f"{GROUP}/run-id"
"""Label of a TFJob: the run that it belongs to."""

ATTEMPT = f"{GROUP}/attempt"
"""Label of a TFJob: which attempt of its run it is, from 1."""

QUEUE = f"{GROUP}/queue"
"""Annotation of a TFJob: the queue that the gang waits in; ``schedulingPolicy.queue`` if absent."""

PRIORITY = f"{GROUP}/priority"
"""Annotation of a TFJob: the gang's priority, a whole number."""

REQUIRED_LEVEL = f"{GROUP}/required-level"
"""Annotation of a TFJob: the topology level that the gang must not cross."""

PREFERRED_LEVEL = f"{GROUP}/preferred-level"
"""Annotation of a TFJob: the topology level that the gang should not cross."""

PROFILE = f"{GROUP}/profile"
"""Annotation of a TFJob: the profile that says on which nodes its pods lie, for people."""

NOTES = (QUEUE, PRIORITY, REQUIRED_LEVEL, PREFERRED_LEVEL, ALLOW_SPLIT, PROFILE)
"""The annotations of ours that a TFJob may have."""

VOLUME_LABEL = f"{GROUP}/volume"
"""Label of a PersistentVolume of ours, by which its claim finds it: namespace and name of the claim."""

TFJOB_API = "kubeflow.org/v1"
TFJOB_KIND = "TFJob"
TENSORFLOW_CONTAINER = "tensorflow"
"""training-operator gives ``TF_CONFIG`` to the container of this name only."""

ROLES = {"chief": "chief", "master": "chief", "ps": "ps", "worker": "worker", "evaluator": "evaluator"}
"""Replica types of a TFJob in lower case → our roles; ``Master`` is read as chief (TensorFlow 2 refuses it)."""

REPLICA_TYPES = {"chief": "Chief", "ps": "PS", "worker": "Worker", "evaluator": "Evaluator"}
"""Our roles → the replica types that we write."""

RESTART_POLICIES: dict[str, RestartPolicy] = {
    "Never": "Never",
    "OnFailure": "OnFailure",
    "Always": "Always",
    "ExitCode": "ExitCode",
}

SUCCESS_POLICIES: dict[str, SuccessPolicy] = {"": "", "AllWorkers": "AllWorkers"}

REQUIRED_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"
"""Field of an affinity: what must hold when a pod is placed."""

NAME_LIMIT = 63
"""Longest name of a pod or service that DNS allows; those of a TFJob are ``<job>-<role>-<index>``."""

HOSTNAME = "kubernetes.io/hostname"
"""Label of a node: its name, as its kubelet knows it."""

ECI_SPECS = "k8s.aliyun.com/eci-use-specs"
"""Annotation of a pod: the instances of Alibaba Cloud that it may be, in order of preference."""

ECI_IMAGE_CACHE = "k8s.aliyun.com/eci-image-cache"
"""Annotation of a pod: ``"true"`` lets it start from an image that Alibaba Cloud has cached."""

CCI_BURST = "bursting.cci.io/burst-to-cci"
"""Label of a pod: whether Huawei Cloud runs it as a container instance."""

VOLCANO = "volcano"
"""Name of Volcano as a scheduler of pods."""

VOLCANO_AFFINITY = "volcano.sh/task-topology-affinity"
"""Annotation of a TFJob, and so of its PodGroup: roles that Volcano puts near to each other."""

VOLCANO_ANTI_AFFINITY = "volcano.sh/task-topology-anti-affinity"
"""In the same way: roles that it keeps apart."""

VOLCANO_ORDER = "volcano.sh/task-topology-task-order"
"""In the same way: roles in the order in which it looks for their places."""

_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_NAMESPACE = re.compile(_LABEL)
_NAME = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*")


def see_that_it_is_a_name(name: str, *, of: str) -> None:
    """See that an object may have a name, before a server is asked for it by a path that holds it.

    Args:
        name: The name.
        of: What it is a name of: ``gang``, ``namespace``, ``queue``.

    Raises:
        InvalidInput: None may have it.
    """
    dots = "" if of == "namespace" else " and '.'"
    if not (_NAMESPACE if of == "namespace" else _NAME).fullmatch(name):
        message = (
            f"must be lower-case letters, digits, '-'{dots}, beginning and ending with a letter or digit"
        )
        raise InvalidInput([Problem(of, "BAD_VALUE", f"{message}, not {name!r}")], f"the name of a {of}")


_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def see_that_it_is_a_run_id(text: str, *, path: str) -> None:
    """See that a text can be the id of a run, which is a label of what belongs to it.

    Args:
        text: The text.
        path: Where it was given.

    Raises:
        InvalidInput: It cannot.
    """
    if not _LABEL_VALUE.fullmatch(text):
        message = "must be at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
        raise InvalidInput([Problem(path, "BAD_VALUE", f"{message}, not {text!r}")], "the id of the run")
