"""A redacted snapshot tells no names, and the solver decides on it as on the original."""

import dataclasses
import re
import typing

import pytest
from builders import gang, node, role, snapshot
from documents.strategies import snapshots as any_snapshots
from hypothesis import given
from hypothesis import strategies as st
from session.strategies import snapshots as sound_snapshots

import gangplan as gp
from gangplan.documents import encode, to_builtins
from gangplan.redaction import FIELDS, LABELS, RESOURCES, ROLES, redact
from gangplan.report.explanation import explain
from gangplan.solver import load, solve

MADE_UP = re.compile(
    r"(.*[.-])?(node|queue|gang|group|set|role|namespace|pod|label|value|resource)-\d{5,}", re.DOTALL
)


def names_in(value, found=None):
    """All names in a snapshot, by the table of the fields that hold some."""
    found = set() if found is None else found
    for field in dataclasses.fields(value):
        item, word = getattr(value, field.name), FIELDS.get(type(value), {}).get(field.name)
        if word == "labels":
            found |= {*item.keys(), *item.values()}
        elif word is not None:
            parts = item if isinstance(item, tuple) else (item,)
            for part in parts:
                found |= set(part) if isinstance(part, dict) else {part} - {None}
        for inner in item if isinstance(item, tuple) else (item,):
            if dataclasses.is_dataclass(inner):
                names_in(inner, found)
    return found


def is_known(name):
    return not name or name in ROLES or RESOURCES.fullmatch(name) or LABELS.fullmatch(name)


@given(any_snapshots)
def test_only_made_up_and_common_names_are_left(original):
    """A number stays where labels are compared as numbers; nothing else that was there does."""
    left = {name for name in names_in(redact(original).snapshot) if not is_known(name)}
    assert {
        name for name in left if not MADE_UP.fullmatch(name) and not re.fullmatch(r"[+-]?\d+", name)
    } == set()


@given(any_snapshots)
def test_names_keep_their_order_and_stay_different(original):
    for names in redact(original).names.values():
        assert [new for _, new in sorted(names.items())] == sorted(names.values())
        assert len(set(names.values())) == len(names)


def decided(plan, new):
    """What a plan decides, without its texts, each name as ``new(word, name)`` gives it."""

    def counts(of):
        return {new("role", name): count for name, count in of.items()}

    def facts(why):
        changes = [
            (change.kind, new("role", change.role), new("resource", change.resource), change.amount)
            for change in why.changes
        ]
        holders = sorted(
            (new("resource", holder.resource) or "", holder.amount, holder.reserved) for holder in why.holders
        )
        levels = [
            (new("resource", level.limited_by), counts(level.have), counts(level.need))
            for level in why.levels
        ]
        excluded = [(new("role", one.role), one.rule, one.nodes) for one in why.exclusions]
        told = (
            why.stage,
            why.rule,
            why.position,
            why.proven,
            why.impossible,
            new("resource", why.resource),
            why.needs,
            why.has,
        )
        return told, changes, holders, levels, excluded

    return {
        "placements": {
            new("gang", gang): {
                new("role", name): [new("node", place) for place in places] for name, places in roles.items()
            }
            for gang, roles in plan.placements.items()
        },
        "traffic": {new("gang", name): cost for name, cost in plan.traffic.items()},
        "rejections": {new("gang", name): facts(why) for name, why in plan.rejections.items()},
        "earmarks": {new("gang", name) for name in plan.earmarks},
    }


@st.composite
def crowds(draw):
    """Sound snapshots with what only some clusters have: labels that are numbers or names, company, uncommon resources."""
    original = draw(sound_snapshots())
    nodes = tuple(
        dataclasses.replace(
            one,
            labels={**one.labels, "kubernetes.io/hostname": one.name, "gen": draw(st.sampled_from("0789"))},
            allocatable={**one.allocatable, "acme.com/chip": draw(st.sampled_from("024"))},
        )
        for one in original.nodes
    )
    needs = (
        gp.Expression(key="gen", operator="Gt", values=("7",)),
        gp.Expression(key="gen", operator="Lt", values=("9",)),
        gp.Expression(key="kubernetes.io/hostname", operator="NotIn", values=("n0", "elsewhere")),
        gp.Expression(key="rack", operator="Exists"),
    )
    company = st.builds(
        gp.ReplicaAffinity,
        level=st.sampled_from(["node", "rack", "kubernetes.io/hostname", "gen"]),
        match_labels=st.sampled_from(
            [{"gangplan.dev/gang": "g0"}, {"gangplan.dev/role": "worker"}, {"app": "a"}]
        ),
        anti=st.booleans(),
        required=st.booleans(),
    )

    def crowded_role(one):
        return dataclasses.replace(
            one,
            labels=draw(st.sampled_from([{}, {"app": "a"}, {"app": "b"}])),
            requests={**one.requests, "acme.com/chip": draw(st.sampled_from("01"))},
            node_affinity=tuple(
                gp.NodeSelectorTerm(expressions=(test,))
                for test in draw(st.sets(st.sampled_from(needs), max_size=2))
            ),
            replica_affinity=tuple(draw(st.lists(company, max_size=1))),
        )

    gangs = tuple(
        dataclasses.replace(one, roles=tuple(crowded_role(each) for each in one.roles), namespace="team")
        for one in original.gangs
    )
    quotas = (gp.NamespaceQuota(namespace="team", hard={"acme.com/chip": draw(st.sampled_from("159"))}),)
    return dataclasses.replace(original, nodes=nodes, gangs=gangs, quotas=quotas)


@given(sound_snapshots() | crowds())
def test_the_plan_of_a_redacted_snapshot_is_the_plan_up_to_names(original):
    redacted = redact(original)
    options = gp.SolveOptions(bypass="earmark", earmark_after_bypasses=1)
    try:
        plan = solve(original, options)
    except gp.InvalidInput:
        with pytest.raises(gp.InvalidInput):
            solve(redacted.snapshot, options)
        return
    expected = decided(
        plan, lambda word, name: None if name is None else redacted.names.get(word, {}).get(name, name)
    )
    assert decided(solve(redacted.snapshot, options), lambda _, name: name) == expected


@given(sound_snapshots())
def test_redacting_again_changes_nothing_more(original):
    once = redact(original).snapshot
    assert redact(once).snapshot == once


def crowded():
    """A cluster with a secret in each place that can hold a name."""
    company = gp.ReplicaAffinity(level="acme/row", match_labels={"acme/app": "acme-x"}, anti=True)
    needs = gp.NodeSelectorTerm(
        expressions=(
            gp.Expression(key="acme/gen", operator="Gt", values=("7",)),
            gp.Expression(key="kubernetes.io/hostname", operator="NotIn", values=("acme-n2",)),
        )
    )
    asked = role(
        "acme-role",
        replicas=2,
        requests={"cpu": "1", "acme.com/chip": "1"},
        node_selector={"acme/pool": "acme-gold"},
        node_affinity=(needs,),
        tolerations=(gp.Toleration(key="acme/taint", value="acme-yes"),),
        replica_affinity=(company,),
        labels={"acme/app": "acme-y"},
    )
    labels = {"acme/pool": "acme-gold", "acme/gen": "8", "acme/row": "acme-r"}
    nodes = tuple(
        gp.Node(
            name=name,
            allocatable={"cpu": "4", "acme.com/chip": "4", "nvidia.com/gpu": "1", "zz/acme": "1"},
            labels=labels | {"kubernetes.io/hostname": name},
            taints=(gp.Taint(key="acme/taint", value="acme-yes", effect="NoSchedule"),),
        )
        for name in ("acme-n1", "acme-n2")
    )
    group = gp.Group(name="acme-group", roles=("acme-role",), set="acme-set")
    return snapshot(
        gang(
            "acme-ns/acme-gang",
            asked,
            queue="acme-q",
            namespace="acme-ns",
            groups=(group,),
            min_groups={"acme-set": 1},
        ),
        nodes=nodes,
        topology=("acme/row",),
        queues=(gp.Queue(name="acme-q", parent="acme-top"), gp.Queue(name="acme-top")),
        running=(gp.Running(name="acme-ns/acme-pod", node="acme-n1", labels={"acme/app": "acme-z"}),),
        quotas=(gp.NamespaceQuota(namespace="acme-ns", hard={"acme.com/chip": "9"}),),
    )


def test_no_secret_is_left_in_the_bytes_and_the_gang_is_placed_alike():
    redacted = redact(crowded())
    assert b"acme" not in encode(redacted.snapshot)
    (places,) = solve(crowded()).placements.values()
    assert set(places["acme-role"]) == {"acme-n1"}
    (redacted_places,) = solve(load(encode(redacted.snapshot))).placements.values()
    assert set(*redacted_places.values()) == {redacted.names["node"]["acme-n1"]}


def test_the_explanation_of_a_redacted_snapshot_is_the_explanation_up_to_names():
    original = crowded()
    wide = dataclasses.replace(original.gangs[0].roles[0], replicas=9, min=9)
    original = dataclasses.replace(original, gangs=(dataclasses.replace(original.gangs[0], roles=(wide,)),))
    redacted = redact(original)
    back = {new: old for names in redacted.names.values() for old, new in names.items()}
    told = explain(redacted.snapshot.gangs[0].name, redacted.snapshot, solve(redacted.snapshot)).as_text()
    named = re.sub(r"[\w./-]*-\d{5}", lambda found: back[found[0]], told)
    expected = explain("acme-ns/acme-gang", original, solve(original)).as_text()
    assert named.split() == expected.split(), "columns are as wide as the names in them"
    assert "cannot fit this cluster" in expected
    assert "acme" not in told


def test_what_every_cluster_has_keeps_its_name():
    worker = role("worker", requests={"cpu": "1", "hugepages-2Mi": "4Mi"})
    there = node(labels={"topology.kubernetes.io/zone": "z", "kubernetes.io/hostname": "n1"})
    redacted = redact(snapshot(gang("g", worker), nodes=(there,))).snapshot
    assert redacted.gangs[0].roles[0] == worker
    assert redacted.nodes[0].labels == {
        "topology.kubernetes.io/zone": "value-00000",
        "kubernetes.io/hostname": redacted.nodes[0].name,
    }
    assert redacted.nodes[0].allocatable == there.allocatable


def documents(kind, seen):
    """The dataclasses that a snapshot is made of."""
    if kind in seen:
        return
    seen.add(kind)
    for hint in typing.get_type_hints(kind).values():
        stack = [hint]
        while stack:
            part = stack.pop()
            if dataclasses.is_dataclass(part):
                documents(part, seen)
            stack += typing.get_args(part)


PLAIN = {
    "Container.requests values", "Taint.effect", "Toleration.operator", "Toleration.effect", "Expression.operator",
    "Role.ranks",
}  # fmt: skip
"""Texts that are no names: what is chosen from a list."""


def test_every_text_of_a_snapshot_is_known_as_a_name_or_as_none():
    """A field that is added later must be judged too."""
    seen = set()
    documents(gp.Snapshot, seen)
    assert len(seen) >= 18
    unknown = []
    for kind in seen:
        for name, hint in typing.get_type_hints(kind).items():
            holds_text = "str" in repr(hint) or "Literal['" in repr(hint)
            if holds_text and not dataclasses.is_dataclass(hint) and name not in FIELDS.get(kind, {}):
                unknown.append(f"{kind.__name__}.{name}")
    assert sorted(unknown) == sorted(PLAIN - {"Container.requests values"})


@pytest.mark.parametrize("name", ["a", "d", "hugepages-1!", "m", "zz"])
def test_an_uncommon_resource_stays_between_its_neighbours(name):
    there = node(
        allocatable=dict.fromkeys(["cpu", "hugepages-1Gi", "hugepages-1x", "memory", "pods", name], "1")
    )
    new = redact(snapshot(nodes=(there,))).names["resource"]
    assert sorted(new, key=new.get) == sorted(new)
    assert to_builtins(new)[name] != name
