"""Free ports of this machine for the servers of a job."""

import socket
from contextlib import ExitStack


def free_ports(count: int) -> list[int]:
    """Find ports that nobody listens on at the moment.

    Nothing holds them afterwards: somebody else may take one before the server does. A trainer tells that by
    its exit code, and the job is started again with other ports.

    Args:
        count: How many; all differ.

    Returns:
        Port numbers, one per server.
    """
    with ExitStack() as held:
        # All are bound at the same time so that they differ, on all interfaces because TensorFlow's servers are.
        sockets = [held.enter_context(_bound()) for _ in range(count)]
        return [int(each.getsockname()[1]) for each in sockets]


def _bound() -> socket.socket:
    if socket.has_dualstack_ipv6():
        both = socket.socket(socket.AF_INET6)
        try:
            both.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            both.bind(("::", 0))
        except OSError:
            both.close()
        else:
            return both
    one = socket.socket(socket.AF_INET)
    one.bind(("", 0))
    return one
