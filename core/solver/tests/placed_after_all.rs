//! Gangs whose refusal would be easy to get wrong: what they wait for comes later, their levels cross, their tables are
//! large.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;

use gangplan_solver::document::{Plan, Snapshot, SolveOptions, decode};
use gangplan_solver::{check, solve};

fn plan_for(document: &str, options: &SolveOptions) -> (Snapshot, Plan) {
    let snapshot: Snapshot = decode(document.as_bytes()).unwrap();
    let plan = solve(&snapshot, options, &std::sync::atomic::AtomicBool::new(false)).unwrap();
    assert_eq!(check(&snapshot, &plan).unwrap(), vec![]);
    (snapshot, plan)
}

fn places(document: &str, gang: &str, role: &str) -> Vec<String> {
    let (_, plan) = plan_for(document, &SolveOptions::default());
    assert_eq!(plan.rejections.len(), 0, "{:#?}", plan.rejections);
    plan.placements[gang][role].clone()
}

#[test]
fn who_waits_for_company_is_placed_once_it_has_come_in_the_same_solve() {
    let document = r#"{"nodes": [{"name": "n0", "allocatable": {"cpu": "4"}}], "gangs": [
        {"name": "sidekick", "created": 1, "roles": [{"name": "c", "replicas": 1, "requests": {"cpu": "1"},
         "replica_affinity": [{"level": "node", "match_labels": {"app": "x"}}]}]},
        {"name": "train", "created": 2, "roles": [{"name": "w", "replicas": 1, "requests": {"cpu": "1"},
         "labels": {"app": "x"}}]}]}"#;
    assert_eq!(places(document, "sidekick", "c"), ["n0"]);
    // Nobody can say that company which could still come never does.
    let alone = document.replace(r#""labels": {"app": "x"}"#, r#""labels": {"app": "y"}"#);
    let (_, plan) = plan_for(&alone, &SolveOptions::default());
    let rejection = &plan.rejections["sidekick"];
    assert_eq!((rejection.rule.as_str(), rejection.impossible), ("COMPANY_MISSING", false));
}

#[test]
fn a_gang_whose_terms_are_about_levels_that_cross_is_placed() {
    let document = r#"{"nodes": [{"name": "n1", "labels": {"zone": "b"}},
        {"name": "n2", "labels": {"zone": "b", "rack": "a"}}, {"name": "n3", "labels": {"rack": "a"}}],
        "gangs": [{"name": "g1", "roles": [{"name": "r0", "replicas": 1},
         {"name": "r1", "replicas": 1,
          "replica_affinity": [{"level": "rack", "match_labels": {"gangplan.dev/role": "r0"}}]},
         {"name": "r2", "replicas": 1,
          "replica_affinity": [{"level": "zone", "match_labels": {"gangplan.dev/gang": "g1"}, "anti": true}]}]}]}"#;
    // In a rack, and r2 in another zone or in none.
    assert_eq!(places(document, "g1", "r0"), places(document, "g1", "r1"));
    assert_ne!(places(document, "g1", "r0"), ["n1"]);
    assert_ne!(places(document, "g1", "r2"), places(document, "g1", "r0"));
}

/// Racks of 16 nodes with 4 GPUs each, and a gang of `roles` roles with 64 replicas, each in a rack of its own.
fn racks_and_roles(racks: usize, roles: usize) -> String {
    let mut nodes = String::new();
    for node in 0..racks * 16 {
        let comma = if node == 0 { "" } else { "," };
        let rack = node / 16;
        write!(
            nodes,
            r#"{comma}{{"name": "n{node}", "labels": {{"rack": "r{rack}"}}, "allocatable": {{"gpu": "4"}}}}"#
        )
        .unwrap();
    }
    let role = |index| {
        format!(
            r#"{{"name": "w{index}", "replicas": 64, "requests": {{"gpu": "1"}}, "topology": {{"required": "rack"}}}}"#
        )
    };
    let roles: Vec<String> = (0..roles).map(role).collect();
    format!(
        r#"{{"topology": ["rack"], "nodes": [{nodes}], "gangs": [{{"name": "g", "roles": [{}]}}]}}"#,
        roles.join(", ")
    )
}

#[test]
fn many_large_roles_that_need_a_rack_each_get_one_each() {
    let (_, plan) = plan_for(&racks_and_roles(9, 9), &SolveOptions::default());
    assert_eq!(plan.rejections.len(), 0, "{:#?}", plan.rejections);
}

#[test]
fn of_many_large_roles_one_that_fits_in_no_rack_proves_that_the_gang_does_not() {
    let document = racks_and_roles(10, 9).replacen(r#""replicas": 64"#, r#""replicas": 65"#, 1);
    let (_, plan) = plan_for(&document, &SolveOptions::default());
    assert!(plan.rejections["g"].proven);
    assert!(!plan.rejections["g"].message.contains("proof"), "{}", plan.rejections["g"].message);
}

/// Nodes of 4 cores hold one replica of 3 cores or two of 2: the sums suffice, the pieces do not.
fn pieces(count: usize, nodes: usize) -> String {
    let nodes: Vec<String> =
        (0..nodes).map(|node| format!(r#"{{"name": "n{node}", "allocatable": {{"cpu": "4"}}}}"#)).collect();
    format!(
        r#"{{"nodes": [{}], "gangs": [{{"name": "g", "topology": {{"spread": [{{"level": "node", "most": 4}}]}},
            "roles": [{{"name": "a", "replicas": {count}, "requests": {{"cpu": "3"}}}},
                      {{"name": "b", "replicas": {count}, "requests": {{"cpu": "2"}}}}]}}]}}"#,
        nodes.join(", ")
    )
}

#[test]
fn a_refusal_without_proof_says_whether_the_budget_ended_or_the_memory() {
    let message = |document: &str, budget| {
        let options = SolveOptions { budget, changes: false, ..SolveOptions::default() };
        let (_, plan) = plan_for(document, &options);
        let rejection = &plan.rejections["g"];
        assert!(!rejection.proven || budget > 1);
        rejection.message.clone()
    };
    let enough = SolveOptions::default().budget;
    assert!(message(&pieces(4, 5), 1).ends_with("the budget ended before a proof"));
    assert!(!message(&pieces(4, 5), enough).contains("proof"));
    let large = message(&pieces(2500, 3700), enough);
    assert!(large.ends_with("a proof would need larger tables than are kept in memory"), "{large}");
}

#[test]
fn a_gang_that_a_small_budget_refuses_is_refused_without_proof_however_small_its_last_step() {
    let document = r#"{"nodes": [{"name": "n0"}], "gangs": [{"name": "g0", "min_member": 0, "roles": [
        {"name": "r0", "replicas": 1}, {"name": "r1", "replicas": 1, "requests": {"cpu": "1"}}]}]}"#;
    assert_eq!(plan_for(document, &SolveOptions::default()).1.placements["g0"]["r0"], ["n0"]);
    for budget in 1..200 {
        let (_, plan) = plan_for(document, &SolveOptions { budget, ..SolveOptions::default() });
        assert!(plan.rejections.get("g0").is_none_or(|rejection| !rejection.proven), "{budget}");
    }
}

#[test]
fn two_that_keep_each_other_company_join_an_elastic_gang_together() {
    let document = r#"{"nodes": [{"name": "n0", "allocatable": {"cpu": "1"}}, {"name": "n3", "allocatable": {"cpu": "2"}}],
        "gangs": [{"name": "g0", "min_member": 1, "roles": [
         {"name": "r0", "replicas": 2, "requests": {"cpu": "1"}, "labels": {"app": "t"},
          "replica_affinity": [{"level": "node", "match_labels": {"app": "t"}}]},
         {"name": "r1", "replicas": 1, "requests": {"cpu": "1"}, "labels": {"app": "t"}, "priority": 1}]}]}"#;
    assert_eq!(places(document, "g0", "r0"), ["n3"; 2]);
    assert_eq!(places(document, "g0", "r1"), ["n0"]);
}
