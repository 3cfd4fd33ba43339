"""What the steps of every pipeline have in common."""

from typing import Any

from kfp import kubernetes

MOUNT = "/training"
"""Where steps and replicas see the shared volume. KFP takes the name of a claim from a parameter, but no path."""


def settle(*tasks: Any, image: Any) -> None:
    """Let steps run in an image, and anew in each run: what they find out or do is never that of another run.

    Args:
        tasks: The steps; KFP caches also what runs at the exit, unless it is told not to.
        image: The image, a parameter of the pipeline.
    """
    for task in tasks:
        task.set_caching_options(False)
        task.set_container_image(image)


def mount(*tasks: Any, claim: Any) -> None:
    """Mount the shared volume in the pods of steps; on one machine KFP passes this over.

    Args:
        tasks: The steps.
        claim: Name of the claim, a parameter of the pipeline.
    """
    for task in tasks:
        kubernetes.mount_pvc(task, pvc_name=claim, mount_path=MOUNT)
