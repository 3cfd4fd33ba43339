//! Judges a plan against its snapshot. It shares no code with the search: when both agree, believe them.
//!
//! Everything is looked up by name and counted plainly, in the documents' own words; speed is not its business.

mod answers;
mod certificates;
mod cluster;
mod company;
mod minimums;
mod nodes;
mod room;
mod topology;
mod zones;

use serde::Serialize;

use crate::document::{Path, Plan, Rule, Snapshot, sound};
use crate::error::{Error, natural_order};
use cluster::Cluster;

/// One rule that a plan breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Code of the rule.
    pub rule: &'static str,
    /// The place in the plan: `$.placements.mnist.worker[2]`.
    pub path: String,
    /// What the rule wants and what the plan does.
    pub message: String,
}

/// All rules that `plan` breaks, ordered by path and rule; empty if it holds.
///
/// # Errors
/// [`Error::Invalid`] if the snapshot contradicts itself.
pub fn check(snapshot: &Snapshot, plan: &Plan) -> Result<Vec<Violation>, Error> {
    sound(snapshot)?;
    let cluster = Cluster::of(snapshot);
    let mut found = Violations::default();
    answers::judge(&cluster, plan, &mut found);
    placements(&cluster, plan, &mut found);
    certificates::judge(&cluster, plan, &mut found);
    let mut violations = found.list;
    violations.sort_by(|a, b| natural_order(&a.path, &b.path).then_with(|| a.rule.cmp(b.rule)));
    Ok(violations)
}

/// What placements alone would break, whatever other gangs are told; the snapshot is sound.
pub(crate) fn broken(snapshot: &Snapshot, plan: &Plan) -> Vec<Violation> {
    let cluster = Cluster::of(snapshot);
    let mut found = Violations::default();
    placements(&cluster, plan, &mut found);
    found.list
}

fn placements(cluster: &Cluster<'_>, plan: &Plan, found: &mut Violations) {
    nodes::judge(cluster, plan, found);
    room::judge(cluster, plan, found);
    topology::judge(cluster, plan, found);
    minimums::judge(cluster, plan, found);
    company::judge(cluster, plan, found);
    zones::judge(cluster, plan, found);
}

/// Violations found so far.
#[derive(Default)]
struct Violations {
    list: Vec<Violation>,
}

impl Violations {
    fn add(&mut self, rule: Rule, path: &Path<'_>, message: impl Into<String>) {
        self.list.push(Violation { rule: rule.code(), path: path.to_string(), message: message.into() });
    }
}
