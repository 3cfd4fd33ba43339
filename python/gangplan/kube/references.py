"""References to environment variables in commands, ``$(NAME)``, as the kubelet expands them."""

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(?:\$|\((?P<name>[^)]*)\))")


def expand(text: str, env: Mapping[str, str]) -> str:
    """Put values in the place of references; ``$$`` is one ``$``, and names that are unknown stay as they are.

    Source: ``third_party/forked/golang/expansion`` of Kubernetes.

    >>> expand("--dir=$(HOME)/$(NAME) $$(HOME)", {"HOME": "/h"})
    '--dir=/h/$(NAME) $(HOME)'
    """

    def value(found: re.Match[str]) -> str:
        name = found["name"]
        return "$" if name is None else env.get(name, found[0])

    return _REFERENCE.sub(value, text)


def literal(text: str) -> str:
    """Write a text so that expanding it gives the text itself; the inverse of :func:`expand` for any environment.

    >>> literal("$(HOME) costs $5")
    '$$(HOME) costs $5'
    """
    return re.sub(r"\$(?=[$(])", "$$", text)
