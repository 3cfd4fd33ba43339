"""Whatever is wrong with a document, all of it is said at once, each with its path; nothing crashes."""

import json
from pathlib import Path

import pytest
from documents.strategies import DOCUMENTS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gangplan as gp
from gangplan.documents import KINDS, to_builtins
from gangplan.solver import validate

GANG = {"name": "g", "roles": [{"name": "worker", "replicas": 1}]}


def found(document: object) -> dict[str, str]:
    """Path → code of all problems of a snapshot."""
    return {problem.path: problem.code for problem in validate("snapshot", json.dumps(document).encode())}


@pytest.mark.parametrize(
    ("document", "path", "code"),
    [
        ({"nodse": []}, "$.nodse", "UNKNOWN_FIELD"),
        ({"nodes": [{}]}, "$.nodes[0].name", "MISSING_FIELD"),
        ({"nodes": [{"name": 3}]}, "$.nodes[0].name", "WRONG_TYPE"),
        ({"nodes": [{"name": "a"}, {"name": "a"}]}, "$.nodes[1].name", "DUPLICATE_NAME"),
        (
            {"nodes": [{"name": "a", "allocatable": {"cpu": "-1"}}]},
            "$.nodes[0].allocatable.cpu",
            "OUT_OF_RANGE",
        ),
        (
            {"nodes": [{"name": "a", "allocatable": {"cpu": "1 core"}}]},
            "$.nodes[0].allocatable.cpu",
            "BAD_QUANTITY",
        ),
        (
            {"nodes": [{"name": "a", "allocatable": {"memory": "9000E"}}]},
            "$.nodes[0].allocatable.memory",
            "OUT_OF_RANGE",
        ),
        (
            {"nodes": [{"name": "a", "taints": [{"key": "k", "effect": "No"}]}]},
            "$.nodes[0].taints[0].effect",
            "BAD_VALUE",
        ),
        ({"version": 2}, "$.version", "UNSUPPORTED_VERSION"),
        ({"topology": ["rack", "rack"]}, "$.topology[1]", "DUPLICATE_NAME"),
        ({"queues": [{"name": "a", "parent": "b"}]}, "$.queues[0].parent", "UNKNOWN_NAME"),
        ({"queues": [{"name": "a", "parent": "a"}]}, "$.queues[0].parent", "CYCLE"),
        ({"gangs": [{"name": "g", "roles": []}]}, "$.gangs[0].roles", "BAD_VALUE"),
        ({"gangs": [GANG | {"queue": "q"}]}, "$.gangs[0].queue", "UNKNOWN_NAME"),
        (
            {"gangs": [GANG | {"topology": {"required": "rack"}}]},
            "$.gangs[0].topology.required",
            "UNKNOWN_NAME",
        ),
        ({"gangs": [GANG, GANG]}, "$.gangs[1].name", "DUPLICATE_NAME"),
        (
            {"gangs": [{"name": "g", "roles": [{"name": "w", "replicas": -1}]}]},
            "$.gangs[0].roles[0].replicas",
            "OUT_OF_RANGE",
        ),
        (
            {"gangs": [{"name": "g", "roles": [{"name": "w", "replicas": 1.5}]}]},
            "$.gangs[0].roles[0].replicas",
            "WRONG_TYPE",
        ),
        ({"running": [{"name": "p", "node": "n"}]}, "$.running[0].node", "UNKNOWN_NAME"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isupper() else None,
)
def test_a_fault_is_named_with_its_path(document, path, code):
    assert found(document).get(path) == code, found(document)


def test_a_queue_cycle_is_told_with_its_members():
    queues = [
        {"name": name, "parent": parent} for name, parent in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"))
    ]
    problems = validate("snapshot", json.dumps({"queues": queues}).encode())
    cycles = [problem for problem in problems if problem.code == "CYCLE"]
    assert cycles
    assert all(name in cycles[0].message for name in "abc")


def test_all_problems_are_told_at_once():
    document = {
        "nodes": [{"name": "a", "allocatable": {"cpu": "x"}}, {"name": "a"}, {"nmae": "b"}],
        "gangs": [{"name": "g", "roles": [{"name": "w", "replicas": -1}], "queue": "none"}],
        "extra": 1,
    }
    assert set(found(document)) >= {
        "$.nodes[0].allocatable.cpu",
        "$.nodes[1].name",
        "$.nodes[2].name",
        "$.nodes[2].nmae",
        "$.gangs[0].roles[0].replicas",
        "$.gangs[0].queue",
        "$.extra",
    }


def test_a_near_miss_is_told_what_it_may_have_meant():
    (problem,) = validate("snapshot", b'{"gangs": [], "nods": []}')
    assert "nodes" in problem.message


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"null", b"\xff", b'{"nodes": [}', b'{"a":1}{"b":2}'])
def test_what_is_no_document_is_refused(text):
    with pytest.raises(gp.InvalidInput):
        gp.load(text)


def test_a_key_given_twice_is_refused_in_json_and_yaml(tmp_path: Path):
    with pytest.raises(gp.InvalidInput) as json_error:
        gp.load(b'{"nodes": [{"name": "a", "allocatable": {"cpu": "1", "cpu": "2"}}]}')
    (tmp_path / "c.yaml").write_text("nodes:\n- name: a\n  allocatable: {cpu: '1', cpu: '2'}\n")
    with pytest.raises(gp.InvalidInput) as yaml_error:
        gp.load(tmp_path / "c.yaml")
    assert (
        json_error.value.problems[0].path == yaml_error.value.problems[0].path == "$.nodes[0].allocatable.cpu"
    )


@pytest.mark.parametrize(
    "text",
    ["a: [1", "nodes: &x [*x]", "1: 2", "--- 1\n--- 2", "nodes: [{name: yes}]", "nodes: 2001-01-01", "\t"],
)
def test_bad_yaml_is_refused(text, tmp_path: Path):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(gp.InvalidInput) as caught:
        gp.load(tmp_path / "c.yaml")
    assert str(tmp_path / "c.yaml") in str(caught.value)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_damage_to_a_document_is_an_answer_not_a_crash(data):
    """Take a random document, replace a random part by something else, and load it."""
    kind = data.draw(st.sampled_from(list(KINDS)))
    document = to_builtins(data.draw(DOCUMENTS[kind]))
    part, keys = document, []
    while isinstance(part, dict | list | tuple) and part and data.draw(st.booleans()):
        keys.append(data.draw(st.sampled_from(sorted(part) if isinstance(part, dict) else range(len(part)))))
        part = part[keys[-1]]
    junk = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | st.text(max_size=3)
        | st.just([])
        | st.just({})
    )
    damaged = _replaced(document, keys, data.draw(junk))
    for problem in validate(kind, json.dumps(damaged).encode()):
        assert problem.path.startswith("$")
        assert problem.message


def _replaced(document, keys, value):
    if not keys:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[keys[0]] = _replaced(copy[keys[0]], keys[1:], value)
    return copy


@pytest.mark.parametrize(
    ("snapshot", "path"),
    [
        (gp.Snapshot(nodes=(gp.Node(name="\ud800"),)), "$.nodes[0].name"),
        (gp.Snapshot(nodes=(gp.Node(name="n"), object())), "$.nodes[1]"),  # type: ignore[arg-type]
        (gp.Snapshot(nodes=(gp.Node(name="n", labels={("a",): "b"}),)), "$.nodes[0].labels"),  # type: ignore[dict-item]
        (gp.Snapshot(now=2**70), "$.now"),
    ],
)
def test_what_json_cannot_hold_is_bad_input_with_its_path(snapshot: gp.Snapshot, path: str) -> None:
    """Objects are built by programs: what is wrong with them is told like what is wrong with a file."""
    with pytest.raises(gp.InvalidInput) as caught:
        gp.solve(snapshot)
    assert [problem.path for problem in caught.value.problems] == [path]


def test_all_foreign_values_are_told_at_once() -> None:
    """The first problem is not the only one."""
    options = gp.SolveOptions(budget=object(), deadline_s=1j)  # type: ignore[arg-type]
    with pytest.raises(gp.InvalidInput) as caught:
        gp.solve(gp.Snapshot(), options)
    assert [problem.path for problem in caught.value.problems] == ["$.budget", "$.deadline_s"]


def test_a_kind_that_is_no_document_is_a_type_error() -> None:
    """A mistake of the program, not of the document."""
    with pytest.raises(TypeError, match="Snapshot, SolveOptions, Plan"):
        gp.load(b"{}", int)  # type: ignore[call-overload]


def test_aliases_of_aliases_do_not_fill_the_memory(tmp_path: Path) -> None:
    """Nine lines of YAML can stand for half a billion values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    path = tmp_path / "bomb.yaml"
    path.write_text("\n".join(lines))
    with pytest.raises(gp.InvalidInput, match="aliases stand for"):
        gp.load(path)


def test_traffic_of_names_that_are_not_there_is_bad_input() -> None:
    """All of them are told, and more places than replicas too."""
    role = gp.Role(name="w", replicas=1)
    snapshot = gp.Snapshot(nodes=(gp.Node(name="n"),), gangs=(gp.Gang(name="g", roles=(role,)),))
    placements = {"g": {"w": ("n", "m"), "v": ()}, "h": {}}
    with pytest.raises(gp.InvalidInput) as caught:
        gp.traffic(snapshot, placements)
    assert {problem.path: problem.code for problem in caught.value.problems} == {
        "$.placements.g.v": "UNKNOWN_NAME",
        "$.placements.g.w": "OUT_OF_RANGE",
        "$.placements.g.w[1]": "UNKNOWN_NAME",
        "$.placements.h": "UNKNOWN_NAME",
    }
