"""The namespace that is meant where none is named."""

import os
from pathlib import Path

import yaml

from gangplan.extras import needed
from gangplan.kube import own_pod

with needed("kube"):
    from kubernetes import config

FALLBACK = "default"
"""As kubectl has it."""


def own_namespace(*, kubeconfig: Path | None = None, context: str | None = None) -> str:
    """The namespace of a kubeconfig's context, in a pod its own; else ``default``, as for kubectl.

    What is wrong with a kubeconfig is not said here: :func:`gangplan.kube.client.connect` does.

    Args:
        kubeconfig: The file; None: the ones that ``KUBECONFIG`` names, or ``~/.kube/config``.
        context: The context in it; None: its current one.
    """
    if "KUBERNETES_SERVICE_HOST" in os.environ and kubeconfig is None and context is None:
        try:
            return own_pod.NAMESPACE_FILE.read_text(encoding="utf-8").strip() or FALLBACK
        except OSError:
            return FALLBACK
    try:
        contexts, current = config.list_kube_config_contexts(None if kubeconfig is None else str(kubeconfig))
        chosen = current if context is None else next(item for item in contexts if item["name"] == context)
        return str((chosen.get("context") or {}).get("namespace") or FALLBACK)
    except config.ConfigException:
        return FALLBACK
    except (OSError, yaml.YAMLError, ValueError, TypeError, AttributeError, KeyError, StopIteration):
        return FALLBACK
