"""Networks whose speed is measured: a small residual network of ours, and ResNet-50 as Keras has it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import keras

from gangplan.train.network import build

WIDTHS: Final = (16, 32, 64)
"""Channels of the three stages."""

BLOCKS: Final = 3
"""Blocks of each stage: with them the network has 20 layers."""


def residual(image_shape: tuple[int, int, int], classes: int, seed: int) -> Any:
    """Make the residual network of 20 layers for small pictures.

    Source: He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition" (2016), section 4.2; shortcuts that
    change their shape are convolutions here.

    Args:
        image_shape: Height, width, channels.
        classes: Number of classes.
        seed: Of the first weights.
    """
    keras.utils.set_random_seed(seed)
    images = keras.Input(image_shape)
    flow = _convolve(images, WIDTHS[0], size=3, stride=1)
    for width in WIDTHS:
        for block in range(BLOCKS):
            stride = 2 if width > WIDTHS[0] and block == 0 else 1
            before = flow if stride == 1 else _convolve(flow, width, size=1, stride=stride, active=False)
            flow = _convolve(flow, width, size=3, stride=stride)
            flow = _convolve(flow, width, size=3, stride=1, active=False)
            flow = keras.layers.ReLU()(keras.layers.Add()([before, flow]))
    flow = keras.layers.GlobalAveragePooling2D()(flow)
    return keras.Model(images, keras.layers.Dense(classes)(flow))


def _convolve(flow: Any, width: int, *, size: int, stride: int, active: bool = True) -> Any:
    flow = keras.layers.Conv2D(width, size, strides=stride, padding="same", use_bias=False)(flow)
    flow = keras.layers.BatchNormalization()(flow)
    return keras.layers.ReLU()(flow) if active else flow


def resnet50(image_shape: tuple[int, int, int], classes: int, seed: int) -> Any:
    """Make ResNet-50 with untrained weights, as ``keras.applications`` has it; see :func:`residual`."""
    keras.utils.set_random_seed(seed)
    return keras.applications.ResNet50(
        weights=None, input_shape=image_shape, classes=classes, classifier_activation=None
    )


NETWORKS: Final[Mapping[str, Callable[[tuple[int, int, int], int, int], Any]]] = {
    "classifier": build,
    "residual": residual,
    "resnet50": resnet50,
}
"""What can be measured, by its name."""
