"""etcd, API server, controllers and the default scheduler."""

import socket
from pathlib import Path
from typing import Any

import yaml

from cluster.bed import network, programs
from cluster.bed.administrator import Administrator
from cluster.bed.identity import ADMIN, CONTROLLERS, SCHEDULER, Identities
from cluster.bed.pki import Authority
from cluster.bed.process import Processes


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ControlPlane:
    """The programs that every cluster has, and an administrator's way to talk to them."""

    server = f"https://127.0.0.1:{network.API_PORT}"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority(folder / "pki")
        self.identities = Identities(folder)
        self.processes = Processes(folder / "log")
        self.kube = programs.KUBE.path()
        token = self.identities.tokens[ADMIN]
        self.admin = Administrator(self.server, self.authority.pair.certificate, token)

    def start(self, node_grace_s: int) -> None:
        """Start all and wait until they work.

        Args:
            node_grace_s: A node that has not been heard of for so long is not ready.

        Raises:
            BedError: One of them does not.
        """
        etcd = self._start_etcd()
        self._start_server(etcd)
        self._start_controllers(node_grace_s)
        self.start_scheduler()
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        self.processes.wait_until(
            "the default account is there",
            lambda: self.admin.get(account) is not None,
            of="controller-manager",
        )

    def kubeconfig(self, user: str) -> Path:
        """A kubeconfig for programs in here."""
        return self.identities.kubeconfig(user, self.server, self.authority.pair.certificate)

    def _start_etcd(self) -> str:
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.processes.start(
            "etcd",
            self.kube,
            "etcd",
            f"--data-dir={self.folder}/etcd",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            f"--quota-backend-bytes={4 << 30}",
            "--unsafe-no-fsync",  # a cluster that lives for one run
        )
        self.processes.wait_until("etcd is ready", lambda: self.admin.answers(f"{client}/health"), of="etcd")
        return client

    def _start_server(self, etcd: str) -> None:
        names = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
        addresses = ("127.0.0.1", network.API_ADDRESS, network.NODE_ADDRESS)
        serving = self.authority.issue("apiserver", "kube-apiserver", alternatives=(*names, *addresses))
        to_nodes = self.authority.issue("to-nodes", "kube-apiserver", organization="system:masters")
        tokens = self.authority.signing_pair("accounts")
        audit = self.folder / "audit-policy.yaml"
        audit.write_text(
            "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"
        )
        self.processes.start(
            "apiserver",
            self.kube,
            "apiserver",
            f"--etcd-servers={etcd}",
            "--bind-address=0.0.0.0",
            f"--advertise-address={network.NODE_ADDRESS}",
            f"--secure-port={network.API_PORT}",
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            f"--client-ca-file={self.authority.pair.certificate}",
            f"--token-auth-file={self.identities.file}",
            "--authorization-mode=Node,RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={tokens.certificate}",
            f"--service-account-signing-key-file={tokens.key}",
            f"--service-cluster-ip-range={network.SERVICE_NETWORK}",
            "--enable-admission-plugins=NodeRestriction,ResourceQuota",
            "--allow-privileged=true",
            "--endpoint-reconciler-type=none",
            f"--kubelet-client-certificate={to_nodes.certificate}",
            f"--kubelet-client-key={to_nodes.key}",
            f"--kubelet-certificate-authority={self.authority.pair.certificate}",
            "--kubelet-preferred-address-types=InternalIP",
            "--profiling=false",
            "--max-requests-inflight=3000",
            "--max-mutating-requests-inflight=1000",
            f"--audit-policy-file={audit}",
            f"--audit-log-path={self.folder}/log/audit.json",
        )
        self.processes.wait_until(
            "the API server is ready", lambda: self.admin.answers(f"{self.server}/readyz"), of="apiserver"
        )

    def _start_controllers(self, node_grace_s: int) -> None:
        authority = self.authority.pair
        self.processes.start(
            "controller-manager",
            self.kube,
            "controller-manager",
            f"--kubeconfig={self.kubeconfig(CONTROLLERS)}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={free_port()}",
            "--use-service-account-credentials=true",
            f"--root-ca-file={authority.certificate}",
            f"--service-account-private-key-file={self.folder}/pki/accounts.key",
            f"--cluster-signing-cert-file={authority.certificate}",
            f"--cluster-signing-key-file={authority.key}",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
            "--concurrent-gc-syncs=20",
            f"--node-monitor-grace-period={node_grace_s}s",
        )

    def start_scheduler(self) -> None:
        """Start the default scheduler; pods that ask for ``volcano`` get nodes from it too, each the fullest that it may."""
        config = self.folder / "scheduler.yaml"
        config.write_text(yaml.safe_dump(_profiles(self.kubeconfig(SCHEDULER))))
        self.processes.start(
            "scheduler",
            self.kube,
            "scheduler",
            f"--config={config}",
            "--bind-address=127.0.0.1",
            f"--secure-port={free_port()}",
        )


def _profiles(kubeconfig: Path) -> dict[str, Any]:
    api = "kubescheduler.config.k8s.io/v1"
    fullest = {"type": "MostAllocated", "resources": [{"name": "nvidia.com/gpu", "weight": 100}]}
    arguments = {"apiVersion": api, "kind": "NodeResourcesFitArgs", "scoringStrategy": fullest}
    volcano = {
        "schedulerName": "volcano",
        "pluginConfig": [{"name": "NodeResourcesFit", "args": arguments}],
        "plugins": {
            "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit", "weight": 1}]}
        },
    }
    return {
        "apiVersion": api,
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 500, "burst": 1000},
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": "default-scheduler"}, volcano],
    }
