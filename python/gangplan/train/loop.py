"""Training steps under each strategy. All loops do the same: so many steps, then mean loss and accuracy."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf

from gangplan.errors import GangplanError
from gangplan.train.data import ImageData
from gangplan.train.network import build
from gangplan.train.strategy import Seat

STEPS_A_CALL = 5
"""Steps that a chief hands to a worker at once."""


class Diverged(GangplanError):
    """The loss has left the finite numbers; no further step brings it back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the steps depend on.

    Attributes:
        batch: Images of a step. Mirrored replicas share them; with parameter servers a step is one worker's.
        learning_rate: Of Adam.
        seed: Of first weights and order of the images.
        first_step: Steps already done, by an earlier start of the job.
    """

    batch: int
    learning_rate: float
    seed: int
    first_step: int = 0


class Loop(Protocol):
    """A training that goes on where it stopped.

    Attributes:
        network: The network; its variables may lie on other replicas.
        optimizer: The optimizer.
    """

    network: Any
    optimizer: Any

    @abstractmethod
    def run(self, steps: int) -> tuple[float, float]:
        """Take so many steps and give the mean loss and the accuracy on the images of these steps."""


def check_finite(loss: float, step: int) -> None:
    """Make sure that a training still gets somewhere.

    Raises:
        Diverged: The loss is not finite.
    """
    if not math.isfinite(loss):
        raise Diverged(f"training diverged: loss is {loss} at step {step}; lower --learning-rate")


def make_optimizer(settings: Settings) -> Any:
    """Make the optimizer; its variables come with ``build``."""
    return keras.optimizers.Adam(settings.learning_rate)


def make_loop(
    seat: Seat,
    strategy: Any,
    data: ImageData,
    settings: Settings,
    *,
    network: Callable[[tuple[int, int, int], int, int], Any] = build,
) -> Loop:
    """Make the loop of a strategy, with untrained weights.

    Args:
        seat: The place of this process in its job.
        strategy: TensorFlow's strategy.
        data: The images.
        settings: What the steps depend on.
        network: Makes the network from the shape of an image, the number of classes and a seed.
    """
    with strategy.scope():
        made = network(data.image_shape, data.classes, settings.seed)
        optimizer = make_optimizer(settings)
        optimizer.build(made.trainable_variables)
    if seat.kind == "ps":
        return _ServerLoop(strategy, made, optimizer, data, settings)
    return _TogetherLoop(strategy, made, optimizer, data, settings)


class _TogetherLoop:
    """All replicas take each step together; also the loop of one replica."""

    def __init__(
        self, strategy: Any, network: Any, optimizer: Any, data: ImageData, settings: Settings
    ) -> None:
        self.network, self.optimizer = network, optimizer
        replicas = strategy.num_replicas_in_sync

        def pipeline(context: Any) -> Any:
            share, rest = divmod(settings.batch, replicas)
            mine = share + (1 if context.input_pipeline_id < rest else 0)
            return _images(
                data, settings, mine, parts=context.num_input_pipelines, part=context.input_pipeline_id
            )

        self._batches = iter(strategy.distribute_datasets_from_function(pipeline))

        def replica_step(images: Any, labels: Any) -> Any:
            return _step(network, optimizer, images, labels, settings.batch)

        @tf.function(reduce_retracing=True)  # type: ignore[untyped-decorator]
        def steps(batches: Any, count: Any) -> Any:
            totals = tf.zeros(3)
            for _ in tf.range(count):
                per_replica = strategy.run(replica_step, args=next(batches))
                totals += strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica, axis=None)
            return totals

        self._steps = steps

    def run(self, steps: int) -> tuple[float, float]:
        return _means(self._steps(self._batches, tf.constant(steps)).numpy())


class _ServerLoop:
    """A chief hands out steps; each is taken by the next free worker, with the variables as they are then."""

    def __init__(
        self, strategy: Any, network: Any, optimizer: Any, data: ImageData, settings: Settings
    ) -> None:
        self.network, self.optimizer = network, optimizer
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)

        def replica_step(images: Any, labels: Any) -> Any:
            return _step(network, optimizer, images, labels, settings.batch)

        @tf.function  # type: ignore[untyped-decorator]
        def steps(batches: Any, count: Any) -> Any:
            totals = tf.zeros(3)
            for _ in tf.range(count):
                totals += strategy.run(replica_step, args=next(batches))
            return totals

        def pipeline(context: Any) -> Any:
            return _images(data, settings, settings.batch, spread=context.input_pipeline_id)

        def distributed() -> Any:
            return strategy.distribute_datasets_from_function(pipeline)

        self._batches = iter(self._coordinator.create_per_worker_dataset(distributed))
        self._steps = steps

    def run(self, steps: int) -> tuple[float, float]:
        calls = [STEPS_A_CALL] * (steps // STEPS_A_CALL)
        if steps % STEPS_A_CALL:
            calls.append(steps % STEPS_A_CALL)
        results = [
            self._coordinator.schedule(self._steps, args=(self._batches, tf.constant(count)))
            for count in calls
        ]
        self._coordinator.join()
        return _means(np.sum([result.fetch() for result in results], axis=0))


def _step(network: Any, optimizer: Any, images: Any, labels: Any, batch: int) -> Any:
    """Take one step; give the sum of the losses, the number of right answers and of images."""
    with tf.GradientTape() as tape:
        logits = network(images, training=True)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        loss = tf.reduce_sum(losses) / batch
    gradients = tape.gradient(loss, network.trainable_variables)
    optimizer.apply_gradients(zip(gradients, network.trainable_variables, strict=True))
    right = tf.cast(tf.equal(tf.argmax(logits, axis=1), labels), tf.float32)
    return tf.stack([tf.reduce_sum(losses), tf.reduce_sum(right), tf.cast(tf.size(labels), tf.float32)])


def _means(totals: np.ndarray) -> tuple[float, float]:
    loss, right, images = (float(total) for total in totals)
    return loss / images, right / images


def _images(
    data: ImageData, settings: Settings, batch: int, *, parts: int = 1, part: int = 0, spread: int = 0
) -> Any:
    """Give endless batches of this replica's part of the training images, in an order of its own."""
    # As bytes they take a quarter of the room in the graph that is sent to the workers.
    levels = data.levels
    images = np.rint(data.train_images * levels).astype(np.uint8) if levels else data.train_images
    labels = data.train_labels
    seed = settings.seed * 1000 + settings.first_step + spread
    order = tf.data.Dataset.range(len(labels)).shard(parts, part)
    order = order.shuffle(len(labels), seed=seed, reshuffle_each_iteration=True).repeat().batch(batch)
    pixels, classes = tf.constant(images), tf.constant(labels)

    def look_up(chosen: Any) -> tuple[Any, Any]:
        found = tf.cast(tf.gather(pixels, chosen), tf.float32)
        return (found / levels if levels else found), tf.gather(classes, chosen)

    return order.map(look_up).prefetch(2)
