"""A TFJob manifest as a gang and as a job; what is wrong with one is named at its place in the manifest."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from builders import node, tfjob
from hypothesis import given, settings
from hypothesis import strategies as st

import gangplan as gp
from gangplan.kube.manifest import GangRequest, RoleSize, training_job
from gangplan.kube.tfjob import gang, job, read, write
from gangplan.request import requests_of

SAMPLE = Path(__file__).parents[2] / "examples" / "mnist-tfjob.yaml"
WORKER = "$.spec.tfReplicaSpecs.Worker"
POD = f"{WORKER}.template.spec"
TERMS = "requiredDuringSchedulingIgnoredDuringExecution"


def problems_of(text: str) -> tuple[gp.Problem, ...]:
    try:
        read(text)
    except gp.InvalidInput as error:
        return error.problems
    return ()


def problems(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Path → code of all problems of a manifest."""
    return {problem.path: problem.code for problem in problems_of(write(manifest))}


def with_pod(**fields: Any) -> dict[str, Any]:
    """A TFJob of one worker whose pod has these fields."""
    manifest = tfjob()
    manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"].update(fields)
    return manifest


def with_container(**fields: Any) -> dict[str, Any]:
    manifest = tfjob()
    manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0].update(fields)
    return manifest


def with_notes(**notes: Any) -> dict[str, Any]:
    annotations = {f"gangplan.dev/{key.replace('_', '-')}": value for key, value in notes.items()}
    return tfjob() | {"metadata": {"name": "mnist", "annotations": annotations}}


def terms(*terms: Any) -> dict[str, Any]:
    return with_pod(affinity={"nodeAffinity": {TERMS: {"nodeSelectorTerms": list(terms)}}})


# ---- what is read


def test_the_sample_is_one_gang_with_all_that_it_asks_for():
    found = gang(read(SAMPLE.read_text()), created=7)
    assert (found.name, found.queue, found.priority, found.created) == ("mnist", "research", 10, 7)
    assert (found.topology.required, found.topology.preferred) == ("zone", "rack")
    roles = {role.name: role for role in found.roles}
    assert {name: role.replicas for name, role in roles.items()} == {"chief": 1, "ps": 2, "worker": 4}
    assert {(pair.a, pair.b) for pair in found.traffic} == {("ps", "chief"), ("ps", "worker")}
    gib = 1 << 30
    assert requests_of(roles["chief"]) == {"cpu": 250, "memory": gib, "pods": 1}
    worker = requests_of(roles["worker"])
    assert worker["cpu"] == 500, "the init container needs more than what runs beside the sidecar"
    assert worker["memory"] == gib + (128 << 20)
    assert worker["nvidia.com/gpu"] == 1
    assert roles["worker"].node_selector == {"accelerator": "gpu"}
    assert roles["worker"].tolerations == (
        gp.Toleration(key="nvidia.com/gpu", operator="Exists", effect="NoSchedule"),
    )
    assert [test.operator for test in roles["ps"].node_affinity[0].expressions] == ["In", "DoesNotExist"]


def test_the_sample_is_placed_where_its_selectors_tolerations_and_levels_allow():
    def machine(name: str, zone: str, *, gpu: bool) -> gp.Node:
        return node(
            name,
            gpus=2 if gpu else 0,
            cpu="32",
            labels={
                "zone": zone,
                "rack": name,
                "kubernetes.io/arch": "amd64",
                "accelerator": "gpu" if gpu else "",
            },
            taints=(gp.Taint(key="nvidia.com/gpu", effect="NoSchedule"),) if gpu else (),
        )

    nodes = (
        machine("a1", "a", gpu=True),
        *(machine(f"b{place}", "b", gpu=place < 3) for place in range(1, 4)),
    )
    cluster = gp.Snapshot(
        topology=("zone", "rack"),
        nodes=nodes,
        queues=(gp.Queue(name="research"),),
        gangs=(gang(read(SAMPLE.read_text()), created=0),),
    )
    placed = gp.solve(cluster).placements["mnist"]
    assert set(placed["worker"]) == {"b1", "b2"}
    assert set(placed["ps"]) | set(placed["chief"]) == {"b3"}, "they do not tolerate the taint"


def test_the_sample_is_a_job_with_its_commands_environments_and_policies():
    places = {"chief": ("n1",), "ps": ("n1", "n2"), "worker": ("n1", "n2", None, "n2")}
    found = job(
        read(SAMPLE.read_text()), run_id="r1", placement=places, env={"A": "1", "TF_CPP_MIN_LOG_LEVEL": "0"}
    )
    assert (found.name, found.run_id, found.deadline_s, found.backoff_limit) == ("mnist", "r1", 7200, 2)
    replicas = {replica.name: replica for replica in found.replicas}
    assert {name: replica.node for name, replica in replicas.items()} == {
        "chief-0": "n1", "ps-0": "n1", "ps-1": "n2", "worker-0": "n1", "worker-1": "n2", "worker-2": None, "worker-3": "n2",
    }  # fmt: skip
    assert replicas["chief-0"].command[:3] == ("python", "-m", "gangplan.train.classifier")
    assert replicas["chief-0"].command[-4:] == ("--strategy", "ps", "--epochs", "4")
    assert replicas["chief-0"].env == {"A": "1", "TF_CPP_MIN_LOG_LEVEL": "2"}, "the manifest's own wins"
    assert replicas["worker-0"].env == {"A": "1", "TF_CPP_MIN_LOG_LEVEL": "0"}
    assert {replica.role: replica.restart for replica in found.replicas} == {
        "chief": "ExitCode",
        "ps": "OnFailure",
        "worker": "ExitCode",
    }


@pytest.mark.parametrize("written", ["Chief", "chief", "CHIEF", "Master", "MASTER", "master"])
def test_a_chief_is_read_however_it_is_written(written):
    """TensorFlow 2 refuses the task type master, so both are our chief."""
    manifest = read(write(tfjob(roles={written: {}, "WORKER": {"replicas": 2}, "pS": {}})))
    assert [(role.name, role.replicas) for role in gang(manifest, created=0).roles] == [
        ("chief", 1),
        ("ps", 1),
        ("worker", 2),
    ]


@pytest.mark.parametrize(
    ("roles", "pairs"),
    [
        ({"Worker": {}}, {("worker", "worker")}),
        ({"Chief": {}, "Worker": {}}, {("chief", "chief"), ("chief", "worker"), ("worker", "worker")}),
        ({"PS": {}, "Worker": {}}, {("ps", "worker")}),
        ({"PS": {}, "Chief": {}, "Worker": {}, "Evaluator": {}}, {("ps", "chief"), ("ps", "worker")}),
        ({"Worker": {}, "Evaluator": {}}, {("worker", "worker")}),
    ],
)
def test_who_talks_to_whom_follows_from_the_roles(roles, pairs):
    traffic = gang(read(write(tfjob(roles=roles))), created=0).traffic
    assert {(pair.a, pair.b) for pair in traffic} == pairs


def test_what_is_left_out_or_null_has_kubernetes_defaults():
    bare = tfjob(
        roles={"Worker": {"replicas": None, "restartPolicy": None}}, runPolicy=None, successPolicy=None
    )
    bare["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"] |= {
        "tolerations": [{}, {"operator": "Exists"}, {"key": "a", "value": None}][1:],
        "affinity": None,
        "nodeSelector": None,
        "initContainers": None,
    }
    bare["metadata"]["annotations"] = None
    manifest = read(write(bare))
    found = gang(manifest, created=0)
    assert (found.queue, found.priority, found.topology, found.roles[0].replicas) == (None, 0, None, 1)
    assert found.roles[0].tolerations == (gp.Toleration(operator="Exists"), gp.Toleration(key="a"))
    described = job(manifest, run_id="r", placement={"worker": ("n1",)}, env={})
    assert (described.deadline_s, described.backoff_limit, described.success_policy) == (None, 3, "")
    assert described.replicas[0].restart == "Never"


def test_a_backoff_limit_of_none_at_all_is_kept():
    """0 is a limit, not a limit that was left out."""
    manifest = read(write(tfjob(runPolicy={"backoffLimit": 0})))
    assert job(manifest, run_id="r", placement={"worker": ("n1",)}, env={}).backoff_limit == 0


def test_the_queue_is_the_annotations_else_the_scheduling_policys():
    policy = {"runPolicy": {"schedulingPolicy": {"queue": "policy"}}}
    manifest = tfjob(**policy)
    assert gang(read(write(manifest)), created=0).queue == "policy"
    manifest["metadata"]["annotations"] = {"gangplan.dev/queue": "note"}
    assert gang(read(write(manifest)), created=0).queue == "note"


def test_environment_from_elsewhere_is_left_to_the_cluster():
    env = [{"name": "A"}, {"name": "B", "value": "2"}, {"name": "C", "valueFrom": {"fieldRef": {}}}]
    described = job(read(write(with_container(env=env))), run_id="r", placement={"worker": ("n",)}, env={})
    assert described.replicas[0].env == {"A": "", "B": "2"}


def test_all_workers_must_succeed_where_the_manifest_says_so():
    manifest = read(write(tfjob(successPolicy="AllWorkers")))
    assert job(manifest, run_id="r", placement={"worker": ("n",)}, env={}).success_policy == "AllWorkers"


# ---- what is refused, and where


CASES: list[tuple[dict[str, Any], str, str]] = [
    (tfjob() | {"kind": "PyTorchJob"}, "$", "BAD_VALUE"),
    (tfjob() | {"apiVersion": "kubeflow.org/v2"}, "$", "BAD_VALUE"),
    (tfjob() | {"metadata": {}}, "$.metadata.name", "MISSING_FIELD"),
    (tfjob() | {"metadata": None}, "$.metadata.name", "MISSING_FIELD"),
    (tfjob() | {"metadata": []}, "$.metadata", "WRONG_TYPE"),
    (tfjob() | {"metadata": {"name": 3}}, "$.metadata.name", "WRONG_TYPE"),
    (tfjob("Mnist"), "$.metadata.name", "BAD_VALUE"),
    (tfjob("1st"), "$.metadata.name", "BAD_VALUE"),
    (tfjob("mnist-"), "$.metadata.name", "BAD_VALUE"),
    (tfjob("m" * 55), "$.metadata.name", "OUT_OF_RANGE"),
    (tfjob("m" * 52, {"Evaluator": {"replicas": 11}, "Worker": {}}), "$.metadata.name", "OUT_OF_RANGE"),
    (tfjob() | {"metadata": {"name": "a", "annotations": []}}, "$.metadata.annotations", "WRONG_TYPE"),
    (with_notes(priority=3), '$.metadata.annotations["gangplan.dev/priority"]', "WRONG_TYPE"),
    (with_notes(priority="high"), '$.metadata.annotations["gangplan.dev/priority"]', "BAD_VALUE"),
    (with_notes(priority="99999999999"), '$.metadata.annotations["gangplan.dev/priority"]', "BAD_VALUE"),
    (with_notes(quue="research"), '$.metadata.annotations["gangplan.dev/quue"]', "UNKNOWN_NAME"),
    (with_notes(queue=None), '$.metadata.annotations["gangplan.dev/queue"]', "WRONG_TYPE"),
    (tfjob() | {"spec": None}, "$.spec.tfReplicaSpecs", "MISSING_FIELD"),
    (tfjob() | {"spec": {"tfReplicaSpecs": {}}}, "$.spec.tfReplicaSpecs", "MISSING_FIELD"),
    (tfjob() | {"spec": {"tfReplicaSpecs": [1]}}, "$.spec.tfReplicaSpecs", "WRONG_TYPE"),
    (tfjob() | {"spec": {"tfReplicaSpecs": {"Worker": None}}}, WORKER, "WRONG_TYPE"),
    (tfjob(roles={"Worker": {}, "Driver": {}}), "$.spec.tfReplicaSpecs.Driver", "UNKNOWN_NAME"),
    (tfjob(roles={"a driver": {}}), '$.spec.tfReplicaSpecs["a driver"]', "UNKNOWN_NAME"),
    (tfjob(roles={"Chief": {}, "Master": {}}), "$.spec.tfReplicaSpecs", "CONTRADICTION"),
    (tfjob(roles={"Worker": {}, "worker": {}}), "$.spec.tfReplicaSpecs", "CONTRADICTION"),
    (tfjob(roles={"Chief": {"replicas": 2}}), "$.spec.tfReplicaSpecs.Chief.replicas", "OUT_OF_RANGE"),
    (tfjob(roles={"Master": {"replicas": 2}}), "$.spec.tfReplicaSpecs.Master.replicas", "OUT_OF_RANGE"),
    *(
        (tfjob(roles={"Worker": {"replicas": count}}), f"{WORKER}.replicas", code)
        for count, code in (
            (0, "OUT_OF_RANGE"),
            (-1, "OUT_OF_RANGE"),
            (2_000_000, "OUT_OF_RANGE"),
            (1.5, "WRONG_TYPE"),
            ("2", "WRONG_TYPE"),
            (True, "WRONG_TYPE"),
        )
    ),
    (tfjob(roles={"Worker": {"restartPolicy": "Sometimes"}}), f"{WORKER}.restartPolicy", "BAD_VALUE"),
    (tfjob(roles={"Worker": {"restartPolicy": []}}), f"{WORKER}.restartPolicy", "WRONG_TYPE"),
    (tfjob(roles={"Worker": {"template": None}}), f"{POD}.containers", "MISSING_FIELD"),
    (tfjob(roles={"Worker": {"template": {"spec": 3}}}), POD, "WRONG_TYPE"),
    (with_pod(containers=[]), f"{POD}.containers", "MISSING_FIELD"),
    (with_pod(containers={"name": "tensorflow"}), f"{POD}.containers", "WRONG_TYPE"),
    (with_pod(containers=["tensorflow"]), f"{POD}.containers[0]", "WRONG_TYPE"),
    (with_pod(containers=[{"name": "main", "image": "i"}]), f"{POD}.containers", "MISSING_FIELD"),
    (with_pod(containers=[{"name": "tensorflow", "image": "i"}] * 2), f"{POD}.containers", "DUPLICATE_NAME"),
    (with_container(image=None), f"{POD}.containers[0].image", "MISSING_FIELD"),
    (with_container(image=""), f"{POD}.containers[0].image", "MISSING_FIELD"),
    (with_container(command="python"), f"{POD}.containers[0].command", "WRONG_TYPE"),
    (with_container(command=["python", 3]), f"{POD}.containers[0].command[1]", "WRONG_TYPE"),
    (with_container(args=[None]), f"{POD}.containers[0].args[0]", "WRONG_TYPE"),
    (with_container(env=[{"value": "x"}]), f"{POD}.containers[0].env[0].name", "MISSING_FIELD"),
    (with_container(env=[{"name": "A", "value": 1}]), f"{POD}.containers[0].env[0].value", "WRONG_TYPE"),
    (with_container(env={"A": "1"}), f"{POD}.containers[0].env", "WRONG_TYPE"),
    (with_container(resources=[]), f"{POD}.containers[0].resources", "WRONG_TYPE"),
    *(
        (
            with_container(resources={field: {name: amount}}),
            f"{POD}.containers[0].resources.{field}{place}",
            code,
        )
        for field in ("requests", "limits")
        for name, place in (("cpu", ".cpu"), ("nvidia.com/gpu", '["nvidia.com/gpu"]'))
        for amount, code in (
            ("a lot", "BAD_QUANTITY"),
            ("1_000", "BAD_QUANTITY"),
            ("-1", "OUT_OF_RANGE"),
            (-1, "OUT_OF_RANGE"),
            (True, "WRONG_TYPE"),
            (None, "WRONG_TYPE"),
        )
    ),
    (
        with_pod(initContainers=[{"name": "a", "resources": {"requests": {"cpu": "x"}}}]),
        f"{POD}.initContainers[0].resources.requests.cpu",
        "BAD_QUANTITY",
    ),
    (with_pod(overhead={"memory": "x"}), f"{POD}.overhead.memory", "BAD_QUANTITY"),
    (with_pod(nodeSelector={"gpu": True}), f"{POD}.nodeSelector.gpu", "WRONG_TYPE"),
    (with_pod(nodeName="n1"), f"{POD}.nodeName", "UNSUPPORTED"),
    (with_pod(tolerations=[{"key": "a", "operator": "Like"}]), f"{POD}.tolerations[0].operator", "BAD_VALUE"),
    (with_pod(tolerations=[{"key": "a", "effect": "No"}]), f"{POD}.tolerations[0].effect", "BAD_VALUE"),
    (with_pod(tolerations=[{"key": "a"}, {}]), f"{POD}.tolerations[1].key", "CONTRADICTION"),
    (
        with_pod(tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]),
        f"{POD}.tolerations[0].value",
        "CONTRADICTION",
    ),
    *(
        (terms({}, term), f"{POD}.affinity.nodeAffinity.{TERMS}.nodeSelectorTerms[1].{place}", code)
        for term, place, code in (
            ({"matchFields": [{"key": "metadata.name"}]}, "matchFields", "UNSUPPORTED"),
            ({"matchExpressions": [{"operator": "Exists"}]}, "matchExpressions[0].key", "MISSING_FIELD"),
            ({"matchExpressions": [{"key": "a"}]}, "matchExpressions[0].operator", "MISSING_FIELD"),
            (
                {"matchExpressions": [{"key": "a", "operator": "Is"}]},
                "matchExpressions[0].operator",
                "BAD_VALUE",
            ),
            (
                {"matchExpressions": [{"key": "a", "operator": "In"}]},
                "matchExpressions[0].values",
                "BAD_VALUE",
            ),
            ({"matchExpressions": {}}, "matchExpressions", "WRONG_TYPE"),
        )
    ),
    *(
        (
            with_pod(affinity={field: {TERMS: [{"topologyKey": "zone"}]}}),
            f"{POD}.affinity.{field}.{TERMS}",
            "UNSUPPORTED",
        )
        for field in ("podAffinity", "podAntiAffinity")
    ),
    (tfjob(runPolicy=[]), "$.spec.runPolicy", "WRONG_TYPE"),
    (tfjob(runPolicy={"activeDeadlineSeconds": 0}), "$.spec.runPolicy.activeDeadlineSeconds", "OUT_OF_RANGE"),
    (
        tfjob(runPolicy={"activeDeadlineSeconds": "1h"}),
        "$.spec.runPolicy.activeDeadlineSeconds",
        "WRONG_TYPE",
    ),
    (tfjob(runPolicy={"backoffLimit": -1}), "$.spec.runPolicy.backoffLimit", "OUT_OF_RANGE"),
    (tfjob(runPolicy={"schedulingPolicy": 3}), "$.spec.runPolicy.schedulingPolicy", "WRONG_TYPE"),
    (
        tfjob(runPolicy={"schedulingPolicy": {"queue": 3}}),
        "$.spec.runPolicy.schedulingPolicy.queue",
        "WRONG_TYPE",
    ),
    (tfjob(runPolicy={"suspend": True}), "$.spec.runPolicy.suspend", "UNSUPPORTED"),
    (tfjob(runPolicy={"suspend": "yes"}), "$.spec.runPolicy.suspend", "WRONG_TYPE"),
    (tfjob(runPolicy={"suspend": 1}), "$.spec.runPolicy.suspend", "WRONG_TYPE"),
    (tfjob(successPolicy="Chief"), "$.spec.successPolicy", "BAD_VALUE"),
]


@pytest.mark.parametrize(
    ("manifest", "path", "code"), CASES, ids=[f"{path}-{code}" for _, path, code in CASES]
)
def test_a_fault_is_named_at_its_place(manifest, path, code):
    assert problems(manifest) == {path: code}


def test_a_priority_out_of_range_is_told_apart_from_what_is_no_number():
    for text, told in (
        ("99999999999", "must be from -9999999999 to 9999999999"),
        ("high", "must be a whole number"),
    ):
        with pytest.raises(gp.InvalidInput) as caught:
            read(write(with_notes(priority=text)))
        assert told in str(caught.value)


def test_all_faults_are_named_at_once_also_where_the_shape_is_wrong():
    manifest = tfjob("Mnist", {"Worker": {"replicas": 0, "requests": {"cpu": 1}}, "PS": {"restartPolicy": 3}})
    manifest["metadata"]["annotations"] = {"gangplan.dev/priority": "x"}
    manifest["spec"]["runPolicy"] = {"backoffLimit": -1}
    assert problems(manifest) == {
        "$.metadata.name": "BAD_VALUE",
        '$.metadata.annotations["gangplan.dev/priority"]': "BAD_VALUE",
        "$.spec.runPolicy.backoffLimit": "OUT_OF_RANGE",
        f"{WORKER}.replicas": "OUT_OF_RANGE",
        "$.spec.tfReplicaSpecs.PS.restartPolicy": "WRONG_TYPE",
    }


def test_no_fault_hides_those_of_other_parts():
    bad = {"requests": {"cpu": "x"}}
    manifest = tfjob(
        "Mnist", {"Worker": {"replicas": 0, **bad}, "PS": {"replicas": "2", **bad}, "Driver": {}}
    )
    manifest["spec"]["tfReplicaSpecs"]["PS"]["template"]["spec"]["tolerations"] = [
        {"key": "a", "effect": "No"}
    ]
    inside = "template.spec.containers[0].resources.requests.cpu"
    assert problems(manifest) == {
        "$.metadata.name": "BAD_VALUE",
        "$.spec.tfReplicaSpecs.Driver": "UNKNOWN_NAME",
        f"{WORKER}.replicas": "OUT_OF_RANGE",
        f"{WORKER}.{inside}": "BAD_QUANTITY",
        "$.spec.tfReplicaSpecs.PS.replicas": "WRONG_TYPE",
        f"$.spec.tfReplicaSpecs.PS.{inside}": "BAD_QUANTITY",
        "$.spec.tfReplicaSpecs.PS.template.spec.tolerations[0].effect": "BAD_VALUE",
    }


def test_a_job_that_is_not_suspended_is_read():
    assert problems(tfjob(runPolicy={"suspend": False})) == {}


def test_the_longest_name_that_fits_is_accepted():
    assert problems(tfjob("m" * 54)) == {}
    assert problems(tfjob("m" * 54, {"Worker": {"replicas": 11}})) == {"$.metadata.name": "OUT_OF_RANGE"}


@pytest.mark.parametrize(
    "text", ["", "[]", "3", "a: [", "--- {}\n--- {}", "1: 2", "a: 2001-99-99", "- " * 5000]
)
def test_a_text_that_is_no_manifest_is_refused(text):
    with pytest.raises(gp.InvalidInput):
        read(text)


def test_the_source_is_named():
    with pytest.raises(gp.InvalidInput, match=r"^my\.yaml: 1 problem"):
        read("[]", "my.yaml")


# ---- laws


def _places(part: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    return [path, *(place for key, item in below for place in _places(item, (*path, key)))]


def _changed(part: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(part) if isinstance(part, dict) else list(part)
    copy[path[0]] = _changed(part[path[0]], path[1:], value)
    return copy


_WHOLE = yaml.safe_load(SAMPLE.read_text())
_JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=4),
    st.lists(st.none() | st.text(max_size=2), max_size=2),
    st.dictionaries(st.text(max_size=3), st.none() | st.text(max_size=2) | st.integers(), max_size=2),
    st.sampled_from(["Always", "Exists", "master", "1Gi", "-1", "metadata", {"tensorflow": []}, [[]], [{}]]),
)


@settings(max_examples=500)
@given(data=st.data())
def test_any_damage_to_a_manifest_is_an_answer_not_a_crash(data):
    manifest = _WHOLE
    for _ in range(data.draw(st.integers(1, 3))):
        manifest = _changed(manifest, data.draw(st.sampled_from(_places(manifest))), data.draw(_JUNK))
    found = problems_of(yaml.dump(manifest, Dumper=yaml.CSafeDumper))
    assert all(problem.path.startswith("$") and problem.message for problem in found)
    assert len({(problem.path, problem.code) for problem in found}) == len(found)
    if found:
        return
    accepted = read(yaml.dump(manifest, Dumper=yaml.CSafeDumper))
    described = gang(accepted, created=0)
    asked = described.topology or gp.Closeness()
    places = {role.name: ("n1",) * min(role.replicas, 50) for role in described.roles}
    assert job(accepted, run_id="r", placement=places, env={}).replicas
    gp.solve(
        gp.Snapshot(
            gangs=(described,),
            queues=(gp.Queue(name=described.queue),) if described.queue else (),
            topology=tuple(
                dict.fromkeys(
                    level for level in (asked.required, asked.preferred) if level not in {None, "node"}
                )
            ),
        )
    )


@settings(max_examples=300)
@given(text=st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_any_text_is_an_answer_not_a_crash(text):
    with pytest.raises(gp.InvalidInput):
        read(text)


sizes = st.builds(
    RoleSize,
    replicas=st.integers(0, 9),
    cpu=st.sampled_from(["250m", "2"]),
    memory=st.sampled_from(["512Mi", "1Gi"]),
    gpus=st.integers(0, 8),
)
wishes = st.builds(
    GangRequest,
    queue=st.sampled_from(["", "q"]),
    priority=st.integers(-9, 9),
    required=st.sampled_from(["", "zone", "node"]),
    preferred=st.sampled_from(["", "node"]),
)


@settings(max_examples=200)
@given(
    counts=st.fixed_dictionaries({"worker": sizes, "ps": sizes, "evaluator": sizes}),
    chief=st.booleans(),
    request=wishes,
)
def test_what_we_write_we_read_back_as_the_same_gang_and_job(counts, chief, request):
    roles = {"chief": RoleSize(replicas=1)} | counts if chief else counts
    roles = roles | {"worker": RoleSize(replicas=max(1, roles["worker"].replicas), gpus=roles["worker"].gpus)}
    command = ("python", "-m", "program", "--name", "a b", "${X}", "$(X)", "$$")
    written = training_job(
        name="mnist",
        run_id="run-1",
        image="image",
        command=command,
        roles=roles,
        request=request,
        deadline_s=60,
        keep_s=60,
    )
    manifest = read(write(written))
    assert manifest == written
    found = gang(manifest, created=3)
    assert {role.name: role.replicas for role in found.roles} == {
        name: size.replicas for name, size in roles.items() if size.replicas
    }
    for role in found.roles:
        assert requests_of(role).get("nvidia.com/gpu", 0) == roles[role.name].gpus
    assert (found.queue or "", found.priority) == (request.queue, request.priority)
    asked = found.topology or gp.Closeness()
    assert (asked.required or "", asked.preferred or "") == (request.required, request.preferred)
    places = {role.name: tuple(f"n{index}" for index in range(role.replicas)) for role in found.roles}
    described = job(manifest, run_id="run-1", placement=places, env={})
    assert {(replica.role, replica.index, replica.node) for replica in described.replicas} == {
        (role, index, place) for role, nodes in places.items() for index, place in enumerate(nodes)
    }
    assert {replica.command for replica in described.replicas} == {command}
