"""A real node: a containerd and a kubelet of its own."""

import json
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from cluster.bed import containers, network
from cluster.bed.administrator import is_ready
from cluster.bed.control_plane import ControlPlane
from cluster.bed.identity import write_kubeconfig
from cluster.bed.image import PAUSE

# Mounted read-only into every container; images have next to no content of their own.
MACHINE = ("/usr", "/etc/ssl", "/etc/ld.so.cache")


class Node:
    """One node; several of them share the bridge and the list of pod addresses.

    Args:
        plane: What it belongs to.
        name: Its name.
        number: Which of the nodes it is; its ports depend on it.
    """

    def __init__(self, plane: ControlPlane, name: str, *, number: int) -> None:
        self.plane, self.name = plane, name
        self.folder = plane.folder / "nodes" / name
        self.folder.mkdir(parents=True)
        self.socket = self.folder / "containerd.sock"
        self._ports = (10250 + 10 * number, 10251 + 10 * number)
        self._parts = (f"{name}-kubelet", f"{name}-containerd")

    def start(self, labels: Mapping[str, str], images: Sequence[str], mounts: Mapping[str, str]) -> None:
        """Start it and wait until it is ready.

        Args:
            labels: Labels of the node.
            images: Archives of the images that its pods may use.
            mounts: Folder in every container → folder of this machine, read-only.
        """
        self._start_containerd(mounts)
        for image in images:
            self._ctr("images", "import", image)
        self._start_kubelet(labels)
        self.plane.processes.wait_until(f"node {self.name} is ready", self._is_ready, of=self._parts[0])

    def kill(self) -> None:
        """End it with all of its containers, as a power failure would."""
        for part in self._parts:
            self.plane.processes.end(part, signal.SIGKILL)
        containers.kill_all(self.folder)

    def _start_containerd(self, mounts: Mapping[str, str]) -> None:
        spec = json.loads(
            subprocess.run(["ctr", "oci", "spec"], check=True, capture_output=True, text=True).stdout
        )
        everything = {path: path for path in MACHINE} | dict(mounts)
        spec["mounts"] += [
            {"destination": inside, "type": "bind", "source": outside, "options": ["rbind", "ro"]}
            for inside, outside in everything.items()
        ]
        base = self.folder / "base-spec.json"
        base.write_text(json.dumps(spec))
        (self.folder / "net.d").mkdir()
        (self.folder / "net.d" / "10-bridge.conflist").write_text(json.dumps(self._pod_network()))
        config = self.folder / "containerd.toml"
        config.write_text(self._containerd_config(base))
        processes, name = self.plane.processes, self._parts[1]
        processes.start(name, "containerd", "-c", config, "-l", "warn")
        processes.wait_until("containerd answers", lambda: self._ctr("version", check=False) == 0, of=name)

    def _pod_network(self) -> dict[str, object]:
        addresses = {
            "type": "host-local",
            "ranges": [[{"subnet": network.POD_NETWORK}]],
            "routes": [{"dst": "0.0.0.0/0"}],
            "dataDir": str(self.plane.folder / "pod-addresses"),
        }
        bridge = {
            "type": "bridge",
            "bridge": network.BRIDGE,
            "isGateway": True,
            "ipMasq": False,
            "hairpinMode": True,
            "ipam": addresses,
        }
        return {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge]}

    def _containerd_config(self, base_spec: Path) -> str:
        unused = [f"io.containerd.snapshotter.v1.{name}" for name in ("btrfs", "devmapper", "zfs", "aufs")]
        cri = 'plugins."io.containerd.grpc.v1.cri"'
        return f"""
version = 2
root = "{self.folder}/root"
state = "{self.folder}/state"
disabled_plugins = {json.dumps([*unused, "io.containerd.internal.v1.opt"])}
[grpc]
  address = "{self.socket}"
[{cri}]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
[{cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  base_runtime_spec = "{base_spec}"
[{cri}.containerd.runtimes.runc.options]
  SystemdCgroup = false
[{cri}.cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "{self.folder}/net.d"
"""

    def _start_kubelet(self, labels: Mapping[str, str]) -> None:
        pair = self.plane.authority.issue(
            f"node-{self.name}",
            f"system:node:{self.name}",
            organization="system:nodes",
            alternatives=(self.name, network.NODE_ADDRESS),
        )
        authority = self.plane.authority.pair.certificate
        user = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
        kubeconfig = write_kubeconfig(self.folder / "kubeconfig", self.plane.server, authority, user)
        port, health_port = self._ports
        evict_at = ("memory.available", "nodefs.available", "imagefs.available", "nodefs.inodesFree")
        config = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "failCgroupV1": False,
            "cgroupDriver": "cgroupfs",
            "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [],
            "failSwapOn": False,
            "localStorageCapacityIsolation": False,
            "containerRuntimeEndpoint": f"unix://{self.socket}",
            "address": "0.0.0.0",
            "port": port,
            "healthzPort": health_port,
            "readOnlyPort": 0,
            "tlsCertFile": str(pair.certificate),
            "tlsPrivateKeyFile": str(pair.key),
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(authority)},
            },
            "authorization": {"mode": "Webhook"},
            # The machine's disk is not the cluster's: nothing is evicted or collected for it.
            "evictionHard": dict.fromkeys(evict_at, "0%"),
            "imageGCHighThresholdPercent": 100,
            "imageGCLowThresholdPercent": 99,
            "clusterDomain": "cluster.local",
            "clusterDNS": [network.NODE_ADDRESS],
            "podLogsDir": str(self.folder / "pod-logs"),
            "makeIPTablesUtilChains": False,
            "serializeImagePulls": False,
            "nodeStatusUpdateFrequency": "5s",
            "nodeLeaseDurationSeconds": 20,  # renewed after a quarter of it
            "kubeAPIQPS": 50,
            "kubeAPIBurst": 100,
        }
        file = self.folder / "kubelet.json"
        file.write_text(json.dumps(config))
        self.plane.processes.start(
            self._parts[0],
            self.plane.kube,
            "kubelet",
            f"--config={file}",
            f"--kubeconfig={kubeconfig}",
            f"--root-dir={self.folder}/k",
            f"--hostname-override={self.name}",
            f"--node-ip={network.NODE_ADDRESS}",
            f"--cert-dir={self.folder}/kubelet-pki",
            f"--node-labels={','.join(f'{key}={value}' for key, value in labels.items())}",
        )

    def _is_ready(self) -> bool:
        return is_ready(self.plane.admin.get(f"/api/v1/nodes/{self.name}") or {})

    def _ctr(self, *arguments: str, check: bool = True) -> int:
        command = ["ctr", "-a", str(self.socket), "-n", "k8s.io", *arguments]
        return subprocess.run(command, check=check, capture_output=True).returncode
