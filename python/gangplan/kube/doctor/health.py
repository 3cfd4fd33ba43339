"""Whether an API of Kubeflow Pipelines answers at a URL."""

from gangplan.errors import Unreachable
from gangplan.extras import needed

with needed("kube"):
    import urllib3

WAIT_S = 5.0
"""Seconds until it must have answered."""


def health(url: str) -> str:
    """What the API says about itself: its version, or that it is there.

    Args:
        url: Where it is served, ``http://localhost:8888``.

    Raises:
        Unreachable: Nothing answers, or not an API of Kubeflow Pipelines.
    """
    if not url.startswith(("http://", "https://")):
        raise _unreachable(f"{url!r} is no address: it must begin with http:// or https://")
    address = f"{url.rstrip('/')}/apis/v2beta1/healthz"
    try:
        with urllib3.PoolManager(timeout=WAIT_S, retries=False) as pool:
            answer = pool.request("GET", address)
            told = answer.json() if answer.status == 200 else None
    except (urllib3.exceptions.HTTPError, ValueError) as error:
        raise _unreachable(f"nothing that is Kubeflow Pipelines answers at {address}: {error}") from error
    if not isinstance(told, dict):
        raise _unreachable(
            f"{address} answers with status {answer.status}, and not as Kubeflow Pipelines does"
        )
    version = told.get("tag_name") or told.get("tagName") or ""
    return f"version {version}" if version else "it is there"


def _unreachable(message: str) -> Unreachable:
    return Unreachable(message, verb="get", kind="Health")
