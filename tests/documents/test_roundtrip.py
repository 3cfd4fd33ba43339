"""Documents survive the trip to Rust and back, and to files and back."""

import os
import resource
from pathlib import Path

import pytest
from documents.strategies import DOCUMENTS, plans, snapshots
from hypothesis import given, settings
from hypothesis import strategies as st

import gangplan as gp
from gangplan import _core
from gangplan.documents import KINDS, decode, encode


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_python_to_rust_to_python_is_the_identity(kind, data):
    document = data.draw(DOCUMENTS[kind])
    assert decode(_core.roundtrip(kind, encode(document)), KINDS[kind]) == document


@settings(max_examples=100, deadline=None)
@given(document=snapshots | plans)
def test_equal_documents_have_equal_bytes_and_come_back(document):
    raw = encode(document)
    again = decode(raw, type(document))
    assert again == document
    assert encode(again) == raw


@pytest.mark.parametrize("suffix", [".json", ".yaml", ".yml"])
def test_a_file_holds_what_was_dumped(suffix, tmp_path: Path):
    document = gp.Snapshot(
        topology=("rack",),
        nodes=(gp.Node(name="on", labels={"rack": "yes"}, allocatable={"cpu": "1", "pods": "0110"}),),
    )
    gp.dump(document, tmp_path / f"cluster{suffix}")
    assert gp.load(tmp_path / f"cluster{suffix}") == document


def test_defaults_may_be_left_out():
    loaded = gp.load(
        b'{"nodes": [{"name": "n1"}], "gangs": [{"name": "g", "roles": [{"name": "w", "replicas": 1}]}]}'
    )
    assert loaded == gp.Snapshot(
        nodes=(gp.Node(name="n1"),), gangs=(gp.Gang(name="g", roles=(gp.Role(name="w", replicas=1),)),)
    )


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path):
    """A full disk shows as an OSError of write; here a limit of the process refuses it in the same way."""
    target = tmp_path / "plan.json"
    gp.dump(gp.Plan(), target)
    before = target.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            gp.dump(gp.Plan(), target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_a_pipe_or_a_device_is_written_to_and_not_replaced(tmp_path: Path):
    """Renaming a file onto ``/dev/stdout`` or a pipe would put an ordinary file in its place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        gp.dump(gp.Plan(), pipe)
        assert b"placements" in os.read(reader, 65536)
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
