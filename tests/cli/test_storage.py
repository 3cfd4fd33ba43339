"""`gangplan storage` as a user types it, before a modelled server."""

import json

import pytest
import yaml
from apimodel.server import Fault
from cli.clusters import Commands, new_server

from gangplan.errors import Forbidden
from gangplan.kube.kinds import CLAIM, EVENT, POD, STORAGE_CLASS, VOLUME

NFS = ("storage", "nfs", "training", "--server", "files", "--path", "/export", "-n", "vision")


@pytest.fixture
def cluster(monkeypatch) -> Commands:
    """While a command waits, the controllers of the server work."""
    commands = Commands(new_server("vision"), monkeypatch)
    monkeypatch.setattr("gangplan.cli.storage.time.sleep", lambda _: commands.server.settle())
    return commands


def add_claim(cluster: Commands, name: str, *modes: str, phase: str = "Bound", **spec: object) -> None:
    metadata = {"name": name, "namespace": "vision"}
    wanted = {"accessModes": list(modes), "resources": {"requests": {"storage": "5Gi"}}, **spec}
    cluster.server.create(CLAIM, {"metadata": metadata, "spec": wanted})
    cluster.server.patch(CLAIM, name, {"status": {"phase": phase}}, namespace="vision", subresource="status")


def add_pod(cluster: Commands, name: str, claim: str, gang: str = "") -> None:
    labels = {"gangplan.dev/gang": gang} if gang else {}
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": volumes}
    cluster.server.create(
        POD, {"metadata": {"name": name, "namespace": "vision", "labels": labels}, "spec": spec}
    )


def test_what_is_printed_is_what_is_made(cluster):
    printed = list(yaml.safe_load_all(cluster(*NFS).stdout))
    assert [item["kind"] for item in printed] == ["PersistentVolume", "PersistentVolumeClaim"]
    assert json.loads(cluster(*NFS, "-o", "json").stdout)["items"] == printed
    assert cluster.server.list(VOLUME).items == ()
    cluster(*NFS, "--apply")
    volume = cluster.server.get(VOLUME, "vision.training")
    claim = cluster.server.get(CLAIM, "training", namespace="vision")
    assert claim["spec"].pop("volumeName") == "vision.training"
    del volume["spec"]["claimRef"]["uid"]
    assert [volume["spec"], claim["spec"]] == [item["spec"] for item in printed]


def test_applying_says_what_was_done(cluster):
    assert "claim vision/training: would be created" in cluster(*NFS, "--apply", "--dry-run").stdout
    assert cluster.server.list(CLAIM).items == ()
    done = cluster(*NFS, "--apply")
    assert done.stdout == "volume vision.training: created\nclaim vision/training: created and bound\n"
    told = json.loads(cluster(*NFS, "--apply", "-o", "json").stdout)
    assert told["volume"] == {"name": "vision.training", "how": "unchanged"}
    assert (told["written"], told["bound"]) == (True, True)
    other = cluster(*NFS[:-4], "--path", "/other", "-n", "vision", "--apply", code=1)
    assert "spec.nfs.path is /export, not /other" in other.stderr


def test_a_folder_of_a_machine_is_warned_of(cluster):
    done = cluster("storage", "hostpath", "demo", "--apply")
    assert "on several machines each replica would see its own" in done.stderr
    spec = cluster.server.get(VOLUME, "default.demo")["spec"]
    assert spec["hostPath"]["path"] == "/var/lib/gangplan/volumes/default/demo"


def test_a_namespace_that_is_not_there_gets_no_volume(cluster):
    done = cluster("storage", "hostpath", "demo", "-n", "nosuch", "--apply", code=1)
    assert 'namespaces "nosuch" not found' in done.stderr
    assert cluster.server.list(VOLUME).items == ()


def test_who_may_make_no_volumes_is_told_and_nothing_is_made(cluster):
    cluster.server.faults = lambda about: Fault(error=Forbidden) if about.kind == "PersistentVolume" else None
    assert "let an administrator apply" in cluster(*NFS, "--apply", code=4).stderr
    assert cluster.server.list(CLAIM).items == ()


def test_claims_are_listed_with_who_mounts_them(cluster):
    assert cluster("storage", "list").stdout == "no claims\n"
    add_claim(cluster, "data", "ReadWriteMany", volumeName="v", storageClassName="nas")
    add_claim(cluster, "spare", "ReadWriteOnce", phase="Pending")
    add_pod(cluster, "mnist-worker-0", "data", gang="mnist")
    add_pod(cluster, "notebook", "data")
    add_pod(cluster, "ended", "data")
    ended = {"status": {"phase": "Succeeded"}}
    cluster.server.patch(POD, "ended", ended, namespace="vision", subresource="status")
    _, data, spare = cluster("storage", "list", "-n", "vision").stdout.splitlines()
    assert data.split(None, 6) == [
        "data", "Bound", "ReadWriteMany", "5Gi", "nas", "v", "gang mnist, pod notebook",
    ]  # fmt: skip
    assert spare.split() == ["spare", "Pending", "ReadWriteOnce", "5Gi", "–", "–", "–"]
    first, second = json.loads(cluster("storage", "list", "-A", "-o", "json").stdout)
    assert (first["name"], second["name"]) == ("data", "spare")
    assert first["mounted_by"][0] == {"pod": "mnist-worker-0", "gang": "mnist", "node": ""}


def test_a_claim_that_a_job_of_several_nodes_can_use_passes(cluster):
    add_claim(cluster, "data", "ReadWriteMany", volumeName="v")
    cluster.server.create(VOLUME, {"metadata": {"name": "v"}, "spec": {"hostPath": {"path": "/x"}}})
    done = cluster("storage", "check", "data", "-n", "vision")
    assert done.stdout.splitlines()[-1] == "a job of several nodes can use it"
    assert "note: is /x of each node by itself" in done.stdout


def obstacles(cluster: Commands, claim: str) -> list[str]:
    """What keeps a job of several nodes from using a claim."""
    told = json.loads(cluster("storage", "check", claim, "-n", "vision", "-o", "json", code=1).stdout)
    assert told["usable"] is False
    return [finding["text"] for finding in told["findings"] if finding["is_obstacle"]]


def test_a_claim_for_one_node_does_not_pass(cluster):
    add_claim(cluster, "data", "ReadWriteOnce")
    (found,) = obstacles(cluster, "data")
    assert found == "is ReadWriteOnce, and replicas on several nodes could not all mount it"


def test_why_a_claim_is_not_bound_is_told_from_its_events(cluster):
    add_claim(cluster, "data", "ReadWriteMany", phase="Pending", storageClassName="nas")
    cluster.server.create(
        STORAGE_CLASS, {"metadata": {"name": "nas"}, "provisioner": "p", "volumeBindingMode": "Immediate"}
    )
    event = {
        "metadata": {"name": "data.1", "namespace": "vision"},
        "involvedObject": {"kind": "PersistentVolumeClaim", "name": "data", "namespace": "vision"},
        "reason": "ProvisioningFailed",
        "message": "quota of the account is used up",
        "lastTimestamp": "2026-01-01T00:00:04Z",
    }
    cluster.server.create(EVENT, event)
    assert obstacles(cluster, "data") == ["is not bound: ProvisioningFailed: quota of the account is used up"]


def test_a_class_that_is_not_there_is_told(cluster):
    add_claim(cluster, "data", "ReadWriteMany", phase="Pending", storageClassName="nas")
    assert obstacles(cluster, "data") == ["is not bound: the cluster has no storage class nas"]


def test_a_claim_that_is_bound_on_first_use_passes(cluster):
    late = {"metadata": {"name": "late"}, "provisioner": "p", "volumeBindingMode": "WaitForFirstConsumer"}
    cluster.server.create(STORAGE_CLASS, late)
    add_claim(cluster, "data", "ReadWriteMany", phase="Pending", storageClassName="late")
    assert (
        "is bound when the first pod mounts it" in cluster("storage", "check", "data", "-n", "vision").stdout
    )


def test_a_claim_that_lost_its_volume_does_not_pass(cluster):
    add_claim(cluster, "data", "ReadWriteMany", phase="Lost", volumeName="v")
    assert obstacles(cluster, "data") == ["has lost its volume v"]


def test_a_claim_that_nobody_binds_is_told_with_what_to_do(cluster, monkeypatch):
    monkeypatch.setattr("gangplan.cli.storage.time.sleep", lambda _: None)
    done = cluster(*NFS, "--apply", code=1)
    assert "claim vision/training: created, is not bound after 45 s, and its volume is Pending" in done.stdout
    assert "see that it runs; gangplan storage check training -n vision looks again" in done.stderr
    assert "replicas mount it" not in done.stderr
    told = json.loads(cluster(*NFS, "--apply", "-o", "json", code=1).stdout)
    assert told["bound"] is False
    assert "kube-controller-manager" in told["why_unbound"]["cure"]
    assert obstacles(cluster, "training") == [
        "is not bound: no volume with gangplan.dev/volume=vision.training was given to it yet"
    ]


@pytest.fixture
def passed(cluster, monkeypatch) -> list[float]:
    """How long was waited; the controller works only when it looks at all claims again, 15 seconds later."""
    passed = [0.0]

    def sleep(seconds: float) -> None:
        passed[0] += seconds
        if passed[0] > 15.0:
            cluster.server.settle()

    monkeypatch.setattr("gangplan.cli.storage.time.sleep", sleep)
    return passed


def test_a_controller_that_is_late_is_waited_for_and_that_is_told_once(cluster, passed):
    done = cluster(*NFS, "--apply")
    assert "claim vision/training: created and bound" in done.stdout
    assert done.stderr.count("claim vision/training waits for the cluster's controller") == 1
    cluster.server.delete(CLAIM, "training", namespace="vision")
    passed[0] = 0.0
    done = cluster(*NFS, "--apply")
    assert done.stdout == "volume vision.training: given back\nclaim vision/training: created and bound\n"


def test_who_interrupts_the_wait_for_a_volume_is_told_what_is_there(cluster, monkeypatch):
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gangplan.cli.storage.time.sleep", interrupt)
    told = " ".join(cluster(*NFS, "--apply", code=130).stderr.split())
    assert "volume vision.training and claim vision/training are there, and not bound yet" in told


def test_a_folder_of_a_machine_is_that_of_the_namespace_which_is_meant(cluster, tmp_path):
    """Two namespaces share no folder, also where the kubeconfig names the namespace."""
    (tmp_path / "config").write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "c",
                "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
                "users": [{"name": "u", "user": {"token": "t"}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "vision"}}],
            }
        )
    )
    words = ("storage", "hostpath", "demo", "--kubeconfig", str(tmp_path / "config"))
    folder = "/var/lib/gangplan/volumes/vision/demo"
    printed = cluster(*words)
    assert f"note: {folder} is a folder of each node" in printed.stderr
    volume, claim = yaml.safe_load_all(printed.stdout)
    assert (volume["spec"]["hostPath"]["path"], claim["metadata"]["namespace"]) == (folder, "vision")
    cluster(*words, "--apply")
    assert cluster.server.get(VOLUME, "vision.demo")["spec"]["hostPath"]["path"] == folder


def test_who_may_not_read_volumes_is_told_the_rest(cluster):
    add_claim(cluster, "data", "ReadWriteMany", volumeName="v", storageClassName="nas")
    hidden = {"PersistentVolume", "StorageClass"}
    cluster.server.faults = lambda about: Fault(error=Forbidden) if about.kind in hidden else None
    assert "can use it" in cluster("storage", "check", "data", "-n", "vision").stdout


def test_a_claim_that_is_not_there_is_a_no(cluster):
    add_claim(cluster, "data", "ReadWriteMany")
    done = cluster("storage", "check", "date", "-n", "vision", code=1)
    assert "there is no claim date in vision; known: data" in done.stderr
