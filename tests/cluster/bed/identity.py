"""Who talks to the API server, and the files with which they do."""

import base64
import json
import os
import secrets
import tempfile
from pathlib import Path
from typing import Any

ADMIN = "admin"
CONTROLLERS = "system:kube-controller-manager"
SCHEDULER = "system:kube-scheduler"
OPERATOR = "system:serviceaccount:kubeflow:training-operator"


class Identities:
    """A token for each user: a static list of the API server.

    The operator's service account stands in it by its user name: it runs outside, and the rights that are really
    granted to the account decide. Other accounts get tokens from the API server.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "tokens.csv"
        self.tokens = {name: secrets.token_hex(16) for name in (ADMIN, CONTROLLERS, SCHEDULER, OPERATOR)}
        self.file.touch(mode=0o600)
        self.file.write_text("".join(self._line(name) for name in self.tokens))

    def _line(self, name: str) -> str:
        groups = "system:masters" if name == ADMIN else ""
        if name.startswith("system:serviceaccount:"):
            namespace = name.split(":")[2]
            groups = f"system:serviceaccounts,system:serviceaccounts:{namespace}"
        return f'{self.tokens[name]},{name},{name},"{groups}"\n'

    def kubeconfig(self, name: str, server: str, authority: Path) -> Path:
        """A kubeconfig for a user; it works wherever the address does."""
        return write_kubeconfig(
            self.folder / f"{name.replace(':', '-')}.kubeconfig",
            server,
            authority,
            {"token": self.tokens[name]},
        )


def write_kubeconfig(file: Path, server: str, authority: Path, user: dict[str, Any]) -> Path:
    """A kubeconfig of one cluster and one user; whole at any time, since others may read it now."""
    cluster = {
        "server": server,
        "certificate-authority-data": base64.b64encode(authority.read_bytes()).decode(),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    }
    handle, temporary = tempfile.mkstemp(dir=file.parent)
    with os.fdopen(handle, "w") as written:
        json.dump(config, written, indent=1)
    return Path(temporary).rename(file)
