"""What a scaling study is to measure: its parameters, checked, and the TFJob of each of its gangs."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gangplan.errors import InvalidInput
from gangplan.kube.manifest import GangRequest, RoleSize, training_job
from gangplan.kube.tfjob import read, write
from gangplan.kube.volumes import Mount, mounted
from gangplan.steps.admit import own_tfjob
from gangplan.steps.gangs import Patience
from gangplan.steps.parameters import Checker
from gangplan.steps.run import MOST_GANGS, Run, one_of
from gangplan.steps.training import KEEP_S

OWN = "tfjob"
TRAINERS: Final = ("classifier", "residual", "resnet50", OWN)
"""What can be measured: networks of :mod:`gangplan.train.residual`, and a TFJob of the user's own."""

WHOLE_GANG, EACH_WORKER = "gang", "worker"
TOLD_OF: Final = (WHOLE_GANG, EACH_WORKER)
"""Of whom the figure in a log is: of the whole gang, as its leader tells it, or of each worker by itself."""

OUR_PATTERN: Final = "total images/sec: ([0-9.,]+)"

PARAMETERS: Final = {
    "image": "image",
    "tfjob_yaml": "tfjob",
    "gang_queue": "queue",
    "gang_priority": "priority",
    "gang_required_level": "required_level",
    "gang_preferred_level": "preferred_level",
    "gang_wait_seconds": "wait_seconds",
    "gang_wait_if_impossible": "wait_if_impossible",
    "role_ps_count": "ps_count",
    "role_ps_cpu": "ps_cpu",
    "role_ps_memory": "ps_memory",
    "role_worker_cpu": "worker_cpu",
    "role_worker_memory": "worker_memory",
    "role_worker_gpus": "worker_gpus",
    "study_worker_counts": "worker_counts",
    "study_repeats": "repeats",
    "study_trainer": "trainer",
    "study_batch_size": "batch_size",
    "study_image_pixels": "pixels",
    "study_steps": "steps",
    "study_warmup_steps": "warmup_steps",
    "study_threads": "threads",
    "study_deadline_seconds": "deadline_seconds",
    "study_throughput_pattern": "pattern",
    "study_throughput_of": "told_of",
}
"""Parameters of the pipeline → what :func:`asked` calls them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingRequest:
    """What is to be measured, sound.

    Attributes:
        counts: Workers of the gangs, ascending.
        repeats: How many gangs of each size.
        pattern: What finds the images a second in a log.
        told_of: Of whom they are, see :data:`TOLD_OF`.
        patience: How long each gang waits.
        values: The other parameters.
        mounts: What every replica mounts.
    """

    counts: tuple[int, ...]
    repeats: int
    pattern: re.Pattern[str]
    told_of: str
    patience: Patience
    values: Mapping[str, Any]
    mounts: tuple[Mount, ...] = ()

    def manifest(self, run: Run, workers: int) -> dict[str, Any]:
        """The TFJob of one gang.

        Args:
            run: The gang.
            workers: How many workers it has.
        """
        values = self.values
        if values["trainer"] != OWN:
            made = read(write(_benchmark(run, values, workers)))
            return mounted(made, self.mounts, source="volume_claim")
        given = own_tfjob(run, values["tfjob"], values, mounts=self.mounts)
        spec = given["spec"]
        roles = {
            kind: {**role, "replicas": workers} if kind.lower() == "worker" else role
            for kind, role in spec["tfReplicaSpecs"].items()
        }
        policy = {"activeDeadlineSeconds": int(values["deadline_seconds"]), **(spec.get("runPolicy") or {})}
        return {**given, "spec": {**spec, "runPolicy": policy, "tfReplicaSpecs": roles}}

    def gangs(self) -> Iterator[tuple[int, int, int]]:
        """Index, workers and repeat of each gang; the sizes take turns, so that a disturbance does not meet one alone."""
        index = 0
        for repeat in range(1, self.repeats + 1):
            for workers in self.counts:
                yield index, workers, repeat
                index += 1


def asked(run: Run, given: Mapping[str, Any], *, mounts: tuple[Mount, ...] = ()) -> ScalingRequest:
    """Check what is to be measured.

    Args:
        run: The run.
        given: The parameters of the component ``measure_scaling`` but those that say which run it is.
        mounts: What every replica mounts.

    Raises:
        InvalidInput: Parameters are wrong; all of them are named.
    """
    check = Checker()
    counts = tuple(
        check.whole(f"study_worker_counts[{place}]", value, at_least=1, at_most=10_000)
        for place, value in enumerate(given["worker_counts"])
    )
    if not counts:
        check.contradiction(
            "study_worker_counts", "must name at least one number of workers, such as [1, 2, 4]"
        )
    if not check.problems() and len(set(counts)) != len(counts):
        check.contradiction("study_worker_counts", "names a number twice: study_repeats says how often")
    repeats = check.whole("study_repeats", given["repeats"], at_least=1)
    if len(counts) * repeats > MOST_GANGS:
        check.contradiction(
            "study_repeats", f"makes {len(counts) * repeats} gangs; a run may have {MOST_GANGS} at most"
        )
    trainer = check.choice("study_trainer", given["trainer"], TRAINERS)
    for name, least in (("batch_size", 1), ("steps", 1), ("warmup_steps", 1), ("threads", 0)):
        check.whole(f"study_{name}", given[name], at_least=least)
    check.whole("study_image_pixels", given["pixels"], at_least=32 if trainer == "resnet50" else 8)
    check.whole("study_deadline_seconds", given["deadline_seconds"], at_least=1)
    check.whole("role_ps_count", given["ps_count"], at_least=0)
    check.whole("role_worker_gpus", given["worker_gpus"], at_least=0)
    check.whole("gang_priority", given["priority"], at_least=-(10**9), at_most=10**9)
    for name, resource in (
        ("ps_cpu", "cpu"),
        ("worker_cpu", "cpu"),
        ("ps_memory", "memory"),
        ("worker_memory", "memory"),
    ):
        check.quantity(f"role_{name}", resource, given[name])
    own = trainer == OWN
    pattern = check.pattern("study_throughput_pattern", given["pattern"] if own else OUR_PATTERN)
    told_of = check.choice("study_throughput_of", given["told_of"], TOLD_OF)
    if own and not given["tfjob"].strip():
        check.contradiction("tfjob_yaml", "must be the TFJob to measure, since study_trainer is tfjob")
    if not own and given["tfjob"].strip():
        check.contradiction("tfjob_yaml", f"is measured only with study_trainer=tfjob, not {trainer}")
    seconds = check.whole("gang_wait_seconds", given["wait_seconds"], at_least=0)
    wanted = ScalingRequest(
        counts=tuple(sorted(counts)),
        repeats=repeats,
        pattern=pattern,
        told_of=told_of if own else WHOLE_GANG,
        patience=Patience(seconds=seconds, if_impossible=given["wait_if_impossible"]),
        values=given,
        mounts=mounts,
    )
    if own and given["tfjob"].strip():
        try:
            made = own_tfjob(one_of(run, 0), given["tfjob"], given)
            if all(kind.lower() != "worker" for kind in made["spec"]["tfReplicaSpecs"]):
                check.contradiction("tfjob_yaml", "must have a replica type Worker, whose number is varied")
        except InvalidInput as error:
            check.add("tfjob_yaml", error.problems)
    check.raise_if_any()
    wanted.manifest(one_of(run, 0), wanted.counts[0])
    return wanted


def _benchmark(run: Run, values: Mapping[str, Any], workers: int) -> dict[str, Any]:
    servers = int(values["ps_count"])
    worker = RoleSize(
        replicas=workers,
        gpus=int(values["worker_gpus"]),
        cpu=values["worker_cpu"],
        memory=values["worker_memory"],
    )
    chief = RoleSize(replicas=1 if servers else 0, cpu=values["worker_cpu"], memory=values["worker_memory"])
    ps = RoleSize(replicas=servers, cpu=values["ps_cpu"], memory=values["ps_memory"])
    flags = {
        "network": values["trainer"],
        "pixels": int(values["pixels"]),
        "batch": int(values["batch_size"]),
        "steps": int(values["steps"]),
        "warmup": int(values["warmup_steps"]),
        "threads": int(values["threads"]),
    }
    words = ["python", "-m", "gangplan.train.benchmark"]
    for name, value in flags.items():
        words += [f"--{name}", str(value)]
    return training_job(
        name=run.name,
        run_id=run.run_id,
        image=values["image"],
        command=tuple(words),
        roles={"chief": chief, "ps": ps, "worker": worker},
        request=GangRequest(
            queue=values["queue"],
            priority=int(values["priority"]),
            required=values["required_level"],
            preferred=values["preferred_level"],
        ),
        deadline_s=int(values["deadline_seconds"]),
        keep_s=KEEP_S,
    )
