"""The entry of a training program: options checked, a seat taken, errors told in a line with an exit code."""

import argparse
from collections.abc import Callable
from typing import Final

from gangplan.errors import GangplanError, InvalidInput
from gangplan.train.strategy import Seat, take_seat
from gangplan.train.words import say

INVALID_INPUT: Final = 3


def take_part(
    options: argparse.Namespace,
    *,
    check: Callable[[argparse.Namespace], None],
    run: Callable[[Seat, argparse.Namespace], None],
) -> None:
    """Take the part that TF_CONFIG gives to this process.

    Args:
        options: The options; ``strategy`` says how the replicas train together.
        check: Raises what is wrong with them, before TensorFlow starts anything.
        run: Does the work of the seat.

    Raises:
        SystemExit: 3 for bad input, 1 for what else we know of.
    """
    try:
        check(options)
        run(take_seat(options.strategy), options)
    except InvalidInput as error:
        say(str(error), error=True)
        raise SystemExit(INVALID_INPUT) from error
    except GangplanError as error:
        say(str(error), error=True)
        raise SystemExit(1) from error
