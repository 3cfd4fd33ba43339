"""Component admit."""

from typing import NamedTuple

from kfp import dsl

from components._image import IMAGE


@dsl.component(
    base_image=IMAGE,
    install_kfp_package=False,
    task_config_passthroughs=[
        dsl.TaskConfigField.RESOURCES,
        dsl.TaskConfigField.KUBERNETES_TOLERATIONS,
        dsl.TaskConfigField.KUBERNETES_NODE_SELECTOR,
        dsl.TaskConfigField.KUBERNETES_AFFINITY,
        dsl.TaskConfigPassthrough(field=dsl.TaskConfigField.ENV, apply_to_task=True),
        dsl.TaskConfigPassthrough(field=dsl.TaskConfigField.KUBERNETES_VOLUMES, apply_to_task=True),
    ],
)
def admit(
    job: dsl.Output[dsl.Artifact],
    snapshot: dsl.Output[dsl.Artifact],
    plan: dsl.Output[dsl.Artifact],
    explanation: dsl.Output[dsl.Markdown],
    run_id: str,
    job_name: str,
    image: str,
    task_config: dsl.TaskConfig,
    volume: str = "",
    volume_claim: str = "",
    tfjob: str = "",
    queue: str = "",
    priority: int = 0,
    required_level: str = "",
    preferred_level: str = "",
    wait_seconds: int = 600,
    wait_if_impossible: bool = False,
    chief_count: int = 1,
    ps_count: int = 1,
    ps_cpu: str = "250m",
    ps_memory: str = "512Mi",
    worker_count: int = 2,
    worker_cpu: str = "250m",
    worker_memory: str = "512Mi",
    worker_gpus: int = 0,
    strategy: str = "auto",
    epochs: int = 12,
    batch_size: int = 32,
    learning_rate: float = 0.002,
    seed: int = 0,
    deadline_seconds: int = 3600,
) -> NamedTuple("Outcome", [("outcome", str), ("reason", str)]):
    """Wait until the whole gang may start; say where each replica goes, or why not and what would help.

    Ends green also when the gang was not admitted: conclude makes the run red.

    Args:
        job: The TFJob manifest.
        snapshot: The cluster as it was decided on.
        plan: The plan.
        explanation: The plan in words: placement, or reason with tried changes.
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
        volume_claim: On Kubernetes, the claim of the shared volume, which every replica mounts there.
        image: Container image of the replicas.
        tfjob: A TFJob manifest as YAML to run instead of the training described below.
        queue: Queue of the gang; empty means none.
        priority: Higher comes first in its queue.
        required_level: Topology level that the gang must not cross; empty means any.
        preferred_level: Topology level that the gang should not cross; empty means any.
        wait_seconds: Seconds to wait for admission.
        wait_if_impossible: Wait although the gang cannot fit this cluster even when nothing runs.
        chief_count: Chiefs, 0 or 1; the chief requests what a worker does, without GPU.
        ps_count: Parameter servers; with 0 the workers mirror their weights.
        ps_cpu: Cores of each parameter server, as "500m" or "2".
        ps_memory: Memory of each parameter server, as "512Mi".
        worker_count: Workers.
        worker_cpu: Cores of each worker.
        worker_memory: Memory of each worker.
        worker_gpus: GPUs of each worker.
        strategy: "auto", "ps", "mirrored" or "alone".
        epochs: Passes over the training images.
        batch_size: Images in one step of one worker.
        learning_rate: Step size of the optimizer.
        seed: Seed of weights and order.
        deadline_seconds: Seconds from start after which the job is ended.
        task_config: What is set on this step, from KFP: resources for the workers; environment, volumes, secrets,
            selectors and tolerations for every replica.

    Returns:
        outcome ("Admitted" or "NotAdmitted") and reason.
    """
    from gangplan.steps.admit import admit as step

    return step(
        run_id=run_id,
        job_name=job_name,
        volume=volume,
        volume_claim=volume_claim,
        wait_seconds=wait_seconds,
        wait_if_impossible=wait_if_impossible,
        tfjob=tfjob,
        job=job.path,
        snapshot=snapshot.path,
        plan=plan.path,
        text=explanation.path,
        image=image,
        queue=queue,
        priority=priority,
        required_level=required_level,
        preferred_level=preferred_level,
        chief_count=chief_count,
        ps_count=ps_count,
        ps_cpu=ps_cpu,
        ps_memory=ps_memory,
        worker_count=worker_count,
        worker_cpu=worker_cpu,
        worker_memory=worker_memory,
        worker_gpus=worker_gpus,
        strategy=strategy,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        seed=seed,
        deadline_seconds=deadline_seconds,
        task_config=task_config,
    )
