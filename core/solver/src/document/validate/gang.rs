//! Gangs, their roles and what they ask for.

use std::collections::BTreeSet;

use super::Findings;
use crate::document::{
    Container, Expression, ExpressionOperator, Gang, Path, Pod, Role, Rounding, Snapshot, Toleration,
    TolerationOperator,
};
use crate::error::ProblemCode;

const MOST_REPLICAS: i64 = 1_000_000;
/// Keeps the traffic of the largest gang within 64 bits for all but absurd gangs.
const MOST_WEIGHT: i64 = 1_000_000;

pub(super) fn gangs(snapshot: &Snapshot, path: &Path<'_>, findings: &mut Findings) {
    let queues: BTreeSet<&str> = snapshot.queues.iter().map(|queue| queue.name.as_str()).collect();
    let mut seen = BTreeSet::new();
    for (index, gang) in snapshot.gangs.iter().enumerate() {
        let path = path.item(index);
        findings.name(&gang.name, &mut seen, "gang", &path.field("name"));
        if let Some(queue) = &gang.queue {
            findings.reference(queue, &queues, "queue", &path.field("queue"));
        }
        levels(gang, &snapshot.topology, &path, findings);
        roles(gang, &path.field("roles"), findings);
        traffic(gang, &path.field("traffic"), findings);
    }
}

/// Levels are named, and the preferred one is not coarser than the required one.
fn levels(gang: &Gang, topology: &[String], path: &Path<'_>, findings: &mut Findings) {
    let mut known: BTreeSet<&str> = topology.iter().map(String::as_str).collect();
    known.insert("node");
    for (field, level) in [("required", &gang.required), ("preferred", &gang.preferred)] {
        if let Some(level) = level {
            findings.reference(level, &known, "topology level", &path.field(field));
        }
    }
    let depth = |level: &Option<String>| {
        let level = level.as_deref()?;
        topology.iter().position(|key| key == level).or((level == "node").then_some(topology.len()))
    };
    if let (Some(required), Some(preferred)) = (depth(&gang.required), depth(&gang.preferred))
        && preferred < required
    {
        let message = "must not be coarser than the required level";
        findings.report(&path.field("preferred"), ProblemCode::Contradiction, message);
    }
}

fn roles(gang: &Gang, path: &Path<'_>, findings: &mut Findings) {
    if gang.roles.is_empty() {
        findings.report(path, ProblemCode::BadValue, "must have at least one role");
    }
    let mut seen = BTreeSet::new();
    let mut has_chief = false;
    for (index, role) in gang.roles.iter().enumerate() {
        let path = path.item(index);
        findings.name(&role.name, &mut seen, "role", &path.field("name"));
        let count = path.field("replicas");
        if !(1..=MOST_REPLICAS).contains(&role.replicas) {
            let message = format!("must be from 1 to {MOST_REPLICAS}, not {}", role.replicas);
            findings.report(&count, ProblemCode::OutOfRange, message);
        }
        // TensorFlow 2 knows one chief; the older name of the role is master.
        if role.name.eq_ignore_ascii_case("chief") || role.name.eq_ignore_ascii_case("master") {
            if role.replicas > 1 {
                findings.report(&count, ProblemCode::Contradiction, "a gang has one chief at most");
            }
            if has_chief {
                let message = "two chiefs: a gang has one chief or master at most";
                findings.report(&path, ProblemCode::Contradiction, message);
            }
            has_chief = true;
        }
        needs(role, &path, findings);
    }
}

/// What one replica takes, and which nodes it may use.
fn needs(role: &Role, path: &Path<'_>, findings: &mut Findings) {
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
    for (index, toleration) in role.tolerations.iter().enumerate() {
        let path = path.field("tolerations");
        tolerated(toleration, &path.item(index), findings);
    }
}

fn containers(pod: &Pod, path: &Path<'_>, findings: &mut Findings) {
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

fn traffic(gang: &Gang, path: &Path<'_>, findings: &mut Findings) {
    let roles: BTreeSet<&str> = gang.roles.iter().map(|role| role.name.as_str()).collect();
    for (index, pair) in gang.traffic.iter().enumerate() {
        let path = path.item(index);
        findings.reference(&pair.a, &roles, "role", &path.field("a"));
        findings.reference(&pair.b, &roles, "role", &path.field("b"));
        if !(0..=MOST_WEIGHT).contains(&pair.weight) {
            let message = format!("must be from 0 to {MOST_WEIGHT}, not {}", pair.weight);
            findings.report(&path.field("weight"), ProblemCode::OutOfRange, message);
        }
    }
}
