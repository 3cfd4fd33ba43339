"""Settings: one frozen tree. A flag wins over the environment, that over the file, that over the default."""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from gangplan.errors import ConfigError

PREFIX = "GANGPLAN_"

Enforcement = Literal["default", "volcano", "gangplan"]
"""Who binds the pods of an admitted gang: see :class:`Settings`."""


Place = Literal["local", "kubernetes"]


def _default_home() -> Path:
    return Path.cwd() / ".gangplan"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How long things are kept, and when room is kept for a gang that waits.

    Attributes:
        reservation_s: Seconds that an admitted gang may hold capacity before it is bound.
        record_s: Seconds that the record of a finished gang is kept.
        earmark_s: A gang that waits for so many seconds gets an Earmark: who comes later may not delay it.
        earmark_bypasses: So does one behind which so many gangs have started.
        waiter_s: Seconds that a gang waits on when nobody has asked for it anew. Default 600: a step that is drained
            from its node is started again within minutes.
    """

    reservation_s: float
    record_s: float
    earmark_s: float
    earmark_bypasses: int
    waiter_s: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What can be set, each by ``GANGPLAN_<NAME>`` or by ``<name>`` in ``gangplan.toml``.

    Attributes:
        home: Folder of the local cluster: store, job logs, volume. Default: ``.gangplan`` in the working folder,
            so that two projects do not see each other.
        reservation_ttl_s: Seconds that an admitted gang may hold capacity before it runs. Default 600: longer than
            pulling a large image, short enough that a crashed launch is not felt for long.
        record_ttl_s: Seconds that the record of a finished gang is kept. Default 86400: a day, so that yesterday's
            failure can still be read.
        earmark_after_s: Seconds after which room is kept for a gang that waits, so that nobody who comes later
            delays it. Default 300: shorter jobs may pass, none for long.
        earmark_after_bypasses: So is it after so many others have started behind the gang. Default 5.
        poll_s: Seconds between two looks at a waiting gang. Default 0.5: a cycle takes milliseconds.
        forkserver: Whether replicas are forked after one import of TensorFlow. Default true: four processes are up
            in a third of the time; false starts each one by itself.
        cluster: Whose gangs ``list``, ``get``, ``logs``, ``explain`` and ``delete`` are about, unless a flag says so:
            those of this machine (``local``) or of a Kubernetes cluster (``kubernetes``). Default ``local``.
        image_patience_s: Seconds for which an image of a job on a cluster may fail to be pulled before the job is given
            up. Default 180: registries fail for a minute, wrong names for ever.
        attempts: How many attempts at a job on a cluster there are at most, where each was ended by no fault of the job:
            preempted, evicted, its node gone. Default 3; 1 means none but the first.
        enforcement: Who binds pods on a cluster. Default ``default``: the scheduler that the cluster has, each pod to
            the node that the plan has for it; ``volcano``: Volcano, within the nodes that the plan has for each role;
            ``gangplan``: a scheduler of ours, which does not exist yet.
        tensorboard_image: Image with TensorBoard, for ``gangplan tensorboard`` on a cluster. Default: that of TensorFlow,
            which brings it; any image will do in which ``python -m tensorboard.main`` works.
        pipelines_host: Address of Kubeflow Pipelines. Default empty: that of ``KF_PIPELINES_ENDPOINT``, in a pod that of
            its cluster.
    """

    home: Path = field(default_factory=_default_home)
    reservation_ttl_s: float = 600.0
    record_ttl_s: float = 86_400.0
    earmark_after_s: float = 300.0
    earmark_after_bypasses: int = 5
    poll_s: float = 0.5
    forkserver: bool = True
    cluster: Place = "local"
    image_patience_s: float = 180.0
    attempts: int = 3
    enforcement: Enforcement = "default"
    tensorboard_image: str = "tensorflow/tensorflow:2.20.0"
    pipelines_host: str = ""

    @property
    def terms(self) -> Terms:
        """What an admission cycle goes by."""
        return Terms(
            reservation_s=self.reservation_ttl_s,
            record_s=self.record_ttl_s,
            earmark_s=self.earmark_after_s,
            earmark_bypasses=self.earmark_after_bypasses,
        )

    @property
    def store(self) -> Path:
        """File of the gang records."""
        return self.home / "store.sqlite"

    @property
    def jobs(self) -> Path:
        """Folder of the jobs' logs and states."""
        return self.home / "jobs"

    @property
    def logs(self) -> Path:
        """Folder of the logs of jobs that ran on clusters."""
        return self.home / "logs"

    @property
    def volume(self) -> Path:
        """Folder that stands for the shared volume: data, checkpoints, models."""
        return self.home / "volume"


def settings(*, environment: Mapping[str, str] | None = None, **flags: Any) -> Settings:
    """Collect the settings.

    Args:
        environment: The environment; None: that of this process.
        **flags: Values given on the command line; None means not given.

    Raises:
        ConfigError: Unknown names or values of the wrong type; all of them are named with their origin.
    """
    environment = os.environ if environment is None else environment
    types = get_type_hints(Settings)
    known = {item.name: types[item.name] for item in fields(Settings)}
    values: dict[str, Any] = {}
    problems: list[str] = []

    def take(name: str, raw: Any, origin: str) -> None:
        try:
            values[name] = _parse(raw, known[name])
        except ValueError as error:
            problems.append(f"{origin}: {error}")

    file = Path(environment.get(f"{PREFIX}CONFIG", "gangplan.toml"))
    for name, raw in _read(file, required=f"{PREFIX}CONFIG" in environment).items():
        if name in known:
            take(name, raw, f"{file}: {name}")
        else:
            problems.append(f"{file}: unknown setting {name}; known are {', '.join(known)}")
    for name in known:
        if (raw := environment.get(PREFIX + name.upper())) is not None:
            take(name, raw, PREFIX + name.upper())
    for name, raw in flags.items():
        if raw is not None:
            take(name, raw, f"--{name.replace('_', '-')}")
    if problems:
        raise ConfigError("\n".join(problems))
    chosen = Settings(**values)
    return replace(chosen, home=chosen.home.absolute())


def _read(file: Path, *, required: bool) -> dict[str, Any]:
    try:
        with file.open("rb") as handle:
            return tomllib.load(handle)
    except FileNotFoundError as error:
        if required:
            raise ConfigError(f"{PREFIX}CONFIG names {file}, which does not exist") from error
        return {}
    except (OSError, ValueError) as error:  # a ValueError: no TOML, or not even UTF-8
        raise ConfigError(f"{file}: {error}") from error


def _parse(raw: Any, kind: Any) -> Any:
    if get_origin(kind) is Literal:
        if raw not in get_args(kind):
            raise ValueError(f"must be one of {', '.join(get_args(kind))}, not {raw!r}")
        return raw
    if kind is bool:
        words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        if (word := str(raw).lower()) not in words:
            raise ValueError(f"must be true or false, not {raw!r}")
        return words[word]
    if kind is int:
        if isinstance(raw, bool) or not re.fullmatch(r"[0-9]{1,9}", str(raw)):
            raise ValueError(f"must be a whole number from 0 on, not {raw!r}")
        return int(raw)
    if kind is float:
        try:
            number = float("no" if isinstance(raw, bool) else raw)
        except (TypeError, ValueError):
            raise ValueError(f"must be a number of seconds, not {raw!r}") from None
        if not 0 < number < float("inf"):
            raise ValueError(f"must be more than 0 seconds, not {raw!r}")
        return number
    if kind is str:
        if not isinstance(raw, str) or not raw.strip():
            raise ValueError(f"must be a text, not {raw!r}")
        return raw
    if not isinstance(raw, str | os.PathLike) or not str(raw) or "\0" in str(raw):
        raise ValueError(f"must be the path of a folder, not {raw!r}")
    try:
        return Path(raw).expanduser()
    except RuntimeError as error:
        raise ValueError(f"must be the path of a folder: {error}") from error
