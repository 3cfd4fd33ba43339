"""Jobs on virtual nodes, as a user submits them: the right pods are told the right words, and a gang lies on one kind."""

import re
import shlex
from pathlib import Path

import pytest
import yaml
from builders import tfjob
from cli.clusters import Commands, new_server

EXAMPLES = Path(__file__).parents[2] / "examples"
PRICE = "gangplan.dev/price-per-hour"
JOB = ("submit", "--name", "j", "--image", "i", "--dry-run", "-o", "json")


@pytest.fixture
def cluster(monkeypatch, tmp_path) -> Commands:
    """Two machines with four GPUs each, and a virtual node; prices are for tests to say."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Commands(new_server(), monkeypatch)


def with_prices(cluster: Commands, *, machine: str = "", virtual: str = "") -> Commands:
    for name in ("n1", "n2"):
        cluster.add_node(name, **({PRICE: machine} if machine else {}))
    cluster.add_virtual_node("cloud", **({PRICE: virtual} if virtual else {}))
    return cluster


def answer(cluster: Commands, *words: str, code: int = 0) -> tuple[set[str], str]:
    """Nodes on which a gang would lie, and what is told about kinds of nodes."""
    told = yaml.safe_load(cluster(*JOB, *words, code=code).stdout)
    nodes = {node for nodes in (told["placement"] or {}).values() for node in nodes}
    return nodes, told["kind"] or ""


BOTH = ("--profile", "virtual-kubelet", "--workers", "4", "--worker-gpus", "1", "--worker-cpu", "1")


def test_the_cheaper_whole_placement_is_taken(cluster):
    """Four of four GPUs are a whole machine, for 8; a replica on the virtual node is 2.5."""
    nodes, note = answer(with_prices(cluster, machine="8", virtual="2.5"), *BOTH)
    assert nodes <= {"n1", "n2"}
    assert note == (
        "a gang is not split between real and virtual nodes: on real nodes it has room, for 8 an hour; "
        "on virtual nodes it has room, for 10 an hour; real nodes are taken"
    )


def test_the_explanation_says_why_that_kind_was_taken(cluster):
    told = cluster(*JOB[:-2], *BOTH, code=0) if with_prices(cluster, virtual="1.5") else None
    assert "A gang is not split between real and virtual nodes: on real nodes it has room" in told.stdout


def test_the_cloud_is_taken_where_it_is_cheaper(cluster):
    nodes, note = answer(with_prices(cluster, machine="8", virtual="1.5"), *BOTH)
    assert nodes == {"cloud"}
    assert note.endswith("on virtual nodes it has room, for 6 an hour; virtual nodes are taken")


@pytest.mark.parametrize(("machine", "virtual"), [("", ""), ("8", ""), ("8", "cheap"), ("8", "2")])
def test_machines_are_taken_at_the_same_price_or_where_that_of_the_cloud_is_not_known(
    cluster, machine, virtual
):
    nodes, note = answer(with_prices(cluster, machine=machine, virtual=virtual), *BOTH)
    assert nodes <= {"n1", "n2"}
    assert note.endswith("real nodes are taken")
    assert ("on virtual nodes it has room, at a price that is not known" in note) == (virtual != "2")


def test_a_gang_that_machines_cannot_hold_whole_is_not_split(cluster):
    """Eight workers would fill the machines; of nine one would be in the cloud, and so all are."""
    nodes, note = answer(with_prices(cluster), *BOTH[:2], "--workers", "9", "--worker-gpus", "1")
    assert nodes == {"cloud"}
    assert "on real nodes it cannot start now: needs 9 nvidia.com/gpu" in note


def split(cluster: Commands) -> tuple[str, ...]:
    """A job whose parameter server needs a label that only machines have; its workers are too many for them."""
    cluster.add_node("n1", disk="fast")
    cluster.add_virtual_node("cloud")
    Path("mine.toml").write_text(
        '[ps.node_selector]\ndisk = "fast"\n[[worker.tolerations]]\nkey = "virtual-kubelet.io/provider"\noperator = "Exists"\n'
    )
    return ("--profile", "mine.toml", "--ps", "1", "--workers", "9", "--worker-gpus", "1")


def test_a_gang_that_only_both_could_hold_waits_and_is_told_what_would_help(cluster):
    nodes, note = answer(cluster, *split(cluster), code=1)
    assert nodes == set()
    assert "this is so on real nodes, and on virtual nodes it cannot start now" in note
    assert note.endswith("1 of 2 do not match its node selector, 1 are not virtual"), (
        "it has no affinity of its own"
    )


def test_the_smallest_change_of_both_kinds_and_a_split_gang_are_proposed(cluster):
    """Four GPUs on machines, sixteen behind the virtual nodes, and 18 workers."""
    cluster.add_node("n1")
    cluster.add_virtual_node("cloud", gpus="16")
    wanted = (*BOTH[:2], "--workers", "18", "--worker-gpus", "1")
    told = yaml.safe_load(cluster(*JOB, *wanted, code=1).stdout)["rejection"]
    texts = [change["text"] for change in told["changes"]]
    assert "16 workers instead of 18" in texts
    assert "4 workers instead of 18" not in texts
    words = " ".join(cluster(*JOB[:-2], *wanted, code=1).stdout.split())
    for number, text in enumerate(texts, 1):
        assert f"{number}. {text}" in words
    assert "split it between real and virtual nodes (--allow-split)" in texts
    assert "the nodes that it may use have 4 in all" not in words
    assert "the real nodes that it may use have 4 in all" in words
    assert "the virtual nodes that it may use have 16 in all" in words
    assert "node affinity" not in words, "it has none"
    assert "1 of 2 nodes is virtual" in words
    assert answer(cluster, *wanted[:3], "16", *wanted[4:])[0] == {"cloud"}
    assert answer(cluster, *wanted, "--allow-split")[0] == {"n1", "cloud"}


def test_who_asks_for_virtual_nodes_that_are_not_there_is_named(cluster):
    """The user gave no affinity and no selector: a flag and a profile did."""
    cluster.add_node("n1")
    workers = ("--workers", "1", "--worker-gpus", "1")
    for words, asked in [
        (("--profile", "cce-cci", "--cci-burst", "enforce"), "--cci-burst enforce"),
        (("--profile", "ask-eci"), "--profile ask-eci"),
    ]:
        told = yaml.safe_load(cluster(*JOB, *workers, *words, code=1).stdout)["rejection"]
        assert told["message"] == (
            f"{asked} asks for virtual nodes, and this cluster has none: leave it out, or add such a node"
        )
        assert [change["text"] for change in told["changes"]] == [f"without {asked}"]
        text = " ".join(cluster(*JOB[:-2], *workers, *words, code=1).stdout.split())
        assert f", as {asked} has it" in text
        assert "affinity" not in text.partition("apiVersion")[0]
    cluster.add_virtual_node("cloud")
    assert answer(cluster, *workers, "--profile", "ask-eci")[0] == {"cloud"}


def test_a_gang_that_may_be_split_is(cluster):
    nodes, note = answer(cluster, *split(cluster), "--allow-split")
    assert (nodes, note) == ({"n1", "cloud"}, "")


def test_a_job_for_machines_is_told_nothing_of_the_cloud(cluster):
    nodes, note = answer(with_prices(cluster), "--workers", "4", "--worker-gpus", "1")
    assert (nodes <= {"n1", "n2"}, note) == (True, "")


def test_serverless_jobs_lie_in_the_cloud_also_where_machines_are_free(cluster):
    nodes, note = answer(with_prices(cluster), "--profile", "ask-eci", *BOTH[2:])
    assert (nodes, note) == ({"cloud"}, ""), "nothing is to be chosen"


@pytest.mark.parametrize(("mode", "where"), [("enforce", {"cloud"}), ("off", {"n1"}), ("auto", {"n1"})])
def test_bursting_says_where_pods_may_be(cluster, mode, where):
    words = ("--profile", "cce-cci", "--workers", "1", "--cci-burst", mode)
    cluster.add_node("n1")
    cluster.add_virtual_node("cloud")
    assert answer(cluster, *words)[0] == where
    manifest = yaml.safe_load(cluster(*JOB, *words).stdout)["manifest"]
    labels = manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]["metadata"]["labels"]
    assert labels["bursting.cci.io/burst-to-cci"] == mode


def test_words_for_the_cloud_that_nobody_there_would_hear_are_noted(cluster):
    with_prices(cluster)
    note = cluster(*JOB, "--workers", "1", "--eci-spec", "worker=2-4Gi").stderr
    assert "worker has k8s.aliyun.com/eci-use-specs and does not tolerate virtual nodes" in note
    assert "--profile" in note


def test_profiles_are_found_by_name_near_first_and_by_path(cluster, tmp_path):
    with_prices(cluster)
    profile = '[all.annotations]\nfrom = "{}"\n'

    def came_from(given: str) -> str:
        manifest = yaml.safe_load(cluster(*JOB, "--workers", "1", "--profile", given).stdout)["manifest"]
        return manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]["metadata"]["annotations"]["from"]

    for folder in (tmp_path / "config" / "gangplan" / "profiles", tmp_path / "profiles"):
        folder.mkdir(parents=True)
        (folder / "ask-eci.toml").write_text(profile.format(folder.parent.name))
        assert came_from("ask-eci") == folder.parent.name
    (tmp_path / "other.toml").write_text(profile.format("file"))
    assert came_from("other.toml") == "file"


def test_a_profile_that_is_not_there_or_wrong_is_told(cluster, tmp_path):
    done = cluster(*JOB, "--workers", "1", "--profile", "ask", code=3)
    assert "known: ask-eci, cce-cci, virtual-kubelet" in done.stderr
    assert (
        "nosuch.toml: No such file"
        in cluster(*JOB, "--workers", "1", "--profile", "nosuch.toml", code=3).stderr
    )
    (tmp_path / "mine.toml").write_text("a = 1\n[b]\n[all]\nc = 1\n")
    told = cluster(*JOB, "--workers", "1", "--profile", "mine.toml", code=3).stderr
    assert "mine.toml: 3 problems" in told
    assert [line.split(":")[0].strip() for line in told.splitlines()[1:]] == ["$.a", "$.all.c", "$.b"]


def test_a_profile_that_tells_a_role_something_that_the_job_does_not_have_is_noted(cluster, tmp_path):
    """A profile is for many jobs."""
    with_prices(cluster)
    (tmp_path / "mine.toml").write_text('[ps.labels]\nteam = "a"\n')
    told = cluster(*JOB, "--workers", "1", "--profile", "mine.toml").stderr
    assert "note: mine.toml tells ps something, of which the job has none" in told


def test_an_annotation_for_a_role_that_the_job_does_not_have_is_refused(cluster):
    told = cluster(*JOB, "--workers", "1", "--eci-spec", "ps=2-4Gi", code=3).stderr
    assert "--eci-spec: 'ps=2-4Gi' is about a role that the job does not have; it has worker" in told


def test_a_profile_for_virtual_nodes_and_a_flag_that_keeps_pods_away_from_them_contradict(cluster):
    with_prices(cluster)
    words = ("--workers", "1", "--profile", "ask-eci", "--cci-burst")
    told = " ".join(cluster(*JOB, *words, "off", code=3).stderr.split())
    assert "--profile: must not be virtual-kubelet, as --profile ask-eci has it, where" in told
    assert "(--cci-burst off)" in told
    assert answer(cluster, *words, "enforce")[0] == {"cloud"}


def test_flags_that_are_given_once_for_each_role_say_so(cluster):
    told = cluster(
        *JOB, "--workers", "1", "--ps", "1", "--cci-burst", "worker=enforce,ps=off",
        "--eci-spec", "worker=2-4Gi,ps=2-4Gi", code=3,
    ).stderr  # fmt: skip
    assert told.count(": give the flag once for each role") == 2
    assert "begins with no role" not in told


def test_whether_a_gang_may_be_split_is_yes_or_no(cluster, tmp_path):
    job = yaml.safe_load((EXAMPLES / "resnet50-benchmark-tfjob.yaml").read_text())
    job["metadata"]["annotations"] = {"gangplan.dev/allow-split": "maybe"}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    told = cluster("submit", "job.yaml", "--dry-run", code=3).stderr
    assert "allow-split\"]: must be 'true' or 'false', not 'maybe'" in told


CLASSIC = ("serverless-mnist", "resnet50-benchmark")


@pytest.mark.parametrize("name", CLASSIC)
def test_a_classic_manifest_is_what_its_flags_say(name, cluster, monkeypatch):
    """Field by field, as it would be created."""
    with_prices(cluster)
    monkeypatch.chdir(EXAMPLES.parent)
    cluster.add_claim("training-data")
    file = EXAMPLES / f"{name}-tfjob.yaml"
    (flags,) = re.findall(r"^# Flags that say the same:\n((?:#   .*\n)+)", file.read_text(), re.MULTILINE)
    words = shlex.split(flags.replace("#", " "))[1:]
    assert words[0] == "submit"
    how = ("--dry-run", "-o", "json", "--run-id", "r")
    from_file, from_flags = (
        yaml.safe_load(cluster(*command).stdout)
        for command in (("submit", str(file), *how), ("submit", *how, *words[1:]))
    )
    assert from_flags == from_file
    assert from_flags["placement"], "and there is room for it"


def test_a_coordinator_of_old_is_the_chief(cluster, tmp_path):
    with_prices(cluster)
    cluster.add_claim("training-data")
    sample = (EXAMPLES / "serverless-mnist-tfjob.yaml").read_text()
    (tmp_path / "old.yaml").write_text(sample.replace("    Chief:", "    MASTER:"))
    told = yaml.safe_load(cluster("submit", "old.yaml", "--dry-run", "-o", "json").stdout)
    assert set(told["placement"]) == {"chief", "ps", "worker"}
    assert {node for nodes in told["placement"].values() for node in nodes} == {"cloud"}


def test_labels_that_no_pod_may_have_are_refused_before_anything_is_made(cluster, tmp_path):
    """The server does not look into the templates of a TFJob: its pods would be refused, one by one."""
    (tmp_path / "bad.toml").write_text(
        '[worker.labels]\nok = "no value!"\n[ps.annotations]\n"bad key !" = "x"\n'
    )
    told = cluster(*JOB, "--workers", "1", "--ps", "1", "--profile", "bad.toml", code=3).stderr
    assert "$.worker.labels.ok: its value must be" in told
    assert '$.ps.annotations["bad key !"]: its key must be' in told
    job = tfjob("j", {"Worker": {}})
    template = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    template["metadata"] = {"labels": {"team": "a b"}, "annotations": {"x.org/note": "any text!", "/y": ""}}
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump(job))
    told = cluster("submit", "bad.yaml", "--dry-run", code=3).stderr
    where = "$.spec.tfReplicaSpecs.Worker.template.metadata"
    assert f"{where}.labels.team: its value must be" in told
    assert f'{where}.annotations["/y"]: its key must be' in told
    assert "note" not in told
