//! What one replica takes, which nodes it may use, and whose company it seeks.

use super::Findings;
use crate::document::{
    Container, Expression, ExpressionOperator, Path, Pod, ReplicaAffinity, Role, Rounding, Toleration,
    TolerationOperator,
};
use crate::error::ProblemCode;

/// Labels that each replica carries anyway.
const IMPLICIT_LABELS: [&str; 2] = ["gangplan.dev/gang", "gangplan.dev/role"];

/// What one replica takes, and which nodes it may use.
pub(super) fn needs(role: &Role, path: &Path<'_>, findings: &mut Findings) {
    findings.quantities(&role.requests, &path.field("requests"), Rounding::Up);
    if let Some(pod) = &role.pod {
        let path = path.field("pod");
        if !role.requests.is_empty() {
            let message = "only one of 'requests' and 'pod' may be given";
            findings.report(&path, ProblemCode::Contradiction, message);
        }
        containers(pod, &path, findings);
    }
    for (t, term) in role.node_affinity.iter().enumerate() {
        let path = path.field("node_affinity");
        let path = path.item(t);
        let path = path.field("expressions");
        for (e, expression) in term.expressions.iter().enumerate() {
            values(expression, &path.item(e), findings);
        }
    }
    for (index, term) in role.preferred_node_affinity.iter().enumerate() {
        let path = path.field("preferred_node_affinity");
        let path = path.item(index);
        if !(1..=100).contains(&term.weight) {
            let message = format!("must be from 1 to 100, not {}", term.weight);
            findings.report(&path.field("weight"), ProblemCode::OutOfRange, message);
        }
        let path = path.field("expressions");
        for (e, expression) in term.expressions.iter().enumerate() {
            values(expression, &path.item(e), findings);
        }
    }
    for (index, affinity) in role.replica_affinity.iter().enumerate() {
        let path = path.field("replica_affinity");
        company(affinity, &path.item(index), findings);
    }
    let labels = path.field("labels");
    for label in IMPLICIT_LABELS.iter().filter(|label| role.labels.contains_key(**label)) {
        let message = "each replica carries it anyway; it cannot be given";
        findings.report(&labels.field(label), ProblemCode::Contradiction, message);
    }
    for (index, toleration) in role.tolerations.iter().enumerate() {
        let path = path.field("tolerations");
        tolerated(toleration, &path.item(index), findings);
    }
}

pub(super) fn containers(pod: &Pod, path: &Path<'_>, findings: &mut Findings) {
    let mut each = |field: &str, containers: &[Container]| {
        for (index, container) in containers.iter().enumerate() {
            let path = path.field(field);
            let path = path.item(index);
            findings.quantities(&container.requests, &path.field("requests"), Rounding::Up);
            findings.quantities(&container.limits, &path.field("limits"), Rounding::Up);
        }
    };
    each("containers", &pod.containers);
    each("init_containers", &pod.init_containers);
    findings.quantities(&pod.overhead, &path.field("overhead"), Rounding::Up);
}

fn values(expression: &Expression, path: &Path<'_>, findings: &mut Findings) {
    let path = path.field("values");
    let count = expression.values.len();
    let wanted = match expression.operator {
        ExpressionOperator::In | ExpressionOperator::NotIn if count == 0 => "must have at least one value",
        ExpressionOperator::Exists | ExpressionOperator::DoesNotExist if count > 0 => {
            "must be empty with this operator"
        }
        ExpressionOperator::Gt | ExpressionOperator::Lt
            if count != 1 || expression.values[0].parse::<i64>().is_err() =>
        {
            "must be one whole number with this operator"
        }
        _ => return,
    };
    findings.report(&path, ProblemCode::BadValue, wanted);
}

fn company(affinity: &ReplicaAffinity, path: &Path<'_>, findings: &mut Findings) {
    if affinity.level.is_empty() {
        findings.report(&path.field("level"), ProblemCode::BadValue, "must not be empty");
    }
}

fn tolerated(toleration: &Toleration, path: &Path<'_>, findings: &mut Findings) {
    if toleration.operator == TolerationOperator::Exists && !toleration.value.is_empty() {
        let message = "must be empty with the operator Exists";
        findings.report(&path.field("value"), ProblemCode::Contradiction, message);
    }
    if toleration.operator == TolerationOperator::Equal && toleration.key.is_empty() {
        let message = "must not be empty with the operator Equal";
        findings.report(&path.field("key"), ProblemCode::Contradiction, message);
    }
}
