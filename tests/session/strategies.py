"""Small clusters as documents, and the same clusters as columns; the translation is written for these tests alone."""

from array import array

from hypothesis import strategies as st

import gangplan as gp
from gangplan.solver import parse_quantity

RESOURCES = ("cpu", "nvidia.com/gpu", "pods")
LEVELS = ("block", "rack")


@st.composite
def snapshots(draw):
    """Nodes in racks and blocks, queues with limits, gangs of one to three roles, some of them running."""
    count = draw(st.integers(1, 8))
    amounts = st.integers(0, 6)
    nodes = tuple(
        gp.Node(
            name=f"n{place}",
            allocatable={
                "cpu": str(draw(amounts)),
                "nvidia.com/gpu": str(draw(amounts)),
                "pods": str(draw(amounts) + 2),
            },
            labels=draw(labels(place)),
            taints=(gp.Taint(key="spot", effect="NoSchedule"),) if draw(st.integers(0, 4)) == 0 else (),
            unschedulable=draw(st.integers(0, 9)) == 0,
            ready=draw(st.integers(0, 9)) > 0,
        )
        for place in range(count)
    )
    queues = (
        gp.Queue(name="a", limit={"cpu": str(draw(amounts) + 2)}),
        gp.Queue(name="b", priority=draw(amounts)),
    )
    gangs = tuple(draw(gang(f"g{number}")) for number in range(draw(st.integers(0, 5))))
    running = tuple(
        gp.Running(name=f"{one.name}/{role.name}/0", node=draw(st.sampled_from(nodes)).name, gang=one.name,
                   role=role.name, index=0)
        for one in gangs
        for role in one.roles
        if draw(st.integers(0, 5)) == 0
    )  # fmt: skip
    pods = tuple(
        gp.Running(name=f"pod-{number}", node=draw(st.sampled_from(nodes)).name, requests={"cpu": "1"},
                   queue=draw(st.sampled_from([None, "a"])))
        for number in range(draw(st.integers(0, 3)))
    )  # fmt: skip
    now = draw(st.sampled_from([0, 1000]))
    return gp.Snapshot(
        topology=LEVELS, now=now, nodes=nodes, queues=queues, gangs=gangs, running=running + pods
    )


@st.composite
def labels(draw, place):
    found = {"block": f"b{place // 4}", "rack": f"r{place // 2}"}
    if draw(st.integers(0, 7)) == 0:
        del found[draw(st.sampled_from(LEVELS))]
    return found | ({"kind": draw(st.sampled_from(["old", "new"]))} if draw(st.booleans()) else {})


@st.composite
def gang(draw, name):
    levels = [None, "block", "rack", "node"]
    required = draw(st.sampled_from(levels))
    preferred = draw(st.sampled_from([None, *levels]))
    return gp.Gang(
        name=name,
        queue=draw(st.sampled_from([None, "a", "b"])),
        priority=draw(st.integers(-1, 1)),
        created=draw(st.integers(0, 2)),
        topology=gp.Closeness(required=required, preferred=preferred) if required or preferred else None,
        roles=(roles := tuple(draw(role(role_name)) for role_name in draw(st.sampled_from(NAMES)))),
        min_member=draw(st.sampled_from([None, None, None, 1, sum(one.replicas for one in roles)])),
        preemptible=draw(st.booleans()),
        runtime_s=draw(st.sampled_from([None, 30, 90])),
        bypassed=draw(st.integers(0, 2)),
    )


NAMES = [("worker",), ("worker", "ps"), ("chief", "ps", "worker")]


@st.composite
def role(draw, name):
    return gp.Role(
        name=name,
        replicas=draw(st.integers(1, 4)),
        requests={"cpu": f"{draw(st.integers(0, 3))}500m", "nvidia.com/gpu": str(draw(st.integers(0, 2)))},
        node_selector=draw(st.sampled_from([{}, {}, {"kind": "new"}])),
        tolerations=draw(st.sampled_from([(), (gp.Toleration(key="spot", operator="Exists"),)])),
        min=draw(st.sampled_from([None, None, None, 0, 1])),
        priority=draw(st.integers(0, 1)),
    )


def amount(resource, quantities, *, round_up):
    return parse_quantity(resource, quantities.get(resource, "0"), round_up=round_up)


def columns(snapshot, order=list):
    """The snapshot in columns; ``order`` puts the rows of each table in some order."""
    nodes, gangs = order(snapshot.nodes), order(snapshot.gangs)
    queues = order(snapshot.queues)
    roles = order([(one.name, role) for one in gangs for role in one.roles])
    held = order([one for one in snapshot.running if one.gang is not None])
    pods = order([one for one in snapshot.running if one.gang is None])
    place = {one.name: row for row, one in enumerate(nodes)}
    gang_row = {one.name: row for row, one in enumerate(gangs)}
    role_row = {(of, role.name): row for row, (of, role) in enumerate(roles)}
    queue_row = {one.name: row for row, one in enumerate(queues)} | {None: gp.NONE}
    level_row = {level: row for row, level in enumerate((*snapshot.topology, "node"))} | {None: gp.NONE}

    def level(which):
        return array("I", [level_row[getattr(one.topology, which, None)] for one in gangs])

    def label(key):
        values = order(sorted({one.labels[key] for one in nodes if key in one.labels}))
        codes = [values.index(one.labels[key]) if key in one.labels else None for one in nodes]
        return gp.LabelColumn(key=key, values=values, codes=codes)

    return gp.Columns(
        resources=RESOURCES,
        topology=snapshot.topology,
        now=snapshot.now,
        nodes=gp.NodeColumns(
            names=[one.name for one in nodes],
            allocatable=[
                array("q", [amount(resource, one.allocatable, round_up=False) for one in nodes])
                for resource in RESOURCES
            ],
            labels=order([label(key) for key in ("block", "rack", "kind")]),
            taints=[0 if one.taints else None for one in nodes],
            taint_sets=[(gp.Taint(key="spot", effect="NoSchedule"),)],
            unschedulable=[one.unschedulable for one in nodes],
            ready=[one.ready for one in nodes],
        ),
        queues=queues,
        needs=[
            gp.NodeNeeds(node_selector=role.node_selector, tolerations=role.tolerations) for _, role in roles
        ],
        gangs=gp.GangColumns(
            names=[one.name for one in gangs],
            queues=array("I", [queue_row[one.queue] for one in gangs]),
            priorities=array("q", [one.priority for one in gangs]),
            created=array("q", [one.created for one in gangs]),
            required=level("required"),
            preferred=level("preferred"),
            min_members=[one.min_member for one in gangs],
            preemptible=[one.preemptible for one in gangs],
            runtimes_s=[one.runtime_s for one in gangs],
            bypassed=array("q", [one.bypassed for one in gangs]),
        ),
        roles=gp.RoleColumns(
            gangs=array("I", [gang_row[of] for of, _ in roles]),
            names=[role.name for _, role in roles],
            replicas=array("q", [role.replicas for _, role in roles]),
            requests=[
                array("q", [amount(resource, role.requests, round_up=True) for _, role in roles])
                for resource in RESOURCES
            ],
            needs=array("I", range(len(roles))),
            mins=[role.min for _, role in roles],
            priorities=array("q", [role.priority for _, role in roles]),
        ),
        running=gp.RunningColumns(
            roles=array("I", [role_row[one.gang, one.role] for one in held]),
            indexes=array("q", [one.index for one in held]),
            nodes=array("I", [place[one.node] for one in held]),
        ),
        pods=gp.PodColumns(
            names=[one.name for one in pods],
            nodes=array("I", [place[one.node] for one in pods]),
            requests=[
                array("q", [amount(resource, one.requests, round_up=True) for one in pods])
                for resource in RESOURCES
            ],
            queues=array("I", [queue_row[one.queue] for one in pods]),
        ),
    )
