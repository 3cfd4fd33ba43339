"""How the replicas of a job train together, as their TF_CONFIG says.

Three ways: a chief that hands out steps to workers, with the variables on parameter servers (``ps``); workers
that take each step together, with a copy of the variables each (``mirrored``); one process (``alone``).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NoReturn

import tensorflow as tf

from gangplan.errors import InvalidInput, Problem
from gangplan.tf_config import CHIEF, EVALUATOR, PS, WORKER, TfConfig, parse, rewrite
from gangplan.train.words import say

Kind = Literal["ps", "mirrored", "alone"]
CHOICES: Final = ("auto", "ps", "mirrored", "alone")

PORT_TAKEN: Final = 98
"""Exit code when the port of our server is taken: whoever started the job does so again with other ports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """The place of this process in its job.

    Attributes:
        kind: How the job trains.
        role: ``chief``, ``worker``, ``ps``, ``evaluator``.
        index: Index in the role.
        replicas: Replicas that take part in the training, by role.
        leads: This process writes checkpoints, model and results. There is one in a job.
        idle: This process has nothing to do in this kind of training.
        config: The TF_CONFIG that TensorFlow reads; None where there is none.
    """

    kind: Kind
    role: str
    index: int
    replicas: dict[str, int]
    leads: bool
    idle: bool
    config: TfConfig | None


def take_seat(choice: str, environ: "os._Environ[str] | dict[str, str]" = os.environ) -> Seat:
    """Find out what this process is in its job, and leave a TF_CONFIG that TensorFlow 2 can use.

    To be called before TensorFlow looks at TF_CONFIG.

    Args:
        choice: One of :data:`CHOICES`. ``auto``: ``ps`` where the cluster has parameter servers and a worker
            besides the chief, ``mirrored`` where several train, else ``alone``.
        environ: The environment; TF_CONFIG in it is rewritten or removed.

    Raises:
        InvalidInput: TF_CONFIG is broken or does not allow the choice.
    """
    text = environ.get("TF_CONFIG", "").strip()
    config = rewrite(parse(text)) if text and text != "{}" else None
    seat = _seat(choice, config)
    if seat.config is None:
        environ.pop("TF_CONFIG", None)
    else:
        environ["TF_CONFIG"] = seat.config.to_json()
    return seat


def _seat(choice: str, config: TfConfig | None) -> Seat:
    cluster = {} if config is None else dict(config.cluster)
    kind = _kind(choice, {role: len(hosts) for role, hosts in cluster.items()})
    if config is None:
        return Seat(
            kind="alone", role=WORKER, index=0, replicas={WORKER: 1}, leads=True, idle=False, config=None
        )
    leader = CHIEF if CHIEF in cluster else WORKER
    leads = config.role == leader and config.index == 0
    if kind == "alone":
        members = {leader: cluster[leader][:1]} if leader in cluster else {}
    elif kind == "mirrored":
        # Its collectives would wait for parameter servers for ever.
        members = {role: hosts for role, hosts in cluster.items() if role != PS}
    else:
        members = cluster
    takes_part = config.index < len(members.get(config.role, ()))
    return Seat(
        kind=kind,
        role=config.role,
        index=config.index,
        replicas={role: len(hosts) for role, hosts in members.items()},
        leads=leads,
        idle=not takes_part and config.role != EVALUATOR,
        config=replace(config, cluster=members) if kind != "alone" and takes_part else None,
    )


def _kind(choice: str, sizes: dict[str, int]) -> Kind:
    servers, workers = sizes.get(PS, 0), sizes.get(WORKER, 0)
    training = workers + sizes.get(CHIEF, 0)
    if choice == "ps" and not (servers and workers and CHIEF in sizes):
        found = ", ".join(f"{count} {role}" for role, count in sizes.items()) or "no TF_CONFIG"
        message = f"ps needs parameter servers and two others, a chief and a worker at least; found {found}"
        raise InvalidInput([Problem("--strategy", "CONTRADICTION", message)], "training")
    if choice == "ps" or (choice == "auto" and servers and workers and CHIEF in sizes):
        return "ps"
    if choice in {"auto", "mirrored"} and training > 1:
        return "mirrored"
    return "alone"


def serve(seat: Seat) -> NoReturn:
    """Be a parameter server, or a worker that a chief sends its steps to, until the process is ended."""
    assert seat.config is not None
    with port_taken_is_told():
        server = tf.distribute.Server(
            tf.train.ClusterSpec({role: list(hosts) for role, hosts in seat.config.cluster.items()}),
            job_name=seat.role,
            task_index=seat.index,
            protocol="grpc",
        )
    say(f"serving as {seat.role}-{seat.index} at {seat.config.cluster[seat.role][seat.index]}")
    server.join()
    raise SystemExit(0)


def make_strategy(seat: Seat) -> Any:
    """Connect to the other replicas and give TensorFlow's strategy; waits until all of them are there."""
    with port_taken_is_told():
        if seat.kind == "ps":
            resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
            return tf.distribute.ParameterServerStrategy(resolver)
        if seat.kind == "mirrored":
            ring = tf.distribute.experimental.CommunicationImplementation.RING
            options = tf.distribute.experimental.CommunicationOptions(implementation=ring)
            return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    return tf.distribute.get_strategy()


@contextmanager
def port_taken_is_told() -> Iterator[None]:
    """End the process with :data:`PORT_TAKEN` if TensorFlow cannot start its server."""
    try:
        yield
    except tf.errors.OpError as error:
        if "Could not start gRPC server" not in str(error):
            raise
        say(f"port taken: TensorFlow could not start its server: {error.message}", error=True)
        raise SystemExit(PORT_TAKEN) from error
