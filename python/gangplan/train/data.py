"""Labelled images for training and for judging what was learned. Nothing is downloaded."""

import hashlib
import os
import tempfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gangplan.errors import InvalidInput, Problem, StoreError
from gangplan.extras import needed
from gangplan.train.idx import IMAGES_MAGIC, LABELS_MAGIC, read_idx

DIGITS = "digits"
"""The source that needs no file: 1,797 handwritten digits of 8 x 8 pixels that come with scikit-learn."""

_NPZ_ARRAYS = ("x_train", "y_train", "x_test", "y_test")
_IDX_CLASSES = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImageData:
    """Images with their classes, in two parts that share no image.

    Attributes:
        name: What it is, for people: ``digits``, the name of the folder or file.
        train_images: float32 in [0, 1], shape (count, height, width, channels).
        train_labels: int64, shape (count,), from 0 to ``classes`` - 1.
        test_images: As ``train_images``; never trained on.
        test_labels: As ``train_labels``.
        classes: Number of classes.
        levels: The images are whole multiples of 1 / levels; 0 if they are not known to be.
        digest: sha256 over shapes and values of all four arrays, in hexadecimal: the same data has the same
            digest, whatever file it came in.
    """

    name: str
    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    classes: int
    levels: int
    digest: str

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width, channels."""
        height, width, channels = self.train_images.shape[1:]
        return int(height), int(width), int(channels)


def load(source: str, *, split: str | None = None, seed: int = 0, classes: int | None = None) -> ImageData:
    """Load a data set.

    Args:
        source: ``digits``; or a folder with IDX files (``train-images-idx3-ubyte`` and so on, with ``.gz`` or
            without); or an ``.npz`` file with x_train, y_train, x_test, y_test.
        split: ``"8000/2000"``: images to train with and to test with, where the source has one part only.
            None: four fifths and one fifth.
        seed: Which images come into which part, where the source has one part only. Each class is divided in
            the same proportion. Not negative.
        classes: Number of classes; None: 10 for IDX files, the labels' largest + 1 for ``.npz``.

    Raises:
        InvalidInput: All that is wrong with the files, each with its path.
    """
    if seed < 0:
        raise InvalidInput(
            [Problem("seed", "OUT_OF_RANGE", f"must not be negative, found {seed}")], "data set"
        )
    if source == DIGITS:
        return _digits(split, seed)
    path = Path(source)
    if path.is_dir():
        return _idx_folder(path, split, seed, classes or _IDX_CLASSES)
    if not path.exists():
        message = f"does not exist (known: '{DIGITS}', a folder with IDX files, an .npz file)"
        raise InvalidInput([Problem(source, "UNKNOWN_NAME", message)], "data set")
    if path.suffix == ".npz":
        return _npz(path, split, classes)
    message = "has an unknown format (known: a folder with IDX files, an .npz file)"
    raise InvalidInput([Problem(source, "BAD_VALUE", message)], "data set")


def save_npz(data: ImageData, path: Path) -> None:
    """Write a data set to an ``.npz`` file that :func:`load` reads back equal; whole or not at all.

    Raises:
        StoreError: The file cannot be written.
    """
    arrays = {
        "x_train": _pack(data.train_images, data.levels),
        "y_train": data.train_labels,
        "x_test": _pack(data.test_images, data.levels),
        "y_test": data.test_labels,
        "classes": np.int64(data.classes),
        "levels": np.int64(data.levels),
        "name": np.str_(data.name),
    }
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        Path(temporary).replace(path)
        temporary = None
    except OSError as error:
        raise StoreError(f"cannot write the data set to {path}: {error}") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _digits(split: str | None, seed: int) -> ImageData:
    with needed("train"):
        from sklearn.datasets import load_digits  # noqa: PLC0415 - takes a second to import

    bundle = load_digits()
    images = bundle.images.astype(np.uint8)[..., np.newaxis]
    parts = _split(images, bundle.target.astype(np.int64), split, seed, DIGITS)
    return _assemble(DIGITS, parts, classes=10, levels=16)


def _idx_folder(folder: Path, split: str | None, seed: int, classes: int) -> ImageData:
    problems: list[Problem] = []
    train = _idx_pair(folder, "train", classes, problems)
    test = _idx_pair(folder, "t10k", classes, problems)
    if train is None and test is None and not problems:
        message = "holds no IDX files (train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-…, also .gz)"
        problems.append(Problem(str(folder), "MISSING_FIELD", message))
    if train and test and train[0].shape[1:] != test[0].shape[1:]:
        message = f"images to train with are {train[0].shape[1:]}, images to test with {test[0].shape[1:]}"
        problems.append(Problem(str(folder), "CONTRADICTION", message))
    if problems:
        raise InvalidInput(sorted(problems), "data set")
    only = train or test
    if train and test:
        parts = (*train, *test)
    else:
        assert only is not None
        parts = _split(*only, split, seed, str(folder))
    return _assemble(folder.name, parts, classes=classes, levels=255)


def _idx_pair(
    folder: Path, prefix: str, classes: int, problems: list[Problem]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Read images and labels of one part; None if the part is not there or something is wrong with it."""
    found = {
        kind: _idx_file(folder, f"{prefix}-{kind}") for kind in ("images-idx3-ubyte", "labels-idx1-ubyte")
    }
    images_path, labels_path = found.values()
    if images_path is None and labels_path is None:
        return None
    if images_path is None or labels_path is None:
        missing = next(kind for kind, path in found.items() if path is None)
        message = f"is missing, although {(images_path or labels_path or folder).name} is there"
        problems.append(Problem(str(folder / f"{prefix}-{missing}"), "MISSING_FIELD", message))
        return None
    images, labels = read_idx(images_path, IMAGES_MAGIC), read_idx(labels_path, LABELS_MAGIC)
    bad = [each for each in (images, labels) if isinstance(each, Problem)]
    if isinstance(images, Problem) or isinstance(labels, Problem):
        problems.extend(bad)
        return None
    if len(images) != len(labels):
        message = f"has {len(labels)} labels, but {images_path.name} has {len(images)} images"
        problems.append(Problem(str(labels_path), "CONTRADICTION", message))
    if labels.max() >= classes:
        at = int(np.argmax(labels >= classes))
        message = f"label {at} is {labels[at]}, must be below {classes} (the number of classes)"
        problems.append(Problem(str(labels_path), "OUT_OF_RANGE", message))
    return images[..., np.newaxis], labels.astype(np.int64)


def _idx_file(folder: Path, name: str) -> Path | None:
    variants = (name, f"{name}.gz", name.replace("-idx", ".idx"), f"{name.replace('-idx', '.idx')}.gz")
    return next((folder / variant for variant in variants if (folder / variant).exists()), None)


def _npz(path: Path, split: str | None, classes: int | None) -> ImageData:
    problems: list[Problem] = []
    if split is not None:
        problems.append(Problem(str(path), "CONTRADICTION", "has both parts already, so it cannot be split"))
    arrays = _npz_arrays(path)
    missing = [name for name in _NPZ_ARRAYS if name not in arrays]
    problems += [Problem(f"{path}:{name}", "MISSING_FIELD", "is missing") for name in missing]
    if not missing:
        known = classes or (int(arrays["classes"]) if "classes" in arrays else None)
        for part in ("train", "test"):
            problems += _part_problems(path, part, arrays, known)
        if arrays["x_train"].shape[1:] != arrays["x_test"].shape[1:]:
            problems.append(Problem(f"{path}:x_test", "CONTRADICTION", "images differ in shape from x_train"))
    if problems:
        raise InvalidInput(sorted(problems), "data set")
    levels = int(arrays["levels"]) if "levels" in arrays else 0
    whole = arrays["x_train"].dtype == np.uint8
    parts = (
        _with_channels(arrays["x_train"]),
        arrays["y_train"].astype(np.int64).reshape(-1),
        _with_channels(arrays["x_test"]),
        arrays["y_test"].astype(np.int64).reshape(-1),
    )
    return _assemble(
        str(arrays["name"]) if "name" in arrays else path.stem,
        parts,
        classes=known or int(max(parts[1].max(), parts[3].max())) + 1,
        levels=(levels or 255) if whole else 0,
    )


def _npz_arrays(path: Path) -> dict[str, np.ndarray]:
    def unreadable(message: str) -> InvalidInput:
        return InvalidInput([Problem(str(path), "BAD_VALUE", message)], "data set")

    try:
        with path.open("rb") as stream:
            if not zipfile.is_zipfile(stream):
                raise unreadable("is not a readable .npz file: it is no zip archive")
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as file:
                return {key: file[key] for key in file.files}
    except InvalidInput:
        raise
    except OSError as error:
        raise unreadable(f"cannot be read: {error.strerror or error}") from error
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error, KeyError) as error:
        # What numpy says here is advice to allow Python objects, which a data set must never do.
        message = "is not a readable .npz file: an array is damaged, or holds Python objects"
        raise unreadable(message) from error


def _part_problems(
    path: Path, part: str, arrays: dict[str, np.ndarray], classes: int | None
) -> list[Problem]:
    problems: list[Problem] = []
    images, labels = arrays[f"x_{part}"], arrays[f"y_{part}"]
    images_path, labels_path = f"{path}:x_{part}", f"{path}:y_{part}"
    if images.ndim not in (3, 4) or images.size == 0:
        message = f"must be (count, height, width) or (count, height, width, channels), found {images.shape}"
        problems.append(Problem(images_path, "BAD_VALUE", message))
    elif images.dtype != np.uint8 and not np.issubdtype(images.dtype, np.floating):
        message = f"must be uint8 or floating, found {images.dtype}"
        problems.append(Problem(images_path, "WRONG_TYPE", message))
    elif images.dtype != np.uint8 and not (
        np.isfinite(images).all() and 0 <= images.min() <= images.max() <= 1
    ):
        problems.append(Problem(images_path, "OUT_OF_RANGE", "floating values must be from 0 to 1"))
    if not np.issubdtype(labels.dtype, np.integer):
        problems.append(Problem(labels_path, "WRONG_TYPE", f"must be whole numbers, found {labels.dtype}"))
        return problems
    if labels.size != len(images) or labels.ndim not in (1, 2):
        message = f"has shape {labels.shape}, but there are {len(images)} images"
        problems.append(Problem(labels_path, "CONTRADICTION", message))
    elif labels.size and (labels.min() < 0 or (classes is not None and labels.max() >= classes)):
        wanted = "must not be negative" if classes is None else f"must be from 0 to {classes - 1}"
        message = f"labels {wanted}, found {labels.min()} to {labels.max()}"
        problems.append(Problem(labels_path, "OUT_OF_RANGE", message))
    return problems


def _with_channels(images: np.ndarray) -> np.ndarray:
    return images if images.ndim == 4 else images[..., np.newaxis]


def _split(
    images: np.ndarray, labels: np.ndarray, split: str | None, seed: int, source: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Divide a data set in two, each class in the same proportion as far as whole images allow."""
    count = len(labels)
    train, test = _sizes(split, count, source)
    order = np.random.default_rng(seed).permutation(count)
    # The i-th of n images of a class stands at (i + 1/2) / n; by that place the classes interleave evenly, so
    # that any first part of the order holds its share of each class.
    shuffled = labels[order]
    place = np.empty(count)
    for label in np.unique(shuffled):
        members = np.flatnonzero(shuffled == label)
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    order = order[np.argsort(place, kind="stable")]
    # The order is even, so taking every k-th image for the test would be too; a cut is the simpler.
    chosen, held = order[:train], order[train : train + test]
    return images[chosen], labels[chosen], images[held], labels[held]


def _sizes(split: str | None, count: int, source: str) -> tuple[int, int]:
    if split is None:
        test = max(1, count // 5)
        train = count - test
    else:
        head, slash, tail = split.partition("/")
        digits = head.isascii() and head.isdigit() and tail.isascii() and tail.isdigit()
        if not (slash and digits and max(len(head), len(tail)) < 16):
            message = f"must be two numbers such as 8000/2000, found {split!r}"
            raise InvalidInput([Problem("--split", "BAD_VALUE", message)], "data set")
        train, test = int(head), int(tail)
    if train < 1 or test < 1 or train + test > count:
        message = f"has {count} images: cannot be split in {train} to train with and {test} to test with"
        raise InvalidInput([Problem(source, "OUT_OF_RANGE", message)], "data set")
    return train, test


def _assemble(
    name: str, parts: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], *, classes: int, levels: int
) -> ImageData:
    scale = np.float32(levels) if levels else np.float32(1)
    train_images, train_labels, test_images, test_labels = parts
    arrays = (
        np.ascontiguousarray(train_images.astype(np.float32) / scale),
        np.ascontiguousarray(train_labels),
        np.ascontiguousarray(test_images.astype(np.float32) / scale),
        np.ascontiguousarray(test_labels),
    )
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.data)
        array.setflags(write=False)
    return ImageData(
        name=name,
        train_images=arrays[0],
        train_labels=arrays[1],
        test_images=arrays[2],
        test_labels=arrays[3],
        classes=classes,
        levels=levels,
        digest=digest.hexdigest(),
    )


def _pack(images: np.ndarray, levels: int) -> np.ndarray:
    """Give the images back as bytes where that loses nothing, as they take a quarter of the room."""
    return np.rint(images * levels).astype(np.uint8) if levels else images
