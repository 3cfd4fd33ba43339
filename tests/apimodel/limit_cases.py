"""LimitRanges and pods for which it is compared who refuses which: our commands, the model of a server, a real one."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from gangplan.errors import Refused
from gangplan.kube.api import Api, Object
from gangplan.kube.kinds import POD

OF = ("Container", "Pod")
AMOUNTS = [
    {},
    {"requests": {"memory": "512Mi"}},
    {"requests": {"memory": "1536"}, "limits": {"memory": "3Ki"}},
    {"requests": {"memory": "1Mi"}, "limits": {"memory": "3Mi"}},
    {"limits": {"memory": "256Mi"}},
    {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "64Mi"}},
    {"requests": {"cpu": "250m", "memory": "100Mi"}},
    {"requests": {"cpu": "7"}},
]
LIMITS = [
    {"default": {"memory": "128Mi"}},
    {"max": {"memory": "256Mi"}, "defaultRequest": {"memory": "64Mi"}},
    {"min": {"memory": "2Mi", "cpu": "20m"}},
    {"max": {"cpu": "2"}, "min": {"cpu": "100m"}},
    {"maxLimitRequestRatio": {"cpu": "4"}},
    {"maxLimitRequestRatio": {"memory": "1.5"}, "default": {"memory": "150Mi"}},
    {"maxLimitRequestRatio": {"memory": "2"}, "max": {"memory": "1Gi"}},
]
_BESIDE = {"requests": {"cpu": "100m", "memory": "3Mi"}, "limits": {"cpu": "200m", "memory": "4Mi"}}


def item(of: str, limits: Mapping[str, Any]) -> dict[str, Any]:
    """An item of a LimitRange; those about whole pods have no defaults."""
    return {"type": of} | {
        key: value for key, value in limits.items() if of == "Container" or "efault" not in key
    }


def pods(namespace: str) -> Iterator[Object]:
    """Pods with such amounts, and a second container beside."""
    for amounts in AMOUNTS:
        containers = [
            {"name": "tensorflow", "image": "i", "resources": amounts},
            {"name": "beside", "image": "i", "resources": _BESIDE},
        ]
        metadata = {"name": "p", "namespace": namespace}
        yield {"metadata": metadata, "spec": {"containers": copy.deepcopy(containers)}}


def is_refused(api: Api, pod: Object) -> bool:
    """Whether a server would not take a pod."""
    try:
        api.would_create(POD, {"apiVersion": "v1", "kind": "Pod", **pod})
    except Refused:
        return True
    return False
