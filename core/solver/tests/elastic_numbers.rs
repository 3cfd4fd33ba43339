//! What the refusal of an elastic gang counts: the replicas that would come first.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;

use clusters::{gang, member, node, plan_for, role};
use gangplan_solver::document::{ChangeKind, Gang, Rejection, Snapshot};

/// Roles `a` and `b`, of which `b` comes first although `a` stands before it.
fn b_first() -> Gang {
    let mut elastic = gang("g", vec![role("a", 3, &[("gpu", 4)]), role("b", 3, &[("gpu", 2)])]);
    elastic.roles[1].priority = 1;
    elastic
}

fn numbers(rejection: &Rejection) -> [Option<&str>; 2] {
    [rejection.needs.as_deref(), rejection.has.as_deref()]
}

#[test]
fn a_minimum_is_counted_with_the_roles_of_higher_priority_first() {
    let mut elastic = b_first();
    elastic.min_member = Some(2);
    let mut snapshot =
        Snapshot { nodes: vec![node("n", &[("gpu", 3)])], gangs: vec![elastic], ..Snapshot::default() };
    snapshot.running.push(clusters::pod("other", "n", &[("gpu", 1)]));
    let rejection = plan_for(&snapshot).rejections["g"].clone();
    assert_eq!(numbers(&rejection), [Some("4"), Some("2")], "{}", rejection.message);
    snapshot.nodes[0] = node("n", &[("gpu", 4)]);
    let rejection = plan_for(&snapshot).rejections["g"].clone();
    assert_eq!(numbers(&rejection), [Some("4"), Some("3")]);
    let free = rejection.changes.iter().find(|change| change.kind == ChangeKind::Free).unwrap();
    assert_eq!(free.amount.as_deref(), Some("1"));
}

#[test]
fn a_gang_that_cannot_grow_is_told_what_its_first_role_lacks() {
    let mut elastic = b_first();
    elastic.min_member = Some(1);
    let mut snapshot =
        Snapshot { nodes: vec![node("n", &[("gpu", 3)])], gangs: vec![elastic], ..Snapshot::default() };
    snapshot.running.push(member("g", "b", 0, "n"));
    let rejection = plan_for(&snapshot).rejections["g"].clone();
    assert_eq!(numbers(&rejection), [Some("2"), Some("1")], "{}", rejection.message);
    // Where that role has all of its replicas it is the next one.
    snapshot.gangs[0].roles[1].replicas = 1;
    let rejection = plan_for(&snapshot).rejections["g"].clone();
    assert_eq!(numbers(&rejection), [Some("4"), Some("1")], "{}", rejection.message);
}
