"""TF_CONFIG: what tells each replica of a TensorFlow job who its peers are.

:func:`operator_config` is what Kubeflow's training-operator v1.9 writes. TensorFlow 2 cannot use all of it, so
a trainer passes it through :func:`rewrite` before TensorFlow reads it. Both are pure.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from gangplan.errors import InvalidInput, Problem

CHIEF: Final = "chief"
MASTER: Final = "master"
PS: Final = "ps"
WORKER: Final = "worker"
EVALUATOR: Final = "evaluator"
ROLES: Final = (CHIEF, MASTER, PS, WORKER, EVALUATOR)
"""The roles of a TFJob in lower case, as they stand in TF_CONFIG."""

OPERATOR_PORT: Final = 2222
"""Port that training-operator uses where the pod names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TfConfig:
    """A cluster of TensorFlow servers as one of its replicas sees it.

    Attributes:
        cluster: Addresses (``host:port``) by role, in the order of the replica indices.
        role: Role of this replica, a key of ``cluster``; an evaluator may stand outside of it.
        index: Index of this replica in its role.
        environment: ``cloud`` where an operator wrote it; TensorFlow 2 does not read it.
    """

    cluster: Mapping[str, tuple[str, ...]]
    role: str
    index: int
    environment: str = "cloud"

    def to_json(self) -> str:
        """Write it as the operator does: keys sorted in the cluster, no spaces."""
        document: dict[str, Any] = {
            "cluster": {role: list(self.cluster[role]) for role in sorted(self.cluster)},
            "task": {"type": self.role, "index": self.index},
        }
        if self.environment:
            document["environment"] = self.environment
        return json.dumps(document, separators=(",", ":"))


def operator_config(
    name: str,
    namespace: str,
    counts: Mapping[str, int],
    role: str,
    index: int,
    *,
    port: int = OPERATOR_PORT,
    domain: str | None = None,
) -> TfConfig | None:
    """Tell what training-operator v1.9 gives to a replica.

    Args:
        name: Name of the TFJob.
        namespace: Its namespace.
        counts: Replicas by role; a role of 0 replicas does not appear. Roles in any case.
        role: Role of the replica.
        index: Its index.
        port: Port of every server.
        domain: The operator's ``CUSTOM_CLUSTER_DOMAIN``, such as ``cluster.local``.

    Returns:
        The configuration; None where the job has a single replica: the operator then sets no TF_CONFIG.

    Raises:
        InvalidInput: The counts hold an unknown role, or the replica is not among them.

    Example:
        >>> config = operator_config("mnist", "research", {"PS": 1, "Worker": 1}, "Worker", 0)
        >>> config.cluster["worker"]
        ('mnist-worker-0.research.svc:2222',)
    """
    sizes = _lower(counts)
    if sum(sizes.values()) == 1:
        return None
    suffix = f".{domain}" if domain else ""
    cluster = {
        each: tuple(f"{name}-{each}-{i}.{namespace}.svc{suffix}:{port}" for i in range(size))
        for each, size in sizes.items()
        if size > 0
    }
    return _checked(TfConfig(cluster=cluster, role=role.lower(), index=index))


def with_addresses(config: TfConfig, addresses: Mapping[str, Sequence[str]]) -> TfConfig:
    """Put other addresses in the place of those of a cluster, as on a machine that has only ``127.0.0.1``.

    Args:
        config: The configuration.
        addresses: ``host:port`` by role and index; the same roles and counts as in the configuration.

    Raises:
        InvalidInput: Roles or counts differ, or an address appears twice.
    """
    wanted = {role: len(hosts) for role, hosts in config.cluster.items()}
    given = {role: len(hosts) for role, hosts in addresses.items()}
    if wanted != given:
        message = f"addresses are needed for {wanted}, given are {given}"
        raise InvalidInput([Problem("$.cluster", "CONTRADICTION", message)], "TF_CONFIG")
    return _checked(replace(config, cluster={role: tuple(hosts) for role, hosts in addresses.items()}))


def parse(text: str) -> TfConfig:
    """Read a TF_CONFIG as it stands in the environment. Roles may be written in any case.

    Raises:
        InvalidInput: All that is wrong with it, each with its path.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        problem = Problem("$", "MALFORMED_JSON", f"must be JSON: {error}")
        raise InvalidInput([problem], "TF_CONFIG") from error
    if not isinstance(document, dict):
        raise InvalidInput([Problem("$", "WRONG_TYPE", "must be an object")], "TF_CONFIG")
    problems: list[Problem] = []
    cluster = _read_cluster(document, problems)
    role, index = _read_task(document, problems)
    environment = document.get("environment", "")
    if not isinstance(environment, str):
        problems.append(Problem("$.environment", "WRONG_TYPE", "must be a string"))
    if problems:
        raise InvalidInput(sorted(problems), "TF_CONFIG")
    return _checked(TfConfig(cluster=cluster, role=role, index=index, environment=environment))


def rewrite(config: TfConfig) -> TfConfig:
    """Make a TF_CONFIG usable for TensorFlow 2; one that is usable already comes back equal.

    - No evaluator in the cluster: a coordinator waits for a server in each entry, and an evaluator runs none.
      The evaluator keeps its own task.
    - ``master`` becomes ``chief``: TensorFlow 2 refuses the type ``master``.
    - Worker 0 becomes the chief of a cluster with parameter servers but no chief, and the other workers move
      down by one: somebody has to coordinate, and the operator counts worker 0 for success anyway.

    All replicas of a job come to the same cluster, and every address but an evaluator's stays in it once.

    Raises:
        InvalidInput: The configuration contradicts itself.

    Example:
        >>> config = TfConfig(cluster={"ps": ("a:1",), "worker": ("b:1", "c:1")}, role="worker", index=1)
        >>> rewrite(config).cluster["chief"], rewrite(config).role, rewrite(config).index
        (('b:1',), 'worker', 0)
    """
    _checked(config)
    cluster = {role: hosts for role, hosts in config.cluster.items() if role != EVALUATOR}
    role, index = config.role, config.index
    if MASTER in cluster:
        cluster[CHIEF] = cluster.pop(MASTER)
    if role == MASTER:
        role = CHIEF
    if PS in cluster and CHIEF not in cluster and WORKER in cluster:
        first, *others = cluster.pop(WORKER)
        cluster[CHIEF] = (first,)
        if others:
            cluster[WORKER] = tuple(others)
        if role == WORKER:
            role, index = (CHIEF, 0) if index == 0 else (WORKER, index - 1)
    return replace(config, cluster=cluster, role=role, index=index)


def _lower(counts: Mapping[str, int]) -> dict[str, int]:
    problems: list[Problem] = []
    sizes: dict[str, int] = {}
    for name, size in counts.items():
        role = name.lower()
        if role not in ROLES:
            problems.append(
                Problem(f"$.cluster.{name}", "UNKNOWN_NAME", f"must be one of {', '.join(ROLES)}")
            )
        elif role in sizes:
            problems.append(Problem(f"$.cluster.{name}", "DUPLICATE_NAME", f"role {role} is given twice"))
        elif size < 0:
            problems.append(Problem(f"$.cluster.{name}", "OUT_OF_RANGE", "must not be negative"))
        else:
            sizes[role] = size
    if problems:
        raise InvalidInput(sorted(problems), "TF_CONFIG")
    return sizes


def _read_cluster(document: dict[str, Any], problems: list[Problem]) -> dict[str, tuple[str, ...]]:
    found = document.get("cluster")
    if found is None:
        sparse = (
            " (enableDynamicWorker's sparse form is not supported)" if "sparseCluster" in document else ""
        )
        problems.append(Problem("$.cluster", "MISSING_FIELD", f"is missing{sparse}"))
        return {}
    if not isinstance(found, dict):
        problems.append(Problem("$.cluster", "WRONG_TYPE", "must be an object of address lists"))
        return {}
    cluster: dict[str, tuple[str, ...]] = {}
    for key, hosts in found.items():
        path, role = f"$.cluster.{key}", key.lower()
        if role not in ROLES:
            problems.append(Problem(path, "UNKNOWN_NAME", f"must be one of {', '.join(ROLES)}"))
        elif role in cluster:
            problems.append(Problem(path, "DUPLICATE_NAME", f"role {role} is given twice"))
        elif not isinstance(hosts, list) or not all(isinstance(host, str) for host in hosts):
            problems.append(Problem(path, "WRONG_TYPE", "must be a list of addresses, host:port"))
        elif hosts:
            cluster[role] = tuple(hosts)
    return cluster


def _read_task(document: dict[str, Any], problems: list[Problem]) -> tuple[str, int]:
    task = document.get("task")
    if not isinstance(task, dict):
        problem = (
            Problem("$.task", "MISSING_FIELD", "is missing")
            if task is None
            else Problem("$.task", "WRONG_TYPE", "must be an object with type and index")
        )
        problems.append(problem)
        return "", 0
    role, index = task.get("type"), task.get("index")
    if not isinstance(role, str):
        problems.append(Problem("$.task.type", "WRONG_TYPE", f"must be a role, found {json.dumps(role)}"))
        role = ""
    if isinstance(index, bool) or not isinstance(index, int):
        message = f"must be a whole number, found {json.dumps(index)}"
        problems.append(Problem("$.task.index", "WRONG_TYPE", message))
        index = 0
    return role.lower(), index


def _checked(config: TfConfig) -> TfConfig:
    """Give the configuration back if it agrees with itself."""
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for role, hosts in config.cluster.items():
        if role not in ROLES:
            problems.append(
                Problem(f"$.cluster.{role}", "UNKNOWN_NAME", f"must be one of {', '.join(ROLES)}")
            )
        for i, host in enumerate(hosts):
            path = f"$.cluster.{role}[{i}]"
            head, colon, port = host.rpartition(":")
            if not (
                colon
                and head
                and port.isascii()
                and port.isdigit()
                and len(port) <= 5
                and 0 < int(port) < 65536
            ):
                problems.append(Problem(path, "BAD_VALUE", f"must be host:port, found {host!r}"))
            if host in seen:
                problems.append(Problem(path, "DUPLICATE_NAME", f"{host} is the address of {seen[host]} too"))
            seen.setdefault(host, f"{role}[{i}]")
    if len(config.cluster.get(CHIEF, ())) + len(config.cluster.get(MASTER, ())) > 1:
        problems.append(
            Problem("$.cluster", "CONTRADICTION", "has two chiefs (chief and master are the same)")
        )
    if config.role not in ROLES:
        problems.append(Problem("$.task.type", "UNKNOWN_NAME", f"must be one of {', '.join(ROLES)}"))
    elif config.role not in config.cluster and config.role != EVALUATOR:
        problems.append(Problem("$.task.type", "CONTRADICTION", f"{config.role} is not in the cluster"))
    size = len(config.cluster.get(config.role, ()))
    if config.index < 0 or (config.role in config.cluster and config.index >= size):
        message = f"must be from 0 to {size - 1}, found {config.index}"
        problems.append(Problem("$.task.index", "OUT_OF_RANGE", message))
    if problems:
        raise InvalidInput(sorted(problems), "TF_CONFIG")
    return config
