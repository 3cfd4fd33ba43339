"""A real node: a containerd and a kubelet of its own."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from cluster.bed import network
from cluster.bed.control_plane import ControlPlane
from cluster.bed.identity import write_kubeconfig
from cluster.bed.process import Process

PAUSE = "bed.local/pause:1"
GPU = "nvidia.com/gpu"
# Mounted read-only into every container; images have no content of their own.
MACHINE = ("/usr", "/etc/ssl", "/etc/ld.so.cache")


class Node:
    """One node; several of them share the bridge and the list of pod addresses."""

    def __init__(self, plane: ControlPlane, name: str, number: int, labels: Mapping[str, str]) -> None:
        self.plane, self.name, self.labels = plane, name, dict(labels)
        self.folder = plane.folder / "nodes" / name
        self.folder.mkdir(parents=True)
        self._ports = (10250 + 10 * number, 10251 + 10 * number)
        self.socket = self.folder / "containerd.sock"

    def start(self, images: Sequence[Path], mounts: Mapping[str, Path]) -> None:
        """Start it and wait until it is ready.

        Args:
            images: Archives of the images that its pods may use.
            mounts: Folder in every container → folder of this machine, read-only.
        """
        self._start_containerd(mounts)
        for image in images:
            self._ctr("images", "import", str(image))
        self._start_kubelet().wait_until("ready", self._is_ready)

    def set_gpus(self, count: int) -> None:
        """Let it offer GPUs that are not there: no driver is asked, and the kubelet leaves them as they are."""
        offer = {GPU: str(count)}
        self.plane.patch_status(f"/api/v1/nodes/{self.name}", {"capacity": offer, "allocatable": offer})

    def _start_containerd(self, mounts: Mapping[str, Path]) -> None:
        spec = json.loads(subprocess.run(["ctr", "oci", "spec"], check=True, capture_output=True, text=True).stdout)
        everything = {path: Path(path) for path in MACHINE} | dict(mounts)
        spec["mounts"] += [
            {"destination": inside, "type": "bind", "source": str(outside), "options": ["rbind", "ro"]}
            for inside, outside in everything.items()
        ]
        base = self.folder / "base-spec.json"
        base.write_text(json.dumps(spec))
        (self.folder / "net.d").mkdir()
        (self.folder / "net.d" / "10-bridge.conflist").write_text(json.dumps(self._pod_network()))
        config = self.folder / "containerd.toml"
        config.write_text(self._containerd_config(base))
        process = self.plane.run(f"{self.name}-containerd", "containerd", "-c", config, "-l", "warn")
        process.wait_until("ready", lambda: self._ctr("version", check=False) == 0)

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

    def _start_kubelet(self) -> Process:
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
            "kubeAPIQPS": 50,
            "kubeAPIBurst": 100,
        }
        file = self.folder / "kubelet.json"
        file.write_text(json.dumps(config))
        labels = ",".join(f"{key}={value}" for key, value in self.labels.items())
        return self.plane.run(
            f"{self.name}-kubelet",
            self.plane.kube,
            "kubelet",
            f"--config={file}",
            f"--kubeconfig={kubeconfig}",
            f"--root-dir={self.folder}/kubelet",
            f"--hostname-override={self.name}",
            f"--node-ip={network.NODE_ADDRESS}",
            f"--cert-dir={self.folder}/kubelet-pki",
            f"--node-labels={labels}",
        )

    def _is_ready(self) -> bool:
        node = self.plane.get(f"/api/v1/nodes/{self.name}") or {}
        conditions = node.get("status", {}).get("conditions", [])
        return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)

    def _ctr(self, *arguments: str, check: bool = True) -> int:
        command = ["ctr", "-a", str(self.socket), "-n", "k8s.io", *arguments]
        return subprocess.run(command, check=check, capture_output=True).returncode
