"""What a cluster has that somebody has set up for others: `deploy/`, a queue, levels of the network, a shared volume."""

from cluster.bed.kwok import GPU
from cluster.bed.outside import Cluster
from cluster.submissions import install

PLACE = {"zone": "z0", "accelerator": "gpu"}
"""Labels that each node has beside its rack."""

VOLUME = "training"
"""The claim of the volume; it is in the namespace ``default``."""


def furnish(cluster: Cluster) -> None:
    """Make all of it; what examples name is there then."""
    install(cluster)
    ours = {"apiVersion": "gangplan.dev/v1alpha1"}
    folder = cluster.folder / "volume"
    folder.mkdir()
    share = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    claim = {"name": VOLUME, "namespace": "default"}
    for document in (
        {**ours, "kind": "GangQueue", "metadata": {"name": "research"}, "spec": {"limit": {GPU: "8"}}},
        {**ours, "kind": "GangTopology", "metadata": {"name": "net"}, "spec": {"levels": ["zone", "rack"]}},
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": VOLUME},
            "spec": {
                **share,
                "capacity": {"storage": "10Gi"},
                "hostPath": {"path": str(folder)},
                "claimRef": claim,
            },
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": claim,
            "spec": {**share, "volumeName": VOLUME, "resources": {"requests": {"storage": "10Gi"}}},
        },
    ):
        cluster.kubectl("apply", "-f", "-", document=document)
    path = f"/api/v1/namespaces/default/persistentvolumeclaims/{VOLUME}"
    cluster.wait_until(
        "the volume is there", lambda: cluster.admin.get(path)["status"].get("phase") == "Bound"
    )
