"""Component compare_placements."""

from kfp import dsl

from components._image import IMAGE


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def compare_placements(
    study: dsl.Output[dsl.Artifact],
    snapshot: dsl.Output[dsl.Artifact],
    run_id: str,
    job_name: str,
    volume: str = "",
    tfjob: str = "",
    queue: str = "",
    priority: int = 0,
    required_level: str = "",
    preferred_level: str = "",
    chief_count: int = 0,
    ps_count: int = 1,
    ps_cpu: str = "1",
    ps_memory: str = "1Gi",
    worker_count: int = 4,
    worker_cpu: str = "1",
    worker_memory: str = "1Gi",
    worker_gpus: int = 1,
    copies: int = 3,
    source: str = "made_up",
    snapshot_text: str = "",
    racks: int = 2,
    nodes_per_rack: int = 2,
    node_cpu: str = "16",
    node_memory: str = "64Gi",
    node_gpus: int = 2,
) -> int:
    """Let the same gangs go through the way of the default scheduler, pod by pod, and through ours, without launching any.

    Args:
        study: What was found out: table, charts, figures.
        snapshot: The cluster with the gangs, as it was compared on.
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
        tfjob: A TFJob manifest as YAML in place of the roles below.
        queue: Queue of the gang; empty means none.
        priority: Higher comes first in its queue.
        required_level: Topology level that the gang must not cross; empty means any.
        preferred_level: Topology level that the gang should not cross; empty means any.
        chief_count: Chiefs, 0 or 1; the chief requests what a worker does, without GPU.
        ps_count: Parameter servers.
        ps_cpu: Cores of each parameter server, as "500m" or "2".
        ps_memory: Memory of each parameter server, as "512Mi".
        worker_count: Workers.
        worker_cpu: Cores of each worker.
        worker_memory: Memory of each worker.
        worker_gpus: GPUs of each worker.
        copies: How many such gangs, beside those that wait in the cluster already.
        source: "live" (the cluster of this pod, or this machine), "snapshot", or "made_up".
        snapshot_text: With "snapshot": a snapshot as JSON or YAML; on one machine also the path of a file with one.
        racks: With "made_up": racks.
        nodes_per_rack: Nodes of each rack.
        node_cpu: Cores of each node.
        node_memory: Memory of each node.
        node_gpus: GPUs of each node.

    Returns:
        How many gangs were deadlocked pod by pod.
    """
    from gangplan.steps.compare_placements import compare_placements as step

    return step(
        run_id=run_id,
        job_name=job_name,
        volume=volume,
        tfjob=tfjob,
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
        copies=copies,
        source=source,
        snapshot_text=snapshot_text,
        racks=racks,
        nodes_per_rack=nodes_per_rack,
        node_cpu=node_cpu,
        node_memory=node_memory,
        node_gpus=node_gpus,
        study=study.path,
        snapshot=snapshot.path,
    )
