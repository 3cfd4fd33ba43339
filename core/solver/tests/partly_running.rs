//! Gangs of which some runs, leaves or sits in a zone already.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;

use std::sync::atomic::AtomicBool;

use clusters::{amounts, gang, member, node, plan_for, queue, require, role, texts};
use gangplan_solver::document::{
    Closeness, Fill, Gang, Group, NamespaceQuota, Node, Ranks, Slice, Snapshot, SolveOptions,
};
use gangplan_solver::{check, solve};

fn machine(name: &str, rack: &str, cpus: u8) -> Node {
    let mut node = node(name, &[("cpu", cpus)]);
    node.labels = texts(&[("rack", rack)]);
    node
}

fn racks(nodes: Vec<Node>, gangs: Vec<Gang>) -> Snapshot {
    Snapshot { topology: vec!["rack".to_owned()], nodes, gangs, ..Snapshot::default() }
}

#[test]
fn a_gang_waits_for_its_leaving_replicas_where_it_needs_their_places() {
    let mut snapshot =
        racks(vec![machine("n1", "r1", 8)], vec![gang("g", vec![role("a", 3, &[("cpu", 1)])])]);
    let mut leaving = member("g", "a", 1, "n1");
    leaving.terminating = true;
    snapshot.running.push(leaving);
    let plan = plan_for(&snapshot);
    let rejection = &plan.rejections["g"];
    assert_eq!(rejection.rule, "GROUP_INCOMPLETE");
    assert_eq!(rejection.message, "replicas of it are leaving, without which it cannot have its minimum");
    assert!(rejection.proven && !rejection.impossible && rejection.changes.is_empty());
    // An elastic one starts with those that it has.
    snapshot.gangs[0].roles[0].min = Some(2);
    let plan = plan_for(&snapshot);
    assert_eq!(plan.placements["g"]["a"], ["n1"; 2]);
    assert_eq!(check(&snapshot, &plan).unwrap(), vec![]);
    snapshot.gangs[0].roles[0].min = Some(3);
    assert_eq!(plan_for(&snapshot).rejections["g"].rule, "GROUP_INCOMPLETE");
}

#[test]
fn ranks_keep_to_the_indexes_that_are_free() {
    let nodes = vec![machine("n1", "r1", 2), machine("n2", "r2", 2)];
    let mut ring = gang("g", vec![role("a", 5, &[("cpu", 1)])]);
    ring.roles[0].ranks = Some(Ranks::Chain);
    ring.roles[0].min = Some(1);
    let mut snapshot = racks(nodes, vec![ring]);
    snapshot.running.push(member("g", "a", 4, "n1"));
    let mut leaving = member("g", "a", 3, "n2");
    leaving.terminating = true;
    snapshot.running.push(leaving);
    let plan = plan_for(&snapshot);
    assert_eq!(check(&snapshot, &plan).unwrap(), vec![]);
    assert_eq!(plan.placements["g"]["a"].len(), 3);
}

#[test]
fn the_rest_of_a_gang_joins_what_runs_of_it_though_another_domain_would_hold_all() {
    for (least_left, placement) in [(8, Fill::Spread), (3, Fill::Pack)] {
        let nodes = vec![machine("n1", "r1", least_left), machine("n2", "r2", 2), machine("n3", "r2", 2)];
        let mut tied = gang("g", vec![role("a", 2, &[("cpu", 1)])]);
        tied.topology = Some(require("rack"));
        // A group makes it a matter of the search that knows rules.
        tied.groups.push(Group { name: "all".to_owned(), roles: vec!["a".to_owned()], ..Group::default() });
        let mut snapshot = racks(nodes, vec![tied]);
        snapshot.running.push(member("g", "a", 1, "n1"));
        let options = SolveOptions { placement, ..SolveOptions::default() };
        let plan = solve(&snapshot, &options, &AtomicBool::new(false)).unwrap();
        assert_eq!(check(&snapshot, &plan).unwrap(), vec![]);
        assert_eq!(plan.placements["g"]["a"], ["n1"]);
    }
}

#[test]
fn what_straddles_the_zones_of_a_node_already_bars_only_those_that_need_one() {
    let mut nodes = vec![machine("n1", "r1", 4)];
    nodes[0].zones = vec![amounts(&[("cpu", 1)]), amounts(&[("cpu", 2)])];
    let mut bound = role("b", 1, &[("cpu", 3)]);
    bound.single_zone = true;
    let mut snapshot = racks(nodes, vec![gang("g", vec![role("a", 1, &[("cpu", 1)]), bound])]);
    snapshot.running.push(member("g", "b", 0, "n1"));
    let plan = plan_for(&snapshot);
    assert_eq!(plan.placements["g"]["a"], ["n1"]);
    assert_eq!(check(&snapshot, &plan).unwrap(), vec![]);
}

#[test]
fn a_higher_limit_is_not_offered_where_the_namespace_allows_no_more() {
    let mut snapshot =
        racks(vec![machine("n1", "r1", 8)], vec![gang("g", vec![role("a", 4, &[("cpu", 1)])])]);
    snapshot.queues.push(queue("q", None, &[("cpu", 2)]));
    snapshot.gangs[0].queue = Some("q".to_owned());
    let offers_limit = |snapshot: &Snapshot| {
        let plan = plan_for(snapshot);
        plan.rejections["g"].changes.iter().any(|change| change.text.starts_with("raise the limit"))
    };
    assert!(offers_limit(&snapshot));
    let hard = amounts(&[("cpu", 3)]);
    snapshot.quotas.push(NamespaceQuota {
        namespace: String::new(),
        hard,
        used: std::collections::BTreeMap::new(),
    });
    assert!(!offers_limit(&snapshot));
}

/// So many counts that parts of the gang are placed one after the other: none may start while another is broken.
#[test]
fn a_large_gang_gets_nothing_while_what_runs_of_another_role_breaks_its_rules() {
    let required = Closeness { required: Some("rack".to_owned()), ..Closeness::default() };
    let slices = vec![Slice { level: "rack".to_owned(), size: 2 }];
    let sliced = Closeness { slices, ..Closeness::default() };
    for asked in [required, sliced] {
        let mut broken = role("c", 2, &[("cpu", 1)]);
        broken.topology = Some(asked.clone());
        let large = [role("a", 400, &[("cpu", 1)]), role("b", 400, &[("cpu", 1)])];
        let mut snapshot = racks(
            (0..10).map(|index| machine(&format!("n{index}"), &format!("r{index}"), 200)).collect(),
            vec![gang("g", large.into_iter().chain([broken]).collect())],
        );
        snapshot.running = vec![member("g", "c", 0, "n1"), member("g", "c", 1, "n2")];
        let plan = plan_for(&snapshot);
        assert_eq!(check(&snapshot, &plan).unwrap(), vec![]);
        assert!(plan.placements.is_empty(), "{asked:?}");
        // Together they are whole, and all that waits starts.
        for member in &mut snapshot.running {
            "n1".clone_into(&mut member.node);
        }
        let plan = plan_for(&snapshot);
        assert_eq!(check(&snapshot, &plan).unwrap(), vec![]);
        assert_eq!(plan.placements["g"].values().map(Vec::len).sum::<usize>(), 800);
    }
}
