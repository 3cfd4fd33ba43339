"""What Kueue's, KAI's and Volcano's words on a TFJob mean for its gang, and which are refused."""

from pathlib import Path

import pytest
from apimodel.server import ApiServer
from builders import GPU, node, tfjob

import gangplan as gp
from gangplan.kube.kinds import PRIORITY_CLASS
from gangplan.kube.left_out import not_done_here
from gangplan.kube.priority import with_priority
from gangplan.kube.submission import submission
from gangplan.kube.tfjob import gang, read, write

KUEUE = "kueue.x-k8s.io/"
REQUIRED, PREFERRED = f"{KUEUE}podset-required-topology", f"{KUEUE}podset-preferred-topology"
RACK = "cloud.provider.com/rack"
JOB = '$.metadata.annotations["{}"]'
ROLE = '$.spec.tfReplicaSpecs.{}.template.metadata.annotations["{}"]'


def job(
    *, labels: dict | None = None, notes: dict | None = None, policy: dict | None = None, **roles: dict
) -> dict:
    """A TFJob of a PS and four workers; a role's annotations are given by its name."""
    made = tfjob("j", {"PS": {}, "Worker": {"replicas": 4}})
    made["metadata"] |= {"labels": labels or {}, "annotations": notes or {}}
    for kind, given in roles.items():
        made["spec"]["tfReplicaSpecs"][kind]["template"]["metadata"] = {"annotations": given}
    if policy:
        made["spec"]["runPolicy"] = {"schedulingPolicy": policy}
    return made


def described(manifest: dict) -> gp.Gang:
    return gang(read(write(manifest)), created=0)


def problems(manifest: dict) -> dict[str, str]:
    try:
        read(write(manifest))
    except gp.InvalidInput as error:
        return {problem.path: problem.message for problem in error.problems}
    return {}


# ---- queues


@pytest.mark.parametrize(
    "manifest",
    [
        job(policy={"queue": "vision"}),
        job(labels={f"{KUEUE}queue-name": "vision"}),
        job(labels={"kai.scheduler/queue": "vision"}),
        job(notes={"scheduling.volcano.sh/queue-name": "vision"}),
        job(Worker={"scheduling.volcano.sh/queue-name": "vision"}),
        job(labels={f"{KUEUE}queue-name": "vision"}, policy={"queue": "vision"}),
        job(labels={f"{KUEUE}queue-name": "other"}, notes={"gangplan.dev/queue": "vision"}),
    ],
)
def test_a_queue_is_the_one_that_any_of_them_names(manifest):
    assert described(manifest).queue == "vision"


def test_two_queues_are_refused_with_the_way_out():
    found = problems(job(labels={f"{KUEUE}queue-name": "a"}, policy={"queue": "b"}))
    assert found == {
        f'$.metadata.labels["{KUEUE}queue-name"]': (
            "names queue a, and $.spec.runPolicy.schedulingPolicy.queue names b: say one of them in annotation "
            "gangplan.dev/queue"
        )
    }


# ---- levels


def test_the_same_level_of_all_roles_is_that_of_the_gang():
    found = described(job(PS={REQUIRED: RACK}, Worker={REQUIRED: RACK}))
    assert found.topology == gp.Closeness(required=RACK)
    assert [role.topology for role in found.roles] == [None, None]


def test_different_levels_are_those_of_the_roles():
    found = described(job(PS={REQUIRED: RACK}, Worker={PREFERRED: "kubernetes.io/hostname"}))
    assert found.topology is None
    assert {role.name: role.topology for role in found.roles} == {
        "ps": gp.Closeness(required=RACK),
        "worker": gp.Closeness(preferred="node"),
    }


def test_anywhere_is_inside_the_topology():
    (worker,) = (
        role
        for role in described(job(Worker={f"{KUEUE}podset-unconstrained-topology": "true"})).roles
        if role.name == "worker"
    )
    assert worker.topology == gp.Closeness()


def test_slices_are_slices_of_the_role():
    words = {f"{KUEUE}podset-slice-required-topology": RACK, f"{KUEUE}podset-slice-size": "2"}
    both = {REQUIRED: "zone"}
    found = described(job(PS=both, Worker=both | words))
    assert found.topology == gp.Closeness(required="zone")
    assert {role.name: role.topology for role in found.roles} == {
        "ps": None,
        "worker": gp.Closeness(slices=(gp.Slice(level=RACK, size=2),)),
    }


def test_roles_of_a_group_lie_together():
    """Two roles that need a rack each would be allowed two racks."""
    near = {REQUIRED: RACK, f"{KUEUE}podset-group-name": "core"}
    manifest = job(PS=near, Worker=near)
    manifest["spec"]["tfReplicaSpecs"]["Evaluator"] = tfjob()["spec"]["tfReplicaSpecs"]["Worker"]
    (group,) = described(manifest).groups
    assert group == gp.Group(name="core", roles=("ps", "worker"), topology=gp.Closeness(required=RACK))


def test_levels_of_kai_are_those_of_the_gang():
    notes = {
        "kai.scheduler/topology": "net",
        "kai.scheduler/topology-required-placement": "zone",
        "kai.scheduler/topology-preferred-placement": RACK,
    }
    assert described(job(notes=notes)).topology == gp.Closeness(required="zone", preferred=RACK)


def test_our_own_levels_win():
    mine = {"gangplan.dev/required-level": "zone"}
    assert described(job(notes=mine, PS={REQUIRED: RACK}, Worker={REQUIRED: RACK})).topology == gp.Closeness(
        required="zone"
    )


# ---- who talks, who keeps apart, who may be evicted


def test_task_topology_says_who_talks():
    found = described(job(notes={"volcano.sh/task-topology-affinity": "ps,worker;worker"}))
    assert found.traffic == (gp.Traffic(a="ps", b="worker"), gp.Traffic(a="worker", b="worker"))


def test_roles_that_keep_apart_get_nodes_of_their_own_where_there_are_some():
    made = submission(
        job(notes={"volcano.sh/task-topology-anti-affinity": "worker"}), namespace="team", run_id="r", now=0.0
    )
    nodes = tuple(node(f"n{i}", cpu="8") for i in range(4))
    plan = gp.solve(gp.Snapshot(nodes=nodes, gangs=(made.gang,)))
    assert sorted(plan.placements["team/j"]["worker"]) == ["n0", "n1", "n2", "n3"]
    plan = gp.solve(gp.Snapshot(nodes=nodes[:2], gangs=(made.gang,)))
    assert len(plan.placements["team/j"]["worker"]) == 4, "it is a wish"


def test_a_gang_that_may_not_be_evicted_is_known():
    assert described(job(notes={"volcano.sh/preemptable": "false"})).preemptible is False
    assert described(job(notes={"volcano.sh/preemptable": "true"})).preemptible is True


# ---- how many, how much, how urgent


def test_workers_may_be_fewer_where_the_policy_says_so():
    found = described(job(policy={"minAvailable": 3}))
    assert (found.min_member, {role.name: role.min for role in found.roles}) == (3, {"ps": 1, "worker": 2})
    plan = gp.solve(gp.Snapshot(nodes=(node(cpu="300m"),), gangs=(found,)))
    assert {role: len(nodes) for role, nodes in plan.placements["j"].items()} == {"ps": 1, "worker": 2}


def test_all_of_them_is_no_minimum():
    found = described(job(policy={"minAvailable": 5}))
    assert (found.min_member, {role.min for role in found.roles}) == (None, {None})


def test_volcano_starts_whole_gangs_only():
    with pytest.raises(gp.InvalidInput, match="or all 5: Volcano is told to start the replicas"):
        submission(job(policy={"minAvailable": 3}), namespace="t", run_id="r", now=0.0, enforcement="volcano")


def test_resources_that_follow_from_the_replicas_say_nothing_new():
    assert problems(job(policy={"minResources": {"cpu": "500m"}})) == {}
    path = "$.spec.runPolicy.schedulingPolicy.minResources"
    assert problems(job(policy={"minResources": {"cpu": "501m", GPU: 1, "memory": "x"}})) == {
        f"{path}.cpu": "asks for 501m, and its replicas for 500m together: leave it out",
        f'{path}["{GPU}"]': "asks for 1, and its replicas for 0 together: leave it out",
        f"{path}.memory": '"x" is not a quantity such as "4", "1500m" or "64Gi"',
    }


def test_the_priority_is_that_of_the_class_in_the_cluster():
    server = ApiServer()
    server.create(PRIORITY_CLASS, {"metadata": {"name": "urgent"}, "value": 1000})
    made = submission(job(policy={"priorityClass": "urgent"}), namespace="t", run_id="r", now=0.0)
    assert with_priority(server, made).gang.priority == 1000
    mine = job(policy={"priorityClass": "urgent"}, notes={"gangplan.dev/priority": "7"})
    assert with_priority(server, submission(mine, namespace="t", run_id="r", now=0.0)).gang.priority == 7
    gone = submission(job(policy={"priorityClass": "none"}), namespace="t", run_id="r", now=0.0)
    with pytest.raises(
        gp.InvalidInput, match=r"schedulingPolicy\.priorityClass: the cluster has no PriorityClass none"
    ):
        with_priority(server, gone)


def test_a_class_is_told_to_be_left_out_where_there_is_no_cluster():
    assert not_done_here(job(policy={"priorityClass": "urgent"})) == (
        "priorityClass urgent is not looked up: the priority is 0",
    )


# ---- what is refused


@pytest.mark.parametrize(
    ("manifest", "path", "said"),
    [
        (
            job(labels={f"{KUEUE}priority-class": "p"}),
            f'$.metadata.labels["{KUEUE}priority-class"]',
            "gangplan.dev/priority",
        ),
        (
            job(notes={"volcano.sh/sla-waiting-time": "1h"}),
            JOB.format("volcano.sh/sla-waiting-time"),
            "not known here",
        ),
        (job(notes={REQUIRED: RACK}), JOB.format(REQUIRED), "belongs on a pod template"),
        (
            job(Worker={"kai.scheduler/topology": "t"}),
            ROLE.format("Worker", "kai.scheduler/topology"),
            "belongs on the TFJob",
        ),
        (
            job(Worker={"gpu-fraction": "0.5"}),
            ROLE.format("Worker", "gpu-fraction").replace('["', ".").replace('"]', ""),
            "ask for whole ones",
        ),
        (
            job(Worker={"scheduling.k8s.io/group-name": "g"}),
            ROLE.format("Worker", "scheduling.k8s.io/group-name"),
            "the TFJob itself",
        ),
        (
            job(Worker={f"{KUEUE}podset-slice-required-topology-constraints": "[]"}),
            ROLE.format("Worker", f"{KUEUE}podset-slice-required-topology-constraints"),
            "several layers",
        ),
        (
            job(Worker={REQUIRED: RACK, PREFERRED: RACK}),
            ROLE.format("Worker", PREFERRED),
            f"does not go with {REQUIRED}",
        ),
        (
            job(Worker={f"{KUEUE}podset-slice-size": "2"}),
            ROLE.format("Worker", f"{KUEUE}podset-slice-required-topology"),
            "must be there beside",
        ),
        (
            job(Worker={f"{KUEUE}podset-slice-size": "3", f"{KUEUE}podset-slice-required-topology": RACK}),
            ROLE.format("Worker", f"{KUEUE}podset-slice-size"),
            "must divide the 4 replicas",
        ),
        (
            job(Worker={f"{KUEUE}podset-slice-size": "0", f"{KUEUE}podset-slice-required-topology": RACK}),
            ROLE.format("Worker", f"{KUEUE}podset-slice-size"),
            "must be a whole number from 1 on",
        ),
        (
            job(Worker={f"{KUEUE}podset-unconstrained-topology": "yes"}),
            ROLE.format("Worker", f"{KUEUE}podset-unconstrained-topology"),
            "must be 'true' or 'false'",
        ),
        (
            job(Worker={f"{KUEUE}podset-group-name": "g"}),
            ROLE.format("Worker", f"{KUEUE}podset-group-name"),
            "ask for the same level",
        ),
        (
            job(notes={"volcano.sh/preemptable": "no"}),
            JOB.format("volcano.sh/preemptable"),
            "must be 'true' or 'false'",
        ),
        (
            job(notes={"volcano.sh/task-topology-affinity": "PS,worker"}),
            JOB.format("volcano.sh/task-topology-affinity"),
            "names 'PS'; the job has ps, worker, in lower case",
        ),
        (
            job(notes={"volcano.sh/task-topology-task-order": "ps,ps"}),
            JOB.format("volcano.sh/task-topology-task-order"),
            "names a role twice",
        ),
        (
            job(policy={"minAvailable": 1}),
            "$.spec.runPolicy.schedulingPolicy.minAvailable",
            "must be from 2 ",
        ),
        (job(policy={"minAvailable": 6}), "$.spec.runPolicy.schedulingPolicy.minAvailable", "to 5, not 6"),
        (
            tfjob(runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"}),
            "$.spec.runPolicy.managedBy",
            "would start it",
        ),
    ],
)
def test_what_is_not_understood_is_refused_at_its_place(manifest, path, said):
    found = problems(manifest)
    assert list(found) == [path]
    assert said in found[path]


def test_a_job_that_kueue_holds_back_is_told_to_come_without_that():
    held = job(labels={f"{KUEUE}queue-name": "q"})
    held["spec"]["runPolicy"] = {"suspend": True}
    assert "also where Kueue would set it" in problems(held)["$.spec.runPolicy.suspend"]


def test_what_was_kueues_is_done_and_not_passed_on():
    """It would suspend the job until it admits it too."""
    words = {REQUIRED: RACK, "own": "x"}
    held = job(labels={f"{KUEUE}queue-name": "q", "a": "b"}, PS=words, Worker=words)
    made = submission(held, namespace="team", run_id="r", now=0.0)
    assert KUEUE not in write(made.manifest)
    assert made.manifest["metadata"]["labels"]["a"] == "b"
    template = made.manifest["spec"]["tfReplicaSpecs"]["PS"]["template"]
    assert template["metadata"]["annotations"]["own"] == "x"
    assert (made.gang.queue, made.gang.topology) == ("q", gp.Closeness(required=RACK))


def test_every_word_that_is_refused_or_understood_is_in_the_documents():
    from gangplan.kube.peers import OF_JOB, OF_ROLE, REFUSED

    text = (Path(__file__).parents[2] / "docs" / "concepts.md").read_text()
    assert [word for word in sorted(OF_JOB | OF_ROLE | {*REFUSED}) if f"`{word}`" not in text] == []
