"""Every line that a replica says is kept once, in order, whatever happens on the way."""

import itertools

import pytest
from apimodel.server import ApiServer

from gangplan.errors import Unreachable
from gangplan.kube.kinds import POD
from gangplan.kube.logs import LogKeeper

PREFIX = "training.kubeflow.org"


def start(server: ApiServer, index: int, state: str = "running") -> dict:
    labels = {f"{PREFIX}/replica-type": "worker", f"{PREFIX}/replica-index": str(index)}
    container = {"name": "tensorflow", "image": "i"}
    metadata = {"name": f"j-worker-{index}", "namespace": "default", "labels": labels}
    body = {"metadata": metadata, "spec": {"containers": [container]}}
    pod = server.create(POD, body)
    statuses = [{"name": "tensorflow", "state": {state: {}}}]
    return server.patch(POD, pod["metadata"]["name"], {"status": {"containerStatuses": statuses}},
                        namespace="default", subresource="status")  # fmt: skip


def said(count: int) -> list[bytes]:
    """Lines with fractions of a second of any length, several in each second."""
    moments = [f"2026-01-01T00:00:{i // 4:02}{('', '.25', '.5', '.750000001')[i % 4]}Z" for i in range(count)]
    return [f"{moment} line {i}\n".encode() for i, moment in enumerate(moments)]


class Breaking:
    """A server whose logs break off after some lines, and which takes moments in whole seconds."""

    def __init__(self, server: ApiServer, lines: list[bytes], after: list[int]) -> None:
        self._server, self._lines, self._after = server, lines, iter(after)

    def __getattr__(self, name: str) -> object:
        return getattr(self._server, name)

    def log(self, name: str, *, since: str = "", **_: object):
        second = since.partition(".")[0].rstrip("Z")
        lines = [line for line in self._lines if line.decode() >= second]
        most = next(self._after, None)
        yield from itertools.islice(lines, most)
        if most is not None:
            raise Unreachable("the way to it broke off")


@pytest.mark.parametrize("after", [[], [0], [3], [1, 1, 6, 2], [40]])
def test_a_log_that_breaks_off_is_kept_whole(tmp_path, monkeypatch, after):
    monkeypatch.setattr("gangplan.kube.logs.RETRY_S", 0.0)
    server = ApiServer()
    pod = start(server, 1)
    echoed = []
    keeper = LogKeeper(
        Breaking(server, said(40), after), tmp_path / "logs", on_line=lambda *line: echoed.append(line)
    )
    keeper.look([pod])
    keeper.look([pod])
    keeper.close()
    wanted = [f"line {i}" for i in range(40)]
    assert keeper.path("worker-1").read_text().splitlines() == wanted
    assert echoed == [("worker-1", line) for line in wanted]
    assert keeper.last_lines("worker-1", 2) == ("line 38", "line 39")


def test_a_replica_that_has_not_started_is_looked_at_later(tmp_path):
    server = ApiServer()
    waits = start(server, 0, "waiting")
    keeper = LogKeeper(server, tmp_path)
    keeper.look([waits])
    server.logs["default", "j-worker-0", "tensorflow"] = said(1)
    statuses = [{"name": "tensorflow", "state": {"terminated": {}}}]
    keeper.look([waits | {"status": {"containerStatuses": statuses}}])
    keeper.close()
    assert keeper.last_lines("worker-0", 9) == ("line 0",)
    assert keeper.last_lines("worker-9", 9) == ()


def test_a_log_that_is_no_text_is_kept_as_it_is(tmp_path):
    server = ApiServer()
    pod = start(server, 0)
    server.logs["default", "j-worker-0", "tensorflow"] = [b"2026-01-01T00:00:00Z \xff\xfe\n"]
    keeper = LogKeeper(server, tmp_path)
    keeper.look([pod])
    keeper.close()
    assert keeper.path("worker-0").read_bytes() == b"\xff\xfe\n"


def test_a_keeper_that_follows_another_keeps_every_line_once(tmp_path):
    """Also where the pod before was another one of the same replica: its lines stay."""
    server = ApiServer()
    first, second = start(server, 0, "terminated"), start(server, 1, "terminated")
    second["metadata"]["labels"] = first["metadata"]["labels"]
    lines = {"j-worker-0": said(3), "j-worker-1": said(2)}
    for pod in (first, first, second, second):
        keeper = LogKeeper(Breaking(server, lines[pod["metadata"]["name"]], []), tmp_path / "logs")
        keeper.look([pod])
        keeper.close()
    wanted = [f"line {number}" for number in (0, 1, 2, 0, 1)]
    assert keeper.path("worker-0").read_text().splitlines() == wanted
    assert [path.name for path in (tmp_path / "logs").glob("*.log")] == ["worker-0.log"]
