"""Names of the cluster: the addresses of services and of the pods behind them."""

import socket
import threading
from collections.abc import Callable
from typing import Any

import dns.exception
import dns.flags
import dns.message
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset

Look = Callable[[str], dict[str, Any] | None]
DOMAIN = ".svc.cluster.local."


class NameServer:
    """Answers for ``SERVICE.NAMESPACE.svc.cluster.local`` and, where pods have host names, ``HOST.SERVICE.…``."""

    def __init__(self, address: str, look: Look) -> None:
        self._look = look
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, 53))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            data, client = self._socket.recvfrom(4096)
            # Each in a thread of its own: an answer waits for the API server.
            threading.Thread(target=self._answer, args=(data, client), daemon=True).start()

    def _answer(self, data: bytes, client: tuple[str, int]) -> None:
        try:
            query = dns.message.from_wire(data)
        except dns.exception.DNSException:
            return
        response = dns.message.make_response(query)
        response.flags |= dns.flags.AA | dns.flags.RA
        (question,) = query.question
        addresses = self.addresses(question.name.to_text().lower())
        if addresses is None:
            response.set_rcode(dns.rcode.NXDOMAIN)
        elif question.rdtype == dns.rdatatype.A and addresses:
            kind = dns.rdatatype.A
            response.answer.append(
                dns.rrset.from_text_list(question.name, 1, dns.rdataclass.IN, kind, addresses)
            )
        self._socket.sendto(response.to_wire(), client)

    def addresses(self, name: str) -> list[str] | None:
        """Addresses behind a name; None if there is no such name."""
        if not name.endswith(DOMAIN):
            return None
        labels = name.removesuffix(DOMAIN).split(".")
        if len(labels) not in (2, 3):
            return None
        *host, service, namespace = labels
        found = self._look(f"/api/v1/namespaces/{namespace}/services/{service}")
        if found is None:
            return None
        address = found["spec"].get("clusterIP")
        if not host and address not in (None, "None"):
            return [address]
        early = found["spec"].get("publishNotReadyAddresses", False)
        selector = f"kubernetes.io%2Fservice-name%3D{service}"
        path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?labelSelector={selector}"
        slices = (self._look(path) or {}).get("items", [])
        ends = [end for item in slices for end in item.get("endpoints") or []]
        there = [end for end in ends if early or end.get("conditions", {}).get("ready", True)]
        wanted = [end for end in there if not host or end.get("hostname") == host[0]]
        return [address for end in wanted for address in end["addresses"]] or None


def publish(address: str, create: Callable[[str, dict[str, Any]], None]) -> None:
    """Tell the cluster where its names are served, by the Service under which every cluster has that.

    Args:
        address: Where the server listens.
        create: Creates an object at a path.
    """
    metadata = {"name": "kube-dns", "namespace": "kube-system"}
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}]
    create("/api/v1/namespaces/kube-system/services", {"metadata": metadata, "spec": {"ports": ports}})
    create(
        "/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices",
        {
            "metadata": {**metadata, "labels": {"kubernetes.io/service-name": "kube-dns"}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
            "ports": ports,
        },
    )
