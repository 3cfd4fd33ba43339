"""Component launch_tfjob."""

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
def launch_tfjob(
    job: dsl.Input[dsl.Artifact],
    model: dsl.Output[dsl.Model],
    status: dsl.Output[dsl.Artifact],
    logs: dsl.Output[dsl.Artifact],
    mlpipeline_ui_metadata: dsl.Output[dsl.Artifact],
    run_id: str,
    job_name: str,
    admitted: str,
    reason: str,
    task_config: dsl.TaskConfig,
    volume: str = "",
) -> NamedTuple("Outcome", [("outcome", str), ("reason", str)]):
    """Start the admitted gang, follow it to its end, and say honestly how it ended.

    Ends green also when the job failed: conclude makes the run red.

    Args:
        job: The TFJob manifest.
        model: Where the model lies, with signature, versions and placement.
        status: The job's status with every replica.
        logs: The last lines of every replica's log.
        mlpipeline_ui_metadata: Lets Kubeflow's pages start TensorBoard on the event files; the name is Kubeflow's.
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
        admitted: Outcome of admit; any other than "Admitted" is passed on.
        reason: Reason of admit.
        task_config: What is set on this step, from KFP: environment, volumes and secrets for every replica. What decides
            where the gang has room is set on admit, and refused here.

    Returns:
        outcome ("Succeeded", "Failed", "Canceled", "TimedOut" or "NotAdmitted") and reason.
    """
    from gangplan.steps.launch_tfjob import launch_tfjob as step

    return step(
        run_id=run_id,
        job_name=job_name,
        volume=volume,
        admitted=admitted,
        reason=reason,
        job=job.path,
        model=model.path,
        model_metadata=model.metadata,
        status=status.path,
        logs=logs.path,
        ui_metadata=mlpipeline_ui_metadata.path,
        task_config=task_config,
    )
