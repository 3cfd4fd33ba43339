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
closeness = st.none() | st.builds(
    gp.Closeness,
    required=st.none() | names,
    preferred=st.none() | names,
    slices=tuples(st.builds(gp.Slice, level=names, size=st.integers(1, 100))),
    balanced=st.booleans(),
    spread=tuples(st.builds(gp.Spread, level=names, most=st.integers(1, 100))),
)
effects = st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])
pods = st.builds(
    gp.Pod, containers=tuples(containers), init_containers=tuples(containers), overhead=resources
)
roles = st.builds(
    gp.Role,
    name=names,
    replicas=st.integers(1, 1000),
    requests=resources,
    pod=st.none() | pods,
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
    min=st.none() | st.integers(0, 1000),
    priority=st.integers(-(2**31), 2**31 - 1),
    labels=labels,
    preferred_node_affinity=tuples(
        st.builds(gp.PreferredTerm, weight=st.integers(1, 100), expressions=tuples(expressions))
    ),
    replica_affinity=tuples(
        st.builds(
            gp.ReplicaAffinity,
            level=names,
            match_labels=labels,
            anti=st.booleans(),
            required=st.booleans(),
        )
    ),
    topology=closeness,
    ranks=st.none() | st.sampled_from(["ring", "chain"]),
    single_zone=st.booleans(),
)
gangs = st.builds(
    gp.Gang,
    name=names,
    roles=tuples(roles),
    queue=st.none() | names,
    priority=st.integers(-(2**31), 2**31 - 1),
    created=whole,
    topology=closeness,
    groups=tuples(
        st.builds(
            gp.Group,
            name=names,
            roles=tuples(names),
            parent=st.none() | names,
            topology=closeness,
            min=st.none() | st.integers(0, 1000),
            set=st.none() | names,
        )
    ),
    min_groups=st.dictionaries(names, st.integers(0, 10), max_size=3),
    min_member=st.none() | st.integers(0, 1000),
    preemptible=st.booleans(),
    runtime_s=st.none() | st.integers(0, 10**9),
    bypassed=st.integers(0, 1000),
    namespace=small,
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
    zones=tuples(resources),
)
queues = st.builds(
    gp.Queue,
    name=names,
    parent=st.none() | names,
    priority=st.integers(-(2**31), 2**31 - 1),
    limit=resources,
    open=st.booleans(),
    weight=st.integers(0, 1000),
    deserved=st.none() | resources,
    guarantee=resources,
    created=whole,
)
running = st.builds(
    gp.Running,
    name=names,
    node=names,
    gang=st.none() | names,
    role=st.none() | names,
    index=st.none() | st.integers(0, 100),
    requests=resources,
    pod=st.none() | pods,
    queue=st.none() | names,
    reserved=st.booleans(),
    preemptible=st.none() | st.booleans(),
    priority=st.none() | st.integers(-(2**31), 2**31 - 1),
    terminating=st.booleans(),
    zone=st.none() | st.integers(0, 3),
    ends_s=st.none() | st.integers(0, 10**9),
    labels=labels,
)
quotas = st.builds(gp.NamespaceQuota, namespace=small, hard=resources, used=resources)
snapshots = st.builds(
    gp.Snapshot,
    topology=tuples(names),
    nodes=tuples(nodes),
    queues=tuples(queues),
    gangs=tuples(gangs),
    running=tuples(running),
    quotas=tuples(quotas),
)
options = st.builds(
    gp.SolveOptions,
    budget=st.integers(1, 10**12),
    deadline_s=st.none() | st.integers(0, 10_000),
    changes=st.booleans(),
    placement=st.sampled_from(["pack", "spread"]),
    fair_share=st.sampled_from(["quota", "weight", "drf", "none"]),
    bypass=st.sampled_from(["free", "none", "earmark"]),
    earmark_after_s=st.none() | st.integers(0, 10**9),
    earmark_after_bypasses=st.none() | st.integers(0, 1000),
    finish_broken_first=st.booleans(),
    nonpreemptible_within_deserved=st.booleans(),
)
counts = st.dictionaries(names, st.integers(0, 1000), max_size=3)
rejections = st.builds(
    gp.Rejection,
    stage=st.sampled_from(["quota", "class", "capacity", "topology", "packing", "fairness", "earmark"]),
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
            kind=st.sampled_from(
                ["replicas", "level", "limit", "wait", "request", "free", "constraint", "nodes"]
            ),
            role=st.none() | small,
            group=st.none() | small,
            to=st.none() | small,
            queue=st.none() | small,
            namespace=st.none() | small,
            resource=st.none() | small,
            gang=st.none() | small,
            amount=st.none() | small,
            at=st.none() | small,
            constraint=st.none() | small,
            node=st.none() | small,
            text=small,
        )
    ),
    certificates=tuples(
        st.builds(gp.Certificate, weights=counts, needs=whole, most=whole, domains=tuples(small))
    ),
)
plans = st.builds(
    gp.Plan,
    placements=st.dictionaries(names, st.dictionaries(names, tuples(names), max_size=3), max_size=3),
    rejections=st.dictionaries(names, rejections, max_size=3),
    traffic=st.dictionaries(names, st.integers(0, 10**12), max_size=3),
    earmarks=st.dictionaries(
        names,
        st.builds(gp.Earmark, nodes=tuples(names), starts_in_s=st.none() | st.integers(0, 10**9)),
        max_size=3,
    ),
    hash=small,
    stats=st.builds(
        gp.Stats,
        nodes=st.integers(0, 10**6),
        gangs=st.integers(0, 10**6),
        trials=st.integers(0, 10**6),
        cells=st.integers(0, 10**12),
        stopped_by=st.none() | st.just("deadline"),
    ),
)
deltas = st.builds(
    gp.Deltas,
    now=st.none() | st.integers(0, 10**10),
    nodes=tuples(nodes),
    queues=tuples(queues),
    gangs=tuples(gangs),
    running=tuples(running),
    quotas=tuples(quotas),
    gone=st.builds(
        gp.Gone,
        nodes=tuples(names),
        queues=tuples(names),
        gangs=tuples(names),
        running=tuples(names),
        quotas=tuples(names),
    ),
)
DOCUMENTS = {"snapshot": snapshots, "options": options, "plan": plans, "deltas": deltas}
