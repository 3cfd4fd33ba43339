"""Component train_all."""

from kfp import dsl

from components._image import IMAGE


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def train_all(
    trained: dsl.Output[dsl.Artifact],
    logs: dsl.Output[dsl.Artifact],
    run_id: str,
    job_name: str,
    image: str,
    volume: str = "",
    volume_claim: str = "",
    queue: str = "",
    priority: int = 0,
    required_level: str = "",
    preferred_level: str = "",
    wait_seconds: int = 3600,
    wait_if_impossible: bool = False,
    chief_count: int = 0,
    ps_count: int = 0,
    ps_cpu: str = "250m",
    ps_memory: str = "512Mi",
    worker_count: int = 1,
    worker_cpu: str = "500m",
    worker_memory: str = "512Mi",
    worker_gpus: int = 0,
    strategy: str = "auto",
    epochs: int = 12,
    batch_size: int = 32,
    learning_rate: float = 0.002,
    seed: int = 0,
    deadline_seconds: int = 3600,
    trials: list = [],
    grid: dict = {"train_learning_rate": [0.0005, 0.002, 0.01]},
    metric: str = "accuracy",
) -> int:
    """Put the gangs of all trials into the queue at once, and train each when it has room.

    Ends green also when gangs were not admitted or failed.

    Args:
        trained: What became of the trials.
        logs: The last lines of every replica's log.
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
        volume_claim: On Kubernetes, the claim of the shared volume, which every replica mounts there.
        image: Container image of the replicas.
        queue: Queue of the gangs; empty means none.
        priority: Higher comes first in its queue.
        required_level: Topology level that a gang must not cross; empty means any.
        preferred_level: Topology level that a gang should not cross; empty means any.
        wait_seconds: Seconds that each gang waits for admission.
        wait_if_impossible: Wait although a gang cannot fit this cluster even when nothing runs.
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
        deadline_seconds: Seconds from its start after which a gang is ended.
        trials: In what trials differ, as [{"train_epochs": 3}, …]; empty means one trial, or those of the grid.
        grid: Values of parameters that are tried in all combinations, as {"train_seed": [0, 1]}.
        metric: By what the best model is chosen: "accuracy", "loss" or "images_per_s".

    Returns:
        How many trials have trained a model.
    """
    from gangplan.steps.train_all import train_all as step

    return step(
        run_id=run_id,
        job_name=job_name,
        volume=volume,
        volume_claim=volume_claim,
        image=image,
        queue=queue,
        priority=priority,
        required_level=required_level,
        preferred_level=preferred_level,
        wait_seconds=wait_seconds,
        wait_if_impossible=wait_if_impossible,
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
        trials=trials,
        grid=grid,
        metric=metric,
        trials_out=trained.path,
        logs=logs.path,
    )
