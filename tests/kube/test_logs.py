"""Every line that a replica says is kept once, in order, whatever happens on the way."""

import itertools
import logging
from pathlib import Path

import pytest
from apimodel.server import ApiServer

from gangplan.errors import Unreachable
from gangplan.kube.kept_log import kept_folder, newest_kept
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


def started_again(pod: dict, times: int) -> dict:
    statuses = [{"name": "tensorflow", "state": {"running": {}}, "restartCount": times}]
    return pod | {"status": {"containerStatuses": statuses}}


@pytest.mark.parametrize("seen", [(1,), (0, 1), (0, 0, 1, 1), (2,), (0, 2)])
def test_a_replica_that_started_again_is_kept_with_its_life_before(tmp_path, seen):
    """Each line once, whether or not anybody looked while the life before lasted; older lives are gone."""
    server = ApiServer()
    pod = start(server, 0)
    place = ("default", "j-worker-0", "tensorflow")
    lines = said(12)
    lives = [lines[:4], lines[4:8], lines[8:]]
    keeper = LogKeeper(server, tmp_path)
    for times in seen:
        server.logs[place] = lives[times]
        if times:
            server.logs_before[place] = lives[times - 1]
        while keeper.last_lines("worker-0", 1) != (f"line {times * 4 + 3}",):
            keeper.look([started_again(pod, times)])
    keeper.close()
    wanted = {
        n for times in seen for life in (times, times - 1) if life >= 0 for n in range(life * 4, life * 4 + 4)
    }
    assert keeper.last_lines("worker-0", 99) == tuple(f"line {n}" for n in sorted(wanted))


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


def ended_on(server: object, pod: dict, folder: Path) -> LogKeeper:
    """What a keeper has of a pod that it looks at once."""
    keeper = LogKeeper(server, folder)
    keeper.look([pod])
    keeper.close()
    return keeper


def test_a_server_that_has_nothing_any_more_takes_nothing_away(tmp_path):
    """The node is gone, and another keeper follows the one that has its lines."""
    server = ApiServer()
    pod = start(server, 0)
    ended_on(Breaking(server, said(3), []), pod, tmp_path)
    broken = LogKeeper(Breaking(server, [], [0] * 9), tmp_path)
    broken.look([pod])
    broken.close(wait_s=0.1)
    wanted = [f"line {number}" for number in range(3)]
    assert broken.path("worker-0").read_text().splitlines() == wanted
    # The server rotates its logs: the first lines are gone there.
    after = ended_on(Breaking(server, said(9)[2:], []), pod, tmp_path)
    assert after.path("worker-0").read_text().splitlines() == [f"line {number}" for number in range(9)]


@pytest.mark.parametrize("lost", [0, 7, 14])
def test_a_keeper_that_was_killed_before_it_noted_a_line_keeps_it_once(tmp_path, lost):
    server = ApiServer()
    pod = start(server, 0)
    keeper = ended_on(Breaking(server, said(2), []), pod, tmp_path)
    with keeper.path("worker-0").open("ab") as file:
        file.write(b"line 2\nline 3\n"[:lost])
    assert ended_on(Breaking(server, said(4), []), pod, tmp_path).last_lines("worker-0", 9) == (
        "line 0", "line 1", "line 2", "line 3",
    )  # fmt: skip


def test_a_file_that_somebody_removed_is_written_anew(tmp_path):
    server = ApiServer()
    pod = start(server, 0)
    ended_on(Breaking(server, said(2), []), pod, tmp_path).path("worker-0").unlink()
    again = ended_on(Breaking(server, said(2), []), pod, tmp_path)
    assert again.path("worker-0").read_bytes() == b"line 0\nline 1\n"


def test_a_container_that_is_started_again_is_followed_on(tmp_path):
    """Its log is that of the container of the moment; where there is none yet, it is asked for at the next look."""
    server = ApiServer()
    pod, echoed = start(server, 0), []
    keeper = LogKeeper(server, tmp_path, on_line=lambda _, line: echoed.append(line))

    def look(count: int, **state: object) -> None:
        container = {"name": "tensorflow", "restartCount": count, **state}
        for _ in range(2):
            keeper.look([pod | {"status": {"containerStatuses": [container]}}])
            for thread in keeper._follower._threads.values():
                thread.join()

    place, lines = ("default", "j-worker-0", "tensorflow"), said(9)
    look(0, state={"running": {}})
    assert echoed == [], "the server refuses: it waits to start"
    server.logs[place] = lines[:3]
    look(0, state={"running": {}})
    server.logs[place] = lines[3:5]
    look(1, state={"waiting": {}}, lastState={"terminated": {}})
    server.logs[place] = lines[5:]
    look(2, state={"running": {}})
    keeper.close()
    assert echoed == [f"line {number}" for number in range(9)]
    assert keeper.path("worker-0").read_text().splitlines() == echoed


@pytest.mark.parametrize("after", [[], [1], [2], [1, 2]])
def test_a_clock_that_is_set_back_costs_no_lines(tmp_path, monkeypatch, after):
    """Also where the log breaks off before."""
    monkeypatch.setattr("gangplan.kube.logs.RETRY_S", 0.0)
    pod = start(ApiServer(), 0)
    lines = [b"2026-01-01T00:00:00.%dZ line %d\n" % (part, part) for part in (5, 6, 2, 3)]
    keeper = ended_on(Breaking(ApiServer(), lines, after), pod, tmp_path)
    assert keeper.last_lines("worker-0", 99) == ("line 5", "line 6", "line 2", "line 3")


@pytest.mark.parametrize("full", [False, True])
def test_lines_that_cannot_be_kept_are_repeated_and_that_is_told_once(tmp_path, caplog, full):
    """There is no folder for them, or the disk is full."""
    server, echoed = ApiServer(), []
    pod = start(server, 0)
    server.logs["default", "j-worker-0", "tensorflow"] = said(5)
    if full:
        (tmp_path / "worker-0.log").symlink_to("/dev/full")
    folder = tmp_path if full else tmp_path / "file" / "logs"
    (tmp_path / "file").write_text("no folder")
    keeper = LogKeeper(server, folder, on_line=lambda _, line: echoed.append(line))
    with caplog.at_level(logging.WARNING):
        keeper.look([pod])
        keeper.close()
    assert echoed == [f"line {number}" for number in range(5)]
    (told,) = caplog.messages
    assert "worker-0.log is not kept any further" in told


def test_runs_with_ids_that_begin_or_end_alike_or_are_short_have_folders_of_their_own(tmp_path):
    ids = ["nightly-2026-11-30", "nightly-2026-12-01", "a-2026-12-01", "r1", "r2", "../r"]
    folders = {kept_folder(tmp_path, "default", "job", run) for run in ids}
    assert len(folders) == len(ids)
    for folder in folders:
        assert folder.parent == tmp_path / "default"
        folder.mkdir(parents=True)
        assert newest_kept(tmp_path, "default", "job") == folder
        folder.rmdir()
