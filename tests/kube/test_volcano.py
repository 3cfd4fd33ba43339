"""In volcano mode whatever Volcano may do with a TFJob is what was reserved for it."""

from collections import Counter, defaultdict

import pytest
from apimodel.server import ApiServer, Fault
from builders import GPU, node, tfjob
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import gangplan as gp
from gangplan.cli.main import app
from gangplan.config import Settings
from gangplan.errors import Forbidden
from gangplan.kube import volcano
from gangplan.kube.actions import Bind, Create, Delete, End, Renew, Seen
from gangplan.kube.cluster import KubeCluster
from gangplan.kube.kinds import VOLCANO_QUEUE
from gangplan.kube.launch import Launch
from gangplan.kube.patience import Patience
from gangplan.kube.shapes import as_it_stands, in_shape, shapes
from gangplan.kube.submission import Submission, submission
from gangplan.kube.tfjob import gang, write
from gangplan.kube.volcano_queue import with_volcano_queue
from gangplan.record import GangRecord, Reservation, enter, new
from gangplan.store import Cluster

TERMS = Settings().terms
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
OPERATOR = "training.kubeflow.org"


def submitted(roles: dict, **metadata) -> Submission:
    job = tfjob("j", roles)
    job["metadata"] |= metadata
    return submission(job, namespace="team", run_id="run", now=5.0, enforcement="volcano")


def cluster(*gpus: int) -> Cluster:
    nodes = tuple(node(f"n{i}", cpu="64", gpus=count) for i, count in enumerate(gpus))
    return Cluster(snapshot=gp.Snapshot(nodes=nodes))


def worker(count: int) -> dict:
    return {"replicas": count, "requests": {"cpu": "1", GPU: "1"}}


def plan_of(shape: gp.Gang, there: Cluster) -> gp.Plan:
    return gp.solve(gp.Snapshot(nodes=there.snapshot.nodes, gangs=(shape,), topology=there.snapshot.topology))


def shaped(roles: dict, there: Cluster) -> gp.Gang:
    return in_shape(submitted(roles), there, (), now=5.0, terms=TERMS).gang


# ---- what is asked for


def test_nobody_of_ours_binds_pods_yet():
    with pytest.raises(gp.GangplanError, match="no scheduler of ours is running; take default"):
        submission(tfjob("j"), namespace="team", run_id="run", now=5.0, enforcement="gangplan")


def bound_by(scheduler: str, enforcement: str) -> Submission:
    job = tfjob("j")
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["schedulerName"] = scheduler
    return submission(job, namespace="team", run_id="run", now=5.0, enforcement=enforcement)


def test_pods_that_name_volcano_are_accepted_where_it_binds_them():
    assert bound_by("volcano", "volcano").enforcement == "volcano"


@pytest.mark.parametrize(
    ("scheduler", "enforcement", "said"),
    [
        ("volcano", "default", "Volcano binds them as the plan has it with --enforcement volcano"),
        ("kai-scheduler", "volcano", "pods that kai-scheduler binds are not ours to place"),
        ("default-scheduler", "volcano", "pods that default-scheduler binds are not ours to place"),
    ],
)
def test_pods_of_other_schedulers_are_refused(scheduler, enforcement, said):
    with pytest.raises(gp.InvalidInput, match=said):
        bound_by(scheduler, enforcement)


def test_volcano_is_told_the_whole_gang_its_queue_and_who_talks():
    job = tfjob("j", {"MASTER": {}, "PS": {"replicas": 2}, "worker": {"replicas": 3}, "Evaluator": {}})
    job["metadata"]["annotations"] = {"gangplan.dev/queue": "vision"}
    made = submission(job, namespace="team", run_id="run", now=5.0, enforcement="volcano").manifest
    assert made["spec"]["runPolicy"]["schedulingPolicy"] == {"minAvailable": 7, "queue": "vision"}
    assert made["metadata"]["annotations"]["volcano.sh/task-topology-affinity"] == "ps,master;ps,worker"
    for spec in made["spec"]["tfReplicaSpecs"].values():
        assert spec["template"]["spec"]["schedulerName"] == "volcano"
        assert "schedulingGates" not in spec["template"]["spec"]
        assert spec["template"]["metadata"]["labels"]["gangplan.dev/run-id"] == "run"


@pytest.mark.parametrize(
    ("roles", "written"),
    [
        ({"Worker": {"replicas": 3}}, "worker"),
        ({"Chief": {}, "Worker": {"replicas": 2}}, "chief,worker;worker"),
        ({"Chief": {}, "Worker": {}}, "chief,worker"),
        ({"Worker": {}}, None),
    ],
)
def test_who_talks_is_written_with_the_roles_that_there_are(roles, written):
    """Volcano drops all of it where it names a role that has no pod."""
    notes = submitted(roles).manifest["metadata"]["annotations"]
    assert notes.get("volcano.sh/task-topology-affinity") == written


def test_what_the_user_says_about_who_talks_stays():
    own = {"volcano.sh/task-topology-affinity": "worker"}
    made = submitted({"PS": {}, "Worker": {"replicas": 2}}, annotations=own)
    assert made.manifest["metadata"]["annotations"] == own


def test_volcano_must_be_there_and_know_the_queue():
    wanted = submitted({"Worker": {}}, annotations={"gangplan.dev/queue": "vision"})
    with pytest.raises(gp.GangplanError, match="Volcano is not installed in this cluster"):
        with_volcano_queue(ApiServer(), wanted)
    server = ApiServer(kinds=[VOLCANO_QUEUE])
    about = {"apiVersion": VOLCANO_QUEUE.api_version, "kind": "Queue"}
    server.create(VOLCANO_QUEUE, {**about, "metadata": {"name": "default"}})
    with pytest.raises(
        gp.InvalidInput, match="names vision, and Volcano has no Queue of that name; it has default"
    ):
        with_volcano_queue(server, wanted)
    assert with_volcano_queue(server, submitted({"Worker": {}})).gang.queue is None
    server.create(VOLCANO_QUEUE, {**about, "metadata": {"name": "vision"}})
    assert with_volcano_queue(server, wanted) is wanted
    plain = submission(tfjob("j"), namespace="team", run_id="run", now=5.0)
    assert with_volcano_queue(ApiServer(), plain) is plain, "nobody else needs Volcano"


def test_the_way_of_enforcement_is_an_option_and_a_setting(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text(write(tfjob("j")))
    for words, environment in (
        (["--enforcement", "gangplan"], {}),
        ([], {"GANGPLAN_ENFORCEMENT": "gangplan"}),
    ):
        done = CliRunner().invoke(app, ["submit", "job.yaml", *words], env=environment)
        assert done.exit_code == 2
        assert "no scheduler of ours is running" in done.stderr


# ---- shapes


def test_a_gang_takes_the_shape_on_the_fewest_nodes_that_may_start_now():
    nodes = [
        plan_of(shaped({"Worker": worker(4)}, there), there).placements["team/j"]["worker"]
        for there in (cluster(4, 4), cluster(3, 3), cluster(1, 2, 1, 1))
    ]
    assert [sorted(Counter(each).values()) for each in nodes] == [[4], [2, 2], [1, 1, 1, 1]]


def test_a_gang_that_fits_in_no_equal_parts_is_refused_although_it_would_fit():
    there = cluster(3, 1)
    wanted = submitted({"Worker": worker(4)})
    assert plan_of(wanted.gang, there).placements
    shape = in_shape(wanted, there, (), now=5.0, terms=TERMS).gang
    rejection = plan_of(shape, there).rejections["team/j"]
    assert rejection.impossible
    assert "topology." in rejection.message


def test_of_many_shapes_some_of_each_kind_are_looked_at():
    roles = {"PS": {"replicas": 60}, "Worker": worker(720)}
    gang_of_many = gang(tfjob("j", roles), created=0)
    sizes = [tuple(role.topology.spread[0].most for role in each.roles) for each in shapes(gang_of_many)]
    assert len(sizes) == len({*sizes}) <= 101
    assert (sizes[0], sizes[-1]) == ((60, 720), (1, 1))


def test_a_gang_that_must_wait_takes_a_shape_that_the_empty_cluster_holds():
    there = cluster(2, 2)
    other = new(
        gp.Gang(
            name="team/other",
            namespace="team",
            roles=(gp.Role(name="worker", replicas=2, requests={GPU: "1"}),),
        ),
        uid="",
        run_id="other",
        now=0.0,
    )
    held = enter(
        other,
        "Reserved",
        now=0.0,
        reason="",
        reservation=Reservation(placement={"worker": ("n0", "n0")}, expires_at=None),
    )
    shape = in_shape(submitted({"Worker": worker(4)}), there, (held,), now=5.0, terms=TERMS).gang
    assert plan_of(shape, there).placements["team/j"]["worker"] == ("n0", "n0", "n1", "n1")


def test_other_ways_of_enforcement_need_no_shape_and_no_look_at_the_cluster():
    wanted = submission(tfjob("j", {"Worker": worker(4)}), namespace="team", run_id="run", now=5.0)
    server = ApiServer()
    server.faults = lambda _: Fault(error=Forbidden)
    view = KubeCluster(server, clock=lambda: 5.0, monotonic=lambda: 5.0)
    assert as_it_stands(wanted, view, view.store(), now=5.0, terms=TERMS) is wanted


counts = st.integers(1, 6)


@given(workers=counts, ps=counts, gpus=st.lists(st.integers(0, 4), min_size=1, max_size=5))
@settings(deadline=None)
def test_every_plan_of_every_shape_can_be_enforced(workers, ps, gpus):
    there = cluster(*gpus)
    asked = gang(tfjob("j", {"PS": {"replicas": ps}, "Worker": worker(workers)}), created=0)
    for shape in shapes(asked):
        for placement in plan_of(shape, there).placements.values():
            assert volcano.uneven(placement) is None


# ---- what Volcano may do


def allowed(pod: dict, nodes: dict[str, dict[str, str]], bound: dict[str, Counter]) -> list[str]:
    """Nodes that a scheduler may choose: by required node affinity and topology spread, as Kubernetes defines them."""
    terms = pod["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]

    def matches(name: str, labels: dict[str, str]) -> bool:
        return any(
            all(name in field["values"] for field in term["matchFields"])
            and all(labels.get(item["key"]) in item["values"] for item in term.get("matchExpressions", ()))
            for term in terms
        )

    eligible = [name for name, labels in nodes.items() if matches(name, labels)]
    for rule in pod.get("topologySpreadConstraints", ()):
        there = bound[rule["labelSelector"]["matchLabels"][f"{OPERATOR}/replica-type"]]
        least = min((there[name] for name in eligible), default=0)
        least = least if len(eligible) >= rule["minDomains"] else 0
        eligible = [name for name in eligible if there[name] + 1 - least <= rule["maxSkew"]]
    return eligible


@st.composite
def even_placements(draw) -> dict[str, tuple[str, ...]]:
    placement = {}
    for role in ("ps", "worker"):
        nodes = draw(
            st.lists(st.sampled_from([f"n{i}" for i in range(5)]), min_size=1, max_size=4, unique=True)
        )
        placement[role] = tuple(nodes * draw(st.integers(1, 3)))
    return placement


@given(placement=even_placements(), lost=st.booleans(), data=st.data())
@settings(deadline=None)
def test_whatever_volcano_chooses_is_what_was_reserved(placement, lost, data):
    """In any order of pods, with any choice among the nodes that are allowed.

    If a node is lost, nothing lands where nothing was reserved.
    """
    labels = {f"n{i}": {"kubernetes.io/hostname": f"n{i}", "pool": "a"} for i in range(5)}
    job = tfjob("j", {"PS": {"replicas": len(placement["ps"])}, "Worker": worker(len(placement["worker"]))})
    own = [
        {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a"]}]},
        {"matchExpressions": []},
    ]
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": own}}}
    job["spec"]["tfReplicaSpecs"]["PS"]["template"]["spec"]["affinity"] = affinity
    wanted = submission(job, namespace="team", run_id="run", now=5.0, enforcement="volcano")
    made = volcano.placed(wanted.manifest, placement)["spec"]["tfReplicaSpecs"]
    pods = {"ps": made["PS"]["template"]["spec"], "worker": made["Worker"]["template"]["spec"]}
    if lost:
        del labels[data.draw(st.sampled_from(sorted({*placement["ps"], *placement["worker"]})))]
    bound: dict[str, Counter] = defaultdict(Counter)
    for role in data.draw(st.permutations([role for role, nodes in placement.items() for _ in nodes])):
        if choices := allowed(pods[role], labels, bound):
            bound[role][data.draw(st.sampled_from(choices))] += 1
    for role, nodes in placement.items():
        if lost:
            assert bound[role] <= Counter(nodes)
        else:
            assert bound[role] == Counter(nodes)


def test_an_uneven_placement_is_told_with_its_counts():
    assert volcano.uneven({"ps": ("a",), "worker": ("a", "a", "b", "b")}) is None
    assert "worker has 3 on a, 1 on b" in volcano.uneven({"ps": ("a",), "worker": ("a", "a", "b", "a")})


# ---- the launch


def held(placement: dict) -> GangRecord:
    record = new(gang(tfjob("j", {"Worker": worker(2)}), created=0), uid="", run_id="run", now=0.0)
    return enter(
        record, "Reserved", now=0.0, reason="", reservation=Reservation(placement=placement, expires_at=1e9)
    )


JOB = {
    "metadata": {"name": "j", "uid": "u", "labels": {"gangplan.dev/run-id": "run"}},
    "status": {"conditions": [{"type": "Created", "status": "True"}]},
}


def pods(*nodes: str | None) -> list[dict]:
    def pod(index: int, place: str | None) -> dict:
        labels = {"gangplan.dev/run-id": "run", f"{OPERATOR}/replica-type": "worker"}
        labels[f"{OPERATOR}/replica-index"] = str(index)
        waits = [] if place else [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
        return {
            "metadata": {"name": f"j-worker-{index}", "labels": labels},
            "spec": {"nodeName": place},
            "status": {"phase": "Pending", "conditions": waits},
        }

    return [pod(index, place) for index, place in enumerate(nodes)]


def group(phase: str, *said: str) -> dict:
    conditions = [
        {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "message": text}
        for text in said
    ]
    return {"metadata": {"name": "j"}, "status": {"phase": phase, "conditions": conditions}}


class Following:
    """A launch that looks at the same things for some time."""

    def __init__(self, enforcement: str, **patience: float) -> None:
        self.launch = Launch(
            run_id="run", reservation_s=600.0, enforcement=enforcement, patience=Patience(**patience)
        )
        self.record = held({"worker": ("a", "b")})

    def until_given_up(self, *, for_s: int = 100, **seen) -> str | None:
        """What it ends with, within so many seconds."""
        for second in range(for_s):
            for action in self.launch.step(
                Seen(job=JOB, record=self.record, **{"pods": [], **seen}), float(second)
            ):
                if isinstance(action, Delete):
                    (end,) = self.launch.step(Seen(job=None, record=self.record, pods=[]), 0.0)
                    assert isinstance(end, End)
                    return end.reason
                assert isinstance(action, Bind | Renew), action
        return None


def test_a_job_is_created_with_the_places_of_its_gang():
    placement = {"worker": ("a", "b")}
    for enforcement in ("default", "volcano"):
        launch = Launch(run_id="run", reservation_s=600.0, enforcement=enforcement)
        assert launch.step(Seen(job=None, pods=[], record=held(placement)), 0.0) == [
            Create(attempt=1, placement=placement)
        ]


def test_a_gang_that_volcano_cannot_be_held_to_is_not_created():
    launch = Launch(run_id="run", reservation_s=600.0, enforcement="volcano")
    (end,) = launch.step(Seen(job=None, pods=[], record=held({"worker": ("a", "a", "b")})), 0.0)
    assert isinstance(end, End)
    assert end.outcome == "Failed"
    assert "worker has 2 on a, 1 on b" in end.reason


@pytest.mark.parametrize("there", [[], [None, None], [None, "a"]])
def test_without_a_pod_group_volcano_mode_ends_and_says_which_flag_is_missing(there):
    told = Following("volcano", schedule=3600.0).until_given_up(pods=pods(*there))
    assert told is not None
    assert "was started with --gang-scheduler-name=volcano; start it so" in told


def test_a_gang_that_lies_is_bound_even_without_a_pod_group():
    launch = Following("volcano").launch
    assert launch.step(Seen(job=JOB, pods=pods("a", "b"), record=held({"worker": ("a", "b")})), 0.0) == [
        Bind()
    ]


def test_without_volcano_mode_a_pod_group_that_holds_the_pods_back_is_named():
    told = Following("default").until_given_up(group=group("Pending"))
    assert told is not None
    assert "its pods wait for Volcano" in told
    assert "submit with --enforcement volcano" in told


def test_volcano_may_take_its_time_with_what_it_has_taken_on():
    for seen in ({"group": group("Pending", "0/2")}, {"group": group("Inqueue"), "pods": pods(None, None)}):
        following = Following("volcano", schedule=3600.0, pods=3600.0)
        assert following.until_given_up(for_s=3000, **seen) is None
    assert Patience().with_volcano().schedule >= 3600.0


def test_in_the_end_it_is_told_what_volcano_said():
    told = Following("volcano", pods=50.0).until_given_up(group=group("Pending", "queue x is full"))
    assert told == (
        "Volcano did not let its pods come in 50 s: PodGroup Pending: NotEnoughResources: queue x is full"
    )


def test_replicas_that_lie_elsewhere_are_told():
    record = held({"worker": ("a", "b")})
    assert list(volcano.strays(pods("b", "a"), record)) == []
    assert list(volcano.strays(pods("a", "a"), record)) == [
        "worker-1 lies on a, where the plan has no place for it"
    ]
    assert list(volcano.strays(pods("c", None), record)) == [
        "worker-0 lies on c, where the plan has no place for it"
    ]
