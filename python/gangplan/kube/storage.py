"""Storage: a folder that all nodes share, as the PersistentVolume and the claim that a TFJob mounts."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gangplan.errors import InvalidInput, InvalidQuantity, Problem
from gangplan.kube.kinds import CLAIM, VOLUME
from gangplan.kube.names import VOLUME_LABEL, see_that_it_is_a_name
from gangplan.solver import parse_quantity

NAS_DRIVER = "nasplugin.csi.alibabacloud.com"
NFS_DRIVER = "nfs.csi.k8s.io"
NAS_OPTIONS = ("nolock,tcp,noresvport",)
"""How NAS is mounted unless something else is said: as its makers advise, so that a lost connection heals."""

LONGEST_LABEL = 63
MANY = "ReadWriteMany"

_SERVER = re.compile(r"[A-Za-z0-9\[]([-A-Za-z0-9_.:]*[A-Za-z0-9\]])?")
_VERSION = re.compile(r"[34](\.[0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Nas:
    """A file system of Alibaba Cloud, mounted by the CSI driver that its clusters have.

    Attributes:
        server: Address of the mount target.
        path: Folder on it.
        version: Version of NFS.
        options: Further mount options; empty: :data:`NAS_OPTIONS`.
    """

    server: str
    path: str
    version: str = "3"
    options: tuple[str, ...] = ()

    driver = NAS_DRIVER

    def source(self, volume: str) -> dict[str, Any]:
        """The part of a PersistentVolume that says where it is; the driver wants the volume's name as its handle."""
        attributes = {"server": self.server, "path": self.path}
        csi = {"driver": NAS_DRIVER, "volumeHandle": volume, "volumeAttributes": attributes}
        return {"csi": csi, "mountOptions": [*(self.options or NAS_OPTIONS), f"vers={self.version}"]}

    def problems(self) -> Iterator[Problem]:
        """What is wrong with it, by the flags that give it."""
        return _network_problems(self.server, self.path, self.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nfs:
    """A folder of any NFS server.

    The kubelet mounts it by itself, which needs nothing in the cluster but ``mount.nfs`` on the nodes; that is what every
    cluster can do, and why it is the default. Nodes without it need the CSI driver, which brings its own.

    Attributes:
        server: Address of the server.
        path: Folder that it exports.
        version: Version of NFS; empty: what both can.
        options: Further mount options.
        by_driver: Whether the CSI driver mounts it.
    """

    server: str
    path: str
    version: str = ""
    options: tuple[str, ...] = ()
    by_driver: bool = False

    @property
    def driver(self) -> str:
        """The CSI driver that must be there; empty: none."""
        return NFS_DRIVER if self.by_driver else ""

    def source(self, volume: str) -> dict[str, Any]:
        """The part of a PersistentVolume that says where it is."""
        options = [*self.options, *([f"nfsvers={self.version}"] if self.version else [])]
        mounting = {"mountOptions": options} if options else {}
        if not self.by_driver:
            return {"nfs": {"server": self.server, "path": self.path}, **mounting}
        attributes = {"server": self.server, "share": self.path}
        return {
            "csi": {"driver": NFS_DRIVER, "volumeHandle": volume, "volumeAttributes": attributes},
            **mounting,
        }

    def problems(self) -> Iterator[Problem]:
        """What is wrong with it, by the flags that give it."""
        return _network_problems(self.server, self.path, self.version or "4")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPath:
    """A folder of each node by itself, which is shared only where all nodes are one machine.

    Attributes:
        path: The folder; it is made where it is missing.
    """

    path: str

    driver = ""

    def source(self, volume: str) -> dict[str, Any]:
        """The part of a PersistentVolume that says where it is."""
        return {"hostPath": {"path": self.path, "type": "DirectoryOrCreate"}}

    def problems(self) -> Iterator[Problem]:
        """What is wrong with it, by the flags that give it."""
        yield from _path_problems(self.path)
        if self.path.strip("/") == "":
            yield Problem("--path", "BAD_VALUE", "must be a folder of its own, not all that a node has")


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A shared folder and the claim on it.

    Attributes:
        name: Name of the claim.
        namespace: Its namespace.
        size: What is written down as its size; NFS holds nobody to it.
        place: Where the folder is.
    """

    name: str
    namespace: str
    size: str
    place: Nas | Nfs | HostPath

    @property
    def volume_name(self) -> str:
        """Name of the volume. No namespace has a dot, so it tells whose it is."""
        return f"{self.namespace}.{self.name}"

    def volume(self) -> dict[str, Any]:
        """The PersistentVolume. It is kept for its claim, and stays with its data when that goes."""
        return {
            "apiVersion": VOLUME.api_version,
            "kind": VOLUME.name,
            "metadata": {"name": self.volume_name, "labels": {VOLUME_LABEL: self.volume_name}},
            "spec": {
                "capacity": {"storage": self.size},
                "accessModes": [MANY],
                "storageClassName": "",
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {
                    "apiVersion": CLAIM.api_version,
                    "kind": CLAIM.name,
                    "namespace": self.namespace,
                    "name": self.name,
                },
                **self.place.source(self.volume_name),
            },
        }

    def claim(self) -> dict[str, Any]:
        """The claim. It wants no class, or the cluster's default one would make a volume of its own."""
        return {
            "apiVersion": CLAIM.api_version,
            "kind": CLAIM.name,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {
                "accessModes": [MANY],
                "storageClassName": "",
                "selector": {"matchLabels": {VOLUME_LABEL: self.volume_name}},
                "resources": {"requests": {"storage": self.size}},
            },
        }


def see_that_it_can_be(share: Share) -> None:
    """See that objects can be made of a share.

    Raises:
        InvalidInput: They cannot; every problem is named with the flag that it comes from.
    """
    problems = list(share.place.problems())
    for text, of, path in ((share.name, "claim", "NAME"), (share.namespace, "namespace", "--namespace")):
        try:
            see_that_it_is_a_name(text, of=of)
        except InvalidInput as error:
            problems += [Problem(path, problem.code, problem.message) for problem in error.problems]
    if len(share.volume_name) > LONGEST_LABEL:
        message = (
            f"is with its namespace, {share.volume_name}, longer than {LONGEST_LABEL} characters: shorten it"
        )
        problems.append(Problem("NAME", "OUT_OF_RANGE", message))
    try:
        if storage_bytes(share.size) < 1:
            problems.append(Problem("--size", "OUT_OF_RANGE", f"must be more than nothing, not {share.size}"))
    except InvalidQuantity as error:
        problems.append(Problem("--size", "BAD_VALUE", error.problems[0].message))
    if problems:
        raise InvalidInput(sorted(set(problems)), f"storage {share.name}")


def storage_bytes(text: str) -> int:
    """Bytes of an amount of storage.

    Raises:
        InvalidQuantity: It is none.
    """
    return parse_quantity("storage", text, round_up=True)


def _path_problems(path: str) -> Iterator[Problem]:
    if not path.startswith("/") or ".." in path.split("/"):
        yield Problem("--path", "BAD_VALUE", f"must be an absolute path without .., not {path!r}")


def _network_problems(server: str, path: str, version: str) -> Iterator[Problem]:
    yield from _path_problems(path)
    if not _SERVER.fullmatch(server):
        message = f"must be the name or address of a server, and its folder is --path; not {server!r}"
        yield Problem("--server", "BAD_VALUE", message)
    if not _VERSION.fullmatch(version):
        yield Problem("--vers", "BAD_VALUE", f"must be a version of NFS such as 3 or 4.1, not {version!r}")


def differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """What an object has otherwise than it is to be, ``spec.nfs.path is /a, not /b``; what servers fill in is not told.

    Args:
        found: The object as a server has it.
        wanted: The volume or the claim of a :class:`Share`.
    """
    told = []
    labels = (found["metadata"].get("labels") or {}, wanted["metadata"].get("labels") or {})
    if any(labels[0].get(key) != value for key, value in labels[1].items()):
        told.append(f"metadata.labels are {labels[0] or 'none'}, and {labels[1]} must be among them")
    is_volume = wanted["kind"] == VOLUME.name
    sources = ("csi", "nfs", "hostPath", "mountOptions") if is_volume else ("selector",)
    before, after = found.get("spec") or {}, wanted["spec"]
    for field in sorted({*after, *sources}):
        told += _differing(f"spec.{field}", before.get(field), after.get(field))
    if not is_volume:
        held, own = (
            before.get("volumeName"),
            f"{wanted['metadata']['namespace']}.{wanted['metadata']['name']}",
        )
        told += [f"spec.volumeName is {held}, not {own}"] if held not in (None, "", own) else []
    return told


_FILLED_IN = frozenset({"uid", "resourceVersion", "apiVersion", "kind", "fieldPath"})


def _differing(path: str, found: Any, wanted: Any) -> Iterator[str]:
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        filled = _FILLED_IN if path.endswith("claimRef") else frozenset()
        for key in sorted({*found, *wanted} - filled):
            yield from _differing(f"{path}.{key}", found.get(key), wanted.get(key))
    elif path.endswith(".storage") and found and wanted and storage_bytes(found) == storage_bytes(wanted):
        return
    elif (found or None) != (wanted or None):
        yield f"{path} is {_shown(found)}, not {_shown(wanted)}"


def _shown(value: Any) -> str:
    return "nothing" if value in (None, "", [], {}) else str(value)
