"""Where the server of Kubeflow Pipelines is, and what it is told of who asks."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gangplan.errors import ConfigError

ENDPOINT = "KF_PIPELINES_ENDPOINT"
UI = "KF_PIPELINES_UI_ENDPOINT"
TOKEN_PATH = "KF_PIPELINES_SA_TOKEN_PATH"  # noqa: S105 - names a file
"""Environment variables that KFP's own client reads, too."""

POD_TOKEN = Path("/var/run/secrets/kubeflow/pipelines/token")
"""Where a Kubeflow notebook has a token for pipelines."""

POD_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
IN_CLUSTER = "http://ml-pipeline.kubeflow.svc.cluster.local:8888"

FORWARD = "kubectl -n kubeflow port-forward svc/ml-pipeline-ui 8080:80"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How to reach a server.

    Attributes:
        host: Its address, without a slash at the end.
        ui: Where people look at it.
        namespace: The namespace that is asked for, of a server that tells them apart; empty: none.
        token: File with a bearer token, which is read anew for each command; None: none.
        cookie: What a browser would send as its cookies; empty: nothing.
        ca: File with the certificates that the server's is checked by; None: those of public authorities.
    """

    host: str
    ui: str
    namespace: str = ""
    token: Path | None = None
    cookie: str = ""
    ca: Path | None = None

    def page(self, run_id: str) -> str:
        """Where a browser shows a run."""
        return f"{self.ui}/#/runs/details/{run_id}"


def access(
    *,
    environment: Mapping[str, str],
    host: str | None,
    namespace: str | None,
    token: Path | None,
    cookies: Path | None,
    ca: Path | None,
) -> Access:
    """Find the server: as given, by ``KF_PIPELINES_ENDPOINT``, or in a pod that of its cluster.

    Args:
        environment: The environment.
        host: Its address.
        namespace: The namespace to ask for; None: in a pod its own, else none.
        token: A file with a token.
        cookies: A file with what a browser would send as its cookies.
        ca: A file with certificates.

    Raises:
        ConfigError: Nothing says where the server is.
        OSError: A file cannot be read.
    """
    chosen = host or environment.get(ENDPOINT) or ""
    in_pod = "KUBERNETES_SERVICE_HOST" in environment
    if not chosen and not in_pod:
        raise ConfigError(
            f"nothing says where Kubeflow Pipelines is: give --host, or set {ENDPOINT}, or pipelines_host in "
            f"gangplan.toml; without an address of its own: {FORWARD}, and then --host http://localhost:8080"
        )
    chosen = chosen or IN_CLUSTER
    if not chosen.startswith(("http://", "https://")):
        chosen = f"https://{chosen}"
    chosen = chosen.rstrip("/")
    if token is None and (named := environment.get(TOKEN_PATH)):
        token = Path(named)
    if token is None and in_pod and POD_TOKEN.exists():
        token = POD_TOKEN
    if namespace is None and in_pod and POD_NAMESPACE.exists():
        namespace = POD_NAMESPACE.read_text(encoding="utf-8").strip()
    return Access(
        host=chosen,
        ui=environment.get(UI, chosen).rstrip("/"),
        namespace=namespace or "",
        token=token,
        cookie=cookies.read_text(encoding="utf-8").strip() if cookies else "",
        ca=ca,
    )
