"""Kinds: what we read and write on an API server, and where it has them."""

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of object.

    Attributes:
        name: ``Pod``.
        plural: The word in paths: ``pods``.
        api_version: ``v1``, ``kubeflow.org/v1``.
        namespaced: Whether its objects lie in namespaces.
    """

    name: str
    plural: str
    api_version: str
    namespaced: bool = True

    def path(self, *, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of an object or of a list of them; without a namespace that of all namespaces together."""
        start = "/api" if "/" not in self.api_version else "/apis"
        where = f"/namespaces/{quote(namespace, safe='')}" if namespace and self.namespaced else ""
        tail = "".join(f"/{quote(part, safe='')}" for part in (name, subresource) if part)
        return f"{start}/{self.api_version}{where}/{self.plural}{tail}"


POD = Kind(name="Pod", plural="pods", api_version="v1")
NODE = Kind(name="Node", plural="nodes", api_version="v1", namespaced=False)
EVENT = Kind(name="Event", plural="events", api_version="v1")
QUOTA = Kind(name="ResourceQuota", plural="resourcequotas", api_version="v1")
LIMIT_RANGE = Kind(name="LimitRange", plural="limitranges", api_version="v1")
NAMESPACE = Kind(name="Namespace", plural="namespaces", api_version="v1", namespaced=False)
CLAIM = Kind(name="PersistentVolumeClaim", plural="persistentvolumeclaims", api_version="v1")
VOLUME = Kind(name="PersistentVolume", plural="persistentvolumes", api_version="v1", namespaced=False)
STORAGE_CLASS = Kind(
    name="StorageClass", plural="storageclasses", api_version="storage.k8s.io/v1", namespaced=False
)
CSI_DRIVER = Kind(name="CSIDriver", plural="csidrivers", api_version="storage.k8s.io/v1", namespaced=False)
PRIORITY_CLASS = Kind(
    name="PriorityClass", plural="priorityclasses", api_version="scheduling.k8s.io/v1", namespaced=False
)
SERVICE = Kind(name="Service", plural="services", api_version="v1")
ENDPOINTS = Kind(name="EndpointSlice", plural="endpointslices", api_version="discovery.k8s.io/v1")
ACCOUNT = Kind(name="ServiceAccount", plural="serviceaccounts", api_version="v1")
DEFINITION = Kind(
    name="CustomResourceDefinition",
    plural="customresourcedefinitions",
    api_version="apiextensions.k8s.io/v1",
    namespaced=False,
)
REVIEW = Kind(
    name="SelfSubjectAccessReview",
    plural="selfsubjectaccessreviews",
    api_version="authorization.k8s.io/v1",
    namespaced=False,
)
SUBJECT_REVIEW = Kind(
    name="SubjectAccessReview",
    plural="subjectaccessreviews",
    api_version="authorization.k8s.io/v1",
    namespaced=False,
)
WHO_AM_I = Kind(
    name="SelfSubjectReview",
    plural="selfsubjectreviews",
    api_version="authentication.k8s.io/v1",
    namespaced=False,
)
LEASE = Kind(name="Lease", plural="leases", api_version="coordination.k8s.io/v1")

TFJOB = Kind(name="TFJob", plural="tfjobs", api_version="kubeflow.org/v1")

GANG = Kind(name="Gang", plural="gangs", api_version="gangplan.dev/v1alpha1")
GANG_QUEUE = Kind(
    name="GangQueue", plural="gangqueues", api_version="gangplan.dev/v1alpha1", namespaced=False
)
GANG_TOPOLOGY = Kind(
    name="GangTopology", plural="gangtopologies", api_version="gangplan.dev/v1alpha1", namespaced=False
)

VOLCANO_GROUP = Kind(name="PodGroup", plural="podgroups", api_version="scheduling.volcano.sh/v1beta1")
VOLCANO_QUEUE = Kind(
    name="Queue", plural="queues", api_version="scheduling.volcano.sh/v1beta1", namespaced=False
)
HYPER_NODE = Kind(
    name="HyperNode", plural="hypernodes", api_version="topology.volcano.sh/v1alpha1", namespaced=False
)
PLUGINS_GROUP = Kind(name="PodGroup", plural="podgroups", api_version="scheduling.x-k8s.io/v1alpha1")
KUEUE_TOPOLOGY = Kind(
    name="Topology", plural="topologies", api_version="kueue.x-k8s.io/v1beta1", namespaced=False
)
OLD_KUEUE_TOPOLOGY = Kind(
    name="Topology", plural="topologies", api_version="kueue.x-k8s.io/v1alpha1", namespaced=False
)
KAI_TOPOLOGY = Kind(
    name="Topology", plural="topologies", api_version="kai.scheduler/v1alpha1", namespaced=False
)
