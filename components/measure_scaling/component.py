"""Component measure_scaling."""

from typing import NamedTuple

from kfp import dsl

from components._image import IMAGE


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def measure_scaling(
    study: dsl.Output[dsl.Artifact],
    logs: dsl.Output[dsl.Artifact],
    run_id: str,
    job_name: str,
    image: str,
    volume: str = "",
    volume_claim: str = "",
    tfjob: str = "",
    queue: str = "",
    priority: int = 0,
    required_level: str = "",
    preferred_level: str = "",
    wait_seconds: int = 600,
    wait_if_impossible: bool = False,
    ps_count: int = 0,
    ps_cpu: str = "250m",
    ps_memory: str = "512Mi",
    worker_cpu: str = "1",
    worker_memory: str = "1Gi",
    worker_gpus: int = 0,
    worker_counts: list = [1, 2],
    repeats: int = 3,
    trainer: str = "residual",
    batch_size: int = 32,
    pixels: int = 32,
    steps: int = 50,
    warmup_steps: int = 5,
    threads: int = 1,
    deadline_seconds: int = 1800,
    pattern: str = "total images/sec: ([0-9.,]+)",
    told_of: str = "gang",
) -> NamedTuple("Outcome", [("outcome", str), ("reason", str)]):
    """Run gangs of 1, 2, 4 … workers one after another, and measure how many images a second each trains.

    Ends green also when a gang was not admitted or failed: conclude makes the run red.

    Args:
        study: What was found out: table, charts, figures.
        logs: The last lines of every replica's log.
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
        volume_claim: On Kubernetes, the claim of the shared volume, which every replica mounts there; empty means none.
        image: Container image of the replicas.
        tfjob: A TFJob manifest as YAML to measure with trainer "tfjob"; the number of its workers is varied.
        queue: Queue of the gangs; empty means none.
        priority: Higher comes first in its queue.
        required_level: Topology level that a gang must not cross; empty means any.
        preferred_level: Topology level that a gang should not cross; empty means any.
        wait_seconds: Seconds that each gang waits for admission.
        wait_if_impossible: Wait although a gang cannot fit this cluster even when nothing runs.
        ps_count: Parameter servers; with 0 the workers mirror their weights, else there is a chief too.
        ps_cpu: Cores of each parameter server, as "500m" or "2".
        ps_memory: Memory of each parameter server, as "512Mi".
        worker_cpu: Cores of each worker.
        worker_memory: Memory of each worker.
        worker_gpus: GPUs of each worker.
        worker_counts: Numbers of workers, such as [1, 2, 4].
        repeats: How many gangs of each size; the median counts.
        trainer: "classifier", "residual", "resnet50" or "tfjob".
        batch_size: Images in one step of one worker.
        pixels: Height and width of an image.
        steps: Steps of each worker that are measured.
        warmup_steps: Steps of each worker before that.
        threads: Threads of each replica; 0 means as many as it finds.
        deadline_seconds: Seconds from its start after which a gang is ended.
        pattern: With trainer "tfjob", a regular expression whose one group is images a second in a line of a log.
        told_of: Of whom that figure is: of the whole "gang", or of each "worker".

    Returns:
        outcome ("Succeeded", or that of the first gang that was not measured) and reason.
    """
    from gangplan.steps.measure_scaling import measure_scaling as step

    return step(
        run_id=run_id,
        job_name=job_name,
        volume=volume,
        volume_claim=volume_claim,
        study=study.path,
        logs=logs.path,
        image=image,
        tfjob=tfjob,
        queue=queue,
        priority=priority,
        required_level=required_level,
        preferred_level=preferred_level,
        wait_seconds=wait_seconds,
        wait_if_impossible=wait_if_impossible,
        ps_count=ps_count,
        ps_cpu=ps_cpu,
        ps_memory=ps_memory,
        worker_cpu=worker_cpu,
        worker_memory=worker_memory,
        worker_gpus=worker_gpus,
        worker_counts=worker_counts,
        repeats=repeats,
        trainer=trainer,
        batch_size=batch_size,
        pixels=pixels,
        steps=steps,
        warmup_steps=warmup_steps,
        threads=threads,
        deadline_seconds=deadline_seconds,
        pattern=pattern,
        told_of=told_of,
    )
