"""Pipeline sweep: many gangs compete in one queue, each trains with other parameters, and the best model is published."""

from kfp import dsl

from components._image import IMAGE
from components.choose_best.component import choose_best
from components.conclude.component import conclude
from components.prepare_data.component import prepare_data
from components.release_all.component import release_all
from components.report_study.component import report_study
from components.train_all.component import train_all
from pipelines.steps import MOUNT, mount, settle


@dsl.pipeline(
    name="gangplan-sweep",
    description="Train a classifier with many choices of parameters, as gangs of one queue, and keep the best.",
)
def sweep(
    data_source: str = "digits",
    data_split: str = "",
    data_seed: int = 0,
    gang_preferred_level: str = "",
    gang_priority: int = 0,
    gang_queue: str = "",
    gang_required_level: str = "",
    gang_wait_if_impossible: bool = False,
    gang_wait_seconds: int = 3600,
    image: str = IMAGE,
    job_name: str = "sweep",
    role_chief_count: int = 0,
    role_ps_count: int = 0,
    role_ps_cpu: str = "250m",
    role_ps_memory: str = "512Mi",
    role_worker_count: int = 1,
    role_worker_cpu: str = "500m",
    role_worker_gpus: int = 0,
    role_worker_memory: str = "512Mi",
    sweep_grid: dict = {"train_learning_rate": [0.0005, 0.002, 0.01]},
    sweep_metric: str = "accuracy",
    sweep_trials: list = [],
    train_batch_size: int = 32,
    train_deadline_seconds: int = 3600,
    train_epochs: int = 12,
    train_learning_rate: float = 0.002,
    train_seed: int = 0,
    train_strategy: str = "auto",
    volume_claim: str = "training",
):
    """Train a classifier with many choices of parameters, as gangs of one queue, and keep the best.

    Args:
        data_source: "digits" (bundled), a folder of MNIST-format IDX files, or an .npz file.
        data_split: Training and test images as "8000/2000", for a source that is one set; empty means four to one.
        data_seed: Seed of the split.
        gang_preferred_level: Topology level that a gang should not cross; empty means any.
        gang_priority: Higher comes first in its queue.
        gang_queue: Queue of the gangs; empty means none.
        gang_required_level: Topology level that a gang must not cross; empty means any.
        gang_wait_if_impossible: Wait although a gang cannot fit this cluster even when nothing runs.
        gang_wait_seconds: Seconds that each gang waits for admission.
        image: Container image of steps and replicas.
        job_name: Readable name of the job.
        role_chief_count: Chiefs, 0 or 1; the chief requests what a worker does, without GPU.
        role_ps_count: Parameter servers; with 0 the workers mirror their weights.
        role_ps_cpu: Cores of each parameter server, as "500m" or "2".
        role_ps_memory: Memory of each parameter server, as "512Mi".
        role_worker_count: Workers.
        role_worker_cpu: Cores of each worker.
        role_worker_gpus: GPUs of each worker.
        role_worker_memory: Memory of each worker.
        sweep_grid: Values that are tried in all combinations, as JSON: {"train_seed": [0, 1]}; train_…, role_… and gang_… may be.
        sweep_metric: By what the best model is chosen: "accuracy", "loss" or "images_per_s".
        sweep_trials: Trials one by one, as JSON: [{"train_epochs": 3}, {"train_epochs": 9}]; each is combined with the grid.
        train_batch_size: Images in one step of one worker.
        train_deadline_seconds: Seconds from its start after which a gang is ended.
        train_epochs: Passes over the training images.
        train_learning_rate: Step size of the optimizer.
        train_seed: Seed of weights and order.
        train_strategy: "auto", "ps", "mirrored" or "alone".
        volume_claim: On Kubernetes, the claim (ReadWriteMany) of the volume that every step and every replica mounts at
            /training; on one machine not looked at.
    """
    common = {"run_id": dsl.PIPELINE_JOB_ID_PLACEHOLDER, "job_name": job_name, "volume": MOUNT}
    releasing = release_all(**common)
    with dsl.ExitHandler(releasing, name="sweeping"):
        preparing = prepare_data(**common, source=data_source, split=data_split, seed=data_seed)
        training = train_all(
            **common,
            volume_claim=volume_claim,
            image=image,
            queue=gang_queue,
            priority=gang_priority,
            required_level=gang_required_level,
            preferred_level=gang_preferred_level,
            wait_seconds=gang_wait_seconds,
            wait_if_impossible=gang_wait_if_impossible,
            chief_count=role_chief_count,
            ps_count=role_ps_count,
            ps_cpu=role_ps_cpu,
            ps_memory=role_ps_memory,
            worker_count=role_worker_count,
            worker_cpu=role_worker_cpu,
            worker_memory=role_worker_memory,
            worker_gpus=role_worker_gpus,
            strategy=train_strategy,
            epochs=train_epochs,
            batch_size=train_batch_size,
            learning_rate=train_learning_rate,
            seed=train_seed,
            deadline_seconds=train_deadline_seconds,
            trials=sweep_trials,
            grid=sweep_grid,
            metric=sweep_metric,
        )
        training.after(preparing)
        choosing = choose_best(**common, metric=sweep_metric, trained=training.outputs["trained"])
        reporting = report_study(**common, study=choosing.outputs["study"])
        concluding = conclude(outcome=choosing.outputs["outcome"], reason=choosing.outputs["reason"])
        concluding.after(reporting)
    on_volume = (preparing, training, choosing, reporting, releasing)
    mount(*on_volume, claim=volume_claim)
    settle(*on_volume, concluding, image=image)
