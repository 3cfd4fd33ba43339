//! Changes that are offered admit the gang, where several rules bind at once; and no more is given up than must be.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::AtomicBool;

use gangplan_solver::document::{Change, ChangeKind, Plan, Snapshot, SolveOptions, decode};
use gangplan_solver::solve;

fn plan_for(document: &str) -> (Snapshot, Plan) {
    let snapshot: Snapshot = decode(document.as_bytes()).unwrap();
    let plan = solve(&snapshot, &SolveOptions::default(), &AtomicBool::new(false)).unwrap();
    (snapshot, plan)
}

fn offered(document: &str, kind: ChangeKind) -> Option<Change> {
    let (_, plan) = plan_for(document);
    plan.rejections["g"].changes.iter().find(|change| change.kind == kind).cloned()
}

/// Applies an offered count and says whether the gang starts then.
fn starts_with(snapshot: &Snapshot, replicas: i64) -> bool {
    let mut snapshot = snapshot.clone();
    snapshot.gangs[0].roles.last_mut().unwrap().replicas = replicas;
    let plan = solve(&snapshot, &SolveOptions::default(), &AtomicBool::new(false)).unwrap();
    plan.placements.contains_key("g")
}

#[test]
fn a_higher_limit_is_offered_only_where_nothing_else_is_in_the_way() {
    let with = |more: &str| {
        format!(
            r#"{{"nodes": [{{"name": "n", "allocatable": {{"gpu": "4"}}}}],
                "gangs": [{{"name": "g", "queue": "q", "namespace": "ns",
                    "roles": [{{"name": "w", "replicas": 2, "requests": {{"gpu": "1"}}}}]}}], {more}}}"#
        )
    };
    let alone = with(r#""queues": [{"name": "q", "limit": {"gpu": "0"}}]"#);
    assert_eq!(offered(&alone, ChangeKind::Limit).unwrap().to.unwrap(), "2");
    let quota = with(
        r#""queues": [{"name": "q", "limit": {"gpu": "0"}}], "quotas": [{"namespace": "ns", "hard": {"gpu": "1"}}]"#,
    );
    assert_eq!(offered(&quota, ChangeKind::Limit), None);
    let promised = with(
        r#""queues": [{"name": "q", "limit": {"gpu": "1"}}, {"name": "other", "guarantee": {"gpu": "4"}}]"#,
    );
    assert_eq!(offered(&promised, ChangeKind::Limit), None);
}

#[test]
fn of_a_role_in_slices_as_many_are_offered_as_fit_in_whole_slices() {
    for (gpus, size, chiefs, workers) in
        [(5, 2, 1, 7), (5, 2, 0, 6), (15, 4, 0, 16), (9, 3, 2, 13), (7, 1, 0, 9)]
    {
        let chief =
            if chiefs > 0 { format!(r#"{{"name": "chief", "replicas": {chiefs}}},"#) } else { String::new() };
        let document = format!(
            r#"{{"topology": ["rack"],
                "nodes": [{{"name": "n", "labels": {{"rack": "r"}}, "allocatable": {{"gpu": "{gpus}"}}}}],
                "gangs": [{{"name": "g", "topology": {{"slices": [{{"level": "rack", "size": {size}}}]}},
                    "roles": [{chief} {{"name": "w", "replicas": {workers}, "requests": {{"gpu": "1"}}}}]}}]}}"#
        );
        let (snapshot, _) = plan_for(&document);
        let most = (1..workers).rev().find(|count| starts_with(&snapshot, *count)).unwrap();
        let change = offered(&document, ChangeKind::Replicas).unwrap();
        assert_eq!(change.to.unwrap(), most.to_string(), "{document}");
    }
}

#[test]
fn fewer_replicas_are_not_offered_where_a_set_of_groups_could_never_be_met() {
    let document = r#"{"nodes": [{"name": "n", "allocatable": {"gpu": "3"}}],
        "gangs": [{"name": "g", "min_groups": {"pods": 2},
            "groups": [{"name": "a", "roles": ["a"], "set": "pods", "min": 2}, {"name": "b", "roles": ["b"], "set": "pods", "min": 2}],
            "roles": [{"name": "a", "replicas": 2, "requests": {"gpu": "1"}},
                      {"name": "b", "replicas": 2, "requests": {"gpu": "1"}}]}]}"#;
    assert_eq!(offered(document, ChangeKind::Replicas), None);
}
