"""Pipeline train: prepare data, admit the gang, launch it, evaluate, report, conclude; release on every exit.

Parameter names sort into groups (the run form is alphabetical and shows no descriptions) and carry their units.
"""

from kfp import dsl

from components._image import IMAGE
from components.admit.component import admit
from components.conclude.component import conclude
from components.evaluate.component import evaluate
from components.launch_tfjob.component import launch_tfjob
from components.prepare_data.component import prepare_data
from components.release.component import release
from components.report.component import report
from pipelines.steps import MOUNT, mount, settle


@dsl.pipeline(
    name="gangplan-train", description="Train a classifier as one gang: all replicas together, or none."
)
def train(
    data_source: str = "digits",
    data_split: str = "",
    data_seed: int = 0,
    gang_preferred_level: str = "",
    gang_priority: int = 0,
    gang_queue: str = "",
    gang_required_level: str = "",
    gang_skip_if_not_admitted: bool = False,
    gang_wait_if_impossible: bool = False,
    gang_wait_seconds: int = 600,
    image: str = IMAGE,
    job_name: str = "classifier",
    role_chief_count: int = 1,
    role_ps_count: int = 1,
    role_ps_cpu: str = "250m",
    role_ps_memory: str = "512Mi",
    role_worker_count: int = 2,
    role_worker_cpu: str = "250m",
    role_worker_gpus: int = 0,
    role_worker_memory: str = "512Mi",
    tfjob_yaml: str = "",
    train_batch_size: int = 32,
    train_deadline_seconds: int = 3600,
    train_epochs: int = 12,
    train_learning_rate: float = 0.002,
    train_seed: int = 0,
    train_strategy: str = "auto",
    volume_claim: str = "training",
):
    """Train a classifier as one gang: all replicas together, or none.

    Args:
        data_source: "digits" (bundled), a folder of MNIST-format IDX files, or an .npz file.
        data_split: Training and test images as "8000/2000", for a source that is one set; empty means four to one.
        data_seed: Seed of the split.
        gang_preferred_level: Topology level that the gang should not cross; empty means any.
        gang_priority: Higher comes first in its queue.
        gang_queue: Queue of the gang; empty means none.
        gang_required_level: Topology level that the gang must not cross; empty means any.
        gang_skip_if_not_admitted: End green, with the reason, where the gang was not admitted; otherwise red.
        gang_wait_if_impossible: Wait although the gang cannot fit this cluster even when nothing runs.
        gang_wait_seconds: Seconds to wait for admission.
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
        tfjob_yaml: A TFJob manifest to run instead of the training described by role_… and train_…, which are not
            looked at then; gang_… are, where given.
        train_batch_size: Images in one step of one worker.
        train_deadline_seconds: Seconds from start after which the job is ended.
        train_epochs: Passes over the training images.
        train_learning_rate: Step size of the optimizer.
        train_seed: Seed of weights and order.
        train_strategy: "auto", "ps", "mirrored" or "alone".
        volume_claim: On Kubernetes, the claim (ReadWriteMany) of the volume that every step and every replica mounts at
            /training; on one machine not looked at.
    """
    common = {"run_id": dsl.PIPELINE_JOB_ID_PLACEHOLDER, "job_name": job_name, "volume": MOUNT}
    releasing = release(**common)
    with dsl.ExitHandler(releasing, name="training"):
        preparing = prepare_data(**common, source=data_source, split=data_split, seed=data_seed)
        admitting = admit(
            **common,
            volume_claim=volume_claim,
            image=image,
            tfjob=tfjob_yaml,
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
        )
        admitting.after(preparing)
        launching = launch_tfjob(
            **common,
            job=admitting.outputs["job"],
            admitted=admitting.outputs["outcome"],
            reason=admitting.outputs["reason"],
        )
        evaluating = evaluate(
            **common, model=launching.outputs["model"], trained=launching.outputs["outcome"]
        )
        reporting = report(
            **common,
            dataset=preparing.outputs["dataset"],
            snapshot=admitting.outputs["snapshot"],
            plan=admitting.outputs["plan"],
            status=launching.outputs["status"],
            model=launching.outputs["model"],
            evaluation=evaluating.outputs["evaluation"],
            outcome=launching.outputs["outcome"],
            reason=launching.outputs["reason"],
        )
        concluding = conclude(
            outcome=launching.outputs["outcome"],
            reason=launching.outputs["reason"],
            skip_if_not_admitted=gang_skip_if_not_admitted,
        )
        concluding.after(reporting)
    on_volume = (preparing, admitting, launching, evaluating, reporting, releasing)
    mount(*on_volume, claim=volume_claim)
    settle(*on_volume, concluding, image=image)
