"""How many images a gang trains in a second: ``python -m gangplan.train.benchmark``.

The same command runs in every replica; TF_CONFIG says which one it is. Pictures are made up, so that nothing is read and
nothing is written. The leader (the chief, without one worker 0) prints ``images/sec: N`` now and then, and at the end
``total images/sec: N`` of the whole gang: steps that warm up (the first one compiles) are not counted.

Each worker takes the same number of images a step, however many workers there are (weak scaling).

Exit codes: as of :mod:`gangplan.train.classifier`.
"""

import argparse
import os
import time
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import numpy as np
import tensorflow as tf

from gangplan.errors import InvalidInput, Problem
from gangplan.train.data import ImageData
from gangplan.train.entry import take_part
from gangplan.train.loop import STEPS_A_CALL, Settings, check_finite, make_loop
from gangplan.train.residual import NETWORKS
from gangplan.train.strategy import CHOICES, Seat, make_strategy, serve
from gangplan.train.words import say

PICTURES = 64
CLASSES = 10
TOLD = 5
"""How often it is told how fast it goes."""


def main(arguments: list[str] | None = None) -> None:
    """Take the part in the benchmark that TF_CONFIG gives to this process."""
    take_part(_parser().parse_args(arguments), check=_check, run=_run)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gangplan.train.benchmark",
        description="Measure how many made-up images a gang trains in a second (TF_CONFIG).",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--network", choices=tuple(NETWORKS), default="residual", help="what is trained")
    add("--pixels", type=int, default=32, help="height and width of an image")
    add("--batch", type=int, default=32, help="images in one step of one worker")
    add("--steps", type=int, default=50, help="steps of each worker that are measured")
    add("--warmup", type=int, default=5, help="steps of each worker before that")
    add("--strategy", choices=CHOICES, default="auto", help="how the replicas train together")
    add("--threads", type=int, default=0, help="threads of each replica; 0: as many as it finds")
    return parser


def _check(options: argparse.Namespace) -> None:
    least = {"pixels": 32 if options.network == "resnet50" else 8, "threads": 0}
    problems = [
        Problem(f"--{name}", "OUT_OF_RANGE", f"must be at least {floor}, found {getattr(options, name)}")
        for name in ("pixels", "batch", "steps", "warmup", "threads")
        if getattr(options, name) < (floor := least.get(name, 1))
    ]
    if problems:
        raise InvalidInput(problems, "benchmark")


def _run(seat: Seat, options: argparse.Namespace) -> None:
    if options.threads:
        tf.config.threading.set_intra_op_parallelism_threads(options.threads)
        tf.config.threading.set_inter_op_parallelism_threads(options.threads)
    if seat.idle or seat.role == "evaluator":
        say(f"{seat.role}-{seat.index} has no part in this benchmark")
        return
    if seat.kind == "ps" and seat.role in {"ps", "worker"}:
        serve(seat)
    # With parameter servers a step is one worker's; replicas that train together share the images of a step.
    workers = seat.replicas["worker"] if seat.kind == "ps" else sum(seat.replicas.values())
    apart = seat.kind == "ps"
    batch = options.batch if apart else options.batch * workers
    strategy = make_strategy(seat)
    settings = Settings(batch=batch, learning_rate=1e-4, seed=0)
    loop = make_loop(seat, strategy, _pictures(options.pixels), settings, network=NETWORKS[options.network])
    rounds = workers if apart else 1
    # Every worker must get something to do in it, because each compiles for itself.
    loop.run(max(options.warmup, STEPS_A_CALL if apart else 1) * rounds)
    began = last = time.monotonic()
    done = 0
    while done < options.steps:
        count = min(-(-options.steps // TOLD), options.steps - done)
        loss, _ = loop.run(count * rounds)
        check_finite(loss, done + count)
        done += count
        now = time.monotonic()
        if seat.leads:
            say(f"step {done}/{options.steps} images/sec: {_speed(count * rounds * batch, now - last)}")
        last = now
    if seat.leads:
        say(f"total images/sec: {_speed(done * rounds * batch, last - began)}")


def _speed(images: int, seconds: float) -> str:
    return f"{images / max(seconds, 1e-9):.2f}"


def _pictures(pixels: int) -> ImageData:
    """The same made-up pictures everywhere."""
    chance = np.random.default_rng(0)
    images = (chance.integers(0, 256, (PICTURES, pixels, pixels, 3)) / np.float32(255)).astype(np.float32)
    labels = chance.integers(0, CLASSES, PICTURES)
    made: dict[str, Any] = {"train_images": images, "train_labels": labels}
    return ImageData(
        name="made-up pictures",
        **made,
        test_images=images[:1],
        test_labels=labels[:1],
        classes=CLASSES,
        levels=255,
        digest="",
    )


if __name__ == "__main__":
    main()
