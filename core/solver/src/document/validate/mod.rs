//! Problems of meaning: names that refer to nothing, quantities out of range, parts that contradict each other.

mod closeness;
mod cluster;
mod deltas;
mod findings;
mod gang;
mod group;
mod needs;
mod placements;
mod running;

use cluster::cycle_from;
pub(crate) use deltas::contradictions;
pub(super) use deltas::deltas;
pub use findings::Findings;
pub(super) use placements::placements;

use super::{Path, Plan, Snapshot, SolveOptions};
use crate::error::ProblemCode;

/// No role, slice or spread counts more.
const MOST_REPLICAS: i64 = 1_000_000;

/// Judges a snapshot that has the right form.
pub(super) fn snapshot(snapshot: &Snapshot, findings: &mut Findings) {
    let root = Path::Root;
    cluster::topology(&snapshot.topology, &root.field("topology"), findings);
    cluster::nodes(&snapshot.nodes, &root.field("nodes"), findings);
    cluster::queues(&snapshot.queues, &root.field("queues"), findings);
    gang::gangs(snapshot, &root.field("gangs"), findings);
    running::running(snapshot, &root.field("running"), findings);
    cluster::quotas(&snapshot.quotas, &root.field("quotas"), findings);
}

/// Judges options that have the right form.
pub(super) fn options(options: &SolveOptions, findings: &mut Findings) {
    if options.budget < 1 {
        let message = format!("must be at least 1, not {}", options.budget);
        findings.report(&Path::Root.field("budget"), ProblemCode::OutOfRange, message);
    }
    for (count, field) in [
        (options.deadline_s, "deadline_s"),
        (options.earmark_after_s, "earmark_after_s"),
        (options.earmark_after_bypasses, "earmark_after_bypasses"),
    ] {
        if let Some(count @ ..0) = count {
            let message = format!("must be at least 0, not {count}");
            findings.report(&Path::Root.field(field), ProblemCode::OutOfRange, message);
        }
    }
}

/// Judges a plan that has the right form, without its snapshot.
pub(super) fn plan(plan: &Plan, findings: &mut Findings) {
    for (gang, refused) in plan.rejections.iter().filter(|(_, refused)| refused.position < 1) {
        let message = format!("must be at least 1, not {}", refused.position);
        let rejections = Path::Root.field("rejections");
        findings.report(&rejections.field(gang).field("position"), ProblemCode::OutOfRange, message);
    }
}
