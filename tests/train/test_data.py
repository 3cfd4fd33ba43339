"""Data sets: what is loaded, that splits are fair, and that every defect of a file is named."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangplan.errors import InvalidInput, StoreError
from gangplan.train.data import load, save_npz

MNIST = Path(__file__).parents[1] / "data" / "mnist"


def images_file(images: np.ndarray, magic: int = 0x803) -> bytes:
    return struct.pack(">IIII", magic, *images.shape) + images.tobytes()


def labels_file(labels: np.ndarray, magic: int = 0x801) -> bytes:
    return struct.pack(">II", magic, *labels.shape) + labels.tobytes()


IMAGES = (np.arange(20 * 6 * 5) % 256).astype(np.uint8).reshape(20, 6, 5)
LABELS = (np.arange(20) % 4).astype(np.uint8)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(images_file(IMAGES))
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(labels_file(LABELS))
    return tmp_path


def problems(source, **options):
    with pytest.raises(InvalidInput) as caught:
        load(str(source), **options)
    return [
        f"{problem.code} {Path(problem.path).name}: {problem.message}" for problem in caught.value.problems
    ]


def test_digits_need_no_file():
    data = load("digits")
    assert data.image_shape == (8, 8, 1)
    assert (len(data.train_labels), len(data.test_labels), data.classes) == (1438, 359, 10)
    assert data.train_images.dtype == data.test_images.dtype == np.float32
    assert 0 == data.train_images.min() < data.train_images.max() == 1


def test_the_published_test_images_of_mnist_can_be_split():
    data = load(str(MNIST), split="8000/2000")
    assert (len(data.train_labels), len(data.test_labels), data.image_shape) == (8000, 2000, (28, 28, 1))
    whole = np.bincount(np.concatenate([data.train_labels, data.test_labels]))
    assert whole.tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


@given(st.integers(1, 19), st.integers(0, 99))
@settings(max_examples=30)
def test_a_split_is_a_partition_with_each_class_in_proportion(tmp_path_factory, train, seed):
    folder = tmp_path_factory.mktemp("idx")
    (folder / "train-images-idx3-ubyte").write_bytes(images_file(IMAGES))
    (folder / "train-labels-idx1-ubyte").write_bytes(labels_file(LABELS))
    data = load(str(folder), split=f"{train}/{20 - train}", seed=seed)
    both = np.concatenate([data.train_images, data.test_images])
    assert sorted(image.tobytes() for image in both) == sorted(
        image.tobytes() for image in IMAGES[..., None].astype(np.float32) / np.float32(255)
    )
    counts = np.bincount(data.train_labels, minlength=4)
    assert counts.max() - counts.min() <= 1


def test_the_seed_decides_the_split(folder):
    assert (
        load(str(folder), seed=1).digest
        == load(str(folder), seed=1).digest
        != load(str(folder), seed=2).digest
    )


def test_gzip_and_dotted_names_and_both_parts_are_read(tmp_path, folder):
    other = tmp_path / "other"
    other.mkdir()
    (other / "train-images.idx3-ubyte.gz").write_bytes(gzip.compress(images_file(IMAGES)))
    (other / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels_file(LABELS)))
    (other / "t10k-images-idx3-ubyte").write_bytes(images_file(IMAGES[:5]))
    (other / "t10k-labels-idx1-ubyte").write_bytes(labels_file(LABELS[:5]))
    data = load(str(other))
    assert (len(data.train_labels), len(data.test_labels)) == (20, 5)
    assert data.train_labels.tolist() == LABELS.tolist()


@pytest.mark.parametrize("source", ["digits", "mnist"])
def test_npz_gives_back_what_was_saved(tmp_path, source):
    data = load("digits") if source == "digits" else load(str(MNIST), split="500/100")
    save_npz(data, tmp_path / "sub" / "data.npz")
    again = load(str(tmp_path / "sub" / "data.npz"))
    assert (again.digest, again.name, again.classes) == (data.digest, data.name, data.classes)
    assert np.array_equal(again.train_images, data.train_images)
    assert [path.name for path in (tmp_path / "sub").iterdir()] == ["data.npz"]


def test_the_same_data_is_saved_as_the_same_bytes(tmp_path):
    for name in ("a.npz", "b.npz"):
        save_npz(load("digits"), tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_a_foreign_npz_is_read(tmp_path):
    np.savez(
        tmp_path / "x.npz",
        x_train=IMAGES,
        y_train=LABELS,
        x_test=IMAGES[:4] / 255.0,
        y_test=LABELS[:4].reshape(-1, 1),
    )
    assert problems(tmp_path / "x.npz", split="1/1")
    data = load(str(tmp_path / "x.npz"))
    assert data.classes == 4
    assert data.train_images.max() <= 1
    assert data.test_labels.shape == (4,)


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write the data set"):
        save_npz(load("digits"), tmp_path / "file" / "data.npz")


DEFECTS = {
    "empty": (b"", "is empty"),
    "short": (b"\0\0", "is truncated: 2 bytes"),
    "magic": (b"PNG!" + bytes(100), "must start with 0x00000803 (images), found 0x504e4721"),
    "labels": (labels_file(LABELS), "found 0x00000801 (labels)"),
    "header": (images_file(IMAGES)[:9], "the header ends early"),
    "truncated": (images_file(IMAGES)[:-1], "20 x 6 x 5 needs 600 bytes of data, found 599"),
    "trailing": (images_file(IMAGES) + b"\0", "has trailing bytes"),
    "nothing": (struct.pack(">IIII", 0x803, 0, 6, 5), "holds nothing"),
    "huge": (struct.pack(">IIII", 0x803, 2**31, 2**31, 2**31), "claims"),
    "claims": (struct.pack(">IIII", 0x803, 1000, 1000, 1000), "is truncated"),
    "count": (images_file(IMAGES[:19]), "has 20 labels, but t10k-images-idx3-ubyte has 19 images"),
}


@pytest.mark.parametrize(("content", "message"), DEFECTS.values(), ids=DEFECTS)
def test_a_defect_of_a_file_is_named(folder, content, message):
    (folder / "t10k-images-idx3-ubyte").write_bytes(content)
    (found,) = problems(folder)
    assert message in found


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (images_file(IMAGES), "is not a gzip file"),
        (gzip.compress(images_file(IMAGES))[:-20], "is truncated"),
        (b"\x1f\x8b" + bytes(50), "is a damaged gzip file"),
        (gzip.compress(images_file(IMAGES))[:20] + bytes(300), "is a damaged gzip file"),
    ],
)
def test_a_defect_of_a_gzip_file_is_named(folder, content, message):
    (folder / "t10k-images-idx3-ubyte").unlink()
    (folder / "t10k-images-idx3-ubyte.gz").write_bytes(content)
    (found,) = problems(folder)
    assert message in found


def test_all_defects_of_a_folder_are_told_at_once(folder):
    (folder / "t10k-images-idx3-ubyte").write_bytes(b"")
    (folder / "t10k-labels-idx1-ubyte").write_bytes(b"")
    (folder / "train-images-idx3-ubyte").write_bytes(images_file(IMAGES))
    assert problems(folder) == [
        "BAD_VALUE t10k-images-idx3-ubyte: is empty",
        "BAD_VALUE t10k-labels-idx1-ubyte: is empty",
        "MISSING_FIELD train-labels-idx1-ubyte: is missing, although train-images-idx3-ubyte is there",
    ]


def test_a_label_beyond_the_classes_is_named(folder):
    (found,) = problems(folder, classes=3)
    assert "label 3 is 3, must be below 3" in found


@pytest.mark.parametrize("split", ["", "1", "1/", "a/b", "-1/2", "1/2/3", "١/٢"])
def test_a_split_that_is_none_is_refused(folder, split):
    (found,) = problems(folder, split=split)
    assert "8000/2000" in found


@pytest.mark.parametrize("split", ["0/5", "5/0", "15/6"])
def test_a_split_that_cannot_be_is_refused(folder, split):
    (found,) = problems(folder, split=split)
    assert "cannot be split" in found


def test_sources_that_are_no_data_sets_are_refused(tmp_path):
    assert "does not exist" in problems(tmp_path / "no")[0]
    (tmp_path / "x.csv").write_text("1,2")
    assert "unknown format" in problems(tmp_path / "x.csv")[0]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "holds no IDX files" in problems(empty)[0]


@pytest.mark.parametrize(
    ("labels", "classes", "message"),
    [
        (np.full(20, -1), None, "labels must not be negative, found -1 to -1"),
        (np.full(20, -1), 4, "labels must be from 0 to 3, found -1 to -1"),
        (np.full(20, 7), 4, "labels must be from 0 to 3, found 7 to 7"),
    ],
)
def test_labels_of_an_npz_that_are_no_classes_are_named(tmp_path, labels, classes, message):
    np.savez(tmp_path / "x.npz", x_train=IMAGES, y_train=LABELS, x_test=IMAGES, y_test=labels)
    assert problems(tmp_path / "x.npz", classes=classes) == [f"OUT_OF_RANGE x.npz:y_test: {message}"]


def test_an_npz_without_images_is_refused(tmp_path):
    np.savez(tmp_path / "x.npz", x_train=IMAGES, y_train=LABELS, x_test=IMAGES[:0], y_test=LABELS[:0])
    assert "found (0, 6, 5)" in problems(tmp_path / "x.npz")[0]


def test_a_negative_seed_is_refused(folder):
    for source in ("digits", folder):
        assert problems(source, seed=-1) == ["OUT_OF_RANGE seed: must not be negative, found -1"]


def test_every_defect_of_an_npz_is_named(tmp_path):
    path = tmp_path / "x.npz"
    for junk in (b"no zip", b""):
        path.write_bytes(junk)
        assert problems(path) == ["BAD_VALUE x.npz: is not a readable .npz file: it is no zip archive"]
    with path.open("wb") as file:
        np.save(file, IMAGES)
    assert problems(path) == ["BAD_VALUE x.npz: is not a readable .npz file: it is no zip archive"]
    np.savez(path, x_train=np.array([{}, None]))
    assert problems(path) == [
        "BAD_VALUE x.npz: is not a readable .npz file: an array is damaged, or holds Python objects"
    ]
    np.savez(path, x_train=IMAGES, y_train=LABELS)
    assert problems(path) == [
        "MISSING_FIELD x.npz:x_test: is missing",
        "MISSING_FIELD x.npz:y_test: is missing",
    ]
    np.savez(
        path,
        x_train=IMAGES[0],
        y_train=LABELS / 1.0,
        x_test=IMAGES / 100.0,
        y_test=LABELS[:5].astype(int) - 1,
    )
    found = problems(path)
    assert [line.split(":")[0] + line.split(":")[1] for line in found] == [
        "CONTRADICTION x.npzx_test",
        "OUT_OF_RANGE x.npzx_test",
        "BAD_VALUE x.npzx_train",
        "CONTRADICTION x.npzy_test",
        "WRONG_TYPE x.npzy_train",
    ]
