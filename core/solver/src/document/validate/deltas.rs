//! Deltas, as far as they can be judged without the cluster that they are about.

use std::collections::BTreeSet;

use super::{Findings, snapshot};
use crate::document::{Deltas, Path, Snapshot};
use crate::error::ProblemCode;

pub(in crate::document) fn deltas(deltas: &Deltas, findings: &mut Findings) {
    let part = Snapshot {
        nodes: deltas.nodes.clone(),
        queues: deltas.queues.clone(),
        gangs: deltas.gangs.clone(),
        running: deltas.running.clone(),
        quotas: deltas.quotas.clone(),
        ..Snapshot::default()
    };
    let mut of_part = Findings::default();
    snapshot(&part, &mut of_part);
    // What they name may be in the cluster.
    of_part.problems.retain(|problem| problem.code != ProblemCode::UnknownName);
    findings.problems.append(&mut of_part.problems);
    contradictions(deltas, findings);
}

/// Nothing is there and gone.
pub(crate) fn contradictions(deltas: &Deltas, findings: &mut Findings) {
    let gone = Path::Root.field("gone");
    let mut both = |field: &str, gone_names: &[String], names: BTreeSet<&str>| {
        for (index, name) in gone_names.iter().enumerate().filter(|(_, name)| names.contains(name.as_str())) {
            let message = format!("'{name}' is said to be there in $.{field}");
            findings.report(&gone.field(field).item(index), ProblemCode::Contradiction, message);
        }
    };
    let known = &deltas.gone;
    both("nodes", &known.nodes, deltas.nodes.iter().map(|one| one.name.as_str()).collect());
    both("queues", &known.queues, deltas.queues.iter().map(|one| one.name.as_str()).collect());
    both("gangs", &known.gangs, deltas.gangs.iter().map(|one| one.name.as_str()).collect());
    both("running", &known.running, deltas.running.iter().map(|one| one.name.as_str()).collect());
    both("quotas", &known.quotas, deltas.quotas.iter().map(|one| one.namespace.as_str()).collect());
}
