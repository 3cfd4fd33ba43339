"""The doctor on a real cluster: content with what runs, and its cures mend what was broken, as they are printed."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cluster.bed.image import BUSYBOX
from cluster.bed.outside import ACCOUNT, Cluster
from cluster.objects import pods_of
from cluster.submissions import install
from cluster.volumes import share
from gangplan.cli.main import app

ROOT = Path(__file__).parents[2]
NewNamespace = Callable[[Cluster], str]


@pytest.fixture
def cluster(real: Cluster) -> Cluster:
    """Two real nodes, the operator, and what `deploy/` installs."""
    install(real)
    return real


def examined(
    cluster: Cluster, namespace: str, *words: str, user: str | None = None
) -> tuple[bool, dict[str, list[dict]]]:
    """Whether a job would run, and the findings by check."""
    file = cluster.kubeconfig() if user is None else cluster.kubeconfig(user)
    where = ["-n", namespace, "--kubeconfig", str(file)]
    ran = CliRunner().invoke(app, ["doctor", *where, *words, "-o", "json"])
    told = json.loads(ran.stdout)
    assert ran.exit_code == (0 if told["healthy"] else 1), ran.output
    findings: dict[str, list[dict]] = {}
    for finding in told["findings"]:
        findings.setdefault(finding["check"], []).append(finding)
    return told["healthy"], findings


def apply(cluster: Cluster, cure: str) -> None:
    """Run a cure as it is printed."""
    words = shlex.split(cure, comments=True)
    assert words[0] == "kubectl", cure
    cluster.kubectl(*(str(ROOT / word) if word == "deploy/" else word for word in words[1:]))


def test_a_cluster_on_which_jobs_run_is_sound(
    cluster: Cluster, new_namespace: NewNamespace, tmp_path: Path
) -> None:
    namespace = new_namespace(cluster)
    share(cluster, namespace, "shared", tmp_path / "shared")
    healthy, found = examined(cluster, namespace, "--volume", "shared", "--image", BUSYBOX)
    assert healthy, found
    told = {check: [finding["level"] for finding in findings] for check, findings in found.items()}
    for check in ("server", "crds", "tfjobs", "rights", "nodes", "gpus", "dns", "quota", "volumes", "clock",
                  "operator", "enforcement", "istio", "image"):  # fmt: skip
        # That the volume is a folder of each node is good to know.
        assert set(told[check]) <= {"ok", *(["note"] if check == "volumes" else [])}, (check, found[check])
    assert pods_of(cluster, namespace) == {}
    assert json.loads(cluster.kubectl("get", "tfjobs", "-n", namespace, "-o", "json"))["items"] == []


def test_a_kind_that_was_removed_is_missed_and_the_cure_brings_it_back(
    cluster: Cluster, new_namespace: NewNamespace
) -> None:
    namespace = new_namespace(cluster)
    cluster.kubectl("delete", "crd", "gangs.gangplan.dev")
    healthy, found = examined(cluster, namespace, "--no-probe")
    (told,) = [finding for finding in found["crds"] if finding["level"] == "fault"]
    assert (healthy, "Gang" in told["what"]) == (False, True)
    apply(cluster, told["cure"])
    cluster.kubectl("wait", "--for=condition=Established", "crd", "-l", "app.kubernetes.io/name=gangplan")
    assert examined(cluster, namespace, "--no-probe")[0]


def test_a_user_without_rights_is_told_each_and_the_cures_give_them(
    cluster: Cluster, new_namespace: NewNamespace
) -> None:
    namespace = new_namespace(cluster)
    cluster.kubectl("create", "serviceaccount", "ann", "-n", namespace)
    user = f"{ACCOUNT}{namespace}:ann"
    healthy, found = examined(cluster, namespace, user=user)
    lacking = found["rights"]
    assert not healthy
    assert len(lacking) == 6, lacking
    assert {finding["level"] for finding in lacking} == {"fault", "warning", "note"}
    for cure in dict.fromkeys(finding["cure"] for finding in lacking):
        apply(cluster, cure)
    cluster.wait_until(
        "the rights are there", lambda: examined(cluster, namespace, "--no-probe", user=user)[0]
    )
    healthy, found = examined(cluster, namespace, user=user)
    assert healthy, found
    assert [finding["level"] for finding in found["rights"]] == ["ok"]
    assert [finding["level"] for finding in found["operator"]] == ["ok"]


@pytest.mark.parametrize(
    ("overlay", "replaced", "account"),
    [("kubeflow-profile", "my-profile", "default-editor"), ("pipelines-only", "kubeflow", "pipeline-runner")],
)
def test_an_overlay_gives_an_account_what_submitting_needs_and_takes_it_back(
    cluster: Cluster, new_namespace: NewNamespace, tmp_path: Path, overlay: str, replaced: str, account: str
) -> None:
    namespace = new_namespace(cluster)
    cluster.kubectl("label", "namespace", namespace, "app.kubernetes.io/part-of=kubeflow-profile")
    for name in {account, "default-editor"}:
        cluster.kubectl("create", "serviceaccount", name, "-n", namespace)
    rendered = cluster.kubectl("kustomize", str(ROOT / "deploy" / "overlays" / overlay))
    (tmp_path / "all.yaml").write_text(re.sub(rf"\b{replaced}\b", namespace, rendered))
    user, words = f"{ACCOUNT}{namespace}:{account}", ("--no-probe",)
    assert not examined(cluster, namespace, *words, user=user)[0]
    if account == "default-editor":
        (told,) = examined(cluster, namespace, *words)[1]["profile"]
        assert told["level"] == "fault"
    cluster.kubectl("apply", "-f", str(tmp_path / "all.yaml"))
    cluster.wait_until(
        "it may submit",
        lambda: examined(cluster, namespace, *words, user=user)[1]["rights"][-1]["level"] == "ok",
    )
    if account == "default-editor":
        (told,) = examined(cluster, namespace, *words)[1]["profile"]
        assert told["level"] == "ok"
    cluster.kubectl("delete", "-f", str(tmp_path / "all.yaml"))
    cluster.wait_until("it may not any more", lambda: not examined(cluster, namespace, *words, user=user)[0])


def test_an_image_that_is_not_there_is_told_with_the_node_that_looked(
    cluster: Cluster, new_namespace: NewNamespace
) -> None:
    namespace = new_namespace(cluster)
    others = ["server", "crds", "tfjobs", "namespace", "rights", "nodes", "dns", "operator", "pipelines"]
    skip = [word for other in others for word in ("--skip", other)]
    healthy, found = examined(cluster, namespace, "--image", "localhost/none:1", *skip)
    (told,) = found["image"]
    assert (healthy, told["level"]) == (False, "fault")
    assert "cannot pull localhost/none:1" in told["what"]
    assert pods_of(cluster, namespace) == {}
