"""The classifier's network: small, good enough to show learning, quick without a graphics card."""

from pathlib import Path
from typing import Any, Final

import keras
import tensorflow as tf

SIGNATURE: Final = "serving_default"
_SMALL_PIXELS = 400


def build(image_shape: tuple[int, int, int], classes: int, seed: int) -> Any:
    """Make the network: images of shape (batch, height, width, channels) in [0, 1] to logits per class.

    Up to 400 pixels one hidden layer does; above, two convolutions with stride 2 in front of it. The same seed
    gives the same first weights under every strategy.
    """
    height, width, _ = image_shape
    seeds = iter(range(seed * 10, seed * 10 + 10))

    def glorot() -> Any:
        return keras.initializers.GlorotUniform(seed=next(seeds))

    layers: list[Any] = [keras.Input(image_shape)]
    if height * width > _SMALL_PIXELS:
        layers += [
            keras.layers.Conv2D(8, 5, strides=2, activation="relu", kernel_initializer=glorot()),
            keras.layers.Conv2D(16, 3, strides=2, activation="relu", kernel_initializer=glorot()),
        ]
    layers += [
        keras.layers.Flatten(),
        keras.layers.Dense(64, activation="relu", kernel_initializer=glorot()),
        keras.layers.Dense(classes, kernel_initializer=glorot()),
    ]
    return keras.Sequential(layers)


def export(network: Any, image_shape: tuple[int, int, int], folder: Path) -> str:
    """Write a SavedModel with the signature ``images -> probabilities``.

    Args:
        network: What :func:`build` made, trained, with its variables in this process.
        image_shape: Height, width, channels.
        folder: Where to; replaced if there.

    Returns:
        The signature in words.
    """

    class Serving(tf.Module):  # type: ignore[misc]
        """The network with the probabilities that callers want."""

        def __init__(self) -> None:
            super().__init__()
            self.variables_of_network = list(network.variables)

        @tf.function(input_signature=[tf.TensorSpec([None, *image_shape], tf.float32, name="images")])  # type: ignore[untyped-decorator]
        def serve(self, images: Any) -> dict[str, Any]:
            return {"probabilities": tf.nn.softmax(network(images, training=False))}

    module = Serving()
    tf.saved_model.save(module, str(folder), signatures={SIGNATURE: module.serve})
    return signature_text(image_shape, int(network.output_shape[-1]))


def signature_text(image_shape: tuple[int, ...], classes: int) -> str:
    """Put a signature in words."""
    shape = " x ".join(str(size) for size in image_shape)
    return f"images: float32 (any x {shape}) in [0, 1] -> probabilities: float32 (any x {classes})"
