"""Random documents for Hypothesis."""

from hypothesis import strategies as st

import gangplan as gp

names = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=8)
small = st.text('abc/.-é☃"\\\n', max_size=6)
quantities = st.sampled_from(["0", "1", "250m", "1.5", "64Gi", "1e3", "0.1", "12345678901"])
resources = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "pods", "x/y"]), quantities, max_size=3
)
labels = st.dictionaries(small, small, max_size=3)
whole = st.integers(-(2**53), 2**53)


def tuples(item: st.SearchStrategy) -> st.SearchStrategy:
    """Tuples of a few items."""
    return st.lists(item, max_size=3).map(tuple)


expressions = st.builds(
    gp.Expression,
    key=small,
    operator=st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]),
    values=tuples(small),
)
containers = st.builds(gp.Container, requests=resources, limits=resources, sidecar=st.booleans())
effects = st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])
roles = st.builds(
    gp.Role,
    name=names,
    replicas=st.integers(1, 1000),
    requests=resources,
    pod=st.none()
    | st.builds(
        gp.Pod, containers=tuples(containers), init_containers=tuples(containers), overhead=resources
    ),
    node_selector=labels,
    node_affinity=tuples(st.builds(gp.NodeSelectorTerm, expressions=tuples(expressions))),
    tolerations=tuples(
        st.builds(
            gp.Toleration,
            key=small,
            operator=st.sampled_from(["Equal", "Exists"]),
            value=small,
            effect=st.just("") | effects,
        )
    ),
)
gangs = st.builds(
    gp.Gang,
    name=names,
    roles=tuples(roles),
    queue=st.none() | names,
    priority=st.integers(-(2**31), 2**31 - 1),
    created=whole,
    required=st.none() | names,
    preferred=st.none() | names,
    traffic=tuples(st.builds(gp.Traffic, a=names, b=names, weight=st.integers(0, 1000))),
)
nodes = st.builds(
    gp.Node,
    name=names,
    allocatable=resources,
    labels=labels,
    taints=tuples(st.builds(gp.Taint, key=small, value=small, effect=effects)),
    unschedulable=st.booleans(),
    ready=st.booleans(),
)
queues = st.builds(
    gp.Queue,
    name=names,
    parent=st.none() | names,
    priority=st.integers(-(2**31), 2**31 - 1),
    limit=resources,
    open=st.booleans(),
)
running = st.builds(
    gp.Running,
    name=names,
    node=names,
    gang=st.none() | names,
    role=st.none() | names,
    index=st.none() | st.integers(0, 100),
    requests=resources,
    queue=st.none() | names,
    reserved=st.booleans(),
)
snapshots = st.builds(
    gp.Snapshot,
    topology=tuples(names),
    nodes=tuples(nodes),
    queues=tuples(queues),
    gangs=tuples(gangs),
    running=tuples(running),
)
options = st.builds(
    gp.SolveOptions,
    budget=st.integers(1, 10**12),
    deadline_s=st.none() | st.integers(0, 10_000),
    changes=st.booleans(),
)
counts = st.dictionaries(names, st.integers(0, 1000), max_size=3)
rejections = st.builds(
    gp.Rejection,
    stage=st.sampled_from(["quota", "class", "capacity", "topology", "packing"]),
    rule=small,
    message=small,
    position=st.integers(1, 1000),
    resource=st.none() | small,
    needs=st.none() | small,
    has=st.none() | small,
    at=st.none() | small,
    proven=st.booleans(),
    impossible=st.booleans(),
    levels=tuples(
        st.builds(
            gp.LevelFit, level=small, domain=small, have=counts, need=counts, limited_by=st.none() | small
        )
    ),
    exclusions=tuples(st.builds(gp.Exclusion, role=small, rule=small, nodes=st.integers(0, 1000))),
    holders=tuples(st.builds(gp.Holder, name=small, resource=small, amount=small, reserved=st.booleans())),
    changes=tuples(
        st.builds(
            gp.Change,
            kind=st.sampled_from(["replicas", "level", "limit", "wait"]),
            role=st.none() | small,
            to=st.none() | small,
            queue=st.none() | small,
            resource=st.none() | small,
            gang=st.none() | small,
            text=small,
        )
    ),
)
plans = st.builds(
    gp.Plan,
    placements=st.dictionaries(names, st.dictionaries(names, tuples(names), max_size=3), max_size=3),
    rejections=st.dictionaries(names, rejections, max_size=3),
    traffic=st.dictionaries(names, st.integers(0, 10**12), max_size=3),
    stats=st.builds(
        gp.Stats,
        nodes=st.integers(0, 10**6),
        gangs=st.integers(0, 10**6),
        trials=st.integers(0, 10**6),
        cells=st.integers(0, 10**12),
        stopped_by=st.none() | st.just("deadline"),
    ),
)
DOCUMENTS = {"snapshot": snapshots, "options": options, "plan": plans}
