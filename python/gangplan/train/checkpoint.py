"""The state of a training on disk: written by whoever holds it, read by a job of any shape.

Each parameter server writes the variables that lie on it, as a part of one checkpoint; a training without them writes
a checkpoint of one part. What is read is named by variable, not by part, so the number of parts does not matter.
Reading is the leader's: it reads all parts into variables of its own and hands them on, so that a damaged checkpoint,
or one of another network, is found before any replica has changed.
"""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import tensorflow as tf

from gangplan.documents import write_atomic
from gangplan.errors import StoreError
from gangplan.train.words import cause

_KEPT: Final = 2
_FILE: Final = re.compile(r"ckpt-(\d+)(_temp|\.index|\.data-\d+-of-\d+)")


class State:
    """The variables of a network and of its optimizer, wherever they lie.

    Attributes:
        network: The network.

    Args:
        network: A network with its variables.
        optimizer: An optimizer for it, with its variables.
    """

    def __init__(self, network: Any, optimizer: Any) -> None:
        self.network = network
        self.variables = [each.value for each in [*network.variables, *optimizer.variables]]
        with tf.device("CPU:0"):
            self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
        checkpoint = tf.train.Checkpoint(
            step=self._step,
            network=[each.value for each in network.variables],
            optimizer=[each.value for each in optimizer.variables],
        )
        # It belongs to what tf.train.CheckpointManager writes, and has written here before.
        _ = checkpoint.save_counter
        self._checkpoint = checkpoint

        # Traced once: TensorFlow's own eager writing traces anew for each checkpoint in parts, which takes longer
        # than to write it. On the device of the step, what is in no variable goes into the part of the step.
        @tf.function(input_signature=[tf.TensorSpec([], tf.string)])  # type: ignore[untyped-decorator]
        def write(prefix: Any) -> Any:
            with tf.device(self._step.device):
                return checkpoint.write(prefix)

        self._write = write

    def save(self, folder: Path, step: int) -> None:
        """Write a checkpoint, each variable by the process that it lies on; the two last ones are kept.

        The last checkpoint stays the last until the new one is whole.

        Raises:
            StoreError: It cannot be written.
        """
        self._step.assign(step)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._write(str(folder / f"ckpt-{step}"))
            _keep(folder, f"ckpt-{step}")
        except (tf.errors.UnavailableError, tf.errors.AbortedError):
            raise  # a replica is gone; the folder is not to blame
        except tf.errors.OpError as error:
            raise StoreError(
                f"cannot write a checkpoint to {folder}: {cause(error.message, folder)}"
            ) from error
        except OSError as error:
            raise StoreError(f"cannot write a checkpoint to {folder}: {error}") from error

    def restore(self, folder: Path) -> int | None:
        """Read the last checkpoint and give its step; None if there is none.

        Raises:
            StoreError: It cannot be read, or is one of another network.
        """
        kept = _listed(folder)
        if not kept:
            return None
        latest = str(folder / kept[-1])
        try:
            self._checkpoint.restore(latest).assert_consumed()
        except (ValueError, AssertionError, tf.errors.OpError) as error:
            message = f"the checkpoint {latest} does not fit this network, or is damaged: {_in_a_line(error)}"
            raise StoreError(message) from error
        return int(self._step.numpy())


class Copy(State):
    """The training's state in variables of this process.

    Args:
        network: A network like the trained one, made outside of any strategy.
        optimizer: An optimizer like the training one, made outside of any strategy.
    """

    def __init__(self, network: Any, optimizer: Any) -> None:
        optimizer.build(network.trainable_variables)
        super().__init__(network, optimizer)

    def follow(self, trained: State) -> Callable[[], None]:
        """Give what brings this copy up to date with the training's state."""
        pairs = list(zip(self.variables, trained.variables, strict=True))

        # Traced once: asked for one by one, each variable is a question to its server.
        @tf.function  # type: ignore[untyped-decorator]
        def take() -> None:
            for ours, theirs in pairs:
                ours.assign(theirs)

        return take  # type: ignore[no-any-return]

    def give(self, trained: State) -> None:
        """Set the state of the training to this one."""
        for ours, theirs in zip(self.variables, trained.variables, strict=True):
            theirs.assign(ours.numpy())


def forget(folder: Path) -> None:
    """Remove all checkpoints."""
    shutil.rmtree(folder, ignore_errors=True)


def tidy(folder: Path) -> None:
    """Remove what is left of checkpoints that were not written to their end; nobody may be writing."""
    kept = _listed(folder)
    last = int(kept[-1].partition("-")[2]) if kept else -1
    for path in folder.glob("ckpt-*"):
        found = _FILE.fullmatch(path.name)
        if found and int(found[1]) > last:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _listed(folder: Path) -> list[str]:
    """Give the names of the checkpoints that are whole, the last one last.

    Raises:
        StoreError: The list of them is damaged.
    """
    try:
        state = tf.train.get_checkpoint_state(str(folder))
    except ValueError as error:
        message = f"{folder / 'checkpoint'} is damaged ({error}): remove {folder} to begin anew"
        raise StoreError(message) from error
    return [] if state is None else [Path(each).name for each in state.all_model_checkpoint_paths]


def _keep(folder: Path, name: str) -> None:
    """Make a checkpoint the last one, and remove those before the last two."""
    names = [each for each in _listed(folder) if each != name] + [name]
    _list(folder, names)
    for old in names[:-_KEPT]:
        for path in folder.glob(f"{old}.*"):
            path.unlink(missing_ok=True)
    _list(folder, names[-_KEPT:])


def _list(folder: Path, names: list[str]) -> None:
    """Write TensorFlow's list of checkpoints, whole or not at all."""
    lines = [
        f'model_checkpoint_path: "{names[-1]}"',
        *(f'all_model_checkpoint_paths: "{each}"' for each in names),
    ]
    write_atomic(folder / "checkpoint", "".join(f"{line}\n" for line in lines).encode())


def _in_a_line(error: Exception) -> str:
    """Give what TensorFlow says, which ends in advice on lines of its own: the last line is what people are shown."""
    return " ".join(str(error).split())
