"""Container images with next to no content of their own: it is mounted from this machine, so that none is copied or pulled.

An image is one small layer: empty folders to mount on, and links to where Debian has its programs.
"""

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import gangplan

PAUSE = "bed.local/pause:1"
# A shell and the usual small programs; starts in no time.
BUSYBOX = "bed.local/busybox:1"
# Python with the environment of this very process: TensorFlow, kfp, and the project.
PROJECT = "bed.local/gangplan:1"
# The same under the name that pipelines and examples know, as containerd completes it.
SHIPPED = "docker.io/gangplan/python:0.1.0"

FOLDERS = [
    "dev",
    "etc",
    "opt",
    "opt/venv",
    "opt/project",
    "proc",
    "root",
    "run",
    "sys",
    "tmp",
    "usr",
    "var",
    "var/run",
    "work",
]
LINKS = {name: f"usr/{name}" for name in ("bin", "lib", "lib64", "sbin")}
ACCOUNTS = {"etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "etc/group": "root:x:0:\n"}
VENV = "/opt/venv"
SOURCES = "/opt/project"


def write_images(folder: Path) -> list[Path]:
    """Write the images as archives."""
    folder.mkdir(exist_ok=True)
    busybox = Path(shutil.which("busybox") or "/bin/busybox")
    listed = subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True).stdout
    applets = {f"bin/{name}": "busybox" for name in listed.split() if name != "busybox"}
    # Busybox takes its own file name for the applet's.
    pause = write_image(
        folder / "pause.tar", PAUSE, programs={"/sleep": busybox}, entry=["/sleep", "infinity"], links=LINKS
    )
    shell = write_image(folder / "busybox.tar", BUSYBOX, programs={"/bin/busybox": busybox}, links=applets)
    environment = {
        "PATH": f"{VENV}/bin:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": SOURCES,
        "PYTHONUNBUFFERED": "1",
    }
    project, shipped = (
        write_image(folder / file, name, environment=environment, links=LINKS)
        for file, name in (("project.tar", PROJECT), ("shipped.tar", SHIPPED))
    )
    return [pause, shell, project, shipped]


def project_mounts() -> dict[str, str]:
    """Folder in the container → folder here: this interpreter, its environment, and the project where it is a checkout.

    The environment is also where it is here: its scripts name their interpreter by its path.
    """
    sources = Path(gangplan.__file__).parent.parent
    mounts = {
        VENV: sys.prefix,
        sys.prefix: sys.prefix,
        sys.base_prefix: sys.base_prefix,
        SOURCES: str(sources),
    }
    return {inside: outside for inside, outside in mounts.items() if not Path(inside).is_relative_to("/usr")}


def write_image(
    archive: Path,
    name: str,
    *,
    programs: Mapping[str, Path] | None = None,
    links: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    entry: Sequence[str] = (),
) -> Path:
    """Write an image as an OCI archive that containerd imports.

    Args:
        archive: The file to write.
        name: Full name with a tag.
        programs: Path in the image → a file of this machine.
        links: Path in the image → what it is a link to.
        environment: Variables; without PATH, it is ``/bin``.
        entry: What it runs by itself.
    """
    layer = _layer({path: file.read_bytes() for path, file in (programs or {}).items()}, links or {})
    variables = {"PATH": "/bin", **(environment or {})}
    packed = gzip.compress(layer, mtime=0)
    blobs: dict[str, bytes] = {}

    def add(kind: str, content: bytes) -> dict[str, object]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[digest] = content
        media = f"application/vnd.oci.image.{kind}"
        return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(content)}

    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": list(entry), "Env": [f"{key}={value}" for key, value in variables.items()]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": add("config.v1+json", json.dumps(config).encode()),
        "layers": [add("layer.v1.tar+gzip", packed)],
    }
    described = add("manifest.v1+json", json.dumps(manifest).encode())
    described |= {"annotations": {"io.containerd.image.name": name}}
    files = {
        "oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
        "index.json": json.dumps({"schemaVersion": 2, "manifests": [described]}).encode(),
        **{f"blobs/sha256/{digest}": content for digest, content in blobs.items()},
    }
    with tarfile.open(archive, "w") as tar:
        for path, content in files.items():
            _add_file(tar, path, content, 0o644)
    return archive


def _layer(programs: Mapping[str, bytes], links: Mapping[str, str]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for folder in FOLDERS:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(entry)
        for link, target in links.items():
            entry = tarfile.TarInfo(link)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
        for path, text in ACCOUNTS.items():
            _add_file(tar, path, text.encode(), 0o644)
        for path, content in programs.items():
            _add_file(tar, path.lstrip("/"), content, 0o755)
    return raw.getvalue()


def _add_file(tar: tarfile.TarFile, path: str, content: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode = len(content), mode
    tar.addfile(entry, io.BytesIO(content))
