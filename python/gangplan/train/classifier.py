"""A small image classifier, trained by one process or by a gang: ``python -m gangplan.train.classifier``.

The same command runs in every replica; TF_CONFIG says which one it is. Under ``--out``:

========================  ======================================================================
``model/``                SavedModel, ``images -> probabilities``
``checkpoints/``          the last two states; ``--resume`` goes on from the last; with parameter servers a part of
                          each: what lies on it
``events/``               event files for TensorBoard: loss, accuracy, images a second; both on the test images
``history.json``          ``[{"step", "loss", "accuracy", "seconds"}, …]``, grows while training
``result.json``           accuracy on images that were never trained on, speed, versions; written last
========================  ======================================================================

The chief (without one: worker 0) and the parameter servers write there: all of them need the folder, on a volume that
they share. Workers do not. When a worker of a parameter-server job ends, the others go on. When a parameter server or
the chief ends, the variables are lost: the chief fails. With ``--resume`` a training goes on from its last
checkpoint: after replicas were started again in place (``restartPolicy: OnFailure``), and in another job, with any
number of replicas and any strategy.

Exit codes: 0 done; 3 bad input; 98 a server's port was taken, start again with others; 1 anything else.
"""

import argparse
import os
import platform
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import tensorflow as tf

from gangplan.errors import InvalidInput, Problem
from gangplan.train import checkpoint, progress
from gangplan.train.data import ImageData, load
from gangplan.train.entry import take_part
from gangplan.train.evaluator import follow, judge
from gangplan.train.loop import Settings, check_finite, make_loop, make_optimizer
from gangplan.train.network import build, export
from gangplan.train.reach import check_servers_write
from gangplan.train.strategy import CHOICES, Seat, make_strategy, serve
from gangplan.train.words import say


def main(arguments: list[str] | None = None) -> None:
    """Take the part in the training that TF_CONFIG gives to this process."""
    take_part(_parser().parse_args(arguments), check=_check, run=_run)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gangplan.train.classifier",
        description="Train a small image classifier, alone or as a gang (TF_CONFIG).",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--data", required=True, help="'digits', a folder with IDX files, or an .npz file")
    add("--split", help="images to train with / to test with, such as 8000/2000, if the data has one part")
    add("--out", type=Path, required=True, help="folder for model, checkpoints, event files, results")
    add("--strategy", choices=CHOICES, default="auto", help="how the replicas train together")
    add("--epochs", type=int, default=20, help="how often each image is seen")
    add("--steps", type=int, help="number of steps, instead of --epochs")
    add("--batch", type=int, default=32, help="images of a step")
    add("--learning-rate", type=float, default=0.002, help="of Adam")
    add("--seed", type=int, default=0, help="of the split, the first weights and the order of the images")
    add("--resume", action="store_true", help="go on from the last checkpoint, if there is one")
    add("--log-every", type=int, help="steps between two lines (default: a twentieth of all)")
    add("--checkpoint-every", type=int, help="steps between two checkpoints (default: a quarter of all)")
    return parser


def _check(options: argparse.Namespace) -> None:
    problems = []
    for name in ("epochs", "steps", "batch", "log_every", "checkpoint_every"):
        value = getattr(options, name)
        if value is not None and value < 1:
            problems.append(
                Problem(f"--{name.replace('_', '-')}", "OUT_OF_RANGE", f"must be at least 1, found {value}")
            )
    if not 0 < options.learning_rate < float("inf"):
        message = f"must be above 0 and finite, found {options.learning_rate}"
        problems.append(Problem("--learning-rate", "OUT_OF_RANGE", message))
    if not 0 <= options.seed < 1 << 20:
        problems.append(
            Problem("--seed", "OUT_OF_RANGE", f"must be from 0 to {(1 << 20) - 1}, found {options.seed}")
        )
    if problems:
        raise InvalidInput(problems, "training")


def _run(seat: Seat, options: argparse.Namespace) -> None:
    if seat.idle:
        say(f"{seat.role}-{seat.index} has no part in a training of kind {seat.kind}")
        return
    if seat.kind == "ps" and seat.role in {"ps", "worker"}:
        serve(seat)
    keras.utils.set_random_seed(options.seed)
    if seat.kind == "alone":
        tf.config.experimental.enable_op_determinism()
    data = load(options.data, split=options.split, seed=options.seed)
    if seat.role == "evaluator":
        follow(options.out, data, _copy(data, options))
    else:
        _train(seat, data, options)


def _copy(data: ImageData, options: argparse.Namespace) -> checkpoint.Copy:
    settings = Settings(batch=options.batch, learning_rate=options.learning_rate, seed=options.seed)
    return checkpoint.Copy(build(data.image_shape, data.classes, options.seed), make_optimizer(settings))


def _train(seat: Seat, data: ImageData, options: argparse.Namespace) -> None:
    total = options.steps or options.epochs * -(-len(data.train_labels) // options.batch)
    who = ", ".join(f"{count} {role}" for role, count in sorted(seat.replicas.items()))
    say(f"{seat.role}-{seat.index} of {who}: {seat.kind} training on {data.name}, {total} steps")
    strategy = make_strategy(seat)
    leader = _Leader(data, options, total) if seat.leads else None
    if leader and seat.kind == "ps":
        check_servers_write(leader.checkpoints, seat.replicas["ps"])
    # Replicas that train together must agree on where to go on; the leader's files need not be theirs.
    done = _agree(strategy, seat, leader.restore() if leader else 0)
    settings = Settings(
        batch=options.batch, learning_rate=options.learning_rate, seed=options.seed, first_step=done
    )
    loop = make_loop(seat, strategy, data, settings)
    if done:
        _spread(strategy, seat, loop, leader.copy if leader else None)
    if leader:
        leader.begin(done, seat, loop)
    step = done
    log_every = options.log_every or max(1, total // 20)
    while step < total:
        count = min(log_every - step % log_every, total - step)
        loss, accuracy = loop.run(count)
        step += count
        check_finite(loss, step)
        if leader:
            leader.note(step, loss, accuracy)
    if leader:
        leader.finish(seat)


def _agree(strategy: Any, seat: Seat, step: int) -> int:
    """Give the leader's step to all replicas."""
    if seat.kind != "mirrored":
        return step
    return int(_sum(strategy, tf.constant(float(step if seat.leads else 0))).numpy())


def _spread(strategy: Any, seat: Seat, loop: Any, copy: checkpoint.Copy | None) -> None:
    """Set the state of the training to the leader's copy, on all replicas."""
    if seat.kind != "mirrored":
        assert copy is not None
        copy.give(checkpoint.State(loop.network, loop.optimizer))
        return
    variables = [*loop.network.variables, *loop.optimizer.variables]
    source = copy.variables if copy else [tf.zeros_like(variable.numpy()) for variable in variables]
    flat = [tf.reshape(tf.cast(value, tf.float64), [-1]) for value in source]
    parts = tf.split(_sum(strategy, tf.concat(flat, 0)), [len(part) for part in flat])
    for variable, part in zip(variables, parts, strict=True):
        variable.assign(tf.cast(tf.reshape(part, variable.shape), variable.dtype))


def _sum(strategy: Any, value: Any) -> Any:
    """Add up what the replicas hold; all of them must call it."""

    @tf.function  # type: ignore[untyped-decorator]
    def total(mine: Any) -> Any:
        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(tf.identity, args=(mine,)), axis=None)

    return total(value)


class _Leader:
    """What only the leader of a job does: keep checkpoints, tell how it goes, write the results."""

    def __init__(self, data: ImageData, options: argparse.Namespace, total: int) -> None:
        self._data, self._options, self._total = data, options, total
        self._out: Path = options.out
        self.checkpoints = self._out / "checkpoints"
        try:
            self._out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            problem = Problem("--out", "BAD_VALUE", f"{self._out} cannot be made: {error.strerror or error}")
            raise InvalidInput([problem], "training") from error
        self._every = options.checkpoint_every or max(1, total // 4)
        self._saved = 0
        self._first = 0
        self.copy = _copy(data, options)

    def restore(self) -> int:
        """Give the steps done by earlier starts, with their state in the copy."""
        done = 0
        if self._options.resume:
            done = min(self.copy.restore(self.checkpoints) or 0, self._total)
            checkpoint.tidy(self.checkpoints)
        else:
            checkpoint.forget(self.checkpoints)
        progress.forget(self._out, resume=done > 0)
        return done

    def begin(self, done: int, seat: Seat, loop: Any) -> None:
        self._first = self._saved = done
        trained = checkpoint.State(loop.network, loop.optimizer)
        # Variables on servers are written where they are; mirrored ones would all have to be written together.
        self._written = trained if seat.kind == "ps" else self.copy
        self._take = self.copy.follow(trained)
        if done:
            say(f"resumed at step {done}")
        self._progress = progress.Progress(self._out, self._total, self._options.batch, done)

    def note(self, step: int, loss: float, accuracy: float) -> None:
        self._progress.tell(step, loss, accuracy)
        if step - self._saved >= self._every and step < self._total:
            self._progress.tell_test(step, *self._save(step))

    def finish(self, seat: Seat) -> None:
        seconds = self._progress.seconds
        loss, accuracy = self._save(self._total)
        self._progress.tell_test(self._total, loss, accuracy)
        signature = export(self.copy.network, self._data.image_shape, self._out / "model")
        steps = self._total - self._first
        self._progress.finish(
            {
                "finished": True,
                "accuracy": accuracy,
                "loss": loss,
                "steps": self._total,
                "batch": self._options.batch,
                "learning_rate": self._options.learning_rate,
                "seed": self._options.seed,
                "seconds": round(seconds, 3),
                "images_per_s": round(steps * self._options.batch / seconds, 1) if steps else 0.0,
                "strategy": seat.kind,
                "replicas": seat.replicas,
                "resumed_at": self._first,
                "signature": signature,
                "data": self._data.name,
                "data_digest": f"sha256:{self._data.digest}",
                "tensorflow": tf.__version__,
                "keras": keras.__version__,
                "python": platform.python_version(),
            }
        )
        say(f"model written to {self._out / 'model'}")

    def _save(self, step: int) -> tuple[float, float]:
        """Keep the state, and give its loss and accuracy on the test images."""
        self._take()
        loss, accuracy = judge(self.copy.network, self._data)
        # The last step itself may have spoiled the weights; nothing can go on from such a checkpoint.
        check_finite(loss, step)
        if step != self._saved:
            self._written.save(self.checkpoints, step)
            self._saved = step
        return loss, accuracy


if __name__ == "__main__":
    main()
