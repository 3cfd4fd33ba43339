//! Every way to break a rule about more than one replica is caught, under the code of the rule.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;

use std::collections::BTreeMap;

use clusters::{Tape, amounts, gang, node, plan_for, role, seeded_bytes, texts};
use gangplan_solver::check;
use gangplan_solver::document::{
    Closeness, Gang, Group, NamespaceQuota, Plan, ReplicaAffinity, Rule, Slice, Snapshot, Spread,
};

/// Corruptions of each rule.
const EACH: u64 = 25;

fn affinity(role: &str, anti: bool) -> ReplicaAffinity {
    let match_labels = texts(&[("gangplan.dev/role", role)]);
    ReplicaAffinity { level: "rack".to_owned(), match_labels, anti, required: true }
}

/// Four racks of two nodes with two zones each, and one gang for each rule.
fn snapshot(tape: &mut Tape<'_>) -> Snapshot {
    let mut snapshot = Snapshot { topology: vec!["rack".to_owned()], ..Snapshot::default() };
    for index in 0..8 {
        let mut node = node(&format!("n{index}"), &[("cpu", 40), ("gpu", 8)]);
        node.labels = texts(&[("rack", ["a", "b", "c", "d"][index / 2])]);
        node.zones = vec![amounts(&[("gpu", 4)]), amounts(&[("gpu", 4)])];
        snapshot.nodes.push(node);
    }
    let close = |closeness: Closeness| Some(closeness);
    let rack = || "rack".to_owned();
    let mut sliced = gang("sliced", vec![role("worker", 4, &[("cpu", 1)])]);
    sliced.topology =
        close(Closeness { slices: vec![Slice { level: rack(), size: 2 }], ..Closeness::default() });
    let mut spread = gang("spread", vec![role("worker", 4, &[("cpu", 1)])]);
    spread.topology =
        close(Closeness { spread: vec![Spread { level: rack(), most: 1 }], ..Closeness::default() });
    let mut drawn = gang("drawn", vec![role("ps", 1, &[("cpu", 1)]), role("trainer", 2, &[("cpu", 1)])]);
    drawn.roles[1].replica_affinity.push(affinity("ps", false));
    let mut shy = gang("shy", vec![role("one", 1, &[("cpu", 1)]), role("other", 2, &[("cpu", 1)])]);
    shy.roles[1].replica_affinity.push(affinity("one", true));
    let mut zoned = gang("zoned", vec![role("worker", 2, &[("gpu", 3)])]);
    zoned.roles[0].single_zone = true;
    let mut grouped = gang("grouped", vec![role("left", 3, &[("cpu", 1)]), role("right", 3, &[("cpu", 1)])]);
    grouped.groups = ["left", "right"]
        .map(|name| Group {
            name: name.to_owned(),
            roles: vec![name.to_owned()],
            min: Some(2),
            set: Some("halves".to_owned()),
            ..Group::default()
        })
        .to_vec();
    grouped.min_groups = BTreeMap::from([("halves".to_owned(), 2)]);
    let mut counted = gang("counted", vec![role("worker", 2, &[("cpu", 1)])]);
    "team".clone_into(&mut counted.namespace);
    let mut later = gang("later", vec![role("worker", i64::from(tape.range(1, 4)), &[("cpu", 1)])]);
    "team".clone_into(&mut later.namespace);
    later.created = 1;
    snapshot.quotas = vec![NamespaceQuota {
        namespace: "team".to_owned(),
        hard: amounts(&[("cpu", 5)]),
        used: amounts(&[("cpu", 3)]),
    }];
    snapshot.gangs = vec![sliced, spread, drawn, shy, zoned, grouped, counted, later];
    snapshot
}

fn nodes<'a>(plan: &'a mut Plan, gang: &str, role: &str) -> &'a mut Vec<String> {
    plan.placements.get_mut(gang).unwrap().get_mut(role).unwrap()
}

fn rack_of(snapshot: &Snapshot, node: &str) -> String {
    snapshot.nodes.iter().find(|known| known.name == node).unwrap().labels["rack"].clone()
}

/// A node of the rack of another one, or of any other rack.
fn pick(snapshot: &Snapshot, tape: &mut Tape<'_>, near: &str, same: bool) -> String {
    let rack = rack_of(snapshot, near);
    let fitting: Vec<&str> = snapshot
        .nodes
        .iter()
        .filter(|node| (node.labels["rack"] == rack) == same)
        .map(|node| node.name.as_str())
        .collect();
    tape.pick(&fitting).to_owned()
}

fn corrupt(rule: Rule, plan: &mut Plan, tape: &mut Tape<'_>, snapshot: &Snapshot) {
    match rule {
        Rule::SlicesBroken => {
            let index = usize::from(tape.below(4));
            let near = nodes(plan, "sliced", "worker")[index].clone();
            nodes(plan, "sliced", "worker")[index] = pick(snapshot, tape, &near, false);
        }
        Rule::SpreadExceeded => {
            let index = usize::from(tape.below(3));
            let near = nodes(plan, "spread", "worker")[index].clone();
            nodes(plan, "spread", "worker")[3] = pick(snapshot, tape, &near, true);
        }
        Rule::CompanyMissing => {
            let index = usize::from(tape.below(2));
            let near = nodes(plan, "drawn", "ps")[0].clone();
            nodes(plan, "drawn", "trainer")[index] = pick(snapshot, tape, &near, false);
        }
        Rule::CompanyUnwanted => {
            let index = usize::from(tape.below(2));
            let near = nodes(plan, "shy", "one")[0].clone();
            nodes(plan, "shy", "other")[index] = pick(snapshot, tape, &near, true);
        }
        Rule::ZoneTooSmall => {
            let node = tape.pick(&["n0", "n1", "n5", "n7"]).to_owned();
            *nodes(plan, "zoned", "worker") = vec![node; 3];
        }
        Rule::GroupIncomplete => {
            let side = tape.pick(&["left", "right"]);
            nodes(plan, "grouped", side).truncate(usize::from(tape.below(2)));
        }
        Rule::NamespaceQuotaExceeded => {
            plan.rejections.remove("later");
            let later = snapshot.gangs.iter().find(|gang| gang.name == "later").unwrap();
            let nodes = (0..later.roles[0].replicas).map(|_| format!("n{}", tape.below(8)));
            let roles = BTreeMap::from([("worker".to_owned(), nodes.collect())]);
            plan.placements.insert("later".to_owned(), roles);
        }
        _ => unreachable!("broken in corruptions"),
    }
}

#[test]
fn every_corruption_is_caught_under_its_rule() {
    let rules = [
        Rule::SlicesBroken,
        Rule::SpreadExceeded,
        Rule::CompanyMissing,
        Rule::CompanyUnwanted,
        Rule::ZoneTooSmall,
        Rule::GroupIncomplete,
        Rule::NamespaceQuotaExceeded,
    ];
    for rule in rules {
        for seed in 0..EACH {
            let bytes = seeded_bytes(seed, 64);
            let mut tape = Tape::new(&bytes);
            let mut snapshot = snapshot(&mut tape);
            if rule == Rule::ZoneTooSmall {
                replicas(&mut snapshot, "zoned", 3);
            }
            let mut plan = plan_for(&snapshot);
            assert_eq!(check(&snapshot, &plan).unwrap(), vec![], "the plan is sound before");
            assert_eq!(plan.placements.len(), 7, "{:?}", plan.rejections);
            corrupt(rule, &mut plan, &mut tape, &snapshot);
            let violations = check(&snapshot, &plan).unwrap();
            assert!(
                violations.iter().any(|violation| violation.rule == rule.code()),
                "{} is not caught (seed {seed}): {violations:?} {:?}",
                rule.code(),
                plan.placements,
            );
        }
    }
}

fn replicas(snapshot: &mut Snapshot, name: &str, count: i64) {
    let gang: &mut Gang = snapshot.gangs.iter_mut().find(|gang| gang.name == name).unwrap();
    gang.roles[0].replicas = count;
}
