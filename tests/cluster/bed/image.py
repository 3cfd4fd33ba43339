"""Container images with no content of their own: it is mounted from this machine, so that none is copied or pulled.

An image is one small layer: empty folders to mount on, and links to where Debian has its programs.
"""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

FOLDERS = "dev etc opt opt/venv proc root run sys tmp usr var var/run work".split()
LINKS = {name: f"usr/{name}" for name in ("bin", "lib", "lib64", "sbin")}
ACCOUNTS = {"etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "etc/group": "root:x:0:\n"}
PATH = "/opt/venv/bin:/usr/local/bin:/usr/bin:/bin"


def write_image(
    archive: Path, name: str, *, programs: Mapping[str, Path] | None = None, entry: Sequence[str] = ()
) -> Path:
    """Write an image as an OCI archive that containerd imports.

    Args:
        archive: The file to write.
        name: Full name with a tag.
        programs: Path in the image → a file of this machine.
        entry: What it runs by itself.
    """
    layer = _layer({path: file.read_bytes() for path, file in (programs or {}).items()})
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
        "config": {"Entrypoint": list(entry), "Env": [f"PATH={PATH}"]},
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


def _layer(programs: Mapping[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for folder in FOLDERS:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(entry)
        for link, target in LINKS.items():
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
