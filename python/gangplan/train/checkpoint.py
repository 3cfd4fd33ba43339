"""The state of a training on disk, independent of how many replicas wrote it.

The variables are first copied into a network and an optimizer of this process alone. So the leader writes all
of it (parameter servers need no volume), nobody has to save together, and what one job wrote can be resumed by a
job of another shape.
"""

import shutil
from pathlib import Path
from typing import Any

import tensorflow as tf

from gangplan.errors import StoreError


class Copy:
    """The training's state as variables of this process.

    Attributes:
        network: As the trained one, in this process.

    Args:
        network: A network like the trained one, made outside of any strategy.
        optimizer: An optimizer like the training one, made outside of any strategy.
    """

    def __init__(self, network: Any, optimizer: Any) -> None:
        optimizer.build(network.trainable_variables)
        self.network = network
        self._optimizer = optimizer
        self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._checkpoint = tf.train.Checkpoint(
            step=self._step,
            network=[variable.value for variable in network.variables],
            optimizer=[variable.value for variable in optimizer.variables],
        )

    def take(self, network: Any, optimizer: Any, step: int) -> None:
        """Copy the state of the training."""
        self._step.assign(step)
        for ours, theirs in self._pairs(network, optimizer):
            ours.assign(theirs.numpy())

    def give(self, network: Any, optimizer: Any) -> None:
        """Set the state of the training to this one."""
        for ours, theirs in self._pairs(network, optimizer):
            theirs.assign(ours.numpy())

    def state(self) -> list[Any]:
        """Give the values, those of the network first."""
        return [variable.value for variable in [*self.network.variables, *self._optimizer.variables]]

    def save(self, folder: Path) -> None:
        """Write a checkpoint; the two last ones are kept.

        Raises:
            StoreError: It cannot be written.
        """
        try:
            self._manager(folder).save(checkpoint_number=int(self._step.numpy()))
        except (OSError, tf.errors.OpError) as error:
            raise StoreError(f"cannot write a checkpoint to {folder}: {error}") from error

    def restore(self, folder: Path) -> int | None:
        """Read the last checkpoint and give its step; None if there is none.

        Raises:
            StoreError: It cannot be read, or is one of another network.
        """
        latest = self._manager(folder).latest_checkpoint
        if latest is None:
            return None
        try:
            self._checkpoint.restore(latest).assert_consumed()
        except (ValueError, AssertionError, tf.errors.OpError) as error:
            message = f"the checkpoint {latest} does not fit this network, or is damaged: {error}"
            raise StoreError(message) from error
        return int(self._step.numpy())

    def _manager(self, folder: Path) -> Any:
        return tf.train.CheckpointManager(self._checkpoint, str(folder), max_to_keep=2)

    def _pairs(self, network: Any, optimizer: Any) -> list[tuple[Any, Any]]:
        pairs = zip(self.network.variables, network.variables, strict=True)
        return [*pairs, *zip(self._optimizer.variables, optimizer.variables, strict=True)]


def forget(folder: Path) -> None:
    """Remove all checkpoints."""
    shutil.rmtree(folder, ignore_errors=True)
