"""From a replica as it was asked for to the process that it will be."""

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gangplan.errors import InvalidInput, Problem
from gangplan.local.process import GANG, REPLICA, RUN_ID, Start, replica_env
from gangplan.runtime import Job, ReplicaSpec
from gangplan.tf_config import CHIEF, MASTER, ROLES, operator_config, rewrite, with_addresses

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_POLICIES = ("Never", "OnFailure", "Always", "ExitCode")
_LOOPBACK: Final = "127.0.0.1"
_NAMESPACE: Final = "default"


def check_job(job: Job) -> None:
    """Make sure that a job can be run on this machine.

    Raises:
        InvalidInput: All that is wrong with it.
    """
    problems: list[Problem] = []

    def problem(path: str, code: str, message: str) -> None:
        problems.append(Problem(path, code, message))

    for field in ("name", "run_id"):
        value = getattr(job, field)
        if not _FILE_NAME.fullmatch(value):
            problem(
                f"$.{field}",
                "BAD_VALUE",
                f"must be usable as a file name (letters, digits, . _ -), found {value!r}",
            )
    if job.deadline_s is not None and not job.deadline_s > 0:
        problem("$.deadline_s", "OUT_OF_RANGE", f"must be above 0, found {job.deadline_s}")
    if job.backoff_limit < 0:
        problem("$.backoff_limit", "OUT_OF_RANGE", f"must not be negative, found {job.backoff_limit}")
    if job.success_policy not in {"", "AllWorkers"}:
        problem("$.success_policy", "BAD_VALUE", f"must be '' or 'AllWorkers', found {job.success_policy!r}")
    if not job.replicas:
        problem("$.replicas", "MISSING_FIELD", "must have at least one replica")
    seen: set[str] = set()
    for i, spec in enumerate(job.replicas):
        problems.extend(_spec_problems(spec, f"$.replicas[{i}]"))
        if spec.name in seen:
            problem(f"$.replicas[{i}]", "DUPLICATE_NAME", f"{spec.name} is there twice")
        seen.add(spec.name)
    counts = _counts(job.replicas)
    for role, count in counts.items():
        missing = [f"{role}-{index}" for index in range(count) if f"{role}-{index}" not in seen]
        if missing and role in ROLES:
            problem("$.replicas", "MISSING_FIELD", f"indices have gaps: {', '.join(missing[:5])} missing")
    if counts.get(CHIEF, 0) + counts.get(MASTER, 0) > 1:
        problem("$.replicas", "CONTRADICTION", "has two chiefs (chief and master are the same)")
    if problems:
        raise InvalidInput(sorted(problems), f"job {job.name}")


def _spec_problems(spec: ReplicaSpec, path: str) -> list[Problem]:
    problems: list[Problem] = []
    if spec.role not in ROLES:
        problems.append(
            Problem(f"{path}.role", "UNKNOWN_NAME", f"must be one of {', '.join(ROLES)}, found {spec.role!r}")
        )
    if spec.index < 0:
        problems.append(Problem(f"{path}.index", "OUT_OF_RANGE", f"must not be negative, found {spec.index}"))
    if spec.restart not in _POLICIES:
        problems.append(
            Problem(
                f"{path}.restart",
                "BAD_VALUE",
                f"must be one of {', '.join(_POLICIES)}, found {spec.restart!r}",
            )
        )
    if not spec.command:
        problems.append(Problem(f"{path}.command", "MISSING_FIELD", "must have at least the program"))
    elif any("\0" in word for word in spec.command):
        problems.append(Problem(f"{path}.command", "BAD_VALUE", "must not hold NUL characters"))
    elif _program(spec) is None:
        problems.append(
            Problem(
                f"{path}.command[0]",
                "UNKNOWN_NAME",
                f"there is no program {spec.command[0]!r} on this machine",
            )
        )
    for key, value in spec.env.items():
        if not key or "=" in key or "\0" in key + value:
            problems.append(Problem(f"{path}.env", "BAD_VALUE", f"{key!r} cannot be set in an environment"))
    return problems


def _program(spec: ReplicaSpec) -> str | None:
    """Give the path of a replica's program; None if there is none."""
    word = spec.command[0]
    if word == "python":
        return sys.executable
    return shutil.which(word, path=spec.env.get("PATH", os.environ.get("PATH", os.defpath)))


def _counts(replicas: Sequence[ReplicaSpec]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for spec in replicas:
        counts[spec.role] = counts.get(spec.role, 0) + 1
    return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Peers:
    """The addresses of all replicas of a job, those that have no place yet included.

    Attributes:
        job: The job.
        ports: One port of this machine per replica, in the job's order.
    """

    job: Job
    ports: Sequence[int]

    def tf_config(self, spec: ReplicaSpec) -> str | None:
        """Give the TF_CONFIG of a replica; None where the operator sets none.

        It is what training-operator writes, but for the addresses, and made usable for TensorFlow 2 by
        :func:`gangplan.tf_config.rewrite`: a trainer of the user's own may know nothing of that. To ours, which
        rewrites it again, that makes no difference.
        """
        by_role: dict[str, dict[int, str]] = {}
        for each, port in zip(self.job.replicas, self.ports, strict=True):
            by_role.setdefault(each.role, {})[each.index] = f"{_LOOPBACK}:{port}"
        addresses = {role: [hosts[index] for index in sorted(hosts)] for role, hosts in by_role.items()}
        counts = {role: len(hosts) for role, hosts in addresses.items()}
        config = operator_config(self.job.name, _NAMESPACE, counts, spec.role, spec.index)
        return None if config is None else rewrite(with_addresses(config, addresses)).to_json()

    def process(
        self,
        spec: ReplicaSpec,
        *,
        key: str,
        log: Path,
        append: bool,
        scratch: Path,
        inherited: Mapping[str, str],
    ) -> Start:
        """Say how a replica is started as a process.

        Args:
            spec: The replica.
            key: Unique among all starts.
            log: Its log file.
            append: It was started before; go on in the same log.
            scratch: Folder for its temporary files: TensorFlow leaves some there when it is killed.
            inherited: Environment of the one who starts it.
        """
        env = {
            **replica_env(inherited),
            RUN_ID: self.job.run_id,
            GANG: self.job.name,
            REPLICA: spec.name,
            "TMPDIR": str(scratch),
        }
        config = self.tf_config(spec)
        if config is not None:
            env["TF_CONFIG"] = config
        program = _program(spec)
        return Start(
            key=key,
            command=(program or spec.command[0], *spec.command[1:]),
            env={**env, **spec.env},
            log=str(log),
            append=append,
            folder=str(Path.cwd()),
            title=f"gp:{spec.name}",
        )
