"""Pipeline compare_placements: compare what becomes of the same gangs pod by pod and as gangs, without launching any."""

from kfp import dsl

from components._image import IMAGE
from components.compare_placements.component import compare_placements as compare
from components.report_study.component import report_study
from pipelines.steps import settle


@dsl.pipeline(
    name="gangplan-compare-placements",
    description="Compare what becomes of the same gangs pod by pod and as gangs, without launching any.",
)
def compare_placements(
    cluster_node_cpu: str = "16",
    cluster_node_gpus: int = 2,
    cluster_node_memory: str = "64Gi",
    cluster_nodes_per_rack: int = 2,
    cluster_racks: int = 2,
    cluster_snapshot: str = "",
    cluster_source: str = "made_up",
    gang_copies: int = 3,
    gang_preferred_level: str = "",
    gang_priority: int = 0,
    gang_queue: str = "",
    gang_required_level: str = "",
    image: str = IMAGE,
    job_name: str = "compare",
    role_chief_count: int = 0,
    role_ps_count: int = 1,
    role_ps_cpu: str = "1",
    role_ps_memory: str = "1Gi",
    role_worker_count: int = 4,
    role_worker_cpu: str = "1",
    role_worker_gpus: int = 1,
    role_worker_memory: str = "1Gi",
    tfjob_yaml: str = "",
):
    """Compare what becomes of the same gangs pod by pod and as gangs, without launching any.

    Args:
        cluster_node_cpu: Cores of each node.
        cluster_node_gpus: GPUs of each node.
        cluster_node_memory: Memory of each node.
        cluster_nodes_per_rack: Nodes of each rack.
        cluster_racks: With "made_up": racks.
        cluster_snapshot: With "snapshot": a snapshot as JSON or YAML; on one machine also the path of a file with one.
        cluster_source: "live" (the cluster of this pod, or this machine), "snapshot", or "made_up".
        gang_copies: How many such gangs, beside those that wait in the cluster already.
        gang_preferred_level: Topology level that the gang should not cross; empty means any.
        gang_priority: Higher comes first in its queue.
        gang_queue: Queue of the gang; empty means none.
        gang_required_level: Topology level that the gang must not cross; empty means any.
        image: Container image of the steps.
        job_name: Readable name of the job.
        role_chief_count: Chiefs, 0 or 1; the chief requests what a worker does, without GPU.
        role_ps_count: Parameter servers.
        role_ps_cpu: Cores of each parameter server, as "500m" or "2".
        role_ps_memory: Memory of each parameter server, as "512Mi".
        role_worker_count: Workers.
        role_worker_cpu: Cores of each worker.
        role_worker_gpus: GPUs of each worker.
        role_worker_memory: Memory of each worker.
        tfjob_yaml: A TFJob manifest as YAML in place of the roles below.
    """
    common = {"run_id": dsl.PIPELINE_JOB_ID_PLACEHOLDER, "job_name": job_name, "volume": ""}
    comparing = compare(
        **common,
        tfjob=tfjob_yaml,
        queue=gang_queue,
        priority=gang_priority,
        required_level=gang_required_level,
        preferred_level=gang_preferred_level,
        chief_count=role_chief_count,
        ps_count=role_ps_count,
        ps_cpu=role_ps_cpu,
        ps_memory=role_ps_memory,
        worker_count=role_worker_count,
        worker_cpu=role_worker_cpu,
        worker_memory=role_worker_memory,
        worker_gpus=role_worker_gpus,
        copies=gang_copies,
        source=cluster_source,
        snapshot_text=cluster_snapshot,
        racks=cluster_racks,
        nodes_per_rack=cluster_nodes_per_rack,
        node_cpu=cluster_node_cpu,
        node_memory=cluster_node_memory,
        node_gpus=cluster_node_gpus,
    )
    reporting = report_study(**common, study=comparing.outputs["study"])
    settle(comparing, reporting, image=image)
