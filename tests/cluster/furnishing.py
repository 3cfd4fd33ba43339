"""What a cluster has that somebody has set up for others: `deploy/`, a queue, levels of the network, a shared volume."""

from cluster.bed.kwok import GPU
from cluster.bed.outside import Cluster
from cluster.submissions import install
from cluster.volumes import share

PLACE = {"zone": "z0", "accelerator": "gpu"}
"""Labels that each node has beside its rack."""

VOLUME = "training"
"""The claim of the volume; it is in the namespace ``default``."""


def furnish(cluster: Cluster) -> None:
    """Make all of it; what examples name is there then."""
    install(cluster)
    ours = {"apiVersion": "gangplan.dev/v1alpha1"}
    for document in (
        {**ours, "kind": "GangQueue", "metadata": {"name": "research"}, "spec": {"limit": {GPU: "8"}}},
        {**ours, "kind": "GangTopology", "metadata": {"name": "net"}, "spec": {"levels": ["zone", "rack"]}},
    ):
        cluster.kubectl("apply", "-f", "-", document=document)
    share(cluster, "default", VOLUME, cluster.folder / "volume")
