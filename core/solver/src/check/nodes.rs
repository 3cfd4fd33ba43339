//! Every replica may use its node: ready, not cordoned, inside the topology where that matters, labels, taints.

use super::Violations;
use super::cluster::{Cluster, groups_of};
use super::topology::is_inside;
use crate::document::{
    Expression, ExpressionOperator as Is, Gang, Node, Path, Plan, Role, Rule, Taint, TaintEffect, Toleration,
    TolerationEffect, TolerationOperator,
};

pub(super) fn judge(cluster: &Cluster<'_>, plan: &Plan, found: &mut Violations) {
    for placed in cluster.placed(plan) {
        let path = Path::Root.field("placements");
        let path = path.field(&placed.gang.name);
        let path = path.field(&placed.role.name);
        let path = path.item(placed.index);
        for (rule, text) in forbidding(cluster, placed.gang, placed.role, placed.node) {
            found.add(rule, &path, format!("node {} {text}", placed.node.name));
        }
    }
}

/// The rules that keep a role away from a node, each with what the node does.
pub(super) fn forbidding(
    cluster: &Cluster<'_>,
    gang: &Gang,
    role: &Role,
    node: &Node,
) -> Vec<(Rule, String)> {
    let mut found = Vec::new();
    let mut broken = |rule, text: &str| found.push((rule, text.to_owned()));
    if !node.ready {
        broken(Rule::NodeNotReady, "is not ready");
    }
    if node.unschedulable {
        broken(Rule::NodeCordoned, "is cordoned");
    }
    if asks_for_topology(gang, role) && !is_inside(cluster, node) {
        broken(Rule::NodeOutsideTopology, "lacks a topology label");
    }
    let selects = |(key, value): (&String, &String)| node.labels.get(key) == Some(value);
    if !role.node_selector.iter().all(selects) {
        broken(Rule::NodeSelectorMismatch, "does not match the node selector");
    }
    let terms = &role.node_affinity;
    let term_holds = |expressions: &[Expression]| {
        !expressions.is_empty() && expressions.iter().all(|expression| passes(expression, node))
    };
    if !terms.is_empty() && !terms.iter().any(|term| term_holds(&term.expressions)) {
        broken(Rule::NodeAffinityMismatch, "does not match the node affinity");
    }
    for taint in &node.taints {
        let repels = matches!(taint.effect, TaintEffect::NoSchedule | TaintEffect::NoExecute);
        if repels && !role.tolerations.iter().any(|toleration| covers(toleration, taint)) {
            broken(Rule::TaintNotTolerated, &format!("has the taint {}", taint.key));
        }
    }
    found
}

fn asks_for_topology(gang: &Gang, role: &Role) -> bool {
    let groups = groups_of(gang, role);
    gang.topology.is_some() || role.topology.is_some() || groups.iter().any(|group| group.topology.is_some())
}

fn passes(expression: &Expression, node: &Node) -> bool {
    let Some(label) = node.labels.get(&expression.key) else {
        return matches!(expression.operator, Is::NotIn | Is::DoesNotExist);
    };
    let listed = expression.values.iter().any(|value| value == label);
    let bound = expression.values.first().and_then(|value| value.parse::<i64>().ok());
    match (expression.operator, label.parse::<i64>().ok(), bound) {
        (Is::In, _, _) => listed,
        (Is::NotIn, _, _) => !listed,
        (Is::Exists, _, _) => true,
        (Is::Gt, Some(label), Some(bound)) => label > bound,
        (Is::Lt, Some(label), Some(bound)) => label < bound,
        (Is::DoesNotExist | Is::Gt | Is::Lt, _, _) => false,
    }
}

fn covers(toleration: &Toleration, taint: &Taint) -> bool {
    let effects: &[TaintEffect] = match toleration.effect {
        TolerationEffect::All => {
            &[TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule, TaintEffect::NoExecute]
        }
        TolerationEffect::NoSchedule => &[TaintEffect::NoSchedule],
        TolerationEffect::PreferNoSchedule => &[TaintEffect::PreferNoSchedule],
        TolerationEffect::NoExecute => &[TaintEffect::NoExecute],
    };
    if !effects.contains(&taint.effect) {
        return false;
    }
    match toleration.operator {
        TolerationOperator::Exists => toleration.key.is_empty() || toleration.key == taint.key,
        TolerationOperator::Equal => (&toleration.key, &toleration.value) == (&taint.key, &taint.value),
    }
}
