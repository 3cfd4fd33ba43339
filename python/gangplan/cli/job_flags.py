"""Flags of submit that describe a job without a file; what is wrong with them is told by their names."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from gangplan.cli import completion
from gangplan.cli.flag_groups import flag
from gangplan.errors import InvalidInput, Problem

if TYPE_CHECKING:
    from gangplan.kube.manifest import RoleSize

SOURCE = "the job from flags"
KEEP_S = 86_400
"""Seconds that an ended job is kept unless a flag says otherwise: its logs can be read the morning after."""

COUNTS = {"worker": "--workers", "ps": "--ps", "chief": "--chief", "evaluator": "--evaluator"}
"""Role → the flag that says how many there are."""

_WHOLE, _PLACE = "A job without a file", "A job without a file: where it waits and lies"


def _flag(name: str, text: str, panel: str = _WHOLE, **more: Any) -> Any:
    return flag(name, text, panel, **more)


def _count(role: str) -> Any:
    return _flag(COUNTS[role], "How many.", _panel(role), min=0, show_default="0")


def _of(role: str, what: str, text: str, **more: Any) -> Any:
    return _flag(f"--{role}-{what}", text, _panel(role), **more)


def _panel(role: str) -> str:
    roles = {"worker": "workers", "ps": "parameter servers", "chief": "the chief", "evaluator": "evaluators"}
    return f"A job without a file: {roles[role]}"


_GPUS = "Whole GPUs of each."
_CPU = "Cores of each."
_MEMORY = "Memory of each."
_IMAGE = "Its container image, where it is not that of --image."


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFlags:
    """A job as flags describe it; None: the flag was not given."""

    name: str | None = _flag("--name", "Name of the job.")
    image: str | None = _flag("--image", "Container image of all roles that have none of their own.")
    env: list[str] | None = _flag(  # noqa: RUF009 - it makes a field, as field() does
        "--env", "Environment variable of every replica. Repeatable.", metavar="NAME=VALUE"
    )
    deadline: int | None = _flag(
        "--deadline", "Seconds from start after which the job is ended.", min=1, show_default="never"
    )
    keep: int | None = _flag(
        "--keep", "Seconds that the ended job is kept for its logs.", min=0, show_default=str(KEEP_S)
    )
    queue: str | None = _flag("--queue", "Queue that it waits in.", _PLACE, autocompletion=completion.queue)
    priority: int | None = _flag("--priority", "Higher comes first in its queue.", _PLACE, show_default="0")
    required: str | None = _flag("--required", "Topology level that it must not cross.", _PLACE)
    preferred: str | None = _flag("--preferred", "Topology level that it should not cross.", _PLACE)
    worker: int | None = _count("worker")
    worker_gpus: int | None = _of("worker", "gpus", _GPUS, min=0, show_default="0")
    worker_cpu: str | None = _of("worker", "cpu", _CPU, show_default="250m")
    worker_memory: str | None = _of("worker", "memory", _MEMORY, show_default="512Mi")
    worker_image: str | None = _of("worker", "image", _IMAGE)
    ps: int | None = _count("ps")
    ps_gpus: int | None = _of("ps", "gpus", _GPUS, min=0, show_default="0")
    ps_cpu: str | None = _of("ps", "cpu", _CPU, show_default="250m")
    ps_memory: str | None = _of("ps", "memory", _MEMORY, show_default="512Mi")
    ps_image: str | None = _of("ps", "image", _IMAGE)
    chief: int | None = _count("chief")
    chief_gpus: int | None = _of("chief", "gpus", _GPUS, min=0, show_default="0")
    chief_cpu: str | None = _of("chief", "cpu", _CPU, show_default="250m")
    chief_memory: str | None = _of("chief", "memory", _MEMORY, show_default="512Mi")
    chief_image: str | None = _of("chief", "image", _IMAGE)
    evaluator: int | None = _count("evaluator")
    evaluator_gpus: int | None = _of("evaluator", "gpus", _GPUS, min=0, show_default="0")
    evaluator_cpu: str | None = _of("evaluator", "cpu", _CPU, show_default="250m")
    evaluator_memory: str | None = _of("evaluator", "memory", _MEMORY, show_default="512Mi")
    evaluator_image: str | None = _of("evaluator", "image", _IMAGE)

    @property
    def given(self) -> tuple[str, ...]:
        """The flags that were given."""
        return tuple(
            item.metadata["option"].default for item in fields(self) if getattr(self, item.name) is not None
        )

    def sizes(self) -> "dict[str, RoleSize]":
        """Role → how many replicas it has, and what each of them is and requests."""
        from gangplan.kube.manifest import RoleSize

        found = {}
        for role in COUNTS:
            given = {what: getattr(self, f"{role}_{what}") for what in ("gpus", "cpu", "memory", "image")}
            said = {what: value for what, value in given.items() if value is not None}
            found[role] = RoleSize(replicas=getattr(self, role) or 0, **said)
        return found


def manifest_of(
    job: JobFlags, command: Sequence[str], *, run_id: str, before: Sequence[Problem] = ()
) -> dict[str, Any]:
    """The TFJob that flags describe.

    Args:
        job: The flags.
        command: Program and arguments of every replica; empty: the image says.
        run_id: The run that it belongs to.
        before: What is wrong with other flags; it is told too.

    Raises:
        InvalidInput: Flags are missing or wrong; every problem is named with its flag.
    """
    from gangplan.kube.manifest import GangRequest, training_job
    from gangplan.kube.tfjob import read, write

    env, problems = _environment(job.env or ())
    problems += before
    sizes = job.sizes()
    problems += [
        Problem(
            flag, "CONTRADICTION", f"goes with {COUNTS[role]}, of which there is none: give {COUNTS[role]}"
        )
        for role, size in sizes.items()
        if not size.replicas
        for flag in job.given
        if flag.startswith(f"--{role}-")
    ]
    made = training_job(
        name=job.name or "",
        run_id=run_id,
        image=job.image or "",
        command=tuple(command),
        roles=sizes,
        request=GangRequest(
            queue=job.queue or "",
            priority=job.priority or 0,
            required=job.required or "",
            preferred=job.preferred or "",
        ),
        deadline_s=job.deadline,
        keep_s=KEEP_S if job.keep is None else job.keep,
        env=env,
    )
    with told_by_flags(sizes, problems):
        return read(write(made))
    raise AssertionError("problems are raised")


def _environment(texts: Sequence[str]) -> tuple[dict[str, str], list[Problem]]:
    env, problems = {}, []
    for text in texts:
        name, equals, value = text.partition("=")
        if name and equals:
            env[name] = value
        else:
            problems.append(Problem("--env", "BAD_VALUE", f"must be NAME=VALUE, not {text!r}"))
    return env, problems


@contextmanager
def told_by_flags(sizes: "Mapping[str, RoleSize]", before: Sequence[Problem] = ()) -> Iterator[None]:
    """Tell what is wrong with the manifest of a job by the flags that it comes from.

    Args:
        sizes: The roles as flags describe them.
        before: What is wrong already; it is raised too.
    """
    found = list(before)
    try:
        yield
    except InvalidInput as error:
        found += [
            replace(problem, path=_flag_of(problem.path, sizes), message=_plainly(problem))
            for problem in error.problems
        ]
        raise InvalidInput(sorted(set(found)), SOURCE) from error
    if found:
        raise InvalidInput(sorted(set(found)), SOURCE)


def _plainly(problem: Problem) -> str:
    if problem.path == "$.spec.tfReplicaSpecs" and problem.code == "MISSING_FIELD":
        return f"somebody must train: give {', '.join(COUNTS.values())} or several of them"
    return "must be given" if problem.code == "MISSING_FIELD" else problem.message


_FLAGS = (
    (r"\$\.metadata\.name\b", "--name"),
    (r"\$\.metadata\.annotations\[\"gangplan\.dev/(queue|priority)\"\]", r"--\1"),
    (r"\$\.metadata\.annotations\[\"gangplan\.dev/(required|preferred)-level\"\]", r"--\1"),
    (r"\$\.spec\.runPolicy\.activeDeadlineSeconds", "--deadline"),
    (r"\$\.spec\.runPolicy\.ttlSecondsAfterFinished", "--keep"),
    (r"\$\.spec\.tfReplicaSpecs", "--workers"),
)
"""Places in the manifest → the flags that they come from."""

_IN_ROLE = (
    (r"\.replicas", "{count}"),
    (r".*\.image", "{image}"),
    (r".*\.resources\.requests\.(cpu|memory).*", r"--{role}-\1"),
    (r".*\.resources\b(?!\.limits\.(cpu|memory)).*", "--{role}-gpus"),
    (r".*\.env\b.*", "--env"),
    (r".*\.command\b.*", "COMMAND"),
    (r".*\.(volumes|volumeMounts)\b.*", "--volume"),
    (r".*\.nodeSelector\b.*", "--profile"),
)


def _flag_of(path: str, sizes: "Mapping[str, RoleSize]") -> str:
    if (place := re.match(r"\$\.spec\.tfReplicaSpecs\.(\w+)(.+)", path)) is not None:
        role, inside = place[1].lower(), place[2]
        image = f"--{role}-image" if sizes[role].image else "--image"
        for pattern, flag in _IN_ROLE:
            if (found := re.fullmatch(pattern, inside)) is not None:
                return found.expand(flag.format(role=role, count=COUNTS[role], image=image))
    for pattern, flag in _FLAGS:
        if (found := re.fullmatch(pattern, path)) is not None:
            return found.expand(flag)
    return path
