"""Refusals: what an API server answers instead of doing it, told as our errors."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gangplan.errors import (
    AlreadyExists,
    Busy,
    ClusterError,
    Conflict,
    Expired,
    Forbidden,
    NotFound,
    NotInstalled,
    Refused,
    Unreachable,
)
from gangplan.kube.roles import advice


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a request is about, for the errors that it ends with.

    Attributes:
        verb: ``get``, ``create``, …
        kind: ``Pod``.
        name: Name of the object; empty: there is none yet, or many.
        namespace: Its namespace; empty: it has none.
    """

    verb: str
    kind: str
    name: str = ""
    namespace: str = ""

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.kind} {self.name}".strip() + where

    def error(self, kind: type[ClusterError], message: str) -> ClusterError:
        """An error about it."""
        return kind(message, **asdict(self))


def refusal(code: int, status: Mapping[str, Any], reason: str, address: str, about: About) -> ClusterError:
    """Find our error for an answer that is none of success.

    Args:
        code: Status of HTTP.
        status: The ``Status`` that came with it; empty if none did.
        reason: What stands in its place if none did.
        address: URL of the API server.
        about: What was asked.
    """
    told = _told(status, reason)
    match code:
        case 401:
            return about.error(
                Forbidden, f"{address} does not accept our credentials for {about}: log in again"
            )
        case 403 if _is_by_admission(told):
            return about.error(Refused, f"{about}: {told}")
        case 403:
            todo = advice(about.verb, about.kind, about.namespace)
            return about.error(Forbidden, f"{about} is not allowed ({told}): {todo}")
        case 404 if _details(status).get("name"):
            return about.error(NotFound, f"{about}: {told}")
        case 404:
            brings = "kubectl apply -k deploy/" if about.kind.startswith("Gang") else "whoever brings it"
            message = (
                f"{address} does not know {about.kind}: its CRD is missing or serves other versions only ({brings} "
                "installs it), or this is no Kubernetes API server"
            )
            return about.error(NotInstalled, message)
        case 409 if status.get("reason") == "AlreadyExists":
            return about.error(AlreadyExists, f"{about}: {told}")
        case 409:
            return about.error(Conflict, f"{about}: {told}; read it again")
        case 410:
            return about.error(Expired, f"{about}: {told}; list again")
        case 400 | 413 | 422:
            return about.error(Refused, f"{about}: {told}")
        case 429 | 503:
            return about.error(Busy, f"{about}: the API server asks to come again later ({code}: {told})")
        case 500 | 502 | 504:
            if "failed calling webhook" in told:  # before anything is written
                return about.error(
                    Unreachable,
                    f"{about}: nothing was done, a webhook that has to agree did not answer: {told}",
                )
            # A crash or a time-out behind the server's door: as without an answer, it may have been done.
            return about.error(
                Unreachable, f"{about}: the API server answered {code}: {told}; it may have been done"
            )
        case _:
            return about.error(ClusterError, f"{about}: the API server answered {code}: {told}")


def _told(status: Mapping[str, Any], reason: str) -> str:
    """The server's message, with the causes that it does not repeat in it."""
    message = str(status.get("message") or reason)
    causes = _details(status).get("causes")
    missing = [
        f"{cause.get('field', '')}: {cause['message']}".removeprefix(": ")
        for cause in (causes if isinstance(causes, list) else ())
        if isinstance(cause, dict) and str(cause.get("message") or message) not in message
    ]
    return "; ".join([message, *missing])


def _details(status: Mapping[str, Any]) -> Mapping[str, Any]:
    details = status.get("details")
    return details if isinstance(details, dict) else {}


def _is_by_admission(told: str) -> bool:
    """Whether a rule about objects forbids it (quota, limits, a webhook), and not the rights of who asks."""
    by_rights = re.search(r'\buser "[^"]*"(?: \(.*\))? (?:cannot|is attempting)', told, re.IGNORECASE)
    return by_rights is None and ("is forbidden: " in told or "denied the request" in told)
