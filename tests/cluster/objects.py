"""Objects of a cluster as tests look at them."""

from typing import Any

from cluster.bed.outside import Cluster


def create(cluster: Cluster, namespace: str, item: dict[str, Any]) -> None:
    """Create an object.

    Raises:
        BedError: It is refused; with what the API server said.
    """
    cluster.kubectl("create", "--namespace", namespace, "-f", "-", document=item)


def pods_of(cluster: Cluster, namespace: str) -> dict[str, dict[str, Any]]:
    """Pods of a namespace, by name."""
    found = cluster.admin.get(f"/api/v1/namespaces/{namespace}/pods")
    return {item["metadata"]["name"]: item for item in (found or {"items": []})["items"]}


def wait_for_phase(cluster: Cluster, namespace: str, name: str, *phases: str) -> dict[str, Any]:
    """Wait until a pod is in one of some phases; the pod as it is then."""

    def is_there() -> bool:
        return pods_of(cluster, namespace)[name]["status"].get("phase") in phases

    cluster.wait_until(f"pod {name} is {' or '.join(phases)}", is_there)
    return pods_of(cluster, namespace)[name]


def conditions(item: dict[str, Any]) -> dict[str, str]:
    """Status of each condition of an object, by type."""
    return {each["type"]: each["status"] for each in item.get("status", {}).get("conditions", [])}
