"""What Kubeflow's pages want to be told, so that they start TensorBoard for a step.

The format is that of an output named ``mlpipeline_ui_metadata``, which Kubeflow's pages read also in version 2:
https://www.kubeflow.org/docs/components/pipelines/legacy-v1/sdk/output-viewer/#tensorboard
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from gangplan.kube.names import TENSORFLOW_CONTAINER


def viewer_metadata(manifest: Mapping[str, Any], events: PurePosixPath) -> dict[str, Any]:
    """Describe a TensorBoard for the event files of a job.

    Args:
        manifest: The job's TFJob. Of the volumes that its replicas mount, the one that holds the files is mounted in
            the viewer's pod too, and the files are named by their place on it.
        events: Folder of the event files, as replicas see it; on no volume: named as it is.
    """
    for volume, mount in _mounts(manifest):
        where = PurePosixPath(mount["mountPath"])
        if not events.is_relative_to(where):
            continue
        pod = {"containers": [{"volumeMounts": [mount]}], "volumes": [volume]}
        source = f"volume://{mount['name']}/{events.relative_to(where)}"
        return _outputs({"source": source, "pod_template_spec": {"spec": pod}})
    return _outputs({"source": str(events)})


def _outputs(told: Mapping[str, Any]) -> dict[str, Any]:
    return {"outputs": [{"type": "tensorboard", **told}]}


def _mounts(manifest: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The volumes of all replicas, each with its mount; the innermost paths first."""
    found = []
    for spec in manifest["spec"]["tfReplicaSpecs"].values():
        pod = spec["template"]["spec"]
        volumes = {volume["name"]: volume for volume in pod.get("volumes") or ()}
        for container in pod["containers"]:
            if container["name"] == TENSORFLOW_CONTAINER:
                mounts = container.get("volumeMounts") or ()
                found += [(volumes[mount["name"]], mount) for mount in mounts if mount["name"] in volumes]
    yield from sorted(found, key=lambda pair: len(pair[1]["mountPath"]), reverse=True)
