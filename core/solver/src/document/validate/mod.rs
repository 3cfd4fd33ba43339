//! Problems of meaning: names that refer to nothing, quantities out of range, parts that contradict each other.

mod closeness;
mod cluster;
mod findings;
mod gang;
mod group;
mod needs;
mod running;
mod unbuilt;

use cluster::cycle_from;
pub use findings::Findings;

use super::{Path, Snapshot, SolveOptions};
use crate::error::ProblemCode;

/// Judges a snapshot that has the right form.
pub(super) fn snapshot(snapshot: &Snapshot, findings: &mut Findings) {
    let root = Path::Root;
    cluster::topology(&snapshot.topology, &root.field("topology"), findings);
    cluster::nodes(&snapshot.nodes, &root.field("nodes"), findings);
    cluster::queues(&snapshot.queues, &root.field("queues"), findings);
    gang::gangs(snapshot, &root.field("gangs"), findings);
    running::running(snapshot, &root.field("running"), findings);
    cluster::quotas(&snapshot.quotas, &root.field("quotas"), findings);
    unbuilt::snapshot(snapshot, findings);
}

/// Judges options that have the right form.
pub(super) fn options(options: &SolveOptions, findings: &mut Findings) {
    if options.budget < 1 {
        let message = format!("must be at least 1, not {}", options.budget);
        findings.report(&Path::Root.field("budget"), ProblemCode::OutOfRange, message);
    }
    if let Some(deadline @ ..0) = options.deadline_s {
        let message = format!("must be at least 0, not {deadline}");
        findings.report(&Path::Root.field("deadline_s"), ProblemCode::OutOfRange, message);
    }
    unbuilt::options(options, findings);
}
