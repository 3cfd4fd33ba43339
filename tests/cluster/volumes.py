"""Volumes of a cluster that many nodes may mount: a folder of this machine behind a claim."""

from pathlib import Path

from cluster.bed.outside import Cluster


def share(cluster: Cluster, namespace: str, name: str, folder: Path) -> None:
    """Make a claim that is ReadWriteMany and bound to a folder, which is made.

    Args:
        cluster: The cluster.
        namespace: Where the claim is.
        name: Name of the claim.
        folder: What those who mount it see.
    """
    folder.mkdir()
    common = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    size = {"storage": "10Gi"}
    claim = {"name": name, "namespace": namespace}
    volume = f"{namespace}-{name}"
    place = {"capacity": size, "hostPath": {"path": str(folder)}, "claimRef": claim}
    for document in (
        {"kind": "PersistentVolume", "metadata": {"name": volume}, "spec": common | place},
        {
            "kind": "PersistentVolumeClaim",
            "metadata": claim,
            "spec": common | {"volumeName": volume, "resources": {"requests": size}},
        },
    ):
        cluster.kubectl("apply", "-f", "-", document={"apiVersion": "v1", **document})
    path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}"
    cluster.wait_until(
        "the volume is there", lambda: cluster.admin.get(path)["status"].get("phase") == "Bound"
    )
