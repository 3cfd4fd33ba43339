"""Whether the parameter servers can write where the chief writes; asked before a training begins, not after hours."""

import secrets
from pathlib import Path

import tensorflow as tf

from gangplan.errors import StoreError
from gangplan.train.words import cause


def check_servers_write(folder: Path, servers: int) -> None:
    """Make sure that each parameter server has the chief's folder, and may write there.

    To be called by the chief, connected to its servers. Leaves nothing in the folder but itself.

    Args:
        folder: Where checkpoints go; made if it is not there.
        servers: Number of parameter servers.

    Raises:
        StoreError: The chief or a parameter server cannot write there; all servers that cannot are named.
    """
    word = secrets.token_hex(8)
    marks = [folder / f".probe-ps-{index}-{word}" for index in range(servers)]
    token = folder / f".probe-chief-{word}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(".probe-*"):  # of a chief that was killed here
            left.unlink(missing_ok=True)
        # A full disk may take the name of a file and a few bytes of it.
        token.write_text(word * 256)
        problems = [problem for index, mark in enumerate(marks) if (problem := _ask(index, token, mark))]
    except OSError as error:
        raise StoreError(f"the chief cannot write to {folder}: {error.strerror or error}") from error
    finally:
        for path in [token, *marks]:
            path.unlink(missing_ok=True)
    if problems:
        raise StoreError(
            f"each parameter server writes its part of the checkpoints to {folder}, but {'; '.join(problems)}. "
            "Mount the volume with this folder at the same path in every parameter server as in the chief, "
            "so that it can be written (gangplan submit --volume CLAIM:PATH mounts it in all replicas)"
        )


def _ask(index: int, token: Path, mark: Path) -> str | None:
    """Let a parameter server read what the chief has written there, and write itself; say what it cannot do."""
    try:
        with tf.device(f"/job:ps/task:{index}/device:CPU:0"):
            # Writing alone would make the folder where it is not mounted.
            word = tf.io.read_file(str(token))
            tf.io.write_file(str(mark), word)
    except (tf.errors.UnavailableError, tf.errors.AbortedError):
        raise  # the server is gone; the folder is not to blame
    except tf.errors.NotFoundError:
        return f"ps-{index} does not find what the chief has written there"
    except tf.errors.OpError as error:
        return f"ps-{index} cannot write there ({cause(error.message, mark)})"
    return None
