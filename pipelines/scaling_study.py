"""Pipeline scaling_study: gangs of 1, 2, 4 … workers one after another: images a second, speed-up, efficiency."""

from kfp import dsl

from components._image import IMAGE
from components.conclude.component import conclude
from components.measure_scaling.component import measure_scaling
from components.release_all.component import release_all
from components.report_study.component import report_study
from pipelines.steps import settle


@dsl.pipeline(
    name="gangplan-scaling-study",
    description="Measure how many images a second gangs of 1, 2, 4 … workers train.",
)
def scaling_study(
    gang_preferred_level: str = "",
    gang_priority: int = 0,
    gang_queue: str = "",
    gang_required_level: str = "",
    gang_wait_if_impossible: bool = False,
    gang_wait_seconds: int = 600,
    image: str = IMAGE,
    job_name: str = "scaling",
    role_ps_count: int = 0,
    role_ps_cpu: str = "250m",
    role_ps_memory: str = "512Mi",
    role_worker_cpu: str = "1",
    role_worker_gpus: int = 0,
    role_worker_memory: str = "1Gi",
    study_batch_size: int = 32,
    study_deadline_seconds: int = 1800,
    study_image_pixels: int = 32,
    study_repeats: int = 3,
    study_steps: int = 50,
    study_threads: int = 1,
    study_throughput_of: str = "gang",
    study_throughput_pattern: str = "total images/sec: ([0-9.,]+)",
    study_trainer: str = "residual",
    study_warmup_steps: int = 5,
    study_worker_counts: list = [1, 2],
    tfjob_yaml: str = "",
):
    """Measure how many images a second gangs of 1, 2, 4 … workers train, one gang after another.

    Args:
        gang_preferred_level: Topology level that a gang should not cross; empty means any.
        gang_priority: Higher comes first in its queue.
        gang_queue: Queue of the gangs; empty means none.
        gang_required_level: Topology level that a gang must not cross; empty means any.
        gang_wait_if_impossible: Wait although a gang cannot fit this cluster even when nothing runs.
        gang_wait_seconds: Seconds that each gang waits for admission.
        image: Container image of steps and replicas.
        job_name: Readable name of the job.
        role_ps_count: Parameter servers; with 0 the workers mirror their weights, else there is a chief too.
        role_ps_cpu: Cores of each parameter server, as "500m" or "2".
        role_ps_memory: Memory of each parameter server, as "512Mi".
        role_worker_cpu: Cores of each worker; a chief requests the same.
        role_worker_gpus: GPUs of each worker.
        role_worker_memory: Memory of each worker.
        study_batch_size: Images in one step of one worker, however many workers there are.
        study_deadline_seconds: Seconds from its start after which a gang is ended.
        study_image_pixels: Height and width of the made-up images; ResNet-50 is mostly measured with 224.
        study_repeats: How many gangs of each size; the median counts.
        study_steps: Steps of each worker that are measured.
        study_threads: Threads of each replica; 0 means as many as it finds. On one machine 1 keeps the workers apart.
        study_throughput_of: With tfjob, of whom the figure in a log is: of the whole "gang", as chief or first worker
            tells it, or of each "worker".
        study_throughput_pattern: With tfjob, a regular expression whose one group is images a second in a line of a
            log; the last one counts.
        study_trainer: "classifier" and "residual" (20 layers) are networks of ours, "resnet50" is that of Keras, all with
            made-up images; "tfjob" is tfjob_yaml.
        study_warmup_steps: Steps of each worker before those that are measured.
        study_worker_counts: Numbers of workers as JSON, such as [1, 2, 4].
        tfjob_yaml: A TFJob manifest to measure with study_trainer=tfjob; the number of its workers is varied.
    """
    common = {"run_id": dsl.PIPELINE_JOB_ID_PLACEHOLDER, "job_name": job_name, "volume": ""}
    releasing = release_all(**common)
    with dsl.ExitHandler(releasing, name="measuring"):
        measuring = measure_scaling(
            **common,
            volume_claim="",
            image=image,
            tfjob=tfjob_yaml,
            queue=gang_queue,
            priority=gang_priority,
            required_level=gang_required_level,
            preferred_level=gang_preferred_level,
            wait_seconds=gang_wait_seconds,
            wait_if_impossible=gang_wait_if_impossible,
            ps_count=role_ps_count,
            ps_cpu=role_ps_cpu,
            ps_memory=role_ps_memory,
            worker_cpu=role_worker_cpu,
            worker_memory=role_worker_memory,
            worker_gpus=role_worker_gpus,
            worker_counts=study_worker_counts,
            repeats=study_repeats,
            trainer=study_trainer,
            batch_size=study_batch_size,
            pixels=study_image_pixels,
            steps=study_steps,
            warmup_steps=study_warmup_steps,
            threads=study_threads,
            deadline_seconds=study_deadline_seconds,
            pattern=study_throughput_pattern,
            told_of=study_throughput_of,
        )
        reporting = report_study(**common, study=measuring.outputs["study"])
        concluding = conclude(outcome=measuring.outputs["outcome"], reason=measuring.outputs["reason"])
        concluding.after(reporting)
    settle(measuring, reporting, concluding, releasing, image=image)
