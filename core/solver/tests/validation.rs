//! Everything that is wrong with a document is told at once, each with its path.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

use gangplan_solver::document::{Plan, Snapshot, SolveOptions, decode, problems};
use gangplan_solver::{Problem, ProblemCode};

fn codes(found: &[Problem]) -> Vec<(&str, ProblemCode)> {
    found.iter().map(|problem| (problem.path.as_str(), problem.code)).collect()
}

#[test]
// One row a kind of problem.
#[allow(clippy::too_many_lines)]
fn each_kind_of_problem_has_its_path_and_code() {
    use ProblemCode::{
        BadQuantity, BadValue, Contradiction, Cycle, DuplicateName, MalformedJson, MissingField, OutOfRange,
        UnknownField, UnknownName, UnsupportedVersion, WrongType,
    };
    let role = r#"{"name": "w", "replicas": 2}"#;
    let gang = |more: &str| format!(r#"{{"gangs": [{{"name": "g", {more}}}]}}"#);
    let with_role = |more: &str| gang(&format!(r#""roles": [{{"name": "w", "replicas": 2, {more}}}]"#));
    let close = |more: &str| {
        format!(
            r#"{{"topology": ["zone", "hall", "rack"],
                "gangs": [{{"name": "g", "roles": [{role}], "topology": {{{more}}}}}]}}"#
        )
    };
    let running = |more: &str| {
        format!(
            r#"{{"nodes": [{{"name": "n"}}], "gangs": [{{"name": "g", "roles": [{role}]}}],
                "running": [{{"name": "r", "node": "n", {more}}}]}}"#
        )
    };
    let table = [
        ("nonsense".to_owned(), "$", MalformedJson),
        (r#"{"nodes": []} x"#.to_owned(), "$", MalformedJson),
        ("[]".to_owned(), "$", WrongType),
        (r#"{"version": 2}"#.to_owned(), "$.version", UnsupportedVersion),
        (r#"{"node": []}"#.to_owned(), "$.node", UnknownField),
        (r#"{"nodes": {}}"#.to_owned(), "$.nodes", WrongType),
        (r#"{"nodes": [["n"]]}"#.to_owned(), "$.nodes[0]", WrongType),
        (r#"{"nodes": [{}]}"#.to_owned(), "$.nodes[0].name", MissingField),
        (r#"{"nodes": [{"name": ""}]}"#.to_owned(), "$.nodes[0].name", BadValue),
        (r#"{"nodes": [{"name": "n"}, {"name": "n"}]}"#.to_owned(), "$.nodes[1].name", DuplicateName),
        (r#"{"nodes": [{"name": "n", "name": "m"}]}"#.to_owned(), "$.nodes[0].name", DuplicateName),
        (
            r#"{"nodes": [{"name": "n", "labels": {"a": "1", "a": "2"}}]}"#.to_owned(),
            "$.nodes[0].labels.a",
            DuplicateName,
        ),
        (
            r#"{"nodes": [{"name": "n", "allocatable": {"cpu": "4x"}}]}"#.to_owned(),
            "$.nodes[0].allocatable.cpu",
            BadQuantity,
        ),
        (
            r#"{"nodes": [{"name": "n", "allocatable": {"nvidia.com/gpu": "-1"}}]}"#.to_owned(),
            r#"$.nodes[0].allocatable["nvidia.com/gpu"]"#,
            OutOfRange,
        ),
        (
            r#"{"nodes": [{"name": "n", "allocatable": {"memory": "9Ei"}}]}"#.to_owned(),
            "$.nodes[0].allocatable.memory",
            OutOfRange,
        ),
        (
            r#"{"nodes": [{"name": "n", "taints": [{"key": "k", "effect": "Never"}]}]}"#.to_owned(),
            "$.nodes[0].taints[0].effect",
            BadValue,
        ),
        (r#"{"topology": ["rack", "rack"]}"#.to_owned(), "$.topology[1]", DuplicateName),
        (r#"{"topology": ["node"]}"#.to_owned(), "$.topology[0]", Contradiction),
        (r#"{"queues": [{"name": "q", "parent": "p"}]}"#.to_owned(), "$.queues[0].parent", UnknownName),
        (r#"{"queues": [{"name": "q", "parent": "q"}]}"#.to_owned(), "$.queues[0].parent", Cycle),
        (
            r#"{"queues": [{"name": "b", "parent": "a"}, {"name": "a", "parent": "b"}, {"name": "c", "parent": "a"}]}"#
                .to_owned(),
            "$.queues[1].parent",
            Cycle,
        ),
        (gang(r#""roles": []"#), "$.gangs[0].roles", BadValue),
        (gang(r#""roles": [{"name": "w", "replicas": -1}]"#), "$.gangs[0].roles[0].replicas", OutOfRange),
        (gang(r#""roles": [{"name": "w", "replicas": 1.5}]"#), "$.gangs[0].roles[0].replicas", WrongType),
        (gang(r#""roles": [{"name": "w", "replicas": 2.0}]"#), "$.gangs[0].roles[0].replicas", WrongType),
        (
            gang(r#""roles": [{"name": "w", "replicas": 99999999999999999999}]"#),
            "$.gangs[0].roles[0].replicas",
            OutOfRange,
        ),
        (gang(&format!(r#""roles": [{role}, {role}]"#)), "$.gangs[0].roles[1].name", DuplicateName),
        (gang(&format!(r#""roles": [{role}], "queue": "q""#)), "$.gangs[0].queue", UnknownName),
        (gang(&format!(r#""roles": [{role}], "topology": {{"required": "rack"}}"#)), "$.gangs[0].topology.required", UnknownName),
        (close(r#""preferred": "building""#), "$.gangs[0].topology.preferred", UnknownName),
        (close(r#""slices": [{"level": "building", "size": 2}]"#), "$.gangs[0].topology.slices[0].level", UnknownName),
        (close(r#""slices": [{"level": "rack", "size": 0}]"#), "$.gangs[0].topology.slices[0].size", OutOfRange),
        (close(r#""slices": [{"level": "rack", "size": -4}]"#), "$.gangs[0].topology.slices[0].size", OutOfRange),
        (close(r#""slices": [{"level": "rack", "size": 2}, {"level": "rack", "size": 4}]"#), "$.gangs[0].topology.slices[1].level", DuplicateName),
        (close(r#""slices": [{"level": "rack", "size": 5}, {"level": "node", "size": 2}]"#), "$.gangs[0].topology.slices[0].size", Contradiction),
        (close(r#""slices": [{"level": "zone", "size": 8}, {"level": "rack", "size": 4}, {"level": "node", "size": 2}, {"level": "hall", "size": 4}]"#), "$.gangs[0].topology.slices", OutOfRange),
        (close(r#""spread": [{"level": "rack", "most": 0}]"#), "$.gangs[0].topology.spread[0].most", OutOfRange),
        (close(r#""spread": [{"level": "floor", "most": 1}]"#), "$.gangs[0].topology.spread[0].level", UnknownName),
        (close(r#""balance": true"#), "$.gangs[0].topology.balance", UnknownField),
        (gang(&format!(r#""roles": [{role}], "min_member": 3"#)), "$.gangs[0].min_member", OutOfRange),
        (gang(&format!(r#""roles": [{role}], "min_member": -1"#)), "$.gangs[0].min_member", OutOfRange),
        (gang(&format!(r#""roles": [{role}], "runtime_s": -1"#)), "$.gangs[0].runtime_s", OutOfRange),
        (gang(&format!(r#""roles": [{role}], "min_groups": {{"s": 1}}"#)), "$.gangs[0].min_groups.s", UnknownName),
        (gang(&format!(r#""roles": [{role}], "groups": [{{"name": "a", "roles": ["x"]}}]"#)), "$.gangs[0].groups[0].roles[0]", UnknownName),
        (gang(&format!(r#""roles": [{role}], "groups": [{{"name": "a", "roles": ["w", "w"]}}]"#)), "$.gangs[0].groups[0].roles[1]", DuplicateName),
        (gang(&format!(r#""roles": [{role}], "groups": [{{"name": "a"}}, {{"name": "a"}}]"#)), "$.gangs[0].groups[1].name", DuplicateName),
        (gang(&format!(r#""roles": [{role}], "groups": [{{"name": "a", "parent": "b"}}]"#)), "$.gangs[0].groups[0].parent", UnknownName),
        (gang(&format!(r#""roles": [{role}], "groups": [{{"name": "a", "parent": "b"}}, {{"name": "b", "parent": "a"}}]"#)), "$.gangs[0].groups[0].parent", Cycle),
        (gang(&format!(r#""roles": [{role}], "groups": [{{"name": "a", "roles": ["w"]}}, {{"name": "b", "roles": ["w"]}}]"#)), "$.gangs[0].groups[1].roles", Contradiction),
        (gang(&format!(r#""roles": [{role}], "groups": [{{"name": "a", "min": -1}}]"#)), "$.gangs[0].groups[0].min", OutOfRange),
        (gang(r#""roles": [{"name": "w", "replicas": 0}]"#), "$.gangs[0].roles", BadValue),
        (gang(&format!(r#""roles": [{role}], "groups": [{{"name": "a", "set": "s"}}], "min_groups": {{"s": 2}}"#)), "$.gangs[0].min_groups.s", OutOfRange),
        (with_role(r#""min": 9"#), "$.gangs[0].roles[0].min", OutOfRange),
        (with_role(r#""min": -1"#), "$.gangs[0].roles[0].min", OutOfRange),
        (with_role(r#""ranks": "star""#), "$.gangs[0].roles[0].ranks", BadValue),
        (with_role(r#""labels": {"gangplan.dev/gang": "g"}"#), r#"$.gangs[0].roles[0].labels["gangplan.dev/gang"]"#, Contradiction),
        (with_role(r#""preferred_node_affinity": [{"weight": 0, "expressions": []}]"#), "$.gangs[0].roles[0].preferred_node_affinity[0].weight", OutOfRange),
        (with_role(r#""replica_affinity": [{"level": ""}]"#), "$.gangs[0].roles[0].replica_affinity[0].level", BadValue),
        (r#"{"nodes": [{"name": "n", "zones": [{"cpu": "-1"}]}]}"#.to_owned(), "$.nodes[0].zones[0].cpu", OutOfRange),
        (r#"{"nodes": [{"name": "n"}], "running": [{"name": "p", "node": "n", "zone": 0}]}"#.to_owned(), "$.running[0].zone", OutOfRange),
        (r#"{"nodes": [{"name": "n"}], "running": [{"name": "p", "node": "n", "ends_s": -1}]}"#.to_owned(), "$.running[0].ends_s", OutOfRange),
        (r#"{"queues": [{"name": "q", "weight": -1}]}"#.to_owned(), "$.queues[0].weight", OutOfRange),
        (r#"{"queues": [{"name": "q", "deserved": {"cpu": "much"}}]}"#.to_owned(), "$.queues[0].deserved.cpu", BadQuantity),
        (r#"{"quotas": [{"namespace": "a"}, {"namespace": "a"}]}"#.to_owned(), "$.quotas[1].namespace", DuplicateName),
        (r#"{"quotas": [{"namespace": "a", "hard": {"cpu": "-1"}}]}"#.to_owned(), "$.quotas[0].hard.cpu", OutOfRange),
        (gang(&format!(r#""roles": [{role}], "traffic": [{{"a": "w", "b": "x"}}]"#)), "$.gangs[0].traffic[0].b", UnknownName),
        (
            gang(&format!(r#""roles": [{role}], "traffic": [{{"a": "w", "b": "w", "weight": -1}}]"#)),
            "$.gangs[0].traffic[0].weight",
            OutOfRange,
        ),
        (
            with_role(r#""requests": {"cpu": "1"}, "pod": {"containers": []}"#),
            "$.gangs[0].roles[0].pod",
            Contradiction,
        ),
        (
            with_role(r#""pod": {"containers": [{"request": {}}]}"#),
            "$.gangs[0].roles[0].pod.containers[0].request",
            UnknownField,
        ),
        (
            with_role(r#""node_affinity": [{"expressions": [{"key": "k", "operator": "In"}]}]"#),
            "$.gangs[0].roles[0].node_affinity[0].expressions[0].values",
            BadValue,
        ),
        (
            with_role(r#""node_affinity": [{"expressions": [{"key": "k", "operator": "Gt", "values": ["x"]}]}]"#),
            "$.gangs[0].roles[0].node_affinity[0].expressions[0].values",
            BadValue,
        ),
        (
            with_role(r#""tolerations": [{"key": "k", "operator": "Exists", "value": "v"}]"#),
            "$.gangs[0].roles[0].tolerations[0].value",
            Contradiction,
        ),
        (with_role(r#""tolerations": [{"value": "v"}]"#), "$.gangs[0].roles[0].tolerations[0].key", Contradiction),
        (running(r#""gang": "g", "role": "w""#), "$.running[0].index", MissingField),
        (running(r#""role": "w", "index": 0"#), "$.running[0].gang", MissingField),
        (running(r#""gang": "g", "role": "w", "index": 2"#), "$.running[0].index", OutOfRange),
        (running(r#""gang": "g", "role": "x", "index": 0"#), "$.running[0].role", UnknownName),
        (running(r#""gang": "h", "role": "w", "index": 0"#), "$.running[0].gang", UnknownName),
        (
            running(r#""gang": "g", "role": "w", "index": 0, "requests": {"cpu": "1"}"#),
            "$.running[0].requests",
            Contradiction,
        ),
        (
            running(r#""gang": "g", "role": "w", "index": 0}, {"name": "s", "node": "n", "gang": "g", "role": "w", "index": 0"#),
            "$.running[1]",
            DuplicateName,
        ),
        (r#"{"running": [{"name": "r", "node": "n"}]}"#.to_owned(), "$.running[0].node", UnknownName),
    ];
    let mut seen = std::collections::BTreeSet::new();
    for (document, path, code) in table {
        let found = problems::<Snapshot>(document.as_bytes());
        assert_eq!(codes(&found), [(path, code)], "{document}: {found:?}");
        seen.insert(code);
    }
    assert_eq!(seen.len(), 12, "every code has an example");
}

#[test]
fn all_problems_come_at_once_in_the_order_of_the_document() {
    let document = br#"{
        "nodes": [{"name": "a", "redy": true}, {"name": "a"}],
        "gangs": [{"name": "g", "queue": "q", "roles": [{"name": "w", "replica": 2}]}]
    }"#;
    let found = problems::<Snapshot>(document);
    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "$.gangs[0].queue: there is no queue 'q'",
            "$.gangs[0].roles[0].replica: unknown field 'replica'; did you mean 'replicas'?",
            "$.gangs[0].roles[0].replicas: is missing",
            "$.nodes[0].redy: unknown field 'redy'; did you mean 'ready'?",
            "$.nodes[1].name: there is another node 'a'",
        ]
    );
}

#[test]
fn a_lost_name_is_told_once_and_not_by_all_that_refer_to_it() {
    let document = br#"{"nodes": [{"nam": "a"}], "running": [{"name": "r", "node": "a"}]}"#;
    let found = problems::<Snapshot>(document);
    assert_eq!(
        codes(&found),
        [("$.nodes[0].nam", ProblemCode::UnknownField), ("$.nodes[0].name", ProblemCode::MissingField)]
    );
}

#[test]
fn indexes_are_ordered_as_numbers() {
    let nodes: Vec<String> = (0..12).map(|_| "{}".to_owned()).collect();
    let found = problems::<Snapshot>(format!(r#"{{"nodes": [{}]}}"#, nodes.join(",")).as_bytes());
    let paths: Vec<&str> = found.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!((paths[2], paths[10]), ("$.nodes[2].name", "$.nodes[10].name"));
}

#[test]
fn options_and_plans_are_validated_too() {
    let options = problems::<SolveOptions>(br#"{"budget": 0, "deadline_s": -1, "changes": 1}"#);
    let paths: Vec<&str> = options.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["$.budget", "$.changes", "$.deadline_s"]);
    let plan = problems::<Plan>(br#"{"placements": {"g": ["n"]}, "stats": [1]}"#);
    let paths: Vec<&str> = plan.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["$.placements.g", "$.stats"]);
}

#[test]
fn an_empty_object_is_a_whole_document() {
    assert_eq!(decode::<Snapshot>(b"{}").unwrap(), Snapshot::default());
    assert_eq!(decode::<SolveOptions>(b"{}").unwrap(), SolveOptions::default());
    assert_eq!(decode::<Plan>(b"{}").unwrap(), Plan::default());
}
