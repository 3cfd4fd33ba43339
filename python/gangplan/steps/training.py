"""The TFJob of a training run, from the parameters of the run form."""

from typing import Any

from gangplan.kube.manifest import GangRequest, RoleSize, training_job
from gangplan.kube.tfjob import read, write
from gangplan.steps.parameters import Checker
from gangplan.steps.run import Run

STRATEGIES = ("auto", "ps", "mirrored", "alone")
PARAMETERS = {
    "image": "image",
    "gang_queue": "queue",
    "gang_priority": "priority",
    "gang_required_level": "required_level",
    "gang_preferred_level": "preferred_level",
    "role_chief_count": "chief_count",
    "role_ps_count": "ps_count",
    "role_ps_cpu": "ps_cpu",
    "role_ps_memory": "ps_memory",
    "role_worker_count": "worker_count",
    "role_worker_cpu": "worker_cpu",
    "role_worker_memory": "worker_memory",
    "role_worker_gpus": "worker_gpus",
    "train_strategy": "strategy",
    "train_epochs": "epochs",
    "train_batch_size": "batch_size",
    "train_learning_rate": "learning_rate",
    "train_seed": "seed",
    "train_deadline_seconds": "deadline_seconds",
}
"""Parameters of the pipeline that describe the training → what :func:`training_manifest` calls them."""

KEEP_S = 86_400
"""Seconds that an ended TFJob is kept: a day, so that its logs can be read the morning after."""


def training_manifest(
    run: Run,
    *,
    image: str,
    queue: str,
    priority: int,
    required_level: str,
    preferred_level: str,
    chief_count: int,
    ps_count: int,
    ps_cpu: str,
    ps_memory: str,
    worker_count: int,
    worker_cpu: str,
    worker_memory: str,
    worker_gpus: int,
    strategy: str,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    seed: int,
    deadline_seconds: int,
) -> dict[str, Any]:
    """Write the manifest of the classifier's training on the prepared data set.

    Args:
        run: The run.
        image: Container image.
        queue: Queue; empty: none.
        priority: Priority in the queue.
        required_level: Level that the gang must not cross; empty: none.
        preferred_level: Level that it should not cross; empty: none.
        chief_count: 0 or 1. The chief requests what a worker does, but no GPU.
        ps_count: Parameter servers.
        ps_cpu: Cores of each, a quantity.
        ps_memory: Memory of each, a quantity.
        worker_count: Workers.
        worker_cpu: Cores of each, a quantity.
        worker_memory: Memory of each, a quantity.
        worker_gpus: Whole GPUs of each.
        strategy: ``auto``, ``ps``, ``mirrored`` or ``alone``.
        epochs: Passes over the training images.
        batch_size: Images in one step of one worker.
        learning_rate: Step size of the optimizer.
        seed: Seed of weights and order.
        deadline_seconds: Seconds from start after which the job is ended.

    Raises:
        InvalidInput: Parameters are wrong or contradict each other; all of them are named.
    """
    check = Checker()
    cpu = check.quantity("role_worker_cpu", "cpu", worker_cpu)
    memory = check.quantity("role_worker_memory", "memory", worker_memory)
    roles = {
        "chief": RoleSize(
            replicas=check.whole("role_chief_count", chief_count, at_least=0, at_most=1),
            cpu=cpu,
            memory=memory,
        ),
        "ps": RoleSize(
            replicas=check.whole("role_ps_count", ps_count, at_least=0),
            cpu=check.quantity("role_ps_cpu", "cpu", ps_cpu),
            memory=check.quantity("role_ps_memory", "memory", ps_memory),
        ),
        "worker": RoleSize(
            replicas=check.whole("role_worker_count", worker_count, at_least=0),
            gpus=check.whole("role_worker_gpus", worker_gpus, at_least=0),
            cpu=cpu,
            memory=memory,
        ),
    }
    if not roles["worker"].replicas and not roles["chief"].replicas:
        check.contradiction("role_worker_count", "somebody must train: a worker or a chief")
    if roles["ps"].replicas and not roles["worker"].replicas:
        check.contradiction("role_ps_count", "parameter servers need at least one worker")
    if strategy == "ps" and not roles["ps"].replicas:
        check.contradiction("train_strategy", "ps needs at least one parameter server: set role_ps_count")
    if strategy in {"mirrored", "alone"} and roles["ps"].replicas:
        check.contradiction("train_strategy", f"{strategy} uses no parameter server: set role_ps_count=0")
    if strategy == "alone" and sum(size.replicas for size in roles.values()) > 1:
        check.contradiction(
            "train_strategy", "alone is for one replica: set the counts of the other roles to 0"
        )
    words = [
        *("python", "-m", "gangplan.train.classifier"),
        *("--data", str(run.data)),
        *("--out", str(run.trained), "--resume"),
        *("--strategy", check.choice("train_strategy", strategy, STRATEGIES)),
        *("--epochs", str(check.whole("train_epochs", epochs, at_least=1))),
        *("--batch", str(check.whole("train_batch_size", batch_size, at_least=1))),
        *("--learning-rate", str(check.positive("train_learning_rate", learning_rate))),
        *("--seed", str(check.whole("train_seed", seed, at_least=0))),
    ]
    request = GangRequest(
        queue=queue,
        priority=check.whole("gang_priority", priority, at_least=-(10**9), at_most=10**9),
        required=required_level,
        preferred=preferred_level,
    )
    deadline = check.whole("train_deadline_seconds", deadline_seconds, at_least=1)
    check.raise_if_any()
    return read(
        write(
            training_job(
                name=run.name,
                run_id=run.run_id,
                image=image,
                command=tuple(words),
                roles=roles,
                request=request,
                deadline_s=deadline,
                keep_s=KEEP_S,
            )
        )
    )
