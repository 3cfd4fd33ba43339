"""`gangplan tensorboard` as a user types it, before a modelled server; what its pod answers is a small web server's."""

import signal
import socket
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest
from apimodel.server import Fault
from cli.clusters import Commands, new_server

from gangplan.errors import Forbidden, NotFound, Refused, Unreachable
from gangplan.kube import showing
from gangplan.kube.kinds import CLAIM, POD, TFJOB
from gangplan.kube.refusals import About

POD_NAME = "mnist-tensorboard"
COMMAND = ("tensorboard", "mnist", "-n", "vision")


@pytest.fixture
def cluster(monkeypatch, tmp_path) -> Commands:
    monkeypatch.chdir(tmp_path)
    return Commands(new_server("vision"), monkeypatch)


@pytest.fixture
def port() -> int:
    """A port that is free."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        return door.getsockname()[1]


class Answer(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []
    """Who asked, in order."""

    def do_GET(self) -> None:
        self.asked.append(self.headers["User-Agent"])
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"the board")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web() -> Iterator[tuple[str, int]]:
    """Where something answers as TensorBoard does."""
    Answer.asked.clear()
    server = HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address
    server.shutdown()
    server.server_close()


def add_claim(cluster: Commands, name: str, phase: str = "Bound") -> None:
    metadata = {"name": name, "namespace": "vision"}
    cluster.server.create(CLAIM, {"metadata": metadata, "spec": {"accessModes": ["ReadWriteMany"]}})
    cluster.server.patch(CLAIM, name, {"status": {"phase": phase}}, namespace="vision", subresource="status")


def add_job(cluster: Commands, *words: str, **mounts: str) -> None:
    """Add a TFJob whose chief mounts claims at paths, and whose workers mount nothing."""
    chief = {
        "name": "tensorflow",
        "image": "trainer:1",
        "command": ["python", "train.py", *words],
        "volumeMounts": [{"name": claim, "mountPath": path} for claim, path in mounts.items()],
    }
    volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in mounts]
    bare = {"name": "tensorflow", "image": "trainer:1"}
    specs = {
        "Worker": {"replicas": 2, "template": {"spec": {"containers": [bare]}}},
        "Chief": {"replicas": 1, "template": {"spec": {"containers": [chief], "volumes": volumes}}},
    }
    body = {
        "apiVersion": TFJOB.api_version,
        "kind": TFJOB.name,
        "metadata": {"name": "mnist", "namespace": "vision"},
        "spec": {"tfReplicaSpecs": specs},
    }
    cluster.server.create(TFJOB, body)


def pod_of(cluster: Commands) -> dict | None:
    try:
        return cluster.server.get(POD, POD_NAME, namespace="vision")
    except NotFound:
        return None


def set_status(cluster: Commands, **status: object) -> None:
    cluster.server.patch(POD, POD_NAME, {"status": status}, namespace="vision", subresource="status")


def make_ready(cluster: Commands) -> None:
    set_status(cluster, phase="Running", conditions=[{"type": "Ready", "status": "True"}])


def meanwhile(act: Callable[[], bool]) -> threading.Thread:
    """Try something again and again beside the command, until it was done."""

    def run() -> None:
        end = time.monotonic() + 60
        while not act() and time.monotonic() < end:
            time.sleep(0.02)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def answers(cluster, web) -> None:
    """The pod is ready as soon as it is there, and answers."""
    cluster.server.ports[("vision", POD_NAME, 6006)] = web

    def act() -> bool:
        if pod_of(cluster) is None:
            return False
        make_ready(cluster)
        return True

    meanwhile(act)


def opened(port: int) -> bytes:
    """What a browser sees at the address; nothing while it does not answer."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"User-Agent": "browser"})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.read()
    except OSError:
        return b""


def ctrl_c_when_opened(cluster: Commands, port: int) -> list[bytes]:
    """Open the address in a browser, and press Ctrl-C when the command looks at its pod after it has said so itself.

    Returns:
        What the browser will have seen.
    """
    seen: list[bytes] = []
    pressed = threading.Event()

    def act() -> bool:
        if (found := opened(port)) == b"":
            return False
        seen.append(found)
        return True

    def press(about: About) -> None:
        itself = any(name.startswith("Python-urllib") for name in Answer.asked)
        if seen and itself and not pressed.is_set() and (about.verb, about.kind) == ("get", "Pod"):
            pressed.set()
            signal.raise_signal(signal.SIGINT)

    cluster.server.faults = press
    meanwhile(act)
    return seen


def test_it_is_made_shown_and_taken_away_on_ctrl_c(cluster, answers, port):
    add_claim(cluster, "shared")
    add_job(cluster, "--data", "/volume/data", "--out", "/volume/mnist", shared="/volume")
    seen = ctrl_c_when_opened(cluster, port)
    done = cluster(*COMMAND, "--port", str(port))
    assert seen == [b"the board"]
    assert done.stdout == f"http://127.0.0.1:{port}/\n"
    assert "to show /volume/mnist of shared" in done.stderr
    assert f"pod {POD_NAME} is deleted" in done.stderr
    assert pod_of(cluster) is None


def test_it_mounts_what_the_job_mounts_read_only_and_goes_with_it(cluster, answers):
    add_claim(cluster, "shared")
    add_job(cluster, "--out=/volume/mnist", shared="/volume")
    done = cluster(*COMMAND, "--detach", "--image", "board:1")
    assert done.stdout == (
        "TensorBoard of vision/mnist runs: gangplan tensorboard mnist -n vision shows it, --delete ends it\n"
    )
    pod = pod_of(cluster)
    (container,) = pod["spec"]["containers"]
    assert container["image"] == "board:1"
    assert container["args"][:2] == ["--logdir", "/volume/mnist"]
    assert container["volumeMounts"] == [{"name": "shared", "mountPath": "/volume", "readOnly": True}]
    assert {"startupProbe", "readinessProbe", "livenessProbe", "resources"} <= container.keys()
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("TFJob", "mnist")
    cluster.server.delete(TFJOB, "mnist", namespace="vision")
    cluster.server.settle()
    assert pod_of(cluster) is None


def test_one_that_was_left_is_shown_and_stays_until_it_is_deleted(cluster, answers, port):
    add_claim(cluster, "shared")
    add_job(cluster, shared="/volume")
    cluster(*COMMAND, "--detach")
    seen = ctrl_c_when_opened(cluster, port)
    done = cluster(*COMMAND, "--port", str(port))
    assert "is there already, and stays" in done.stderr
    assert seen
    other = cluster(*COMMAND, "--port", str(port), "--image", "other:1", code=1)
    assert "its image is tensorflow/tensorflow:2.20.0, not other:1; --delete ends it" in other.stderr
    assert pod_of(cluster) is not None
    assert cluster(*COMMAND, "--delete").stdout == "TensorBoard of vision/mnist is deleted\n"
    assert pod_of(cluster) is None
    assert "there is no TensorBoard of vision/mnist" in cluster(*COMMAND, "--delete", code=1).stderr


def test_a_port_in_use_is_told_before_anything_is_made(cluster, port):
    add_claim(cluster, "shared")
    add_job(cluster, shared="/volume")
    with socket.create_server(("127.0.0.1", port)):
        done = cluster(*COMMAND, "--port", str(port), code=3)
    assert f"--port: {port} is in use on this machine: choose another, or 0" in done.stderr
    assert pod_of(cluster) is None


def test_a_job_that_is_not_there_is_told_with_what_helps(cluster, answers):
    done = cluster(*COMMAND, code=1)
    assert "there is no TFJob mnist in vision" in done.stderr
    assert "name the claim with --volume CLAIM:PATH" in done.stderr
    add_claim(cluster, "shared")
    cluster(*COMMAND, "--detach", "--volume", "shared:/volume", "--logdir", "/volume/mnist")
    assert pod_of(cluster)["spec"]["containers"][0]["args"][1] == "/volume/mnist"


def test_a_job_without_a_volume_is_told(cluster):
    add_job(cluster)
    done = cluster(*COMMAND, code=3)
    assert "vision/mnist mounts no claim, so what it wrote went with its pods" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--logdir: must say where the events are: the job mounts /a, /b"),
        (("--logdir", "/c"), "--logdir: must be on a volume (/a, /b), not /c"),
    ],
)
def test_where_the_events_are_must_be_known(cluster, words, said):
    add_claim(cluster, "one")
    add_claim(cluster, "two")
    add_job(cluster, one="/a", two="/b")
    assert said in cluster(*COMMAND, *words, code=3).stderr


def test_claims_that_nobody_can_mount_are_told(cluster):
    add_claim(cluster, "lost", phase="Lost")
    add_job(cluster, lost="/a", nosuch="/b")
    done = cluster(*COMMAND, "--logdir", "/a", code=3)
    assert "the claim lost has lost its volume" in done.stderr
    assert "there is no claim nosuch in vision" in done.stderr
    assert pod_of(cluster) is None


def test_who_may_not_reach_pods_is_told_all_that_is_missing_and_nothing_is_made(cluster):
    add_claim(cluster, "shared")
    add_job(cluster, shared="/volume")
    cluster.server.allows = lambda spec: spec["resourceAttributes"]["verb"] == "delete"
    done = cluster(*COMMAND, code=4)
    assert "you may not create pods, create pods/portforward in vision" in done.stderr
    assert pod_of(cluster) is None


def test_a_refused_pod_is_told(cluster):
    add_claim(cluster, "shared")
    add_job(cluster, shared="/volume")
    cluster.server.faults = lambda about: (
        Fault(error=Refused) if (about.verb, about.kind) == ("create", "Pod") else None
    )
    cluster(*COMMAND, "--port", "0", code=4)
    assert pod_of(cluster) is None


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (
            {
                "containerStatuses": [
                    {
                        "name": "tensorboard",
                        "state": {"waiting": {"reason": "ErrImagePull", "message": "no such image"}},
                    }
                ]
            },
            "its image cannot be pulled: no such image",
        ),
        (
            {
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "message": "pod has unbound immediate PersistentVolumeClaims",
                    }
                ]
            },
            "it has no node: pod has unbound immediate PersistentVolumeClaims (gangplan storage check shared",
        ),
        (
            {
                "containerStatuses": [
                    {
                        "name": "tensorboard",
                        "restartCount": 2,
                        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                        "lastState": {"terminated": {"exitCode": 1}},
                    }
                ]
            },
            "it ended with exit code 1\n  | No module named tensorboard",
        ),
    ],
)
def test_one_that_does_not_come_to_answer_is_told_why_and_taken_away(cluster, status, said):
    add_claim(cluster, "shared")
    add_job(cluster, shared="/volume")
    cluster.server.logs[("vision", POD_NAME, "tensorboard")] = [
        b"2026-01-01T00:00:00.000000000Z No module named tensorboard"
    ]

    def act() -> bool:
        if pod_of(cluster) is None:
            return False
        set_status(cluster, phase="Pending", **status)
        return True

    meanwhile(act)
    done = cluster(*COMMAND, "--port", "0", "--timeout", "3", code=4)
    assert f"pod vision/{POD_NAME} does not answer: {said}" in done.stderr
    assert pod_of(cluster) is None


def test_one_that_takes_its_time_is_told_of_while_it_does(cluster, monkeypatch):
    monkeypatch.setattr(showing, "WORD_S", 0.0)
    add_claim(cluster, "shared")
    add_job(cluster, shared="/volume")

    def act() -> bool:
        if pod_of(cluster) is None:
            return False
        running = {
            "name": "tensorboard",
            "restartCount": 0,
            "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
        }
        set_status(cluster, phase="Running", containerStatuses=[running])
        return True

    meanwhile(act)
    done = cluster(*COMMAND, "--port", "0", "--timeout", "2", code=4)
    assert f"pod {POD_NAME}: it reads the events still, after " in done.stderr


def test_one_that_is_deleted_while_it_is_shown_is_told(cluster, answers, port):
    add_claim(cluster, "shared")
    add_job(cluster, shared="/volume")

    def act() -> bool:
        if not opened(port):
            return False
        cluster.server.delete(POD, POD_NAME, namespace="vision")
        return True

    meanwhile(act)
    assert "was deleted" in cluster(*COMMAND, "--port", str(port), code=1).stderr


def test_what_could_not_be_taken_away_is_told_with_what_ends_it(cluster, answers, port):
    add_claim(cluster, "shared")
    add_job(cluster, shared="/volume")
    seen = ctrl_c_when_opened(cluster, port)
    press = cluster.server.faults

    def faults(about: About) -> Fault | None:
        press(about)
        return Fault(error=Unreachable) if about.verb == "delete" else None

    cluster.server.faults = faults
    done = cluster(*COMMAND, "--port", str(port), code=4)
    assert seen
    assert f"pod {POD_NAME} may be left: gangplan tensorboard mnist -n vision --delete ends it" in done.stderr


def test_a_pod_of_that_name_that_is_none_of_ours_is_left_alone(cluster):
    add_claim(cluster, "shared")
    add_job(cluster, shared="/volume")
    spec = {"containers": [{"name": "c", "image": "i"}]}
    cluster.server.create(POD, {"metadata": {"name": POD_NAME, "namespace": "vision"}, "spec": spec})
    assert "is none of gangplan's" in cluster(*COMMAND, "--port", "0", code=1).stderr
    assert pod_of(cluster) is not None


def test_who_may_not_read_claims_leaves_them_to_the_scheduler(cluster, answers):
    add_job(cluster, shared="/volume")
    cluster.server.faults = lambda about: Fault(error=Forbidden) if about.kind == CLAIM.name else None
    cluster(*COMMAND, "--detach")
    assert pod_of(cluster) is not None
