//! Which nodes a role may use: readiness, labels and taints, with the meaning that Kubernetes gives them.

use std::collections::BTreeMap;

use crate::document::{
    Expression, ExpressionOperator, Node, PreferredTerm, Role, Rule, Taint, TaintEffect, Toleration,
    TolerationEffect, TolerationOperator,
};

/// The first rule that keeps `node` away from `role`; the topology is judged elsewhere.
pub(super) fn exclusion(role: &Role, node: &Node) -> Option<Rule> {
    if !node.ready {
        Some(Rule::NodeNotReady)
    } else if node.unschedulable {
        Some(Rule::NodeCordoned)
    } else if !role.node_selector.iter().all(|(key, value)| node.labels.get(key) == Some(value)) {
        Some(Rule::NodeSelectorMismatch)
    } else if !has_affinity(role, &node.labels) {
        Some(Rule::NodeAffinityMismatch)
    } else if node.taints.iter().any(|taint| keeps_away(taint, &role.tolerations)) {
        Some(Rule::TaintNotTolerated)
    } else {
        None
    }
}

/// How much a role would rather use a node: the weights of the terms that hold.
pub(super) fn score(role: &Role, node: &Node) -> i64 {
    let holds_all = |term: &&PreferredTerm| {
        !term.expressions.is_empty() && term.expressions.iter().all(|one| holds(one, &node.labels))
    };
    role.preferred_node_affinity.iter().filter(holds_all).map(|term| term.weight).sum()
}

fn has_affinity(role: &Role, labels: &BTreeMap<String, String>) -> bool {
    role.node_affinity.is_empty()
        || role.node_affinity.iter().any(|term| {
            !term.expressions.is_empty()
                && term.expressions.iter().all(|expression| holds(expression, labels))
        })
}

fn holds(expression: &Expression, labels: &BTreeMap<String, String>) -> bool {
    let label = labels.get(&expression.key);
    let integers = || {
        let label: i64 = label?.parse().ok()?;
        let value: i64 = expression.values.first()?.parse().ok()?;
        Some(label.cmp(&value))
    };
    match expression.operator {
        ExpressionOperator::In => label.is_some_and(|label| expression.values.contains(label)),
        ExpressionOperator::NotIn => label.is_none_or(|label| !expression.values.contains(label)),
        ExpressionOperator::Exists => label.is_some(),
        ExpressionOperator::DoesNotExist => label.is_none(),
        ExpressionOperator::Gt => integers().is_some_and(std::cmp::Ordering::is_gt),
        ExpressionOperator::Lt => integers().is_some_and(std::cmp::Ordering::is_lt),
    }
}

fn keeps_away(taint: &Taint, tolerations: &[Toleration]) -> bool {
    taint.effect != TaintEffect::PreferNoSchedule
        && !tolerations.iter().any(|toleration| tolerates(toleration, taint))
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let effect = match toleration.effect {
        TolerationEffect::All => true,
        TolerationEffect::NoSchedule => taint.effect == TaintEffect::NoSchedule,
        TolerationEffect::PreferNoSchedule => taint.effect == TaintEffect::PreferNoSchedule,
        TolerationEffect::NoExecute => taint.effect == TaintEffect::NoExecute,
    };
    let named = toleration.key.is_empty() || toleration.key == taint.key;
    effect
        && match toleration.operator {
            TolerationOperator::Exists => named,
            TolerationOperator::Equal => toleration.key == taint.key && toleration.value == taint.value,
        }
}
