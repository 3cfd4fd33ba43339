//! Which nodes a role may use, and under which rule it may not use the others.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;

use clusters::{expression, gang, node, plan_for, prefer, require, role, texts};
use gangplan_solver::document::{
    Closeness,
    ExpressionOperator::{DoesNotExist, Exists, Gt, In, Lt, NotIn},
    Node, NodeSelectorTerm, Role, Snapshot, Taint, TaintEffect, Toleration, TolerationEffect,
    TolerationOperator,
};

/// The rule that keeps a role off a node, if one does.
fn verdict(role: Role, node: Node) -> Option<String> {
    let snapshot = Snapshot { nodes: vec![node], gangs: vec![gang("g", vec![role])], ..Snapshot::default() };
    let plan = plan_for(&snapshot);
    plan.rejections.get("g").map(|rejection| {
        assert_eq!(rejection.exclusions[0].rule, rejection.rule);
        rejection.rule.clone()
    })
}

#[test]
fn expressions_have_the_meaning_of_kubernetes() {
    let labels = [("gpu", "a100"), ("cores", "64"), ("word", "many")];
    let table = [
        (expression("gpu", In, &["h100", "a100"]), true),
        (expression("gpu", In, &["h100"]), false),
        (expression("none", In, &["a100"]), false),
        (expression("gpu", NotIn, &["h100"]), true),
        (expression("gpu", NotIn, &["a100"]), false),
        (expression("none", NotIn, &["a100"]), true),
        (expression("gpu", Exists, &[]), true),
        (expression("none", Exists, &[]), false),
        (expression("gpu", DoesNotExist, &[]), false),
        (expression("none", DoesNotExist, &[]), true),
        (expression("cores", Gt, &["63"]), true),
        (expression("cores", Gt, &["64"]), false),
        (expression("cores", Lt, &["65"]), true),
        (expression("cores", Lt, &["64"]), false),
        (expression("word", Gt, &["1"]), false),
        (expression("none", Lt, &["1"]), false),
    ];
    for (expression, holds) in table {
        let mut node = node("n", &[]);
        node.labels = texts(&labels);
        let mut role = role("worker", 1, &[]);
        role.node_affinity = vec![NodeSelectorTerm { expressions: vec![expression.clone()] }];
        let wanted = (!holds).then(|| "NODE_AFFINITY_MISMATCH".to_owned());
        assert_eq!(verdict(role, node), wanted, "{expression:?}");
    }
}

#[test]
fn one_term_must_hold_and_all_of_its_expressions() {
    let term = |expressions: Vec<_>| NodeSelectorTerm { expressions };
    let (yes, no) = (expression("gpu", Exists, &[]), expression("gpu", DoesNotExist, &[]));
    let table = [
        (vec![], true),
        (vec![term(vec![])], false),
        (vec![term(vec![yes.clone(), no.clone()])], false),
        (vec![term(vec![no.clone()]), term(vec![yes.clone()])], true),
        (vec![term(vec![]), term(vec![no])], false),
        (vec![term(vec![yes.clone(), yes])], true),
    ];
    for (terms, holds) in table {
        let mut node = node("n", &[]);
        node.labels = texts(&[("gpu", "a100")]);
        let mut role = role("worker", 1, &[]);
        role.node_affinity = terms.clone();
        assert_eq!(verdict(role, node).is_none(), holds, "{terms:?}");
    }
}

#[test]
fn taints_keep_away_what_does_not_tolerate_them() {
    use TaintEffect::{NoExecute, NoSchedule, PreferNoSchedule};
    use TolerationOperator::{Equal, Exists as Any};
    let taint = |effect| Taint { key: "team".to_owned(), value: "vision".to_owned(), effect };
    let tolerate = |key: &str, operator, value: &str, effect| Toleration {
        key: key.to_owned(),
        operator,
        value: value.to_owned(),
        effect,
    };
    let table = [
        (NoSchedule, None, false),
        (NoExecute, None, false),
        (PreferNoSchedule, None, true),
        (NoSchedule, Some(tolerate("team", Equal, "vision", TolerationEffect::All)), true),
        (NoSchedule, Some(tolerate("team", Equal, "speech", TolerationEffect::All)), false),
        (NoSchedule, Some(tolerate("team", Any, "", TolerationEffect::All)), true),
        (NoSchedule, Some(tolerate("other", Any, "", TolerationEffect::All)), false),
        (NoSchedule, Some(tolerate("", Any, "", TolerationEffect::All)), true),
        (NoSchedule, Some(tolerate("", Any, "", TolerationEffect::NoExecute)), false),
        (NoExecute, Some(tolerate("team", Any, "", TolerationEffect::NoExecute)), true),
        (NoExecute, Some(tolerate("team", Any, "", TolerationEffect::NoSchedule)), false),
    ];
    for (effect, toleration, may_run) in table {
        let mut node = node("n", &[]);
        node.taints = vec![taint(effect)];
        let mut role = role("worker", 1, &[]);
        role.tolerations = toleration.clone().into_iter().collect();
        let wanted = (!may_run).then(|| "TAINT_NOT_TOLERATED".to_owned());
        assert_eq!(verdict(role, node), wanted, "{effect:?} {toleration:?}");
    }
}

#[test]
fn the_first_rule_that_a_node_fails_is_named() {
    let mut bad = node("n", &[]);
    bad.taints =
        vec![Taint { key: "team".to_owned(), value: String::new(), effect: TaintEffect::NoSchedule }];
    bad.unschedulable = true;
    bad.ready = false;
    let mut role = role("worker", 1, &[]);
    role.node_selector = texts(&[("gpu", "a100")]);
    assert_eq!(verdict(role.clone(), bad.clone()).as_deref(), Some("NODE_NOT_READY"));
    bad.ready = true;
    assert_eq!(verdict(role.clone(), bad.clone()).as_deref(), Some("NODE_CORDONED"));
    bad.unschedulable = false;
    assert_eq!(verdict(role.clone(), bad.clone()).as_deref(), Some("NODE_SELECTOR_MISMATCH"));
    bad.labels = texts(&[("gpu", "a100")]);
    assert_eq!(verdict(role, bad).as_deref(), Some("TAINT_NOT_TOLERATED"));
}

#[test]
fn a_gang_with_a_closeness_stays_inside_the_topology() {
    let mut outside = node("n", &[("cpu", 8)]);
    outside.labels = texts(&[("zone", "z")]);
    let place = |asked: Option<Closeness>| {
        let mut gang = gang("g", vec![role("worker", 1, &[("cpu", 1)])]);
        gang.topology = asked;
        let snapshot = Snapshot {
            topology: vec!["zone".to_owned(), "rack".to_owned()],
            nodes: vec![outside.clone()],
            gangs: vec![gang],
            ..Snapshot::default()
        };
        plan_for(&snapshot).rejections.remove("g").map(|rejection| rejection.rule)
    };
    for asked in [require("zone"), prefer("rack"), require("node"), Closeness::default()] {
        assert_eq!(place(Some(asked)).as_deref(), Some("NODE_OUTSIDE_TOPOLOGY"));
    }
    assert_eq!(place(None), None);
}
