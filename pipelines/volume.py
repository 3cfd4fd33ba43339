"""The shared volume that the steps of every pipeline mount."""

from typing import Any

from kfp import kubernetes

MOUNT = "/training"
"""Where steps and replicas see it. KFP takes the name of a claim from a parameter, but no path."""


def mount(*tasks: Any, claim: Any) -> None:
    """Mount the shared volume in the pods of steps; on one machine KFP passes this over.

    Args:
        tasks: The steps.
        claim: Name of the claim, a parameter of the pipeline.
    """
    for task in tasks:
        kubernetes.mount_pvc(task, pvc_name=claim, mount_path=MOUNT)
