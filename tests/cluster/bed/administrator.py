"""The administrator's way to talk to the API server of the cluster."""

import time
from pathlib import Path
from typing import Any

import requests
from requests.adapters import HTTPAdapter

AT_ONCE = 16

WEBHOOK_TRIES = 15
"""How often a creation is tried, a second apart, while a webhook does not answer."""


class Administrator:
    """Plain requests with all rights; works inside the cluster's network and outside."""

    def __init__(self, server: str, authority: Path, token: str) -> None:
        self.server = server
        self._session = requests.Session()
        self._session.mount("https://", HTTPAdapter(pool_maxsize=AT_ONCE))
        self._session.verify = str(authority)
        self._session.headers["Authorization"] = f"Bearer {token}"
        self._session.trust_env = False

    def get(self, path: str) -> dict[str, Any] | None:
        """An object or a list; None if there is none, or the server does not answer."""
        try:
            answer = self._session.get(self.server + path, timeout=30)
        except requests.RequestException:
            return None
        return answer.json() if answer.ok else None

    def log(self, namespace: str, pod: str) -> str:
        """What a pod has said so far; empty where nothing is to be had."""
        path = f"{self.server}/api/v1/namespaces/{namespace}/pods/{pod}/log"
        try:
            answer = self._session.get(path, timeout=30)
        except requests.RequestException:
            return ""
        return answer.text if answer.ok else ""

    def create(self, path: str, item: dict[str, Any]) -> None:
        """Create an object. A webhook that does not answer yet is waited for: nothing was created then.

        Raises:
            requests.HTTPError: It is refused.
        """
        for _ in range(WEBHOOK_TRIES - 1):
            answer = self._session.post(self.server + path, json=item, timeout=30)
            if answer.status_code != requests.codes.internal_server_error or "webhook" not in answer.text:
                answer.raise_for_status()
                return
            time.sleep(1.0)
        self._session.post(self.server + path, json=item, timeout=30).raise_for_status()

    def patch_status(self, path: str, status: dict[str, Any]) -> None:
        """Merge into the status of an object.

        Raises:
            requests.HTTPError: It is refused.
        """
        headers = {"Content-Type": "application/merge-patch+json"}
        url = f"{self.server}{path}/status"
        self._session.patch(url, json={"status": status}, headers=headers, timeout=30).raise_for_status()

    def answers(self, url: str) -> bool:
        """Whether an address answers well."""
        try:
            return self._session.get(url, timeout=2).ok
        except requests.RequestException:
            return False


def is_ready(node: dict[str, Any]) -> bool:
    """Whether a node says that it is ready."""
    conditions = node.get("status", {}).get("conditions", [])
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)
