"""IDX, the file format of MNIST: a header and unsigned bytes, usually gzipped."""

import gzip
import zlib
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from gangplan.errors import Problem

IMAGES_MAGIC = 0x0803
LABELS_MAGIC = 0x0801
_GZIP_MAGIC = b"\x1f\x8b"
_LIMIT = 4 << 30


def read_idx(path: Path, magic: int) -> np.ndarray | Problem:
    """Read a file of images or labels, gzipped or not.

    Args:
        path: The file; a name that ends in ``.gz`` must be gzipped, others may be.
        magic: What the file must be: :data:`IMAGES_MAGIC` or :data:`LABELS_MAGIC`.

    Returns:
        Unsigned bytes of shape (count, height, width) or (count,); or what is wrong with the file.
    """
    try:
        with path.open("rb") as raw:
            head = raw.read(2)
            raw.seek(0)
            if not head:
                return Problem(str(path), "BAD_VALUE", "is empty")
            if head != _GZIP_MAGIC:
                if path.suffix == ".gz":
                    return Problem(
                        str(path), "BAD_VALUE", "is not a gzip file, although its name ends in .gz"
                    )
                return _read(raw, path, magic)
            with gzip.open(raw) as unpacked:
                return _read(cast("BinaryIO", unpacked), path, magic)
    except EOFError:
        return Problem(str(path), "BAD_VALUE", "is truncated: the gzip stream has no end")
    except (gzip.BadGzipFile, zlib.error) as error:
        return Problem(str(path), "BAD_VALUE", f"is a damaged gzip file: {error}")
    except OSError as error:
        return Problem(str(path), "BAD_VALUE", f"cannot be read: {error.strerror or error}")


def _read(stream: BinaryIO, path: Path, magic: int) -> np.ndarray | Problem:
    dimensions = magic & 0xFF
    header = stream.read(4 + 4 * dimensions)
    if len(header) < 4:
        return Problem(str(path), "BAD_VALUE", f"is truncated: {len(header)} bytes are no IDX header")
    found = int.from_bytes(header[:4], "big")
    if found != magic:
        kind = {IMAGES_MAGIC: "images", LABELS_MAGIC: "labels"}
        named = f" ({kind[found]})" if found in kind else ""
        message = f"must start with {magic:#010x} ({kind[magic]}), found {found:#010x}{named}"
        return Problem(str(path), "BAD_VALUE", message)
    if len(header) < 4 + 4 * dimensions:
        return Problem(str(path), "BAD_VALUE", "is truncated: the header ends early")
    shape = tuple(int.from_bytes(header[i : i + 4], "big") for i in range(4, len(header), 4))
    size = 1
    for length in shape:
        size *= length
    if size == 0:
        return Problem(str(path), "BAD_VALUE", f"holds nothing: its shape is {_shape(shape)}")
    if size > _LIMIT:
        return Problem(str(path), "OUT_OF_RANGE", f"claims {size} bytes of data, more than {_LIMIT}")
    content = _read_up_to(stream, size + 1)
    if len(content) < size:
        message = f"is truncated: {_shape(shape)} needs {size} bytes of data, found {len(content)}"
        return Problem(str(path), "BAD_VALUE", message)
    if len(content) > size:
        return Problem(str(path), "BAD_VALUE", f"has trailing bytes after the {size} of {_shape(shape)}")
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def _read_up_to(stream: BinaryIO, size: int) -> bytes:
    """Read so many bytes or all there are, taking memory only for what is there."""
    parts: list[bytes] = []
    while size > 0 and (part := stream.read(min(size, 1 << 24))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
